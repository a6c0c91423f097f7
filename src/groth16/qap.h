/* The circuit's polynomials at one point: for each variable i the values u_i(tau), v_i(tau), w_i(tau) of its A, B and C
 * columns, interpolated over the domain. Inputs (with ONE) come first, then auxiliary variables. Memory: class SETUP.
 */
#ifndef CUZK_GROTH16_QAP_H
#define CUZK_GROTH16_QAP_H

#include "math/ntt.h"
#include "r1cs/shape.h"

typedef struct qap_values {
    buffer memory;
    fr *column[3];     /* u, v, w; n_inputs + n_aux each */
    uint32_t n_inputs; /* with ONE */
    uint64_t n_aux;
    fr vanishing; /* tau^m - 1 */
} qap_values;

/* Peak bytes of the call, and what stays until qap_free. */
uint64_t qap_peak_bytes(const shape *s);
uint64_t qap_bytes(const shape *s);
/* MALFORMED when tau is in the domain (tau^m = 1). */
cuzk_status qap_evaluate(qap_values *out, const shape *s, const fr *tau, const ntt_root *root, pool *p,
                         const cuzk_control *control, cuzk_error *err);
void qap_free(qap_values *q);

#endif
