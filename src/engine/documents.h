/* The engine's documents: a picture of it as status JSON and as Prometheus text. Pure functions of the picture. What
 * each member and metric means: docs/instruments.md.
 */
#ifndef CUZK_ENGINE_DOCUMENTS_H
#define CUZK_ENGINE_DOCUMENTS_H

#include "base/json.h"
#include "engine/trace.h"
#include "engine/view.h"

/* Puts the status object as one value. live: for the page and its event stream, without what older clients read
 * (pipelines, gpu_workers, buffers, allocations): the same facts are in other members. */
void status_put(json_out *o, const engine_view *v, bool live);
/* Returned; free with free(). */
cuzk_status metrics_write(const engine_view *v, trace *t, char **out, cuzk_error *err);

/* "porep" is "porep-c2" in the older daemon's documents, "snap" "snap-update"; others keep their names. Static or
 * borrowed from kind. */
const char *document_kind(const char *kind);
/* Anonymous resident bytes that no tracked buffer explains: program data, libraries, stacks, small allocations. */
uint64_t document_unexplained(const engine_view *v);

#endif
