/* Proving keys in memory: the points of a .params file in native form (affine, Montgomery), mapped from a converted
 * copy.
 *
 * Opening a .params file converts it once: every point is decoded, its range and the curve equation checked; the result
 * is kept in the cache folder ("keys/"), bound to the file by device, inode, size and times, with the file's SHA-256
 * and BLAKE2b-512. Later openings map the converted file. Conversion is by one process while others wait. No room or a
 * read-only cache folder: the converted key is made in memory (class KEY) and a warning says so. A key is read-only and
 * shared by threads; destroy it after the last proof that uses it has been finished or abandoned.
 */
#ifndef CUZK_GROTH16_KEY_H
#define CUZK_GROTH16_KEY_H

#include "base/pool.h"
#include "format/bellperson.h"
#include "math/ntt.h"

typedef enum {
    KEY_CHECK_TRUSTED, /* the converted copy's header only */
    KEY_CHECK_DIGEST,  /* the file's digest is computed again and compared, and the copy with the file */
    KEY_CHECK_FULL     /* every point on the curve and in the subgroup */
} key_check;

typedef enum { KEY_OFFICIAL, KEY_DEVELOPMENT, KEY_UNKNOWN } key_origin;
const char *key_origin_name(key_origin o); /* "official", "development", "unknown" */

struct key_recipe;

typedef struct proving_key {
    uint64_t id; /* unlike any other key's of this process, see base/serial.h */
    verifying_key vk;
    uint32_t count[PARAMS_SECTIONS];
    const g1_affine *h, *l, *a, *b_g1; /* mapped or in memory; NULL: not on the host (proving_key_on_host) */
    const g2_affine *b_g2;
    ntt_root root; /* of the key's format */
    key_origin origin;
    uint64_t file_bytes; /* of the .params */
    char path[4096];
    file_map map;  /* the converted copy, or empty */
    buffer memory; /* or this */
    /* Where devices read the points when they were left in the file: */
    file_reader *file;
    uint64_t offset[PARAMS_SECTIONS];
    bool subgroup;             /* devices check that points are in the subgroup, too (KEY_CHECK_FULL) */
    struct key_recipe *recipe; /* or how devices make them (groth16/setup.h) */
} proving_key;

cuzk_status proving_key_open(proving_key *out, const char *path, key_check check, pool *p, const cuzk_control *control,
                             cuzk_error *err);
/* As proving_key_open, but the points stay in the file: devices read them, decode them and check them in the same way
 * on their way there, and name the same bad point. No copy is made. The digests are computed only when they are needed
 * (a published key, or KEY_CHECK_DIGEST), and kept in the cache folder as with a copy. */
cuzk_status proving_key_open_file(proving_key *out, const char *path, key_check check, pool *p,
                                  const cuzk_control *control, cuzk_error *err);
/* Whether the points are on the host. */
bool proving_key_on_host(const proving_key *k);
/* Brings them there, as proving_key_open does. Nothing when they are there; USAGE when there is no file. Nobody reads
 * points of k on the host meanwhile; devices may. FOREIGN when the file has been replaced. After a failure k is as
 * before. */
cuzk_status proving_key_bring(proving_key *k, pool *p, const cuzk_control *control, cuzk_error *err);
void proving_key_close(proving_key *k);
/* Bytes of the converted form. */
uint64_t proving_key_native_bytes(const params_view *v);

/* After a proof failed or a point of the key in use was bad: is it the key, or its converted copy in the cache? When
 * the copy does not hold what the key's file holds it is removed, and the answer is KEY_DAMAGED naming the copy,
 * section and index. OK: the copy is right, not in use, or the file is no longer the one that was opened. */
cuzk_status proving_key_doubt(const proving_key *k, pool *p, const cuzk_control *control, cuzk_error *err);

/* FOREIGN unless the counts are those of the shape (h = 2^log2 - 1, l = aux, a = inputs + a density, …), naming the
 * first that differs. */
struct shape;
cuzk_status proving_key_fits(const proving_key *k, const struct shape *s, cuzk_error *err);

/* Official, development (the marker file that `setup` writes beside it, or our own folder) or unknown, by the
 * verifying-key part's digest in published-keys. */
key_origin key_origin_of(const char *path, const uint8_t *vk, uint64_t vk_bytes);

/* `key verify`: sizes and counts; full: every point on the curve and in the subgroup, in bulk. *valid=false with err
 * filled (section, index, byte) when unsound; the status is OK then. */
cuzk_status key_verify_file(const char *path, bool full, bool *valid, pool *p, const cuzk_control *control,
                            cuzk_error *err);

#endif
