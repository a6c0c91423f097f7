/* Values of gadgets: SHA-256, Poseidon, paths and sums give the right results and satisfy their own constraints, and
 * the fast path (values only, whole words) allocates exactly what the bit-by-bit path does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "base/hash.h"
#include "gadget/insert.h"
#include "gadget/merkle.h"
#include "gadget/mul.h"
#include "gadget/multi_eq.h"
#include "gadget/pack.h"
#include "gadget/poseidon.h"
#include "gadget/sha256.h"
#include "r1cs/shape.h"
#include "r1cs/witness.h"

static uint64_t seed;

static uint64_t next_random(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed * 0x2545f4914f6cdd1du;
}

static void random_element(fr *out) {
    fr_canon c;
    for (int i = 0; i < 4; i++) c.l[i] = next_random();
    c.l[3] &= UINT64_MAX >> 2;
    fr_from_canon(out, &c);
}

/* Runs a circuit with every constraint checked, and again by recorder and witness writer; the values must be equal. */
static void both_ways(cs_circuit f, const void *params, const void *instance) {
    cs_checked slow;
    shape *s;
    witness w;
    cuzk_error err;
    assert_int_equal(cs_check(&slow, f, params, instance, &err), CUZK_OK);
    if (slow.first_bad != UINT64_MAX) {
        fprintf(stderr, "constraint %llu fails: %s\n", (unsigned long long)slow.first_bad, slow.path);
        fail();
    }
    assert_int_equal(shape_record(&s, f, params, NULL, &err), CUZK_OK);
    assert_int_equal(witness_write(&w, s, f, params, instance, &err), CUZK_OK);
    assert_int_equal(w.n_aux, slow.n_aux);
    assert_int_equal(w.n_inputs, slow.n_inputs);
    for (uint64_t i = 0; i < slow.n_aux; i++) {
        fr_canon fast, want;
        witness_expand(&w, s, i, 1, &fast);
        fr_to_canon(&want, &slow.aux[i]);
        if (memcmp(&fast, &want, sizeof fast) != 0) {
            fprintf(stderr, "aux %llu differs\n", (unsigned long long)i);
            fail();
        }
    }
    for (uint64_t i = 0; i < slow.n_inputs; i++) assert_true(fr_eq(&w.inputs[i], &slow.inputs[i]));
    witness_free(&w);
    shape_destroy(s);
    free(slow.inputs);
    free(slow.aux);
}

/* ---- words of every mixture of kinds ---- */

typedef struct word_plan {
    uint32_t constant[4], constant_value[4], negated[4];
} word_plan;
typedef struct word_values {
    uint32_t value[4]; /* of the variables */
} word_values;

static uint32_t known(const cs *c, const word *w) {
    return c->values ? w->value : 0;
}

static void word_circuit(cs *c, const void *params, const void *instance) {
    const word_plan *p = params;
    const word_values *v = instance;
    word w[4], r;
    uint32_t x[4];
    for (int i = 0; i < 4; i++) {
        word_alloc(c, &w[i], 1, c->values ? &v->value[i] : NULL);
        for (unsigned b = 0; b < 32; b++) {
            boolean bit = word_bit(&w[i], b);
            if ((p->negated[i] >> b & 1) != 0) bit = boolean_not(bit);
            if ((p->constant[i] >> b & 1) != 0) bit = boolean_const((p->constant_value[i] >> b & 1) != 0);
            word_set_bit(&w[i], b, bit);
        }
        x[i] = known(c, &w[i]);
    }
    word_xor(c, &r, &w[0], &w[1]);
    if (c->values) assert_int_equal(r.value, x[0] ^ x[1]);
    word_ch(c, &r, &w[0], &w[1], &w[2]);
    if (c->values) assert_int_equal(r.value, (x[0] & x[1]) ^ (~x[0] & x[2]));
    word_maj(c, &r, &w[0], &w[1], &w[2]);
    if (c->values) assert_int_equal(r.value, (x[0] & x[1]) ^ (x[0] & x[2]) ^ (x[1] & x[2]));
    word_rotr(c, &r, &w[3], 11);
    if (c->values) assert_int_equal(r.value, x[3] >> 11 | x[3] << 21);
    word_xor(c, &r, &r, &w[2]);
    word_shr(c, &w[1], &w[3], 10);
    word_xor(c, &r, &r, &w[1]);
    if (c->values) assert_int_equal(r.value, (x[3] >> 11 | x[3] << 21) ^ x[2] ^ (x[3] >> 10));
    multi_eq m;
    multi_eq_begin(&m, c);
    for (int i = 0; i < 20; i++) {
        const word *ops[10] = {&w[0], &r, &w[1], &w[2], &w[3], &w[0], &w[1], &w[2], &w[3], &r};
        unsigned n = 2 + (unsigned)(i * 7) % 9;
        uint32_t sum = 0;
        for (unsigned j = 0; j < n; j++) sum += ops[j]->value;
        multi_eq_add(&m, &r, ops, n);
        if (c->values) assert_int_equal(r.value, sum);
    }
    multi_eq_end(&m);
    word_swap_bytes(c, &w[0], &r);
    if (c->values) assert_int_equal(w[0].value, __builtin_bswap32(r.value));
}

