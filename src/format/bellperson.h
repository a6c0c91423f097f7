/* bellperson's key files: .vk and .params. Points uncompressed, big-endian, ZCash form; counts u32 big-endian.
 *
 * Reading is from a mapped file: nothing is allocated from a length that the file's own size does not bear out. Source:
 * docs/formats.md. Thread-safe (views are read-only).
 */
#ifndef CUZK_FORMAT_BELLPERSON_H
#define CUZK_FORMAT_BELLPERSON_H

#include "base/file.h"
#include "math/curve.h"
#include "math/encoding.h"

typedef enum { PARAMS_IC, PARAMS_H, PARAMS_L, PARAMS_A, PARAMS_B_G1, PARAMS_B_G2, PARAMS_SECTIONS } params_section;
const char *params_section_name(params_section s); /* "ic", "h", "l", "a", "b_g1", "b_g2" */
uint32_t params_point_bytes(params_section s);     /* 96, or 192 for b_g2 */
void params_write_count(uint8_t out[4], uint32_t n);
#define PARAMS_IDENTITY "the point at infinity"
/* KEY_DAMAGED with where = file, section, index and byte; fault says what is wrong with the point. index UINT64_MAX:
 * section is the name of a single point. */
cuzk_status params_point_fault(cuzk_error *err, const char *path, const char *section, uint64_t index, uint64_t offset,
                               const char *fault);

#define VK_FIXED_BYTES 864u /* alpha_g1, beta_g1, beta_g2, gamma_g2, delta_g1, delta_g2 */

typedef struct params_view {
    const uint8_t *data;
    uint64_t bytes;
    uint64_t offset[PARAMS_SECTIONS]; /* of the first point */
    uint32_t count[PARAMS_SECTIONS];
    uint64_t vk_bytes; /* offset of the count of h */
} params_view;

/* Finds the sections. KEY_DAMAGED naming section, expected and found bytes when the file is short, long, or a count
 * lies. */
cuzk_status params_view_open(params_view *out, const char *path, const uint8_t *data, uint64_t bytes, cuzk_error *err);

typedef struct verifying_key {
    g1_affine alpha_g1, beta_g1, delta_g1;
    g2_affine beta_g2, gamma_g2, delta_g2;
    uint32_t n_ic;
    g1_affine *ic; /* malloc'd; freed by verifying_key_free */
} verifying_key;

/* Every point checked: range, curve, subgroup; identities refused (alpha, beta, gamma, delta, ic), trailing bytes
 * refused, a compressed point in an uncompressed slot refused. where names file, point and byte. verifying_key_read
 * takes exactly a .vk's bytes; from a .params give its first view.vk_bytes. */
cuzk_status verifying_key_read(verifying_key *out, const char *path, const uint8_t *data, uint64_t bytes,
                               cuzk_error *err);
cuzk_status verifying_key_open(verifying_key *out, const char *path,
                               cuzk_error *err); /* a .vk file, or the front of a .params file */
void verifying_key_free(verifying_key *vk);
size_t verifying_key_bytes(const verifying_key *vk);
void verifying_key_write(const verifying_key *vk, uint8_t *out /* verifying_key_bytes */);

/* Proofs: A | B | C compressed, 192 bytes. */
typedef struct groth16_proof {
    g1_affine a, c;
    g2_affine b;
} groth16_proof;
#define PROOF_BYTES 192u
/* MALFORMED (which of A, B, C; which fault) unless all three are canonical, on the curve, in the subgroup and not the
 * identity. */
cuzk_status proof_read(groth16_proof *out, const uint8_t data[PROOF_BYTES], cuzk_error *err);
void proof_write(const groth16_proof *proof, uint8_t out[PROOF_BYTES]);

#endif
