/* Number-theoretic transforms over Fr on power-of-two domains up to 2^32, in place, natural order in and out.
 *
 * The root of unity and the coset generator are parameters (they belong to a key's format): forward X_i = sum_j x_j
 * w^(ij); inverse has w^-1 and 1/n. A coset transform multiplies x_j by g^j first; its inverse by g^-j last. Twiddles
 * live in the domain object (class NTT, ntt_domain_bytes). A domain is read-only after creation and may be shared by
 * threads. Parallel over `p`. n = 1 is the identity.
 */
#ifndef CUZK_MATH_NTT_H
#define CUZK_MATH_NTT_H

#include "base/pool.h"
#include "math/field.h"

typedef struct ntt_root {
    fr omega_2_32; /* a primitive 2^32-th root of unity, Montgomery */
    fr generator;  /* coset shift, Montgomery */
} ntt_root;
ntt_root ntt_root_bellman(void); /* generator 7, omega = 7^((r-1)/2^32) */
ntt_root ntt_root_snarkjs(void); /* generator 5, omega = 5^((r-1)/2^32) */

typedef struct ntt_domain ntt_domain;
size_t ntt_domain_bytes(unsigned log2);
cuzk_status ntt_domain_create(ntt_domain **out, unsigned log2, const ntt_root *root, pool *p, cuzk_error *err);
void ntt_domain_destroy(ntt_domain *d);
unsigned ntt_domain_log2(const ntt_domain *d);
fr ntt_domain_omega(const ntt_domain *d);

/* All transforms work in place: nothing is allocated. */
cuzk_status ntt_forward(const ntt_domain *d, fr *a, pool *p, const cuzk_control *c, const char *stage, cuzk_error *err);
cuzk_status ntt_inverse(const ntt_domain *d, fr *a, pool *p, const cuzk_control *c, const char *stage, cuzk_error *err);
cuzk_status ntt_coset_forward(const ntt_domain *d, fr *a, pool *p, const cuzk_control *c, const char *stage,
                              cuzk_error *err);
cuzk_status ntt_coset_inverse(const ntt_domain *d, fr *a, pool *p, const cuzk_control *c, const char *stage,
                              cuzk_error *err);

/* The Groth16 quotient: from evaluations a, b, c on the domain (n each, overwritten) to the coefficients of
 * h = (a*b - c)/(X^n - 1), left in a, canonical (fr_canon) form when `canonical`; n-1 coefficients count, the last is 0
 * for a satisfied witness. Free to order and fuse its six transforms so that no bit-reversal pass is paid (inverse to
 * bit-reversed order, coset forward from it, …). */
cuzk_status ntt_quotient(const ntt_domain *d, fr *a, fr *b, fr *c, bool canonical, pool *p, const cuzk_control *ctl,
                         cuzk_error *err);

#endif
