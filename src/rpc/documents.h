/* What the engine knows, packed for answers. Thread-safe. */
#ifndef CUZK_RPC_DOCUMENTS_H
#define CUZK_RPC_DOCUMENTS_H

#include "cuzk/engine.h"

/* A packed cuzk.v1.GetStatusResponse. Returned; free with free(). */
cuzk_status documents_status(cuzk_engine *e, uint8_t **out, size_t *n, cuzk_error *err);
/* {"jobs": [...]}, the newest `limit` (0: all), oldest first. Returned; free with free(). */
cuzk_status documents_jobs(cuzk_engine *e, uint32_t limit, char **json, cuzk_error *err);
/* The kind of a job that runs or ended lately; "" for others. */
void documents_kind(cuzk_engine *e, uint64_t seq, char *out, size_t n);

#endif
