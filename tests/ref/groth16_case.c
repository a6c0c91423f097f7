#include "ref/groth16_case.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/text.h"

static _Noreturn void give_up(const char *what, const char *where) {
    fprintf(stderr, "test case: %s: %s\n", where, what);
    exit(2);
}

void case_folder_make(char out[256]) {
    const char *base = getenv("TMPDIR");
    char cache[300];
    snprintf(out, 256, "%s/cuzk-test-XXXXXX", base && strlen(base) < 200 ? base : "/tmp");
    if (!mkdtemp(out)) give_up("cannot be made", out);
    snprintf(cache, sizeof cache, "%s/cache", out);
    setenv("CUZK_CACHE", cache, 1);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *walk) {
    (void)st;
    (void)kind;
    (void)walk;
    return remove(path);
}

void case_folder_remove(const char *folder) {
    if (strstr(folder, "/cuzk-test-")) nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void case_path(char out[512], const char *folder, const char *name) {
    snprintf(out, 512, "%s/%s", folder, name);
}

void chain_run(cs *c, const void *params, const void *instance) {
    const chain_circuit *k = params;
    fr x0, x, one, minus_one;
    fr_set_one(&one);
    fr_neg(&minus_one, &one);
    if (instance) {
        x0 = *(const fr *)instance;
    } else {
        fr_set_zero(&x0);
    }
    cs_var first = cs_alloc(c, &x0), last = first;
    x = x0;
    for (uint64_t i = 0; i < k->constraints; i++) {
        arena_mark mark = cs_save(c);
        cs_lc a, b, out;
        cs_lc_init(&a);
        cs_lc_init(&b);
        cs_lc_init(&out);
        if (i < k->bits) {
            cs_var bit = cs_alloc_bit(c, i % 2 == 0 && !fr_is_zero(&x0));
            if (c->structure) {
                cs_lc_add_one(c, &a, CS_ONE);
                cs_lc_sub_one(c, &a, bit);
                cs_lc_add_one(c, &b, bit);
                cs_enforce(c, &a, &b, &out);
            }
        } else {
            fr_mul(&x, &x, &x0);
            fr_neg(&x, &x);
            cs_var next = i - k->bits < k->publics ? cs_input(c, &x) : cs_alloc(c, &x);
            if (c->structure) {
                cs_lc_add_one(c, &a, last);
                cs_lc_add(c, &b, &minus_one, first);
                cs_lc_add_one(c, &out, next);
                cs_enforce(c, &a, &b, &out);
            }
            last = next;
        }
        cs_release(c, mark);
    }
}

cuzk_status case_make(groth16_case *c, const char *folder, const char *name, cs_circuit run, const void *params,
                      const void *instance, const trapdoor *t, pool *p, cuzk_error *err) {
    memset(c, 0, sizeof *c);
    c->run = run;
    c->params = params;
    c->instance = instance;
    ntt_root root = ntt_root_bellman();
    char file[300];
    snprintf(file, sizeof file, "%s.params", name);
    case_path(c->params_path, folder, file);
    snprintf(file, sizeof file, "%s.vk", name);
    case_path(c->vk_path, folder, file);
    cuzk_status st = shape_record(&c->shape, run, params, NULL, err);
    if (st == CUZK_OK && t) c->trapdoor = *t;
    if (st == CUZK_OK && !t) st = trapdoor_random(&c->trapdoor, err);
    if (st == CUZK_OK) {
        st = groth16_setup(c->shape, &c->trapdoor, &root, c->params_path, c->vk_path, &c->made, p, NULL, err);
    }
    if (st == CUZK_OK) st = proving_key_open(&c->key, c->params_path, KEY_CHECK_TRUSTED, p, NULL, err);
    if (st != CUZK_OK) case_free(c);
    return st;
}

void case_free(groth16_case *c) {
    proving_key_close(&c->key);
    shape_destroy(c->shape);
    memset(c, 0, sizeof *c);
}

cuzk_status case_prove(const groth16_case *c, const void *instance, const fr *r, const fr *s, groth16_proof *out,
                       pool *p, const cuzk_control *control, cuzk_error *err) {
    witness w;
    prove_request q = {.key = &c->key, .shape = c->shape, .witness = &w};
    prove_times times;
    cuzk_status st = witness_write(&w, c->shape, c->run, c->params, instance ? instance : c->instance, err);
    if (st != CUZK_OK) return st;
    if (r) {
        q.r = *r;
        q.s = *s;
    } else {
        st = groth16_blinding(&q.r, &q.s, err);
    }
    if (st == CUZK_OK) {
        st = groth16_prove(backend_cpu(), 0, out, &times, &q, p, control, err);
    } else {
        witness_free(&w);
    }
    return st;
}

uint64_t case_live_bytes(void) {
    return buffer_total_stats().live_bytes - buffer_class_stats(BUFFER_SHAPE).live_bytes -
           buffer_class_stats(BUFFER_KEY).live_bytes;
}

uint8_t *case_read(const char *path, size_t *len) {
    FILE *f = fopen(path, "rb");
    if (!f) give_up("cannot be opened", path);
    fseek(f, 0, SEEK_END);
    *len = (size_t)ftell(f);
    rewind(f);
    uint8_t *data = malloc(*len + 1);
    if (!data || fread(data, 1, *len, f) != *len) give_up("cannot be read", path);
    fclose(f);
    return data;
}

fr case_hex(const json_node *object, const char *key) {
    const json_node *n = tiny_member(object, key);
    uint8_t bytes[32];
    fr v;
    if (!text_unhex(bytes, 32, n->text, n->len) || !fr_from_be_bytes(&v, bytes)) give_up("is no field element", key);
    return v;
}
