/* Proving keys: opening, with the converted copy in the cache folder; see groth16/key.h.
 *
 * The copy's name is the file's name and a digest of its full path, so that a key that changed in place replaces its
 * copy. One process converts under a lock beside the copy while others wait, look again, and map what was made. The
 * copy of a key that is gone is removed when the next one is made.
 * A copy that cannot be kept (no folder, read-only, full disk) costs time, not the proof: the points then live in
 * tracked memory.
 *
 * Points may also stay in the file (proving_key_open_file): then only the digests are kept, where they are needed.
 */
#include "groth16/key.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/serial.h"
#include "base/text.h"
#include "groth16/key_check.h"
#include "groth16/key_convert.h"
#include "groth16/setup.h"
#include "r1cs/shape.h"

#define HASH_STEP ((size_t)16 << 20)

/* ---- origin ---- */

static const struct published_key {
    const char *name;
    uint64_t sector_bytes;
    uint8_t vk[16], params[16]; /* front of BLAKE2b-512 */
} published[] = {
#include "groth16/published_keys.inc"
};

static const struct published_key *find_published(const uint8_t *vk, uint64_t vk_bytes) {
    uint8_t digest[64];
    hash_blake2b512(digest, vk, (size_t)vk_bytes);
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        if (memcmp(digest, published[i].vk, sizeof published[i].vk) == 0) return &published[i];
    }
    return NULL;
}

const char *key_origin_name(key_origin o) {
    return o == KEY_OFFICIAL ? "official" : o == KEY_DEVELOPMENT ? "development" : "unknown";
}

static bool in_our_folder(const char *path) {
    char folder[4096], *real_folder = NULL, *real_path = NULL;
    cuzk_error ignored;
    bool inside = false;
    if (file_cache_name(folder, sizeof folder, NULL, &ignored) == CUZK_OK) {
        real_folder = realpath(folder, NULL);
        real_path = realpath(path, NULL);
        size_t n = real_folder ? strlen(real_folder) : 0;
        inside = n && real_path && strncmp(real_path, real_folder, n) == 0 && real_path[n] == '/';
    }
    free(real_folder);
    free(real_path);
    return inside;
}

key_origin key_origin_of(const char *path, const uint8_t *vk, uint64_t vk_bytes) {
    if (find_published(vk, vk_bytes)) return KEY_OFFICIAL;
    char marker[4096 + 16];
    snprintf(marker, sizeof marker, "%s.development", path);
    return file_exists(marker) || in_our_folder(path) ? KEY_DEVELOPMENT : KEY_UNKNOWN;
}

/* ---- the converted copy ---- */

static cuzk_status copy_path(char *out, size_t n, char *folder, size_t folder_n, const char *path, cuzk_error *err) {
    cuzk_status st = file_cache_folder(folder, folder_n, "keys", err);
    if (st != CUZK_OK) return st;
    char *real = realpath(path, NULL);
    const char *full = real ? real : path, *base = strrchr(full, '/');
    uint8_t digest[32];
    char hex[17];
    hash_sha256(digest, full, strlen(full));
    text_hex(hex, digest, 8);
    int len = snprintf(out, n, "%s/%.160s-%s.key", folder, base ? base + 1 : full, hex);
    free(real);
    if (len < 0 || (size_t)len >= n) return cuzk_fail(err, CUZK_IO, "the cache folder's path is too long");
    return CUZK_OK;
}

/* Maps a copy that fits; false (and nothing mapped) when there is none. *sha256 is the source's recorded digest. */
static bool open_copy(file_map *out, const char *copy, const converted_header *wanted, uint8_t sha256[32],
                      uint8_t blake2b[64]) {
    cuzk_error ignored;
    if (!file_exists(copy) || file_map_open(out, copy, &ignored) != CUZK_OK) return false;
    const converted_header *h = (const void *)out->data;
    if (converted_file_sound(out) && converted_header_fits(h, wanted)) {
        memcpy(sha256, h->sha256, 32);
        memcpy(blake2b, h->blake2b, 64);
        return true;
    }
    file_map_close(out);
    memset(out, 0, sizeof *out);
    return false;
}

