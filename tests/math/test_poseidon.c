/* Poseidon: constants and hashes against published vectors; trace against a slow twin on dense matrices.
 *
 * Sources: the hash vectors in the tests of neptune 11; digests of the constants that give them. */
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
#include "math/kernels.h"
#include "math/poseidon.h"

static const unsigned arities[4] = {2, 4, 8, 11};

static void hex_of(char out[65], const uint8_t bytes[32]) {
    for (int i = 0; i < 32; i++) snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

static void assert_element(const fr *v, const char *hex) {
    uint8_t bytes[32];
    char text[65];
    fr_to_be_bytes(bytes, v);
    hex_of(text, bytes);
    assert_string_equal(text, hex);
}

static void assert_digest(const fr *v, size_t n, const char *hex) {
    uint8_t *bytes = malloc(32 * n), digest[32];
    char text[65];
    assert_non_null(bytes);
    for (size_t i = 0; i < n; i++) fr_to_le_bytes(bytes + 32 * i, &v[i]);
    hash_sha256(digest, bytes, 32 * n);
    hex_of(text, digest);
    free(bytes);
    assert_string_equal(text, hex);
}

static void constants_match(void **state) {
    (void)state;
    static const struct {
        const char *first, *last, *compressed, *pre_sparse, *sparse;
        unsigned partial;
    } want[4] = {
        {"669f064bfa3ae17a23bd51861dbb4a24501eac92a2758b36a7320a009d6ed3d8",
         "1c84e3e9450113a4b5489decd8dcc8b25f057797f37899354931a0eea88d7d5d",
         "b768b730ce5198394d948d76421ab53b08cc16ec1ac082cf503f370192253e16",
         "13d6e8e5ba45b0d2096617d055499f36adad1aab6853de143ed42b14eea9a0f6",
         "a2fe507a83bddb8d57e5a00e7e58e79800c272b0db7dd4141943f6e567e99138", 55},
        {"45c919736a0e5f2ef32c4c7d0a338eb1fed3d9e317b7580921072285c7e215ca",
         "107d3b9de9f95ada46df77005c3abfdbee812882bbb35c09d296572c2af30e2d",
         "3e4ec19ded2c86a89f3d6bddc13d9571a0cc5473e7207cfbaf6a8169a69f5709",
         "aee67dfb1ae8c43eca89f5742a745c6309f2d302ab741b75d2641b7025d87413",
         "f1c3c3a9fe9ea4a3c38c91971e5f379da38123fe1dcf960b461d84c5ba759f2b", 56},
        {"6ce90d12c4045fe08c3caddb776dd84ac52b4ae7e48cd49443984154f2f4c2f9",
         "1ef936f03c337433c2e5f3570555397ed790517b32bebaa823ab1c9d7f374cb3",
         "f5a94aea73a583d080abdf7d71259fab9107f5523a4a1eddc41468f94564dd16",
         "dcfbdaea3eb7e347664c8f881c5443b1895f10c85cab0878022eb287defa8587",
         "3f823785875d8cc161c963d2a62d103a3fefab30eb4244cef877d8e624fb79f4", 57},
        {"1f6c9576e648b5047399bfc5f38902e0d506f18e0f3ab77de6de096bd089bce4",
         "09bb1cbe3152cbfb7eaccdd4be6a977e2b4985915f147b902f7c73bf6b0e4ca1",
         "2d7c0e4e9b98eda82102b69f1a964ae59ccf98b0008b6d3d632d86f4fea79d1d",
         "f2a7353f0ce5ad724a7a58bf2db0e37f7c5662f064a6c97466021af83279a96e",
         "810a4d7f126f6e5fb3eb1980b57c70f90bb835219373d955726e30b3ca931556", 57},
    };
    for (int i = 0; i < 4; i++) {
        const poseidon_constants *k = poseidon_get(arities[i]);
        unsigned t = k->width;
        assert_int_equal(t, arities[i] + 1);
        assert_int_equal(k->partial_rounds, want[i].partial);
        assert_int_equal(k->n_compressed, 8 * t + want[i].partial);
        assert_element(&k->compressed[0], want[i].first);
        assert_element(&k->compressed[k->n_compressed - 1], want[i].last);
        assert_digest(k->compressed, k->n_compressed, want[i].compressed);
        assert_digest(k->pre_sparse, (size_t)t * t, want[i].pre_sparse);
        assert_digest(k->sparse, (size_t)k->partial_rounds * (2 * t - 1), want[i].sparse);
        assert_ptr_equal(k, poseidon_get(arities[i]));
    }
}

static void counting(fr *out, unsigned n) {
    for (unsigned i = 0; i < n; i++) fr_from_u64(&out[i], i);
}

static void hashes_match(void **state) {
    (void)state;
    static const char *const want[4] = {"396508d75e76a56b739e0fd902efe161a6fba9339d05a69d2e203c369a02e7ff",
                                        "58a54b10a9e5848a00db3c6579229399fb6b4605bf1327ec019814ff6662075d",
                                        "2394611da3a5de5512010042116770774b682e9d9cc4aed92a9934f56d38a5e6",
                                        "0c0fc1b2e5227f286ca537e232ebe87a09f3dcd8ccb08fc1cee3bbc32b693163"};
    fr in[11], h, pair[2], swapped[2];
    for (int i = 0; i < 4; i++) {
        counting(in, arities[i]);
        poseidon_hash(poseidon_get(arities[i]), &h, in);
        assert_element(&h, want[i]);
    }
    counting(in, 2);
    swapped[0] = in[1];
    swapped[1] = in[0];
    poseidon_hash(poseidon_get(2), &pair[0], swapped);
    assert_element(&pair[0], "042f94ffbe786bc393c003cc74a24f26ec5907b3dc3094afb339ff6079800b5e");
    poseidon_hash(poseidon_get(2), &pair[1], in);
    poseidon_hash(poseidon_get(2), &h, pair);
    assert_element(&h, "1effebb7b26ad9eb30eb6385ae6b74ae77cc72b8cb2b5ad2efbb8be3e291e671");
}

/* The same permutation with every sparse matrix written out densely and plain products. */
static void slow_hash(const poseidon_constants *k, fr *out, const fr *in) {
    unsigned t = k->width, mix = 0, next = t;
    fr s[65], n[65], *dense = calloc((size_t)t * t, sizeof *dense), p;
    assert_non_null(dense);
    for (unsigned i = 0; i < t; i++) fr_add(&s[i], i == 0 ? &k->domain_tag : &in[i - 1], &k->compressed[i]);
    for (unsigned round = 0; round < 8 + k->partial_rounds; round++) {
        bool full = round < 4 || round >= 4 + k->partial_rounds, last = round == 7 + k->partial_rounds;
        for (unsigned i = 0; i < (full ? t : 1); i++) {
            static const uint64_t five[1] = {5};
            fr_pow(&s[i], &s[i], five, 1);
            if (!last) fr_add(&s[i], &s[i], &k->compressed[next++]);
        }
        const fr *m = mix == 3 ? k->pre_sparse : k->mds;
        if (mix >= 4 && mix < 4 + k->partial_rounds) {
            const fr *sp = k->sparse + (size_t)(mix - 4) * (2 * t - 1);
            memset(dense, 0, (size_t)t * t * sizeof *dense);
            for (unsigned i = 0; i < t; i++) {
                if (i > 0) fr_set_one(&dense[i * t + i]);
                dense[i * t] = sp[i];
                if (i > 0) dense[i] = sp[t + i - 1];
            }
            m = dense;
        }
        for (unsigned j = 0; j < t; j++) {
            fr_set_zero(&n[j]);
            for (unsigned i = 0; i < t; i++) {
                fr_mul(&p, &s[i], &m[i * t + j]);
                fr_add(&n[j], &n[j], &p);
            }
        }
        memcpy(s, n, t * sizeof *s);
        mix++;
    }
    free(dense);
    assert_int_equal(next, k->n_compressed);
    *out = s[1];
}

static void random_element(fr *out, uint64_t *seed) {
    uint8_t b[32];
    for (int i = 0; i < 32; i++) {
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        b[i] = (uint8_t)(*seed >> 56);
    }
    b[31] &= 0x3f;
    assert_true(fr_from_le_bytes(out, b));
}

static void twin_agrees(void **state) {
    (void)state;
    static const unsigned all[] = {1, 2, 3, 4, 5, 8, 11, 16, 24, 36};
    uint64_t seed = (uint64_t)time(NULL);
    print_message("seed %llu\n", (unsigned long long)seed);
    for (size_t a = 0; a < sizeof all / sizeof *all; a++) {
        const poseidon_constants *k = poseidon_get(all[a]);
        for (int turn = 0; turn < 4; turn++) {
            fr in[64], want, h, *trace = calloc(poseidon_trace_len(k), sizeof *trace);
            assert_non_null(trace);
            for (unsigned i = 0; i < k->arity; i++) random_element(&in[i], &seed);
            if (turn == 0) { /* the largest values fill the accumulator most */
                for (unsigned i = 0; i < k->arity; i++) {
                    fr_set_one(&in[i]);
                    fr_neg(&in[i], &in[i]);
                }
            }
            slow_hash(k, &want, in);
            poseidon_hash(k, &h, in);
            poseidon_trace(k, trace, in);
            assert_true(fr_eq(&h, &want));
            assert_true(fr_eq(&trace[poseidon_trace_len(k) - 1], &want));
            free(trace);
        }
    }
}

static void trace_lengths(void **state) {
    (void)state;
    static const unsigned want[4] = {311, 377, 505, 598};
    for (int i = 0; i < 4; i++) assert_int_equal(poseidon_trace_len(poseidon_get(arities[i])), want[i]);
}

static void other_tag(void **state) {
    (void)state;
    poseidon_constants k = *poseidon_get(2);
    fr in[2], a, b, slow;
    counting(in, 2);
    poseidon_hash(&k, &a, in);
    fr_from_u64(&k.domain_tag, (uint64_t)1 << 40);
    poseidon_hash(&k, &b, in);
    slow_hash(&k, &slow, in);
    assert_false(fr_eq(&a, &b));
    assert_true(fr_eq(&b, &slow));
}

/* Every CPU version in turn. */
static void each_version(void (*test)(void **), void **state) {
    size_t n;
    const struct math_kernels *const *all = math_kernels_all(&n);
    for (size_t i = 0; i < n; i++) {
        print_message("%s\n", all[i]->isa);
        math_kernels_use(all[i]);
        test(state);
    }
    math_kernels_use(NULL);
}

static void hashes_match_all(void **state) {
    each_version(hashes_match, state);
}
static void twin_agrees_all(void **state) {
    each_version(twin_agrees, state);
}
static void other_tag_all(void **state) {
    each_version(other_tag, state);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(constants_match), cmocka_unit_test(hashes_match_all),
                                       cmocka_unit_test(twin_agrees_all), cmocka_unit_test(trace_lengths),
                                       cmocka_unit_test(other_tag_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