static void words(void **state) {
    (void)state;
    for (unsigned turn = 0; turn < 60; turn++) {
        word_plan p = {{0}, {0}, {0}};
        word_values v;
        for (unsigned i = 0; i < 4; i++) {
            v.value[i] = (uint32_t)next_random();
            /* No, few, half, and nearly all bits constant; the same for negations. */
            uint32_t a = (uint32_t)next_random(), b = (uint32_t)next_random(), d = (uint32_t)next_random();
            unsigned constants = turn % 5, negations = turn / 5 % 3;
            const uint32_t choice[5] = {0, a & b & d, a, a | b, i == turn % 4 ? UINT32_MAX : 0};
            p.constant[i] = choice[constants];
            p.constant_value[i] = (uint32_t)next_random();
            p.negated[i] = negations == 0 ? 0 : negations == 1 ? b : UINT32_MAX;
        }
        both_ways(word_circuit, &p, &v);
    }
}

/* ---- single bits, all kinds ---- */

static void boolean_circuit(cs *c, const void *params, const void *instance) {
    const uint64_t *values = instance;
    unsigned at = 0;
    (void)params;
    for (unsigned kinds = 0; kinds < 64; kinds++) { /* four kinds each: const 0, const 1, is, not */
        boolean b[3];
        for (int i = 0; i < 3; i++) {
            unsigned kind = kinds >> (2 * i) & 3;
            bool v = c->values && (values[at / 64] >> at % 64 & 1) != 0;
            at++;
            b[i] = kind < 2 ? boolean_const(kind == 1) : boolean_alloc(c, v);
            if (kind == 3) b[i] = boolean_not(b[i]);
        }
        bool x = b[0].value, y = b[1].value, z = b[2].value;
        boolean r[5] = {boolean_xor(c, b[0], b[1]), boolean_and(c, b[0], b[1]), boolean_nor(c, b[0], b[1]),
                        boolean_ch(c, b[0], b[1], b[2]), boolean_maj(c, b[0], b[1], b[2])};
        if (!c->values) continue;
        assert_int_equal(r[0].value, x != y);
        assert_int_equal(r[1].value, x && y);
        assert_int_equal(r[2].value, !x && !y);
        assert_int_equal(r[3].value, x ? y : z);
        assert_int_equal(r[4].value, x + y + z >= 2);
    }
}

static void booleans(void **state) {
    (void)state;
    for (int turn = 0; turn < 16; turn++) {
        uint64_t values[4];
        for (int i = 0; i < 4; i++) values[i] = next_random();
        both_ways(boolean_circuit, NULL, values);
    }
}

/* ---- SHA-256 ---- */

typedef struct sha_plan {
    unsigned words;
    uint32_t constant; /* every word whose number mod 4 is a set bit is constant */
} sha_plan;

