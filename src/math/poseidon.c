/* Poseidon over fr in the "optimised" form of the neptune library: values only. The permutation is
 * math/kernels/poseidon_kernels.c, the constants math/poseidon_constants.c, the circuit gadget/poseidon.c. */
#include "math/poseidon.h"

#include "math/kernels.h"

void poseidon_hash(const poseidon_constants *k, fr *out, const fr *preimage) {
    math_kernels()->poseidon->permute(k, NULL, out, preimage);
}

unsigned poseidon_trace_len(const poseidon_constants *k) {
    return 3 * k->arity + 28 * k->width + 4 * k->partial_rounds + 1;
}

void poseidon_trace(const poseidon_constants *k, fr *trace, const fr *preimage) {
    math_kernels()->poseidon->permute(k, trace, NULL, preimage);
}
