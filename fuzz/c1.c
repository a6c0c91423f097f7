/* Reader of commit-phase-1 output. The byte 0x01 stands for a whole node (an array of 32 numbers), so that complete
 * documents are small enough to mutate; everything else is the document as it is. What is read is written and read
 * again, which must give the same text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "circuit/porep/vanilla.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *expand(const uint8_t *data, size_t size, size_t *len) {
    static const char node[] = "[9,8,7,6,5,4,3,2,1,0,1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9,0,1,2]";
    size_t n = 0;
    for (size_t i = 0; i < size; i++) n += data[i] == 1 ? sizeof node - 1 : 1;
    char *out = malloc(n + 1), *at = out;
    if (!out) abort();
    for (size_t i = 0; i < size; i++) {
        if (data[i] == 1) {
            memcpy(at, node, sizeof node - 1);
            at += sizeof node - 1;
        } else {
            *at++ = (char)data[i];
        }
    }
    *len = n;
    return out;
}

static void write_again(const porep_c1 *c1) {
    buffer first, second;
    size_t n, m;
    cuzk_error err;
    porep_c1 again;
    arena *a = arena_create(BUFFER_REQUEST, 0, &err);
    if (!a || porep_c1_write(&first, &n, c1, &err) != CUZK_OK) abort();
    if (porep_c1_read(&again, a, "again", first.data, n, c1->params.sector_bytes, false, &err) != CUZK_OK) abort();
    if (porep_c1_write(&second, &m, &again, &err) != CUZK_OK) abort();
    if (n != m || memcmp(first.data, second.data, n) != 0) abort();
    buffer_free(&first);
    buffer_free(&second);
    arena_destroy(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t len;
    cuzk_error err;
    porep_c1 c1;
    arena *a = arena_create(BUFFER_REQUEST, 0, &err);
    if (!a) abort();
    char *text = expand(data, size, &len);
    cuzk_status s = porep_c1_read(&c1, a, "fuzz", text, len, 0, false, &err);
    if (s == CUZK_OK && c1.has_registered && c1.registered.sector_bytes == c1.params.sector_bytes) write_again(&c1);
    if (s != CUZK_OK && (s != err.status || !err.what[0])) abort();
    free(text);
    arena_destroy(a);
    return 0;
}
