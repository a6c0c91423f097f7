/* Groth16 verification; see groth16/verify.h.
 *
 * One proof: the product e(A, B) e(-alpha, beta) e(-X, gamma) e(-C, delta) is one, with X = IC_0 + sum x_i IC_i; four
 * Miller loops share their squarings and one final exponentiation.
 * Many proofs: each equation is raised to a random 128-bit power and all are multiplied. By bilinearity that leaves one
 * pair a proof and three for the key: e(z_k A_k, B_k) e(-(sum z_k) alpha, beta) e(-sum z_k X_k, gamma)
 * e(-sum z_k C_k, delta). A false equation survives only when its random power happens to cancel: below 2^-127.
 *
 * Points are expected in their subgroups, as proof_read and verifying_key_read give them; points at infinity (a proof
 * made without blinding may have one) pair to one.
 * Source: Groth (2016); the batch: Bellare, Garay and Rabin, "Fast batch verification for modular exponentiation and
 * digital signatures" (1998).
 */
#include "groth16/verify.h"

#include <inttypes.h>
#include <stdlib.h>

#include "math/msm.h"
#include "math/pairing.h"

#define PAIRS_PER_TILE 4u

static cuzk_status check_inputs(const verifying_key *vk, size_t n_inputs, cuzk_error *err) {
    if (n_inputs + 1 == vk->n_ic) return CUZK_OK;
    cuzk_fail(err, CUZK_USAGE, "the number of public inputs is not the verifying key's");
    cuzk_fail_expected(err, "%" PRIu32 " (the constant one is not given)", vk->n_ic - 1);
    return cuzk_fail_found(err, "%zu", n_inputs);
}

/* -(weight_one IC_0 + sum weights_i IC_(i+1)), affine. */
static cuzk_status minus_inputs(g1_affine *out, const verifying_key *vk, const fr_canon *weights, cuzk_error *err) {
    g1 sum;
    cuzk_status st = msm_g1(&sum, vk->ic, NULL, weights, vk->n_ic, NULL, NULL, NULL, err);
    if (st != CUZK_OK) return st;
    g1_neg(&sum, &sum);
    g1_to_affine(out, &sum);
    return CUZK_OK;
}

typedef struct miller_run {
    const g1_affine *p;
    const g2_affine *q;
    size_t n;
    fp12 *out; /* one a tile */
} miller_run;

static void miller_tile(void *user, size_t tile, unsigned slot) {
    (void)slot;
    miller_run *r = user;
    size_t first = tile * PAIRS_PER_TILE, n = r->n - first < PAIRS_PER_TILE ? r->n - first : PAIRS_PER_TILE;
    pairing_miller(&r->out[tile], r->p + first, r->q + first, n);
}

static cuzk_status product_is_one(bool *one, const g1_affine *p, const g2_affine *q, size_t n, pool *pool_,
                                  cuzk_error *err) {
    size_t tiles = (n + PAIRS_PER_TILE - 1) / PAIRS_PER_TILE;
    fp12 *part = malloc(tiles * sizeof *part);
    if (!part) return cuzk_fail(err, CUZK_MEMORY, "no memory to verify");
    miller_run r = {p, q, n, part};
    cuzk_status st = pool_run(pool_, NULL, NULL, tiles, miller_tile, &r, err);
    if (st == CUZK_OK) {
        for (size_t i = 1; i < tiles; i++) fp12_mul(&part[0], &part[0], &part[i]);
        pairing_final_exp(&part[0], &part[0]);
        *one = fp12_is_one(&part[0]);
    }
    free(part);
    return st;
}

static cuzk_status says_false(cuzk_error *err, const char *what) {
    return cuzk_fail(err, CUZK_FALSE, "%s", what);
}

