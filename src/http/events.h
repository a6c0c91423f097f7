/* Server-sent events: one thread makes a frame of what changed, at most four a second, and every stream sends it.
 *
 * A stream begins with a frame of its own that holds the recent past. Frames are shared and few are kept: a client too
 * slow for them gets the recent past again instead of what it missed, so no client can make frames pile up. Streams are
 * bounded in number. Thread-safe.
 */
#ifndef CUZK_HTTP_EVENTS_H
#define CUZK_HTTP_EVENTS_H

#include <microhttpd.h>
#include "cuzk/engine.h"

#define EVENT_STREAMS 16

typedef struct event_hub event_hub;

/* tick is called by the hub's thread every half second or more often. Returned; free with event_hub_destroy. */
event_hub *event_hub_create(cuzk_engine *engine, void (*tick)(void *user), void *user, cuzk_error *err);
/* A response that streams frames to this connection; NULL when there are too many streams, or no memory. Once it is
 * queued and destroyed, MHD owns it. */
struct MHD_Response *event_hub_stream(event_hub *h, struct MHD_Connection *connection);
/* Streams end at their next turn and no new one is made. The thread has ended on return. */
void event_hub_stop(event_hub *h);
/* After the MHD daemon has stopped. Accepts NULL. */
void event_hub_destroy(event_hub *h);

#endif
