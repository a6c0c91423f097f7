/* One partition from witness to verified proof on a backend: the only way a proof leaves the library.
 *
 * groth16_prove = prove_start + prove_finish + groth16_verify. UNSATISFIED when the witness does not satisfy the shape
 * (found while a, b, c are evaluated; where names the constraint). INTERNAL or DEVICE when the finished proof does not
 * verify: it is not returned; or what the request's `doubt` says of the key, KEY_DAMAGED.
 */
#ifndef CUZK_GROTH16_PROVE_H
#define CUZK_GROTH16_PROVE_H

#include "groth16/backend.h"
#include "groth16/verify.h"

/* Blinding from getrandom. */
cuzk_status groth16_blinding(fr *r, fr *s, cuzk_error *err);
cuzk_status groth16_prove(const backend *b, unsigned device, groth16_proof *out, prove_times *times, prove_request *req,
                          pool *p, const cuzk_control *control, cuzk_error *err);

#endif
