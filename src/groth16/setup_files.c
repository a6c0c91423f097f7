/* See groth16/setup_files.h. */
#include "groth16/setup_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/hash.h"

#define HASH_STEP ((size_t)16 << 20)

cuzk_status setup_files_fit(const uint64_t count[PARAMS_SECTIONS], cuzk_error *err) {
    for (params_section s = 0; s < PARAMS_SECTIONS; s++) {
        if (count[s] <= UINT32_MAX) continue;
        return cuzk_fail(err, CUZK_USAGE, "the circuit is too large for the key's format: %" PRIu64 " points in %s",
                         count[s], params_section_name(s));
    }
    return CUZK_OK;
}

static cuzk_status refuse_existing(const char *path, cuzk_error *err) {
    if (!file_exists(path)) return CUZK_OK;
    cuzk_fail(err, CUZK_USAGE, "a file of this name exists; keys are never written over");
    cuzk_fail_where(err, "%s", path);
    return cuzk_fail_hint(err, "remove it or choose another folder");
}

cuzk_status setup_files_look(setup_files *f, const char *params_path, const char *vk_path, cuzk_error *err) {
    *f = (setup_files){.params_path = params_path, .vk_path = vk_path};
    if (snprintf(f->marker, sizeof f->marker, "%s.development", params_path) >= (int)sizeof f->marker)
        return cuzk_fail(err, CUZK_USAGE, "the key's path is too long");
    cuzk_status st = refuse_existing(params_path, err);
    return st == CUZK_OK ? refuse_existing(vk_path, err) : st;
}

static void lay_out(setup_files *f, const uint64_t count[PARAMS_SECTIONS]) {
    uint64_t at = VK_FIXED_BYTES;
    for (params_section i = 0; i < PARAMS_SECTIONS; i++) {
        at += 4;
        f->offset[i] = at;
        at += count[i] * params_point_bytes(i);
    }
    f->total = at;
}

cuzk_status setup_files_begin(setup_files *f, const verifying_key *vk, const uint64_t count[PARAMS_SECTIONS],
                              cuzk_error *err) {
    buffer bytes = {0};
    size_t n = verifying_key_bytes(vk);
    lay_out(f, count);
    cuzk_status st = buffer_alloc(&bytes, BUFFER_SETUP, n, err);
    if (st != CUZK_OK) return st;
    verifying_key_write(vk, bytes.data);
    st = file_writer_open(&f->params, f->params_path, true, err);
    if (st == CUZK_OK) st = file_writer_open(&f->vk, f->vk_path, true, err);
    if (st == CUZK_OK) st = file_writer_write(f->vk, bytes.data, n, err);
    if (st == CUZK_OK) st = file_writer_reserve(f->params, f->total, err);
    if (st == CUZK_OK) st = file_writer_pwrite(f->params, bytes.data, n, 0, err);
    for (params_section s = PARAMS_H; s < PARAMS_SECTIONS && st == CUZK_OK; s++) {
        uint8_t number[4];
        params_write_count(number, (uint32_t)count[s]);
        st = file_writer_pwrite(f->params, number, sizeof number, f->offset[s] - 4, err);
    }
    buffer_free(&bytes);
    return st;
}

/* Marker, verifying key, proving key. The marker stays when there is a verifying key although ours could not be put
 * down: then somebody else made a key here meanwhile, and it is the marker of that one. */
cuzk_status setup_files_publish(setup_files *f, cuzk_error *err) {
    static const char text[] = "made by cuzk setup: for development and tests only\n";
    cuzk_status st = file_write_all(f->marker, text, sizeof text - 1, false, err);
    if (st != CUZK_OK) return st;
    st = file_writer_commit(f->vk, err);
    f->vk = NULL;
    if (st != CUZK_OK) goto undo_marker;
    st = file_writer_commit(f->params, err);
    f->params = NULL;
    if (st == CUZK_OK) return CUZK_OK;
    unlink(f->vk_path);
undo_marker:
    if (!file_exists(f->vk_path)) unlink(f->marker);
    return st;
}

void setup_files_abort(setup_files *f) {
    file_writer_abort(f->params);
    file_writer_abort(f->vk);
    f->params = f->vk = NULL;
}

cuzk_status setup_files_hash(uint8_t out[32], const char *path, cuzk_error *err) {
    file_map m;
    cuzk_status st = file_map_open(&m, path, err);
    if (st != CUZK_OK) return st;
    hash_ctx *h = hash_create(HASH_SHA256);
    for (size_t at = 0; at < m.bytes; at += HASH_STEP) {
        size_t n = m.bytes - at < HASH_STEP ? m.bytes - at : HASH_STEP;
        hash_update(h, m.data + at, n);
        file_map_done(&m, at, n);
    }
    hash_final(h, out);
    hash_destroy(h);
    file_map_close(&m);
    return CUZK_OK;
}
