/* Errors on the wire: in grpc-message for people, and whole in grpc-status-details-bin (google.rpc.Status with a
 * cuzk.v1.Error as its detail). Pure functions. */
#ifndef CUZK_RPC_DETAILS_H
#define CUZK_RPC_DETAILS_H

#include <stddef.h>
#include "cuzk/error.h"

/* Header values; returned, free with free(). NULL: no memory. */
char *details_encode(int grpc_status, const cuzk_error *err);
char *details_message(const cuzk_error *err); /* percent-encoded */

/* From header values that a server sent, whatever they hold: fills *err. message and details may be NULL. */
void details_decode(cuzk_error *err, int grpc_status, const char *message, const char *details);

/* Makes the texts UTF-8, as protobuf wants it: '?' for bytes that are none. */
void details_clean(cuzk_error *err);

/* One line for people: "what (where; expected …; found …). hint", at most n bytes, UTF-8. */
void details_line(char *out, size_t n, const cuzk_error *err);

#endif
