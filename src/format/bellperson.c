/* bellperson's key and proof files; see format/bellperson.h.
 *
 * A verifying key is six points, a count and that many points; a proving key file is a verifying key followed by five
 * counted lists. There is no header, so the only tests of the whole are that the counts add up to the file's length
 * and that every point is one. All bounds are checked against the bytes that are there before anything is allocated.
 *
 * Stricter than the reference where it is lax: bytes after the end, points at infinity anywhere in a verifying key,
 * and a compressed point in an uncompressed slot (whose second half the reference ignores) are refused.
 *
 * Source: docs/formats.md.
 */
#include "format/bellperson.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define G1_BYTES 96u
#define G2_BYTES 192u
#define COUNT_BYTES 4u

static const char *const section_names[PARAMS_SECTIONS] = {"ic", "h", "l", "a", "b_g1", "b_g2"};

const char *params_section_name(params_section s) {
    return s < PARAMS_SECTIONS ? section_names[s] : "?";
}

uint32_t params_point_bytes(params_section s) {
    return s == PARAMS_B_G2 ? G2_BYTES : G1_BYTES;
}

static uint32_t read_u32_be(const uint8_t *b) {
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static cuzk_status truncated(cuzk_error *err, const char *path, const char *part, uint64_t offset, uint64_t need,
                             uint64_t have) {
    cuzk_fail(err, CUZK_KEY_DAMAGED, "the key is truncated in %s", part);
    cuzk_fail_where(err, "%s, byte %" PRIu64, path, offset);
    cuzk_fail_expected(err, "a file of at least %" PRIu64 " bytes", need);
    cuzk_fail_found(err, "%" PRIu64 " bytes", have);
    return cuzk_fail_hint(err, "fetch or make the key again");
}

static cuzk_status overlong(cuzk_error *err, const char *path, const char *what, uint64_t need, uint64_t have) {
    cuzk_fail(err, CUZK_KEY_DAMAGED, "bytes follow the end of the %s", what);
    cuzk_fail_where(err, "%s, byte %" PRIu64, path, need);
    cuzk_fail_expected(err, "%" PRIu64 " bytes", need);
    cuzk_fail_found(err, "%" PRIu64 " bytes", have);
    return cuzk_fail_hint(err, "a count may be wrong, or the file is not a bellperson key; fetch or make it again");
}

/* Files of snarkjs, which are handed in as keys: told apart by how they begin, which no point of ours does (its first
 * byte is at most 0x1a). */
static cuzk_status of_another_system(cuzk_error *err, const char *path, const uint8_t *data, uint64_t bytes) {
    static const struct {
        const char *begin, *what;
    } known[] = {{"zkey", "a snarkjs proving key (zkey)"}, {"wtns", "a snarkjs witness (wtns)"}, {"{", "JSON"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t n = strlen(known[i].begin);
        if (bytes < n || memcmp(data, known[i].begin, n) != 0) continue;
        cuzk_fail(err, CUZK_KEY_DAMAGED, "this is %s, not a key for this program", known[i].what);
        cuzk_fail_where(err, "%s, byte 0", path);
        cuzk_fail_expected(err, "a key in bellperson's format over BLS12-381");
        return cuzk_fail_hint(err, "keys of other systems and curves (snarkjs is mostly BN254) cannot be read");
    }
    return CUZK_OK;
}

cuzk_status params_view_open(params_view *out, const char *path, const uint8_t *data, uint64_t bytes, cuzk_error *err) {
    *out = (params_view){.data = data, .bytes = bytes};
    if (of_another_system(err, path, data, bytes)) return err->status;
    uint64_t at = VK_FIXED_BYTES;
    if (bytes < at) return truncated(err, path, "the verifying key's six points", bytes, at + COUNT_BYTES, bytes);
    for (params_section s = 0; s < PARAMS_SECTIONS; s++) {
        char part[48];
        snprintf(part, sizeof part, s ? "the count of section %s" : "the count of the verifying key's %s",
                 section_names[s]);
        if (bytes - at < COUNT_BYTES) return truncated(err, path, part, bytes, at + COUNT_BYTES, bytes);
        out->count[s] = read_u32_be(data + at);
        at += COUNT_BYTES;
        out->offset[s] = at;
        uint64_t need = (uint64_t)out->count[s] * params_point_bytes(s);
        if (bytes - at < need) {
            snprintf(part, sizeof part, "section %s (%" PRIu32 " points)", section_names[s], out->count[s]);
            return truncated(err, path, part, bytes, at + need, bytes);
        }
        at += need;
        if (s == PARAMS_IC) out->vk_bytes = at;
    }
    if (at != bytes) return overlong(err, path, "proving key", at, bytes);
    return CUZK_OK;
}

/* ---- verifying keys ---- */

cuzk_status params_point_fault(cuzk_error *err, const char *path, const char *section, uint64_t index, uint64_t offset,
                               const char *fault) {
    cuzk_fail(err, CUZK_KEY_DAMAGED, "a point of the key is bad: %s", fault);
    if (index == UINT64_MAX) {
        cuzk_fail_where(err, "%s, %s, byte %" PRIu64, path, section, offset);
    } else {
        cuzk_fail_where(err, "%s, section %s, index %" PRIu64 ", byte %" PRIu64, path, section, index, offset);
    }
    cuzk_fail_expected(err, "an uncompressed point of the curve's prime-order group, not the identity");
    return cuzk_fail_hint(err, "fetch or make the key again");
}

static cuzk_status vk_g1(g1_affine *out, const char *path, const char *name, uint64_t index, const uint8_t *data,
                         uint64_t at, cuzk_error *err) {
    point_status s = g1_decode_uncompressed(out, data + at, SUBGROUP_CHECK);
    const char *fault = s != POINT_OK ? point_status_text(s) : g1_affine_is_infinity(out) ? PARAMS_IDENTITY : NULL;
    return fault ? params_point_fault(err, path, name, index, at, fault) : CUZK_OK;
}

static cuzk_status vk_g2(g2_affine *out, const char *path, const char *name, const uint8_t *data, uint64_t at,
                         cuzk_error *err) {
    point_status s = g2_decode_uncompressed(out, data + at, SUBGROUP_CHECK);
    const char *fault = s != POINT_OK ? point_status_text(s) : g2_affine_is_infinity(out) ? PARAMS_IDENTITY : NULL;
    return fault ? params_point_fault(err, path, name, UINT64_MAX, at, fault) : CUZK_OK;
}

cuzk_status verifying_key_read(verifying_key *out, const char *path, const uint8_t *data, uint64_t bytes,
                               cuzk_error *err) {
    memset(out, 0, sizeof *out);
    if (of_another_system(err, path, data, bytes)) return err->status;
    if (bytes < VK_FIXED_BYTES + COUNT_BYTES) {
        return truncated(err, path, "the verifying key", bytes, VK_FIXED_BYTES + COUNT_BYTES, bytes);
    }
    uint32_t n = read_u32_be(data + VK_FIXED_BYTES);
    uint64_t first = VK_FIXED_BYTES + COUNT_BYTES, need = first + (uint64_t)n * G1_BYTES;
    if (bytes < need) return truncated(err, path, "section ic", bytes, need, bytes);
    if (bytes > need) return overlong(err, path, "verifying key", need, bytes);
    if (n == 0) {
        cuzk_fail(err, CUZK_KEY_DAMAGED, "the verifying key has no point for the constant one");
        return cuzk_fail_where(err, "%s, byte %u", path, VK_FIXED_BYTES);
    }
    cuzk_status s = CUZK_OK;
    verifying_key k = {.n_ic = n};
    k.ic = malloc((size_t)n * sizeof *k.ic); /* n points are there, so this is at most the file's size */
    if (!k.ic) return cuzk_fail(err, CUZK_MEMORY, "no memory for a verifying key of %" PRIu32 " points", n);
    if ((s = vk_g1(&k.alpha_g1, path, "alpha_g1", UINT64_MAX, data, 0, err))) goto fail;
    if ((s = vk_g1(&k.beta_g1, path, "beta_g1", UINT64_MAX, data, 96, err))) goto fail;
    if ((s = vk_g2(&k.beta_g2, path, "beta_g2", data, 192, err))) goto fail;
    if ((s = vk_g2(&k.gamma_g2, path, "gamma_g2", data, 384, err))) goto fail;
    if ((s = vk_g1(&k.delta_g1, path, "delta_g1", UINT64_MAX, data, 576, err))) goto fail;
    if ((s = vk_g2(&k.delta_g2, path, "delta_g2", data, 672, err))) goto fail;
    for (uint32_t i = 0; i < n; i++) {
        if ((s = vk_g1(&k.ic[i], path, "ic", i, data, first + (uint64_t)i * G1_BYTES, err))) goto fail;
    }
    *out = k;
    return CUZK_OK;
fail:
    free(k.ic);
    return s;
}

/* A file longer than the verifying key at its front is read as a proving key, whose counts then must all fit. */
cuzk_status verifying_key_open(verifying_key *out, const char *path, cuzk_error *err) {
    memset(out, 0, sizeof *out);
    file_map m;
    cuzk_status s = file_map_open(&m, path, err);
    if (s != CUZK_OK) return s;
    uint64_t vk = m.bytes;
    if (m.bytes >= VK_FIXED_BYTES + COUNT_BYTES) {
        uint64_t need = VK_FIXED_BYTES + COUNT_BYTES + (uint64_t)read_u32_be(m.data + VK_FIXED_BYTES) * G1_BYTES;
        params_view v;
        cuzk_error ignored;
        if (m.bytes > need && params_view_open(&v, path, m.data, m.bytes, &ignored) == CUZK_OK) vk = v.vk_bytes;
    }
    s = verifying_key_read(out, path, m.data, vk, err);
    file_map_close(&m);
    return s;
}

void verifying_key_free(verifying_key *vk) {
    free(vk->ic);
    memset(vk, 0, sizeof *vk);
}

size_t verifying_key_bytes(const verifying_key *vk) {
    return VK_FIXED_BYTES + COUNT_BYTES + (size_t)vk->n_ic * G1_BYTES;
}

void verifying_key_write(const verifying_key *vk, uint8_t *out) {
    g1_encode_uncompressed(out, &vk->alpha_g1);
    g1_encode_uncompressed(out + 96, &vk->beta_g1);
    g2_encode_uncompressed(out + 192, &vk->beta_g2);
    g2_encode_uncompressed(out + 384, &vk->gamma_g2);
    g1_encode_uncompressed(out + 576, &vk->delta_g1);
    g2_encode_uncompressed(out + 672, &vk->delta_g2);
    params_write_count(out + VK_FIXED_BYTES, vk->n_ic);
    out += VK_FIXED_BYTES + COUNT_BYTES;
    for (uint32_t i = 0; i < vk->n_ic; i++) g1_encode_uncompressed(out + (size_t)i * G1_BYTES, &vk->ic[i]);
}

void params_write_count(uint8_t out[4], uint32_t n) {
    for (int i = 0; i < 4; i++) out[i] = (uint8_t)(n >> (24 - 8 * i));
}

/* ---- proofs ---- */

/* OK for a point that may stand in a proof. */
static cuzk_status proof_point(cuzk_error *err, const char *element, unsigned at, point_status s, bool infinity) {
    if (s == POINT_OK && !infinity) return CUZK_OK;
    cuzk_fail(err, CUZK_MALFORMED, "the proof's element %s is bad: %s", element,
              s != POINT_OK ? point_status_text(s) : PARAMS_IDENTITY);
    cuzk_fail_where(err, "element %s, byte %u of the proof", element, at);
    return cuzk_fail_expected(err, "a compressed point of the curve's prime-order group, not the identity");
}

cuzk_status proof_read(groth16_proof *out, const uint8_t data[PROOF_BYTES], cuzk_error *err) {
    groth16_proof p;
    point_status s = g1_decode_compressed(&p.a, data, SUBGROUP_CHECK);
    cuzk_status st = proof_point(err, "A", 0, s, g1_affine_is_infinity(&p.a));
    if (st != CUZK_OK) return st;
    s = g2_decode_compressed(&p.b, data + 48, SUBGROUP_CHECK);
    st = proof_point(err, "B", 48, s, g2_affine_is_infinity(&p.b));
    if (st != CUZK_OK) return st;
    s = g1_decode_compressed(&p.c, data + 144, SUBGROUP_CHECK);
    st = proof_point(err, "C", 144, s, g1_affine_is_infinity(&p.c));
    if (st != CUZK_OK) return st;
    *out = p;
    return CUZK_OK;
}

void proof_write(const groth16_proof *proof, uint8_t out[PROOF_BYTES]) {
    g1_encode_compressed(out, &proof->a);
    g2_encode_compressed(out + 48, &proof->b);
    g1_encode_compressed(out + 144, &proof->c);
}
