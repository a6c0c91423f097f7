/* The structure digest of a constraint system.
 *
 * BLAKE2s-256 over: number of inputs (with ONE), of aux variables, of constraints; then for each constraint A, B and C,
 * each as the number of its non-zero terms and the terms, inputs first, then aux, ascending: letter 'I' or 'A', index,
 * coefficient. Numbers are 64-bit big-endian, coefficients 32 bytes big-endian. The constraints on the inputs that key
 * making appends are not part of it. Equal digests mean equal structure and coefficients. This is what bellpepper-core
 * 0.2's test constraint system computes, so its published digests can be compared.
 *
 * A circuit has to be run twice: the number of constraints comes first.
 */
#include "r1cs/digest.h"

#include "r1cs/interpreter.h"

cuzk_status digest_start(digest_stream *d, uint64_t inputs, uint64_t aux, uint64_t constraints,
                         cs_checkpoint checkpoint, void *user, cuzk_error *err) {
    *d = (digest_stream){.checkpoint = checkpoint, .user = user};
    cuzk_status s = buffer_alloc(&d->memory, BUFFER_OTHER, DIGEST_BUFFER, err);
    if (s != CUZK_OK) return s;
    d->bytes = d->memory.data;
    d->whole = hash_create(HASH_BLAKE2S256);
    if (checkpoint != NULL) d->run = hash_create(HASH_BLAKE2S256);
    uint8_t head[24];
    digest_be64(head, inputs);
    digest_be64(head + 8, aux);
    digest_be64(head + 16, constraints);
    hash_update(d->whole, head, sizeof head);
    return CUZK_OK;
}

void digest_flush(digest_stream *d) {
    hash_update(d->whole, d->bytes, d->used);
    if (d->run != NULL) hash_update(d->run, d->bytes, d->used);
    d->used = 0;
}

static void end_run(digest_stream *d) {
    uint8_t digest[32];
    digest_flush(d);
    hash_final(d->run, digest);
    hash_reset(d->run);
    d->checkpoint(d->user, d->runs++, digest);
}

void digest_row_done(digest_stream *d) {
    d->rows++;
    if (d->run != NULL && d->rows % DIGEST_RUN == 0) end_run(d);
}

void digest_end(digest_stream *d, uint8_t out[32]) {
    if (out != NULL) {
        if (d->run != NULL && d->rows % DIGEST_RUN != 0) end_run(d);
        digest_flush(d);
        hash_final(d->whole, out);
    }
    hash_destroy(d->whole);
    hash_destroy(d->run);
    buffer_free(&d->memory);
}

typedef struct hasher {
    cs base;
    lc_sorter sorter;
    digest_stream stream;
    bool counting; /* the first run */
} hasher;

static void hasher_enforce(cs *c, const cs_lc *a, const cs_lc *b, const cs_lc *lc_c) {
    hasher *h = (hasher *)c;
    const cs_lc *lcs[3] = {a, b, lc_c};
    c->constraints++;
    if (h->counting || c->status != CUZK_OK) return;
    for (int m = 0; m < 3; m++) {
        lc_normal n = lc_sorter_run(&h->sorter, c, lcs[m]);
        digest_length(&h->stream, n.len);
        for (uint32_t i = 0; i < n.len; i++) {
            uint8_t be[32] = {0};
            if (fr_is_one(&n.terms[i].coeff))
                be[31] = 1;
            else
                fr_to_be_bytes(be, &n.terms[i].coeff);
            digest_term(&h->stream, n.terms[i].var, be);
        }
    }
    digest_row_done(&h->stream);
}

cuzk_status cs_hash(uint8_t out[32], cs_circuit f, const void *params, cs_checkpoint checkpoint, void *user,
                    cuzk_error *err) {
    static const cs_ops ops = {interpreter_alloc, interpreter_alloc_bits,  interpreter_input,
                               hasher_enforce,    interpreter_block_begin, interpreter_block_end};
    hasher h = {.counting = true};
    cuzk_status s = interpreter_start(&h.base, &ops, false, true, err);
    if (s != CUZK_OK) return s;
    f(&h.base, params, NULL);
    uint64_t constraints = h.base.constraints;
    uint32_t inputs = h.base.inputs, aux = h.base.aux;
    if ((s = interpreter_end(&h.base)) != CUZK_OK) return s;

    h.counting = false;
    if ((s = digest_start(&h.stream, inputs, aux, constraints, checkpoint, user, err)) != CUZK_OK) return s;
    if ((s = interpreter_start(&h.base, &ops, false, true, err)) != CUZK_OK) {
        digest_end(&h.stream, NULL);
        return s;
    }
    f(&h.base, params, NULL);
    bool same = h.base.constraints == constraints && h.base.inputs == inputs && h.base.aux == aux;
    s = interpreter_end(&h.base);
    if (s == CUZK_OK && !same) s = cuzk_fail(err, CUZK_INTERNAL, "the circuit was not the same when run twice");
    digest_end(&h.stream, s == CUZK_OK ? out : NULL);
    lc_sorter_free(&h.sorter);
    return s;
}
