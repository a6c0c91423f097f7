/* Self test of hashes, circuits and Groth16 as a whole; see api/selftest.h.
 *
 * The Groth16 part makes a key for x^3 + x + 5 = out in a temporary folder, reads its points back without the cache
 * folder, and proves and verifies x = 3. Sources: FIPS 180-4 and RFC 7693 examples; structure digests of the reference
 * implementation.
 */
#include "api/selftest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"
#include "base/hash.h"
#include "base/serial.h"
#include "base/text.h"
#include "gadget/poseidon.h"
#include "gadget/sha256.h"
#include "groth16/setup.h"

static bool is_hex(const uint8_t *data, size_t n, const char *hex) {
    uint8_t want[64];
    return text_unhex(want, n, hex, 2 * n) && !memcmp(want, data, n);
}

const char *selftest_hashes(const selftest_env *env) {
    (void)env;
    uint8_t d[64];
    hash_sha256(d, "abc", 3);
    if (!is_hex(d, 32, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")) return "SHA-256 is wrong";
    hash_blake2s256(d, "abc", 3);
    if (!is_hex(d, 32, "508c5e8c327c14e2e1a72ba34eeb452f37458b209ed63a294d999b4c86675982")) return "BLAKE2s is wrong";
    hash_blake2b512(d, "abc", 3);
    if (!is_hex(d, 64,
                "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
                "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923")) {
        return "BLAKE2b is wrong";
    }
    return NULL;
}

/* ---- structure of two gadgets ---- */

static void poseidon_alone(cs *c, const void *params, const void *instance) {
    const poseidon_constants *k = params;
    num in[8];
    (void)instance;
    for (unsigned i = 0; i < k->arity; i++) in[i] = num_alloc(c, NULL);
    poseidon_circuit(c, k, in);
}

static void sha256_node_alone(cs *c, const void *params, const void *instance) {
    num in[2];
    (void)params, (void)instance;
    for (unsigned i = 0; i < 2; i++) in[i] = num_alloc(c, NULL);
    sha256_nums_circuit(c, in, 2);
}

const char *selftest_gadget(const selftest_env *env) {
    (void)env;
    uint8_t digest[32];
    cuzk_error err;
    if (cs_hash(digest, poseidon_alone, poseidon_get(8), NULL, NULL, &err)) return "a circuit cannot be hashed";
    if (!is_hex(digest, 32, "ab50aeda63344f7125999ef5c4af7777380b9015ec82ad48bac2213e9353b163")) {
        return "the Poseidon gadget has another structure";
    }
    if (cs_hash(digest, sha256_node_alone, NULL, NULL, NULL, &err)) return "a circuit cannot be hashed";
    if (!is_hex(digest, 32, "17fd4b5ddd5b8fe8759308f1b1b019e3a9e00d179d227b5e64580e48a233b91e")) {
        return "the SHA-256 gadget has another structure";
    }
    return NULL;
}

/* ---- structure of each kind of circuit ---- */

const char *selftest_circuits(const selftest_env *env) {
    static const struct {
        const char *kind, *digest, *fault;
    } known[] = {
        {"porep", "2c120b1125bd531d5a62b11932b2ae0e0cb47f455cea582994f97534e296bb42", "porep has another structure"},
        {"winning-post", "ce8079a9875ac8fafc46902e0e2368fa997e7f2ffb2065d2666ef92bc3ca2f67",
         "winning-post has another structure"},
        {"window-post", "14279e1c38053fa35eab6f56dbf1c5ef337b533f2c42fd3d7b4e7a116796b331",
         "window-post has another structure"},
        {"snap", "c787aea9329f4525b3bcde14533b9b775654f6a9afe0a7c671783c8bd4f1f7a5", "snap has another structure"},
    };
    uint8_t digest[32];
    cuzk_error err;
    (void)env;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        cuzk_circuit *h;
        if (cuzk_circuit_open(&h, known[i].kind, 2048, NULL, &err)) return "a kind of circuit is missing";
        const circuit *c = h->c;
        cuzk_status s = cs_hash(digest, c->kind->synthesize, c->params, NULL, NULL, &err);
        cuzk_circuit_close(h);
        if (s) return "a circuit cannot be hashed";
        if (!is_hex(digest, 32, known[i].digest)) return known[i].fault;
    }
    return NULL;
}

/* ---- a whole proof ---- */

/* x^2 = s, s x = t, (t + x + 5) 1 = out; instance: x. */
static void cubic(cs *c, const void *params, const void *instance) {
    fr x = {{0}}, s = x, t = x, out = x, five;
    (void)params;
    if (c->values) {
        x = *(const fr *)instance;
        fr_from_u64(&five, 5);
        fr_sqr(&s, &x);
        fr_mul(&t, &s, &x);
        fr_add(&out, &t, &x);
        fr_add(&out, &out, &five);
    }
    cs_var vo = cs_input(c, &out), vx = cs_alloc(c, &x), vs = cs_alloc(c, &s), vt = cs_alloc(c, &t);
    if (!c->structure) return;
    const cs_var rows[2][3] = {{vx, vx, vs}, {vs, vx, vt}};
    for (int i = 0; i < 2; i++) {
        cs_lc lc[3];
        for (int k = 0; k < 3; k++) {
            cs_lc_init(&lc[k]);
            cs_lc_add_one(c, &lc[k], rows[i][k]);
        }
        cs_enforce(c, &lc[0], &lc[1], &lc[2]);
    }
    cs_lc a, b, d;
    cs_lc_init(&a);
    cs_lc_init(&b);
    cs_lc_init(&d);
    cs_lc_add_one(c, &a, vt);
    cs_lc_add_one(c, &a, vx);
    cs_lc_add_u64(c, &a, 5, CS_ONE);
    cs_lc_add_one(c, &b, CS_ONE);
    cs_lc_add_one(c, &d, vo);
    cs_enforce(c, &a, &b, &d);
}

typedef struct tiny {
    shape *shape;
    char folder[64], params[96], vk[96];
    uint8_t *memory; /* the key's points */
    proving_key key;
} tiny;

/* The key's points from the file, all checked, without a converted copy in the cache folder. */
static bool tiny_key_read(tiny *t) {
    file_map m;
    params_view v;
    cuzk_error err;
    size_t bad;
    if (file_map_open(&m, t->params, &err)) return false;
    bool ok = !params_view_open(&v, t->params, m.data, m.bytes, &err) &&
              !verifying_key_read(&t->key.vk, t->params, m.data, v.vk_bytes, &err);
    size_t total = 0;
    for (int i = PARAMS_H; ok && i < PARAMS_SECTIONS; i++) {
        t->key.count[i] = v.count[i];
        total += v.count[i] * (i == PARAMS_B_G2 ? sizeof(g2_affine) : sizeof(g1_affine));
    }
    t->key.count[PARAMS_IC] = ok ? v.count[PARAMS_IC] : 0;
    t->memory = ok ? malloc(total) : NULL;
    uint8_t *at = t->memory;
    for (int i = PARAMS_H; t->memory && i < PARAMS_B_G2; i++) {
        const g1_affine **section[] = {NULL, &t->key.h, &t->key.l, &t->key.a, &t->key.b_g1};
        g1_affine *points = (g1_affine *)(void *)at;
        ok = ok && !g1_load_many(points, m.data + v.offset[i], v.count[i], SUBGROUP_CHECK, &bad);
        *section[i] = points;
        at += v.count[i] * sizeof(g1_affine);
    }
    if (t->memory) {
        g2_affine *points = (g2_affine *)(void *)at;
        ok = ok && !g2_load_many(points, m.data + v.offset[PARAMS_B_G2], v.count[PARAMS_B_G2], SUBGROUP_CHECK, &bad);
        t->key.b_g2 = points;
    }
    t->key.root = ntt_root_bellman();
    t->key.id = serial_next(); /* devices know keys by it */
    file_map_close(&m);
    return ok && t->memory;
}

static const char *tiny_make(tiny *t, const selftest_env *env) {
    cuzk_error err;
    trapdoor d;
    setup_result made;
    ntt_root root = ntt_root_bellman();
    const char *tmp = getenv("TMPDIR");
    if (!tmp || !*tmp || strlen(tmp) > 32) tmp = "/tmp";
    snprintf(t->folder, sizeof t->folder, "%s/cuzk-selftest-XXXXXX", tmp);
    if (!mkdtemp(t->folder)) {
        t->folder[0] = 0;
        return "no temporary folder can be made; set TMPDIR";
    }
    snprintf(t->params, sizeof t->params, "%s/t.params", t->folder);
    snprintf(t->vk, sizeof t->vk, "%s/t.vk", t->folder);
    if (shape_record(&t->shape, cubic, NULL, NULL, &err)) return "a circuit cannot be recorded";
    if (trapdoor_random(&d, &err)) return "no random numbers";
    cuzk_status s = groth16_setup(t->shape, &d, &root, t->params, t->vk, &made, env->context->pool, NULL, &err);
    secure_wipe(&d, sizeof d);
    if (s) return "a key cannot be made";
    return tiny_key_read(t) ? NULL : "the key that was made cannot be read";
}

static void tiny_free(tiny *t) {
    char marker[128];
    if (t->folder[0]) {
        snprintf(marker, sizeof marker, "%s.development", t->params);
        remove(marker);
        remove(t->params);
        remove(t->vk);
        rmdir(t->folder);
    }
    verifying_key_free(&t->key.vk);
    free(t->memory);
    shape_destroy(t->shape);
}

static const char *tiny_prove(tiny *t, const selftest_env *env) {
    cuzk_error err;
    witness w;
    fr x, out;
    groth16_proof proof;
    prove_times times;
    uint64_t bad;
    fr_from_u64(&x, 3);
    fr_from_u64(&out, 35);
    pool *p = env->context->pool;
    if (witness_write(&w, t->shape, cubic, NULL, &x, &err)) return "a witness cannot be written";
    if (witness_check(&w, t->shape, &bad, p, NULL, &err) || bad != UINT64_MAX) {
        witness_free(&w);
        return "a good witness does not satisfy its circuit";
    }
    api_target target;
    if (api_target_of(env->context, t->shape, false, &target, &err)) {
        witness_free(&w);
        return "the device cannot make a proof";
    }
    prove_request request = {.key = &t->key, .shape = t->shape, .witness = &w};
    if (groth16_blinding(&request.r, &request.s, &err)) {
        witness_free(&w);
        return "no random numbers";
    }
    cuzk_status st = groth16_prove(target.backend, target.device, &proof, &times, &request, p, NULL, &err);
    if (target.backend->forget_key) target.backend->forget_key(target.device, &t->key);
    if (st != CUZK_OK) return "a proof cannot be made";
    if (groth16_verify(&t->key.vk, &proof, &out, 1, &err)) return "a good proof is refused";
    fr_from_u64(&out, 36);
    if (groth16_verify(&t->key.vk, &proof, &out, 1, &err) != CUZK_FALSE)
        return "a proof is taken for another statement";
    fr_from_u64(&out, 35);
    g1_affine_neg(&proof.c, &proof.c);
    if (groth16_verify(&t->key.vk, &proof, &out, 1, &err) != CUZK_FALSE) return "a false proof is taken";
    return NULL;
}

const char *selftest_groth16(const selftest_env *env) {
    tiny *t = calloc(1, sizeof *t);
    if (!t) return "no memory";
    const char *fault = tiny_make(t, env);
    if (!fault) fault = tiny_prove(t, env);
    tiny_free(t);
    free(t);
    return fault;
}
