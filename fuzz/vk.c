/* Verifying keys of any content: what is accepted is written back to the same bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "format/bellperson.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cuzk_error err;
    verifying_key vk;
    cuzk_status st = verifying_key_read(&vk, "fuzz", data, size, &err);
    if (st != CUZK_OK) {
        if (st != CUZK_KEY_DAMAGED || err.what[0] == 0) abort();
        return 0;
    }
    uint8_t *again = malloc(size);
    if (again == NULL || verifying_key_bytes(&vk) != size) abort();
    verifying_key_write(&vk, again);
    if (memcmp(again, data, size) != 0) abort();
    free(again);
    verifying_key_free(&vk);
    return 0;
}