static void sha_circuit(cs *c, const void *params, const void *instance) {
    const sha_plan *p = params;
    const uint32_t *message = instance;
    word w[64], out[8];
    const word *at[64];
    uint8_t bytes[256], want[32];
    for (unsigned i = 0; i < p->words; i++) {
        if ((p->constant >> (i % 4) & 1) != 0)
            word_set_const(&w[i], i * 0x01234567u);
        else
            word_alloc(c, &w[i], 1, c->values ? &message[i] : NULL);
        at[i] = &w[i];
    }
    sha256_circuit(c, out, at, p->words);
    if (!c->values) return;
    for (unsigned i = 0; i < p->words; i++) {
        for (int b = 0; b < 4; b++) bytes[4 * i + (unsigned)b] = (uint8_t)(w[i].value >> (24 - 8 * b));
    }
    hash_sha256(want, bytes, 4 * (size_t)p->words);
    for (unsigned i = 0; i < 32; i++) assert_int_equal(want[i], out[i / 4].value >> (24 - 8 * (i % 4)) & 0xff);
}

static void sha256_values(void **state) {
    (void)state;
    static const sha_plan plans[] = {{0, 0}, {1, 0}, {13, 0}, {14, 0}, {16, 0}, {39, 0}, {16, 5}, {30, 2}, {20, 15}};
    uint32_t message[64];
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        for (int j = 0; j < 64; j++) message[j] = (uint32_t)next_random();
        if (plans[i].words == 0 || plans[i].constant == 15) { /* constants alone: nothing to allocate */
            cs_counts n;
            cuzk_error err;
            assert_int_equal(cs_count(&n, sha_circuit, &plans[i], &err), CUZK_OK);
            assert_int_equal(n.aux, 0);
            assert_int_equal(n.constraints, 0);
        } else {
            both_ways(sha_circuit, &plans[i], message);
        }
    }
}

/* ---- nums ---- */

static void num_circuit(cs *c, const void *params, const void *instance) {
    const fr *v = instance;
    word bits[8];
    (void)params;
    num x = num_alloc(c, c->values ? &v[0] : NULL), y = num_alloc(c, c->values ? &v[1] : NULL);
    num_inputize(c, &x);
    num s = num_mul(c, &x, &x), t = num_sum(c, &s, &y);
    boolean yes = boolean_alloc(c, true), no = boolean_alloc(c, false);
    num a = num_pick(c, yes, &x, &y), b = num_pick(c, no, &x, &y), d = num_pick(c, boolean_not(yes), &x, &y);
    num_to_bits_packed(c, bits, &t);
    num_to_bits(c, bits, &y);
    num e = pack_words(c, bits); /* y, when it has 254 bits */
    num_equal(c, &e, &y);
    num in[2] = {x, y}, h = poseidon_circuit(c, poseidon_get(2), in);
    boolean loose[255];
    for (unsigned i = 0; i < 255; i++) loose[i] = word_bit(&bits[i / 32], i % 32);
    pack_into_inputs(c, loose, 255); /* two inputs */
    if (!c->values) return;
    fr want;
    fr_sqr(&want, &v[0]);
    fr_add(&want, &want, &v[1]);
    assert_true(fr_eq(&t.value, &want));
    assert_true(fr_eq(&a.value, &v[0]) && fr_eq(&b.value, &v[1]) && fr_eq(&d.value, &v[1]));
    assert_true(fr_eq(&e.value, &v[1]));
    poseidon_hash(poseidon_get(2), &want, v);
    assert_true(fr_eq(&h.value, &want));
}

static void nums(void **state) {
    (void)state;
    for (int turn = 0; turn < 5; turn++) {
        fr v[2];
        random_element(&v[0]);
        random_element(&v[1]);
        if (turn == 0) fr_set_zero(&v[0]);
        if (turn == 1) fr_neg(&v[0], &v[1]);
        both_ways(num_circuit, NULL, v);
    }
}

typedef struct insert_values {
    unsigned position;
    fr element[8];
} insert_values;

static void insert_circuit(cs *c, const void *params, const void *instance) {
    const insert_values *v = instance;
    unsigned arity = *(const unsigned *)params, k = 0;
    num siblings[7], out[8];
    boolean bits[3];
    for (unsigned i = 0; i < arity; i++) {
        if (c->values && i == v->position) continue;
        if (k < arity - 1) siblings[k++] = num_alloc(c, c->values ? &v->element[i] : NULL);
    }
    num x = num_alloc(c, c->values ? &v->element[v->position] : NULL);
    for (unsigned i = 0; (1u << i) < arity; i++) bits[i] = boolean_alloc(c, c->values && (v->position >> i & 1) != 0);
    insert_num(c, out, arity, &x, bits, siblings);
    for (unsigned i = 0; c->values && i < arity; i++) assert_true(fr_eq(&out[i].value, &v->element[i]));
}

