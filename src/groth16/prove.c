/* One partition from witness to verified proof; see groth16/prove.h. */
#include "groth16/prove.h"

#include <stdlib.h>

#include "base/cpu.h"

cuzk_status groth16_blinding(fr *r, fr *s, cuzk_error *err) {
    cuzk_status st = fr_random(r, err);
    return st == CUZK_OK ? fr_random(s, err) : st;
}

cuzk_status groth16_prove(const backend *b, unsigned device, groth16_proof *out, prove_times *times, prove_request *req,
                          pool *p, const cuzk_control *control, cuzk_error *err) {
    double start = cpu_monotonic_seconds();
    /* The witness is taken by prove_start, and the verifier needs the public inputs. */
    size_t n = req->witness->n_inputs - 1;
    fr *inputs = malloc(n ? n * sizeof *inputs : 1);
    if (!inputs) {
        witness_free(req->witness);
        return cuzk_fail(err, CUZK_MEMORY, "no memory for %zu public inputs", n);
    }
    if (n) memcpy(inputs, req->witness->inputs + 1, n * sizeof *inputs);
    pending_proof *pending = NULL;
    groth16_proof proof;
    cuzk_status st = CUZK_OK;
    if (witness_is_lazy(req->witness) && !b->lazy_witness)
        st = witness_materialise(req->witness, req->shape, p, control, err);
    if (st == CUZK_OK)
        st = b->prove_start(device, &pending, req, p, control, err);
    else
        witness_free(req->witness);
    if (st == CUZK_OK) st = b->prove_finish(pending, &proof, times, err);
    if (st == CUZK_OK) {
        cuzk_error why;
        cuzk_status valid = groth16_verify(&req->key->vk, &proof, inputs, n, &why);
        if (valid == CUZK_OK) {
            *out = proof;
        } else if (valid == CUZK_FALSE &&
                   (st = req->doubt ? req->doubt(req->doubt_user, control, err) : CUZK_OK) == CUZK_OK) {
            cuzk_fail(err, b->own_machine ? CUZK_INTERNAL : CUZK_DEVICE,
                      "the finished proof does not verify; it was not returned");
            cuzk_fail_where(err, "%s", req->key->path);
            cuzk_fail_found(err, "a satisfied witness of the key's size on backend %s", b->name);
            st = cuzk_fail_hint(err, "the key may belong to another circuit of the same size, or be damaged: see `cuzk "
                                     "key verify --full`; otherwise this program or the device has a fault");
        } else if (valid != CUZK_FALSE) {
            *err = why;
            st = valid;
        }
    }
    free(inputs);
    if (times) times->total = cpu_monotonic_seconds() - start;
    return st;
}
