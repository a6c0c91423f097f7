/* Reader of PoRep requests. */
#include <stdint.h>
#include <stdlib.h>
#include "circuit/porep/vanilla.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cuzk_error err;
    porep_request q;
    arena *a = arena_create(BUFFER_REQUEST, 0, &err);
    if (!a) abort();
    cuzk_status s = porep_request_read(&q, a, "fuzz", data, size, &err);
    if (s != CUZK_OK && (s != err.status || !err.what[0])) abort();
    arena_destroy(a);
    return 0;
}