cuzk_status groth16_verify(const verifying_key *vk, const groth16_proof *proof, const fr *inputs, size_t n_inputs,
                           cuzk_error *err) {
    cuzk_status st = check_inputs(vk, n_inputs, err);
    if (st != CUZK_OK) return st;
    fr_canon *weights = calloc(vk->n_ic, sizeof *weights);
    if (!weights) return cuzk_fail(err, CUZK_MEMORY, "no memory for %zu public inputs", n_inputs);
    weights[0].l[0] = 1;
    for (size_t i = 0; i < n_inputs; i++) fr_to_canon(&weights[i + 1], &inputs[i]);
    g1_affine p[4] = {proof->a};
    g2_affine q[4] = {proof->b, vk->beta_g2, vk->gamma_g2, vk->delta_g2};
    g1_affine_neg(&p[1], &vk->alpha_g1);
    st = minus_inputs(&p[2], vk, weights, err);
    free(weights);
    if (st != CUZK_OK) return st;
    g1_affine_neg(&p[3], &proof->c);
    bool one = false;
    st = product_is_one(&one, p, q, 4, NULL, err);
    if (st == CUZK_OK && !one) st = says_false(err, "the proof is false for these public inputs and this key");
    return st;
}

static cuzk_status random_weights(fr_canon *z, size_t n, cuzk_error *err) {
    for (size_t k = 0; k < n; k++) {
        z[k] = (fr_canon){{0}};
        do { /* zero would leave the proof out */
            cuzk_status st = random_bytes(z[k].l, 16, err);
            if (st != CUZK_OK) return st;
        } while (!(z[k].l[0] | z[k].l[1]));
    }
    return CUZK_OK;
}

/* weights_0 = sum z_k, weights_(i+1) = sum z_k x_ki. */
static void combine_inputs(fr_canon *weights, const fr_canon *z, const fr *const *inputs, size_t n_inputs, size_t n) {
    fr acc, t, zk;
    for (size_t i = 0; i <= n_inputs; i++) {
        fr_set_zero(&acc);
        for (size_t k = 0; k < n; k++) {
            fr_from_canon(&zk, &z[k]);
            if (i == 0) {
                t = zk;
            } else {
                fr_mul(&t, &zk, &inputs[k][i - 1]);
            }
            fr_add(&acc, &acc, &t);
        }
        fr_to_canon(&weights[i], &acc);
    }
}

cuzk_status groth16_verify_batch(const verifying_key *vk, const groth16_proof *proofs, const fr *const *inputs,
                                 size_t n_inputs, size_t n, pool *p, cuzk_error *err) {
    cuzk_status st = check_inputs(vk, n_inputs, err);
    if (st != CUZK_OK) return st;
    /* Nothing was verified, so nothing is said to be true. */
    if (n == 0) return cuzk_fail(err, CUZK_USAGE, "there is no proof to verify");
    if (n == 1) return groth16_verify(vk, proofs, inputs[0], n_inputs, err);
    fr_canon *z = calloc(n + vk->n_ic, sizeof *z), *weights = z ? z + n : NULL;
    g1_affine *left = calloc(n + 3, sizeof *left);
    g2_affine *right = calloc(n + 3, sizeof *right);
    bool one = false;
    if (!z || !left || !right) {
        st = cuzk_fail(err, CUZK_MEMORY, "no memory to verify %zu proofs", n);
        goto done;
    }
    if ((st = random_weights(z, n, err)) != CUZK_OK) goto done;
    combine_inputs(weights, z, inputs, n_inputs, n);
    g1 sum_c, t, u;
    g1_set_infinity(&sum_c);
    for (size_t k = 0; k < n; k++) {
        g1_from_affine(&t, &proofs[k].a);
        g1_mul(&u, &t, &z[k]);
        g1_to_affine(&left[k], &u);
        right[k] = proofs[k].b;
        g1_from_affine(&t, &proofs[k].c);
        g1_mul(&u, &t, &z[k]);
        g1_add(&sum_c, &sum_c, &u);
    }
    g1_from_affine(&t, &vk->alpha_g1);
    g1_mul(&u, &t, &weights[0]);
    g1_neg(&u, &u);
    g1_to_affine(&left[n], &u);
    right[n] = vk->beta_g2;
    if ((st = minus_inputs(&left[n + 1], vk, weights, err)) != CUZK_OK) goto done;
    right[n + 1] = vk->gamma_g2;
    g1_neg(&sum_c, &sum_c);
    g1_to_affine(&left[n + 2], &sum_c);
    right[n + 2] = vk->delta_g2;
    st = product_is_one(&one, left, right, n + 3, p, err);
    if (st == CUZK_OK && !one) st = says_false(err, "not all proofs are true for their public inputs and this key");
done:
    free(z);
    free(left);
    free(right);
    return st;
}
