/* What the commands that talk to a daemon share. */
#ifndef CUZK_CLI_CLIENT_H
#define CUZK_CLI_CLIENT_H

#include "cli/cli.h"
#include "rpc/client.h"

#define PROVING "cuzk.v1.ProvingEngine/"
#define INSPECTION "cuzk.v1.Inspection/"

/* Connects as --addr, --token-file and --tls-* say. Free with rpc_client_close. */
cuzk_status client_open(const args *a, rpc_client **out, cuzk_error *err);
/* Connects, makes one call with a small message, closes. The message: one bytes field (number 0: none). *reply is
 * malloc'd. */
cuzk_status client_ask(const args *a, const char *method, uint32_t field, const char *text, uint8_t **reply, size_t *n,
                       cuzk_error *err);
/* The JSON of an Inspection answer (a Document), malloc'd. limit: field 1 as a number, when not 0. */
cuzk_status client_document(rpc_client *c, const char *method, const char *text, uint64_t limit, char **json,
                            cuzk_error *err);
/* An answer that is no message of ours. */
cuzk_status client_bad_answer(cuzk_error *err);

#endif