/* Removes copies whose source no longer exists. */
static void drop_orphans(const char *folder) {
    DIR *d = opendir(folder);
    if (!d) return;
    for (struct dirent *e; (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        char name[4096 + 256];
        file_map m;
        cuzk_error ignored;
        if (n < 4 || (strcmp(e->d_name + n - 4, ".key") != 0 && strcmp(e->d_name + n - 4, ".sum") != 0)) continue;
        snprintf(name, sizeof name, "%s/%s", folder, e->d_name);
        if (file_map_open(&m, name, &ignored) != CUZK_OK) continue;
        bool orphan =
            converted_file_sound(&m) && !file_exists(((const converted_header *)(const void *)m.data)->source);
        file_map_close(&m);
        if (orphan && unlink(name) == 0) log_info("removed the converted copy of a key that is gone: %s", name);
    }
    closedir(d);
}

static void say_waiting(void *user) {
    log_info("another process is converting the key; waiting: %s", (const char *)user);
}

/* A whole page of header, so that a copy without points has its full length, too. */
static cuzk_status write_header(file_writer *w, converted_header *h, cuzk_error *err) {
    uint8_t page[CONVERTED_HEADER_BYTES] = {0};
    converted_header_seal(h);
    memcpy(page, h, sizeof *h);
    return file_writer_pwrite(w, page, sizeof page, 0, err);
}

static cuzk_status write_copy(const char *copy, converted_header *h, const char *path, const file_map *source,
                              const params_view *v, pool *p, const cuzk_control *control, cuzk_error *err) {
    file_writer *w = NULL;
    cuzk_status st = file_writer_open(&w, copy, false, err);
    if (st == CUZK_OK) st = file_writer_reserve(w, h->total_bytes, err);
    if (st == CUZK_OK) st = key_convert(h, w, NULL, path, source, v, p, control, err);
    if (st == CUZK_OK) st = write_header(w, h, err);
    if (st != CUZK_OK) {
        file_writer_abort(w);
        return st;
    }
    return file_writer_commit(w, err);
}

/* What opening carries from step to step. */
typedef struct key_opening {
    file_map source;
    params_view view;
    converted_header header; /* as wanted; with digests once known */
    bool fresh;              /* the digests were computed in this opening */
} key_opening;

static cuzk_status convert_in_memory(proving_key *k, key_opening *o, const cuzk_error *why, pool *p,
                                     const cuzk_control *control, cuzk_error *err) {
    log_warn("the converted key cannot be kept (%s%s%s); converting into memory", why->what, why->where[0] ? ": " : "",
             why->where);
    cuzk_status st = buffer_alloc(&k->memory, BUFFER_KEY, (size_t)proving_key_native_bytes(&o->view), err);
    if (st != CUZK_OK) return st;
    o->fresh = true;
    if (!k->memory.data) return CUZK_OK; /* a key without points but the verifying key's */
    return key_convert(&o->header, NULL, k->memory.data, k->path, &o->source, &o->view, p, control, err);
}

static bool is_about_storage(cuzk_status s) {
    return s == CUZK_IO || s == CUZK_DISK;
}

static cuzk_status get_points(proving_key *k, key_opening *o, pool *p, const cuzk_control *control, cuzk_error *err) {
    char copy[4096 + 256], folder[4096];
    int lock = -1;
    cuzk_error why;
    cuzk_status st = copy_path(copy, sizeof copy, folder, sizeof folder, k->path, &why);
    if (st == CUZK_OK) {
        if (open_copy(&k->map, copy, &o->header, o->header.sha256, o->header.blake2b)) return CUZK_OK;
        st = file_lock(&lock, copy, say_waiting, copy, &why);
    }
    if (st == CUZK_OK) {
        if (open_copy(&k->map, copy, &o->header, o->header.sha256, o->header.blake2b)) goto done; /* made meanwhile */
        drop_orphans(folder);
        log_info("converting the key (once): %s", k->path);
        st = write_copy(copy, &o->header, k->path, &o->source, &o->view, p, control, &why);
        if (st == CUZK_OK) {
            o->fresh = true;
            if (open_copy(&k->map, copy, &o->header, o->header.sha256, o->header.blake2b)) goto done;
            st = cuzk_fail(&why, CUZK_IO, "the copy just written cannot be read back");
        }
    }
    if (is_about_storage(st)) {
        st = convert_in_memory(k, o, &why, p, control, err);
    } else {
        *err = why;
    }
done:
    if (lock >= 0) file_unlock(lock);
    return st;
}

/* Points of the sections, in the mapped copy or in memory. */
static void set_points(proving_key *k, const key_opening *o) {
    const uint8_t *base = k->map.data ? k->map.data : (const uint8_t *)k->memory.data - CONVERTED_HEADER_BYTES;
    const uint64_t *at = o->header.offset;
    if (!k->map.data && !k->memory.data) return;
    k->h = (const void *)(base + at[PARAMS_H]);
    k->l = (const void *)(base + at[PARAMS_L]);
    k->a = (const void *)(base + at[PARAMS_A]);
    k->b_g1 = (const void *)(base + at[PARAMS_B_G1]);
    k->b_g2 = (const void *)(base + at[PARAMS_B_G2]);
}

static cuzk_status digest_fault(cuzk_error *err, const char *path, const char *what, const uint8_t *expected,
                                const uint8_t *found, size_t n) {
    char hex[129];
    cuzk_fail(err, CUZK_KEY_DAMAGED, "%s", what);
    cuzk_fail_where(err, "%s", path);
    text_hex(hex, expected, n);
    cuzk_fail_expected(err, "%s", hex);
    text_hex(hex, found, n);
    cuzk_fail_found(err, "%s", hex);
    return cuzk_fail_hint(err, "fetch the key again");
}

static cuzk_status check_digest(const key_opening *o, const char *path, const cuzk_control *control, cuzk_error *err) {
    hash_ctx *h = hash_create(HASH_SHA256);
    uint8_t digest[32];
    bool cancelled = false;
    for (size_t at = 0; at < o->source.bytes && !cancelled; at += HASH_STEP) {
        size_t n = o->source.bytes - at < HASH_STEP ? o->source.bytes - at : HASH_STEP;
        hash_update(h, o->source.data + at, n);
        file_map_done(&o->source, at, n);
        cancelled = control && control->cancel && atomic_load(control->cancel);
    }
    hash_final(h, digest);
    hash_destroy(h);
    if (cancelled) return cuzk_fail(err, CUZK_CANCELLED, "cancelled");
    if (memcmp(digest, o->header.sha256, sizeof digest) == 0) return CUZK_OK;
    return digest_fault(err, path, "the key's SHA-256 is not the one it had when it was converted", o->header.sha256,
                        digest, sizeof digest);
}

/* The published digest of a published key. */
static cuzk_status check_published(const proving_key *k, const key_opening *o, cuzk_error *err) {
    const struct published_key *official = find_published(o->source.data, o->view.vk_bytes);
    if (!official || memcmp(official->params, o->header.blake2b, sizeof official->params) == 0) return CUZK_OK;
    return digest_fault(err, k->path, "the key has a published verifying key but not the published BLAKE2b digest",
                        official->params, o->header.blake2b, sizeof official->params);
}

static cuzk_status run_checks(const proving_key *k, const key_opening *o, key_check check, pool *p,
                              const cuzk_control *control, cuzk_error *err) {
    cuzk_status st = check_published(k, o, err);
    if (st != CUZK_OK) return st;
    if (check == KEY_CHECK_DIGEST && !o->fresh) {
        /* The file is what it was; then the copy, which is what proofs are made with, must be what the file says. */
        st = check_digest(o, k->path, control, err);
        return st == CUZK_OK ? proving_key_doubt(k, p, control, err) : st;
    }
    if (check != KEY_CHECK_FULL) return CUZK_OK;
    st = key_check_native(k, &o->view, p, control, err);
    if (st != CUZK_KEY_DAMAGED || o->fresh) return st;
    cuzk_error fault = *err;
    st = proving_key_doubt(k, p, control, err);
    if (st != CUZK_OK) return st;
    *err = fault;
    return fault.status;
}

/* ---- keys whose points stay in the file ---- */

static cuzk_status replaced(const proving_key *k, cuzk_error *err) {
    cuzk_fail(err, CUZK_FOREIGN, "the key's file has been replaced since it was opened");
    return cuzk_fail_where(err, "%s", k->path);
}

typedef struct hash_run {
    hash_ctx *h[2];
    const uint8_t *from;
    size_t n;
} hash_run;

static void hash_tile(void *user, size_t tile, unsigned slot) {
    hash_run *r = user;
    (void)slot;
    hash_update(r->h[tile], r->from, r->n);
}

/* Both digests of the file, side by side. */
static cuzk_status compute_digests(key_opening *o, pool *p, const cuzk_control *control, cuzk_error *err) {
    hash_run r = {.h = {hash_create(HASH_SHA256), hash_create(HASH_BLAKE2B512)}};
    cuzk_status st = CUZK_OK;
    for (size_t at = 0; at < o->source.bytes && st == CUZK_OK; at += HASH_STEP) {
        r.from = o->source.data + at;
        r.n = o->source.bytes - at < HASH_STEP ? o->source.bytes - at : HASH_STEP;
        st = pool_run(p, control, "key: digests", 2, hash_tile, &r, err);
        file_map_done(&o->source, at, r.n);
    }
    hash_final(r.h[0], o->header.sha256);
    hash_final(r.h[1], o->header.blake2b);
    hash_destroy(r.h[0]);
    hash_destroy(r.h[1]);
    return st;
}

/* The digests from a converted copy or an earlier opening's note (a copy's header alone, ".sum"), or computed and noted
 * for the next. */
static cuzk_status get_digests(const proving_key *k, key_opening *o, pool *p, const cuzk_control *control,
                               cuzk_error *err) {
    char copy[4096 + 256], folder[4096];
    cuzk_error ignored;
    file_map m;
    converted_header *h = &o->header, note = *h;
    note.total_bytes = CONVERTED_HEADER_BYTES;
    memset(note.offset, 0, sizeof note.offset);
    bool named = copy_path(copy, sizeof copy, folder, sizeof folder, k->path, &ignored) == CUZK_OK;
    bool have = named && open_copy(&m, copy, h, h->sha256, h->blake2b);
    if (named && !have) {
        memcpy(copy + strlen(copy) - 3, "sum", 3);
        have = open_copy(&m, copy, &note, h->sha256, h->blake2b);
    }
    if (have) {
        file_map_close(&m);
        return CUZK_OK;
    }
    log_info("computing the key's digests (once): %s", k->path);
    cuzk_status st = compute_digests(o, p, control, err);
    if (st != CUZK_OK) return st;
    o->fresh = true;
    memcpy(note.sha256, h->sha256, sizeof note.sha256);
    memcpy(note.blake2b, h->blake2b, sizeof note.blake2b);
    uint8_t page[CONVERTED_HEADER_BYTES] = {0};
    converted_header_seal(&note);
    memcpy(page, &note, sizeof note);
    if (named && file_write_all(copy, page, sizeof page, false, &ignored) != CUZK_OK)
        log_warn("the key's digests cannot be kept (%s)", ignored.what);
    return CUZK_OK;
}

static cuzk_status check_digests(const proving_key *k, const key_opening *o, key_check check,
                                 const cuzk_control *control, cuzk_error *err) {
    cuzk_status st = check_published(k, o, err);
    if (st != CUZK_OK || check != KEY_CHECK_DIGEST || o->fresh) return st;
    return check_digest(o, k->path, control, err);
}

/* ---- doubts ---- */

static cuzk_status copy_damaged(const char *path, params_section section, uint64_t index, cuzk_error *err) {
    char copy[4096 + 256], folder[4096];
    cuzk_error ignored;
    bool named = copy_path(copy, sizeof copy, folder, sizeof folder, path, &ignored) == CUZK_OK;
    bool gone = named && unlink(copy) == 0;
    cuzk_fail(err, CUZK_KEY_DAMAGED, "the key's converted copy in the cache folder is damaged%s",
              gone ? "; it has been removed" : "");
    cuzk_fail_where(err, "%s, section %s, index %" PRIu64, named ? copy : path, params_section_name(section), index);
    cuzk_fail_expected(err, "the points of %s", path);
    return cuzk_fail_hint(err, gone ? "run again: the copy is made again; if this returns, look at the disk"
                                    : "remove the copy and run again");
}

cuzk_status proving_key_doubt(const proving_key *k, pool *p, const cuzk_control *control, cuzk_error *err) {
    file_map source;
    params_view v;
    params_section section = PARAMS_H;
    uint64_t index = UINT64_MAX;
    cuzk_error ignored;
    if (!k->map.data || file_map_open(&source, k->path, &ignored) != CUZK_OK) return CUZK_OK;
    const converted_header *h = (const void *)k->map.data;
    converted_header now;
    cuzk_status st = CUZK_OK;
    if (params_view_open(&v, k->path, source.data, source.bytes, &ignored) == CUZK_OK) {
        converted_header_make(&now, k->path, &source, &v);
        /* A file that was replaced meanwhile tells nothing of this copy. */
        if (converted_header_fits(h, &now))
            st = key_convert_compare(h, k->map.data, &source, &v, &section, &index, p, control, err);
    }
    if (st == CUZK_OK && index != UINT64_MAX) st = copy_damaged(k->path, section, index, err);
    file_map_close(&source);
    return st;
}

/* ---- opening ---- */

/* What the front of the file tells; the source stays mapped in *o. */
static cuzk_status read_front(proving_key *k, key_opening *o, cuzk_error *err) {
    const char *path = k->path;
    cuzk_status st = file_map_open(&o->source, path, err);
    if (st == CUZK_OK) st = params_view_open(&o->view, path, o->source.data, o->source.bytes, err);
    if (st == CUZK_OK) st = verifying_key_read(&k->vk, path, o->source.data, o->view.vk_bytes, err);
    if (st != CUZK_OK) return st;
    memcpy(k->count, o->view.count, sizeof k->count);
    memcpy(k->offset, o->view.offset, sizeof k->offset);
    k->file_bytes = o->source.bytes;
    k->root = ntt_root_bellman();
    k->origin = key_origin_of(path, o->source.data, o->view.vk_bytes);
    char *real = realpath(path, NULL);
    converted_header_make(&o->header, real ? real : path, &o->source, &o->view);
    free(real);
    return CUZK_OK;
}

static cuzk_status bring_points(proving_key *k, key_opening *o, key_check check, pool *p, const cuzk_control *control,
                                cuzk_error *err) {
    cuzk_status st = get_points(k, o, p, control, err);
    if (st != CUZK_OK) return st;
    set_points(k, o);
    return run_checks(k, o, check, p, control, err);
}

/* The points stay where they are. */
static cuzk_status leave_points(proving_key *k, key_opening *o, key_check check, pool *p, const cuzk_control *control,
                                cuzk_error *err) {
    cuzk_status st = file_reader_open(&k->file, k->path, err);
    if (st != CUZK_OK) return st;
    if (!file_reader_same(k->file, &o->source)) return replaced(k, err);
    k->subgroup = check == KEY_CHECK_FULL;
    if (check != KEY_CHECK_DIGEST && !find_published(o->source.data, o->view.vk_bytes)) return CUZK_OK;
    st = get_digests(k, o, p, control, err);
    return st == CUZK_OK ? check_digests(k, o, check, control, err) : st;
}

static cuzk_status open_key(proving_key *out, const char *path, bool leave, key_check check, pool *p,
                            const cuzk_control *control, cuzk_error *err) {
    memset(out, 0, sizeof *out);
    if (strlen(path) >= sizeof out->path) return cuzk_fail(err, CUZK_USAGE, "the key's path is too long");
    if (!file_exists(path)) {
        cuzk_fail(err, CUZK_KEY_MISSING, "there is no such key");
        cuzk_fail_where(err, "%s", path);
        return cuzk_fail_hint(err, "fetch it, or make a development key with `cuzk setup`");
    }
    key_opening *o = calloc(1, sizeof *o);
    if (!o) return cuzk_fail(err, CUZK_MEMORY, "no memory to open a key");
    out->id = serial_next();
    snprintf(out->path, sizeof out->path, "%s", path);
    cuzk_status st = read_front(out, o, err);
    if (st == CUZK_OK) st = (leave ? leave_points : bring_points)(out, o, check, p, control, err);
    file_map_close(&o->source);
    free(o);
    if (st != CUZK_OK) proving_key_close(out);
    return st;
}

cuzk_status proving_key_open(proving_key *out, const char *path, key_check check, pool *p, const cuzk_control *control,
                             cuzk_error *err) {
    return open_key(out, path, false, check, p, control, err);
}

cuzk_status proving_key_open_file(proving_key *out, const char *path, key_check check, pool *p,
                                  const cuzk_control *control, cuzk_error *err) {
    return open_key(out, path, true, check, p, control, err);
}

bool proving_key_on_host(const proving_key *k) {
    return k->h || (!k->file && !k->recipe);
}

cuzk_status proving_key_bring(proving_key *k, pool *p, const cuzk_control *control, cuzk_error *err) {
    if (proving_key_on_host(k)) return CUZK_OK;
    if (!k->file) {
        cuzk_fail(err, CUZK_USAGE, "a development key that is made on devices can only be used there");
        return cuzk_fail_hint(err, "make it with `cuzk setup`");
    }
    key_opening *o = calloc(1, sizeof *o);
    if (!o) return cuzk_fail(err, CUZK_MEMORY, "no memory to open a key");
    proving_key brought = *k; /* so that points that are not all there, or found bad, are never seen in k */
    cuzk_status st = file_map_open(&o->source, k->path, err);
    if (st == CUZK_OK && !file_reader_same(k->file, &o->source)) st = replaced(k, err);
    if (st == CUZK_OK) st = params_view_open(&o->view, k->path, o->source.data, o->source.bytes, err);
    if (st == CUZK_OK) {
        char *real = realpath(k->path, NULL);
        converted_header_make(&o->header, real ? real : k->path, &o->source, &o->view);
        free(real);
        st = bring_points(&brought, o, k->subgroup ? KEY_CHECK_FULL : KEY_CHECK_TRUSTED, p, control, err);
    }
    if (st == CUZK_OK) {
        k->map = brought.map; /* all else is the same, and devices may be reading it */
        k->memory = brought.memory;
        k->h = brought.h;
        k->l = brought.l;
        k->a = brought.a;
        k->b_g1 = brought.b_g1;
        k->b_g2 = brought.b_g2;
    } else {
        file_map_close(&brought.map);
        buffer_free(&brought.memory);
    }
    file_map_close(&o->source);
    free(o);
    return st;
}

void proving_key_close(proving_key *k) {
    file_map_close(&k->map);
    buffer_free(&k->memory);
    file_reader_close(k->file);
    if (k->recipe) {
        buffer recipe = k->recipe->self;
        pthread_mutex_destroy(&k->recipe->lock);
        buffer_free(&recipe);
    }
    verifying_key_free(&k->vk);
    memset(k, 0, sizeof *k);
}

cuzk_status proving_key_fits(const proving_key *k, const struct shape *s, cuzk_error *err) {
    cs_counts n = shape_counts(s);
    const uint64_t want[PARAMS_SECTIONS] = {
        [PARAMS_IC] = n.inputs,
        [PARAMS_H] = ((uint64_t)1 << shape_domain_log2(s)) - 1,
        [PARAMS_L] = n.aux,
        [PARAMS_A] = n.inputs + n.a_aux_density,
        [PARAMS_B_G1] = n.b_input_density + n.b_aux_density,
        [PARAMS_B_G2] = n.b_input_density + n.b_aux_density,
    };
    for (params_section i = 0; i < PARAMS_SECTIONS; i++) {
        if (k->count[i] == want[i]) continue;
        cuzk_fail(err, CUZK_FOREIGN, "the key belongs to another circuit: section %s has another number of points",
                  params_section_name(i));
        cuzk_fail_where(err, "%s", k->path);
        cuzk_fail_expected(err, "%" PRIu64 " points", want[i]);
        cuzk_fail_found(err, "%" PRIu32, k->count[i]);
        return cuzk_fail_hint(err, "give the key of this circuit and size");
    }
    return CUZK_OK;
}
