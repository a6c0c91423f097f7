/* See engine/toy_kind.h. */
#include "engine/toy_kind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/file.h"
#include "base/text.h"
#include "circuit/request.h"
#include "groth16/verify.h"

#define REQUEST_MAX ((size_t)256 << 20)
#define PUBLICS 2u
#define BITS_OF(constraints) ((constraints) / 8)
#define BLOCK_ROWS 32u

typedef struct toy_params {
    uint64_t constraints;
    bool blocks;
} toy_params;

typedef struct toy_partition {
    fr x0;
    bool unsatisfied;
    unsigned witness_ms;
} toy_partition;

typedef struct toy_job {
    uint64_t start;
    bool bad_check;
    uint64_t check_ms;
    toy_partition *partitions;
} toy_job;

static void sleep_ms(uint64_t ms) {
    struct timespec t = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

/* ---- circuit ---- */

static void enforce_product(cs *c, cs_var minus_a, cs_var b, cs_var out) {
    arena_mark mark = cs_save(c);
    cs_lc la, lb, lc;
    cs_lc_init(&la);
    cs_lc_init(&lb);
    cs_lc_init(&lc);
    cs_lc_sub_one(c, &la, minus_a);
    cs_lc_add_one(c, &lb, b);
    cs_lc_add_one(c, &lc, out);
    cs_enforce(c, &la, &lb, &lc);
    cs_release(c, mark);
}

static void enforce_bit(cs *c, cs_var bit) {
    arena_mark mark = cs_save(c);
    cs_lc a, b, out;
    cs_lc_init(&a);
    cs_lc_init(&b);
    cs_lc_init(&out);
    cs_lc_add_one(c, &a, CS_ONE);
    cs_lc_sub_one(c, &a, bit);
    cs_lc_add_one(c, &b, bit);
    cs_enforce(c, &a, &b, &out);
    cs_release(c, mark);
}

/* x' = -x x0 */
static void next(fr *x, const fr *x0) {
    fr_mul(x, x, x0);
    fr_neg(x, x);
}

/* Rows first … first + rows of a chain that begins anew at x0: bits, then the chain, public for the first results. */
static void chain(cs *c, const toy_partition *p, uint64_t bits, uint64_t rows, unsigned publics, bool spoil) {
    fr x0, x;
    fr_set_zero(&x0);
    if (p) x0 = p->x0;
    x = x0;
    cs_var first = cs_alloc(c, &x0), last = first;
    for (uint64_t i = 0; i < bits; i++) {
        cs_var bit = cs_alloc_bit(c, i % 2 == 0);
        if (c->structure) enforce_bit(c, bit);
    }
    for (uint64_t i = bits; i < rows; i++) {
        next(&x, &x0);
        fr value = x;
        if (spoil && i == rows - 1) fr_set_one(&value);
        cs_var v = i - bits < publics ? cs_input(c, &value) : cs_alloc(c, &value);
        if (c->structure) enforce_product(c, last, first, v);
        last = v;
    }
}

static void toy_synthesize(cs *c, const void *params, const void *instance) {
    const toy_params *k = params;
    const toy_partition *p = instance;
    if (p && c->values && p->witness_ms) sleep_ms(p->witness_ms);
    bool spoil = p && p->unsatisfied;
    if (!k->blocks) {
        chain(c, p, BITS_OF(k->constraints), k->constraints, PUBLICS, spoil);
        return;
    }
    uint32_t n = (uint32_t)(k->constraints / BLOCK_ROWS);
    for (uint32_t i = 0; i < n; i++) {
        if (cs_block_begin(c, i, n)) chain(c, p, BITS_OF(BLOCK_ROWS), BLOCK_ROWS, PUBLICS, spoil);
        cs_block_end(c);
    }
}

static const uint64_t sizes[] = {1u << 10, 1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15,
                                 1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 0};
static const char *const variants[] = {"", NULL};

static cuzk_status toy_open(circuit *c, uint64_t sector_bytes, const char *variant, cuzk_error *err) {
    (void)variant;
    toy_params *p = calloc(1, sizeof *p);
    if (!p) return cuzk_fail(err, CUZK_MEMORY, "no memory for a circuit's description");
    p->constraints = sector_bytes / 4;
    p->blocks = c->kind == &toy_lazy_kind;
    c->params = c->params_memory = p;
    c->partitions = 1;
    c->version = 1;
    snprintf(c->cache_identifier, sizeof c->cache_identifier, "%s-%llu", c->kind->name,
             (unsigned long long)sector_bytes);
    return CUZK_OK;
}

/* ---- job ---- */

static cuzk_status number(uint64_t *out, uint64_t otherwise, const json_node *top, const char *key, const char *name,
                          cuzk_error *err) {
    bool has;
    *out = otherwise;
    cuzk_status s = request_u64(&has, out, top, key, name, "$", err);
    if (!s && !has) *out = otherwise;
    return s;
}

static cuzk_status fill(job *j, toy_job *t, const json_node *top, const char *name, cuzk_error *err) {
    uint64_t partitions, witness_ms;
    if (number(&partitions, 1, top, "partitions", name, err)) return err->status;
    if (number(&t->start, 1, top, "start", name, err)) return err->status;
    if (number(&witness_ms, 0, top, "witness_ms", name, err)) return err->status;
    if (number(&t->check_ms, 0, top, "check_ms", name, err)) return err->status;
    if (!partitions || partitions > 4096) {
        cuzk_fail(err, CUZK_MALFORMED, "no such number of partitions");
        cuzk_fail_where(err, "%s: $.partitions", name);
        return cuzk_fail_expected(err, "1 to 4096");
    }
    const json_node *bad = json_member(top, "bad_check");
    t->bad_check = bad && bad->kind == JSON_TRUE;
    j->partitions = (unsigned)partitions;
    t->partitions = arena_alloc_array(j->memory, partitions, sizeof *t->partitions);
    if (!t->partitions) return cuzk_fail(err, CUZK_MEMORY, "no memory for partitions");
    for (uint64_t i = 0; i < partitions; i++) {
        fr_from_u64(&t->partitions[i].x0, t->start + i + 2);
        t->partitions[i].witness_ms = (unsigned)witness_ms;
    }
    const json_node *list = json_member(top, "unsatisfied");
    for (const json_node *n = list ? list->first : NULL; n; n = n->next) {
        uint64_t k;
        if (n->kind == JSON_NUMBER && text_u64(&k, n->text, n->len) && k < partitions) {
            t->partitions[k].unsatisfied = true;
        }
    }
    return CUZK_OK;
}

static cuzk_status open_as(const circuit_kind *kind, job *j, const job_files *files, cuzk_error *err) {
    source_text text;
    json_node *top;
    uint64_t bytes;
    toy_job *t = arena_alloc(j->memory, sizeof *t);
    if (!t) return cuzk_fail(err, CUZK_MEMORY, "no memory for a job");
    if (!source_given(&files->request)) return cuzk_fail(err, CUZK_USAGE, "no request is given");
    if (source_open(&text, &files->request, "request", SOURCE_ALONE, REQUEST_MAX, err)) return err->status;
    arena *scratch = arena_create(BUFFER_REQUEST, 0, err);
    cuzk_status s = scratch ? CUZK_OK : err->status;
    if (!s) s = request_parse(&top, scratch, text.name, text.data, text.bytes, REQUEST_MAX, err);
    if (!s) s = number(&bytes, 1024, top, "bytes", text.name, err);
    if (!s) s = circuit_open_kind(&j->circuit, kind, files->size_override ? files->size_override : bytes, "", err);
    if (!s) s = fill(j, t, top, text.name, err);
    j->data = t;
    arena_destroy(scratch);
    source_close(&text);
    return s;
}

static cuzk_status toy_job_open(job *j, const job_files *files, bool facts_only, cuzk_error *err) {
    (void)facts_only;
    return open_as(&toy_kind, j, files, err);
}

static cuzk_status toy_lazy_job_open(job *j, const job_files *files, bool facts_only, cuzk_error *err) {
    (void)facts_only;
    return open_as(&toy_lazy_kind, j, files, err);
}

static void check_tile(void *ctx, size_t tile, unsigned slot) {
    (void)ctx, (void)tile, (void)slot;
    sleep_ms(1);
}

static cuzk_status toy_check(const job *j, pool *p, const cuzk_control *control, cuzk_error *err) {
    const toy_job *t = j->data;
    (void)p; /* one tile after the other, so that it takes what it says */
    cuzk_status s = pool_run(NULL, control, "vanilla check", t->check_ms, check_tile, NULL, err);
    if (s || !t->bad_check) return s;
    cuzk_fail(err, CUZK_UNSATISFIED, "the vanilla proof is false");
    return cuzk_fail_where(err, "partition 0");
}

static size_t toy_public_count(const circuit *c) {
    const toy_params *k = c->params;
    return k->blocks ? PUBLICS * (k->constraints / BLOCK_ROWS) : PUBLICS;
}

static void publics_of(const circuit *c, const fr *x0, fr *out) {
    size_t n = toy_public_count(c);
    for (size_t i = 0; i < n; i++) {
        out[i] = i % PUBLICS ? out[i - 1] : *x0;
        next(&out[i], x0);
    }
}

static void toy_public_inputs(const job *j, unsigned partition, fr *out) {
    const toy_job *t = j->data;
    publics_of(&j->circuit, &t->partitions[partition].x0, out);
}

static const void *toy_instance(const job *j, unsigned partition) {
    const toy_job *t = j->data;
    return &t->partitions[partition];
}

static void toy_inspect(const job *j, json_out *o) {
    json_put_key(o, "partitions");
    json_put_u64(o, j->partitions);
}

#define KIND(name_, open_, lazy_)                                                                                      \
    {                                                                                                                  \
        .name = name_, .variants = variants, .sizes = sizes, .synthesize = toy_synthesize, .lazy_blocks = lazy_,       \
        .open = toy_open, .job_open = open_, .job_check = toy_check, .public_count = toy_public_count,                 \
        .public_inputs = toy_public_inputs, .instance = toy_instance, .inspect = toy_inspect,                          \
    }
const circuit_kind toy_kind = KIND("toy", toy_job_open, false);
const circuit_kind toy_lazy_kind = KIND("toy-lazy", toy_lazy_job_open, true);

/* ---- for tests ---- */

char *toy_request(uint64_t bytes, unsigned partitions, uint64_t start, int unsatisfied, unsigned witness_ms) {
    char *text, bad[32] = "";
    if (unsatisfied >= 0) snprintf(bad, sizeof bad, "%d", unsatisfied);
    if (asprintf(&text,
                 "{\"bytes\": %llu, \"partitions\": %u, \"start\": %llu, \"unsatisfied\": [%s], \"witness_ms\": %u}",
                 (unsigned long long)bytes, partitions, (unsigned long long)start, bad, witness_ms) < 0) {
        abort();
    }
    return text;
}

static _Noreturn void give_up(const cuzk_error *err) {
    fprintf(stderr, "toy: %s (%s)\n", err->what, err->where);
    exit(2);
}

bool toy_verify(const circuit_kind *kind, uint64_t bytes, unsigned partitions, uint64_t start, const uint8_t *proofs,
                size_t proof_bytes) {
    char folder[4096], name[288], path[4400];
    circuit c;
    cuzk_error err;
    verifying_key vk;
    if (proof_bytes != (size_t)partitions * PROOF_BYTES) return false;
    if (circuit_open_kind(&c, kind, bytes, "", &err)) give_up(&err);
    circuit_file_name(&c, "vk", name, sizeof name);
    if (file_cache_name(folder, sizeof folder, "dev-keys", &err)) give_up(&err);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (verifying_key_open(&vk, path, &err)) give_up(&err);
    size_t n = toy_public_count(&c);
    fr *inputs = calloc(n, sizeof *inputs);
    bool right = inputs != NULL;
    for (unsigned k = 0; k < partitions && right; k++) {
        groth16_proof proof;
        fr x0;
        fr_from_u64(&x0, start + k + 2);
        publics_of(&c, &x0, inputs);
        right = proof_read(&proof, proofs + (size_t)k * PROOF_BYTES, &err) == CUZK_OK &&
                groth16_verify(&vk, &proof, inputs, n, &err) == CUZK_OK;
    }
    free(inputs);
    verifying_key_free(&vk);
    circuit_close(&c);
    return right;
}