static void insertions(void **state) {
    (void)state;
    for (unsigned arity = 2; arity <= 8; arity *= 2) {
        insert_values v;
        for (int i = 0; i < 8; i++) random_element(&v.element[i]);
        for (v.position = 0; v.position < arity; v.position++) both_ways(insert_circuit, &arity, &v);
    }
}

/* ---- Merkle paths ---- */

static void inclusion(cs *c, const void *params, const void *instance) {
    merkle_inclusion_alone(c, params, instance, true);
}

static void random_path(const merkle_form *f, merkle_path *p, merkle_level *levels, fr *siblings) {
    random_element(&p->leaf);
    p->level = levels;
    for (unsigned i = 0; i < f->levels; i++) {
        levels[i].index = (uint32_t)(next_random() % f->arity[i]);
        levels[i].siblings = siblings;
        for (unsigned j = 0; j + 1 < f->arity[i]; j++) random_element(siblings++);
    }
    merkle_path_root(f, p, &p->root);
}

static void paths(void **state) {
    (void)state;
    static const struct {
        unsigned nodes, u, v, w;
    } forms[] = {{64, 2, 0, 0}, {64, 4, 0, 0}, {64, 8, 0, 0}, {512, 8, 4, 2}, {0, 0, 0, 0}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        merkle_form f;
        merkle_path p;
        merkle_level levels[MERKLE_MAX_LEVELS];
        fr siblings[7 * MERKLE_MAX_LEVELS];
        if (forms[i].nodes != 0)
            assert_true(merkle_form_poseidon(&f, forms[i].nodes, forms[i].u, forms[i].v, forms[i].w));
        else
            merkle_form_sha256(&f, 16);
        random_path(&f, &p, levels, siblings);
        both_ways(inclusion, &f, &p);
        /* The position is the first public input, the root the second; a wrong root is noticed. */
        cs_checked k;
        cuzk_error err;
        fr index, one;
        assert_int_equal(cs_check(&k, inclusion, &f, &p, &err), CUZK_OK);
        fr_from_u64(&index, merkle_path_index(&f, &p));
        assert_int_equal(k.n_inputs, 3);
        assert_true(fr_eq(&k.inputs[1], &index));
        assert_true(fr_eq(&k.inputs[2], &p.root));
        free(k.inputs);
        free(k.aux);
        fr_set_one(&one);
        fr_add(&p.root, &p.root, &one);
        assert_int_equal(cs_check(&k, inclusion, &f, &p, &err), CUZK_OK);
        assert_true(k.first_bad != UINT64_MAX);
        free(k.inputs);
        free(k.aux);
    }
}

static void forms(void **state) {
    (void)state;
    merkle_form f;
    assert_false(merkle_form_poseidon(&f, 64, 3, 0, 0));
    assert_false(merkle_form_poseidon(&f, 64, 8, 3, 0));
    assert_false(merkle_form_poseidon(&f, 64, 8, 0, 2));
    assert_false(merkle_form_poseidon(&f, 128, 8, 0, 0));
    assert_false(merkle_form_poseidon(&f, 8, 8, 8, 0));
    assert_false(merkle_form_poseidon(&f, 0, 8, 0, 0));
    assert_true(merkle_form_poseidon(&f, (uint64_t)1 << 31, 8, 8, 2));
    assert_int_equal(f.levels, 11);
}

int main(void) {
    seed = (uint64_t)time(NULL) | 1;
    print_message("seed %llu\n", (unsigned long long)seed);
    const struct CMUnitTest tests[] = {cmocka_unit_test(words),         cmocka_unit_test(booleans),
                                       cmocka_unit_test(sha256_values), cmocka_unit_test(nums),
                                       cmocka_unit_test(insertions),    cmocka_unit_test(paths),
                                       cmocka_unit_test(forms)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
