/* From sums to a proof; see groth16/backend.h. */
#include "groth16/backend.h"

#include "base/random.h"

static void add_scaled(g1 *acc, const g1 *p, const fr *k) {
    fr_canon n;
    g1 t;
    fr_to_canon(&n, k);
    g1_mul(&t, p, &n);
    g1_add(acc, acc, &t);
    secure_wipe(&n, sizeof n);
}

static void add_scaled_affine(g1 *acc, const g1_affine *p, const fr *k) {
    g1 t;
    g1_from_affine(&t, p);
    add_scaled(acc, &t, k);
}

void groth16_assemble(groth16_proof *out, const verifying_key *vk, const groth16_sums *sums, const fr *r, const fr *s) {
    g1 a = sums->a, b1 = sums->b_g1, c;
    g2 b2 = sums->b_g2, t2;
    fr rs;
    fr_canon n;
    g1_add_affine(&a, &a, &vk->alpha_g1);
    g1_add_affine(&b1, &b1, &vk->beta_g1);
    g2_add_affine(&b2, &b2, &vk->beta_g2);
    g1_add(&c, &sums->h, &sums->l);
    add_scaled(&c, &a, s);
    add_scaled(&c, &b1, r);
    fr_mul(&rs, r, s);
    add_scaled_affine(&c, &vk->delta_g1, &rs);
    add_scaled_affine(&a, &vk->delta_g1, r);
    g2_from_affine(&t2, &vk->delta_g2);
    fr_to_canon(&n, s);
    g2_mul(&t2, &t2, &n);
    g2_add(&b2, &b2, &t2);
    g1_to_affine(&out->a, &a);
    g2_to_affine(&out->b, &b2);
    g1_to_affine(&out->c, &c);
    secure_wipe(&n, sizeof n);
    secure_wipe(&rs, sizeof rs);
}
