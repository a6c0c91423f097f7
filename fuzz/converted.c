/* Converted copies of keys of any content, in the cache folder of a small key: the key opens all the same, and its
 * points are those of the file or, where the copy lies about them behind a whole header, are found out.
 *
 * The input is laid over the front of a right copy (0xff keeps a byte, so that a mutation can reach any place); once as
 * it is, and once with the header's digest made right.
 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/log.h"
#include "groth16/key_convert.h"
#include "groth16/setup.h"
#include "r1cs/shape.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[64] = "/dev/shm/cuzk-fuzz-XXXXXX" /* fsync costs nothing there */, key[PATH_MAX], copy[PATH_MAX];
static uint8_t *good;
static size_t good_bytes;

static uint8_t *read_whole(const char *path, size_t *n) {
    buffer b;
    cuzk_error err;
    if (file_read(&b, path, 1 << 20, &err)) abort();
    uint8_t *out = malloc(b.bytes);
    if (!out) abort();
    memcpy(out, b.data, *n = b.bytes);
    buffer_free(&b);
    return out;
}

static void clean(void) {
    char command[PATH_MAX];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command)) perror(command);
}

/* x x = y, y public. */
static void square(cs *c, const void *params, const void *instance) {
    fr zero;
    (void)params, (void)instance;
    fr_set_zero(&zero);
    cs_var x = cs_alloc(c, &zero), y = cs_input(c, &zero);
    cs_lc a, b, out;
    cs_lc_init(&a);
    cs_lc_init(&b);
    cs_lc_init(&out);
    cs_lc_add_one(c, &a, x);
    cs_lc_add_one(c, &b, x);
    cs_lc_add_one(c, &out, y);
    cs_enforce(c, &a, &b, &out);
}

static void make_key(void) {
    cuzk_error err;
    trapdoor t;
    shape *s;
    setup_result made;
    ntt_root root = ntt_root_bellman();
    char vk[PATH_MAX];
    snprintf(key, sizeof key, "%s/key.params", folder);
    snprintf(vk, sizeof vk, "%s/key.vk", folder);
    if (trapdoor_random(&t, &err) || shape_record(&s, square, NULL, NULL, &err)) abort();
    if (groth16_setup(s, &t, &root, key, vk, &made, NULL, NULL, &err)) abort();
    shape_destroy(s);
}

static void start(void) {
    cuzk_error err;
    proving_key k;
    log_setup(LOG_ERROR, LOG_TEXT);
    if (!mkdtemp(folder)) {
        strcpy(folder, "/tmp/cuzk-fuzz-XXXXXX");
        if (!mkdtemp(folder)) abort();
    }
    atexit(clean);
    setenv("CUZK_CACHE", folder, 1);
    make_key();
    if (proving_key_open(&k, key, KEY_CHECK_TRUSTED, NULL, NULL, &err)) abort();
    proving_key_close(&k);
    char keys[80];
    snprintf(keys, sizeof keys, "%s/keys", folder);
    DIR *d = opendir(keys);
    if (!d) abort();
    for (struct dirent *e; (e = readdir(d));) {
        size_t len = strlen(e->d_name);
        if (len > 4 && !strcmp(e->d_name + len - 4, ".key")) snprintf(copy, sizeof copy, "%s/%s", keys, e->d_name);
    }
    closedir(d);
    good = read_whole(copy, &good_bytes);
}

static void try_copy(const uint8_t *bytes, size_t n) {
    cuzk_error err;
    proving_key k;
    if (file_write_all(copy, bytes, n, false, &err)) abort();
    bool same = n == good_bytes && memcmp(bytes, good, n) == 0;
    cuzk_status s = proving_key_open(&k, key, KEY_CHECK_DIGEST, NULL, NULL, &err);
    if (s == CUZK_OK) {
        for (uint32_t i = 0; i < k.count[PARAMS_A]; i++) {
            if (!g1_affine_on_curve(&k.a[i])) abort();
        }
        proving_key_close(&k);
    } else if (s != CUZK_KEY_DAMAGED || same) { /* blamed on the copy, or on a digest that the copy lies about */
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!good) start();
    size_t n = size > good_bytes ? size : good_bytes;
    uint8_t *bytes = malloc(n);
    if (!bytes) abort();
    memcpy(bytes, good, good_bytes);
    for (size_t i = 0; i < size; i++) {
        if (i >= good_bytes || data[i] != 0xff) bytes[i] = data[i];
    }
    try_copy(bytes, n);
    converted_header h;
    memcpy(&h, bytes, sizeof h);
    converted_header_seal(&h);
    memcpy(bytes, &h, sizeof h);
    try_copy(bytes, n);
    free(bytes);
    return 0;
}
