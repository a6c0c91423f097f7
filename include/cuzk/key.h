/* Proving keys (.params) and verifying keys (.vk) in bellperson's formats.
 *
 * Opening a proving key converts it once into a form that is mapped, kept in the cache folder; keys are read-only, may
 * be shared by threads and jobs and by processes (the mapping), and must be closed after the last proof that uses them.
 */
#ifndef CUZK_KEY_H
#define CUZK_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cuzk/circuit.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct cuzk_key cuzk_key;
typedef struct cuzk_vk cuzk_vk;

typedef enum cuzk_key_origin {
    CUZK_KEY_OFFICIAL,    /* its verifying-key part has a published digest */
    CUZK_KEY_DEVELOPMENT, /* made by this program; whoever made it can forge proofs */
    CUZK_KEY_UNKNOWN
} cuzk_key_origin;
const char *cuzk_key_origin_name(cuzk_key_origin origin); /* "official", "development", "unknown"; static */

typedef enum cuzk_key_check {
    CUZK_KEY_TRUSTED, /* what the conversion found is believed while the file is the same (device, inode, size, times)
                       */
    CUZK_KEY_DIGEST,  /* the file's digest is computed again and compared, and the converted copy with the file */
    CUZK_KEY_FULL     /* every point is checked again: on the curve and in the subgroup */
} cuzk_key_check;

/* KEY_MISSING, KEY_DAMAGED (section, index, byte), IO. Returned; free with cuzk_key_close. */
cuzk_status cuzk_key_open(cuzk_key **out, cuzk_context *context, const char *path, cuzk_key_check check,
                          const cuzk_control *control, cuzk_error *err);
void cuzk_key_close(cuzk_key *key);
cuzk_key_origin cuzk_key_get_origin(const cuzk_key *key);

/* The official file of a circuit in $FIL_PROOFS_PARAMETER_CACHE (default /var/tmp/filecoin-proof-parameters). path gets
 * at most path_bytes with its end. KEY_MISSING names the file, the folder and what to do. */
cuzk_status cuzk_key_find(const cuzk_circuit *circuit, char *path, size_t path_bytes, cuzk_error *err);
/* That folder, whether it exists or not. Borrowed until the environment changes. */
const char *cuzk_key_official_folder(void);
/* The development key of a circuit: made once with a random trapdoor, kept in the cache folder under dev-keys/. Other
 * processes wait while one makes it; *made tells whether this call did. */
cuzk_status cuzk_key_development(cuzk_context *context, cuzk_circuit *circuit, char *path, size_t path_bytes,
                                 bool *made, const cuzk_control *control, cuzk_error *err);

typedef struct cuzk_key_facts {
    bool proving;                     /* false: a verifying key alone */
    const char *curve;                /* "bls12-381" */
    uint64_t ic, h, l, a, b_g1, b_g2; /* points in each section; only ic for a verifying key */
    uint64_t bytes;                   /* of the file */
    uint8_t sha256[32];               /* of the file */
    uint64_t vk_bytes;                /* of the verifying-key part */
    uint8_t vk_sha256[32];
    uint8_t vk_blake2b512[64]; /* its first 16 bytes are the digest that is published for .vk files */
    cuzk_key_origin origin;
} cuzk_key_facts;

/* Reads sizes and counts, and hashes the file. KEY_DAMAGED when sizes do not add up. */
cuzk_status cuzk_key_inspect(const char *path, cuzk_key_facts *out, const cuzk_control *control, cuzk_error *err);
/* *valid = false with *err filled (section, index, byte) for an unsound key; the status is OK then. full: every point
 * on the curve and in the subgroup; otherwise sizes and the verifying-key part. */
cuzk_status cuzk_key_verify(cuzk_context *context, const char *path, bool full, bool *valid,
                            const cuzk_control *control, cuzk_error *err);

/* Opens a .vk file, or the front of a .params file. All points are checked. Returned; free with cuzk_vk_close. */
cuzk_status cuzk_vk_open(cuzk_vk **out, const char *path, cuzk_error *err);
void cuzk_vk_close(cuzk_vk *vk);
/* Public inputs a proof has, without ONE. */
size_t cuzk_vk_inputs(const cuzk_vk *vk);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
