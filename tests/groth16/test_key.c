/* Key files: opening, the converted copy, checks, and everything that can be wrong with one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/log.h"
#include "groth16/key_convert.h"
#include "ref/groth16_case.h"
#include "ref/sanitized.h"

static cuzk_error err;
static pool *workers;
static char folder[256], path[512];

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != CUZK_OK) fail_msg("%s: %s (%s)", #call, err.what, err.where);                                    \
    } while (0)

/* The known key of `name` as a file of our own, which tests may spoil. */
static uint8_t *golden(const char *name, size_t *n) {
    char from[600];
    snprintf(from, sizeof from, TEST_DATA "/tiny/%s/params.bin", name);
    return case_read(from, n);
}

static void put(const uint8_t *data, size_t n) {
    OK(file_write_all(path, data, n, false, &err));
}

static void put_golden(const char *name) {
    size_t n;
    uint8_t *data = golden(name, &n);
    put(data, n);
    free(data);
}

/* Files of the cache's keys that end so; the path of one of them. */
static unsigned cached(const char *ending, char out[700]) {
    char keys[400];
    unsigned found = 0;
    snprintf(keys, sizeof keys, "%s/cache/keys", folder);
    DIR *d = opendir(keys);
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        if (n < 4 || strcmp(e->d_name + n - 4, ending) != 0) continue;
        snprintf(out, 700, "%s/%s", keys, e->d_name);
        found++;
    }
    if (d) closedir(d);
    return found;
}

/* Path of the only converted copy. */
static void copy_path(char out[700]) {
    assert_int_equal(cached(".key", out), 1);
}

/* The file's last bit changes behind the clock's back; the header of what is kept of it is made to fit. */
static void change_unseen(const char *kept) {
    struct stat st;
    size_t n, kept_bytes;
    uint8_t *data = case_read(path, &n), *whole = case_read(kept, &kept_bytes);
    converted_header *h = (void *)whole;
    assert_int_equal(stat(path, &st), 0);
    data[n - 1] ^= 1;
    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, data + n - 1, 1, (off_t)n - 1), 1);
    struct timespec times[2] = {st.st_atim, st.st_mtim};
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
    assert_int_equal(stat(path, &st), 0);
    h->ctime_ns = st.st_ctim.tv_sec * 1000000000LL + st.st_ctim.tv_nsec;
    converted_header_seal(h);
    OK(file_write_all(kept, whole, kept_bytes, false, &err));
    free(whole);
    free(data);
}

static void same_points(const proving_key *k, const char *name) {
    size_t n;
    params_view v;
    uint8_t *data = golden(name, &n), bytes[192];
    OK(params_view_open(&v, name, data, n, &err));
    const g1_affine *g1s[] = {k->vk.ic, k->h, k->l, k->a, k->b_g1};
    for (params_section s = 0; s < PARAMS_SECTIONS; s++) {
        assert_int_equal(k->count[s], v.count[s]);
        for (uint32_t i = 0; i < v.count[s]; i++) {
            if (s == PARAMS_B_G2) {
                g2_encode_uncompressed(bytes, &k->b_g2[i]);
            } else {
                g1_encode_uncompressed(bytes, &g1s[s][i]);
            }
            uint32_t width = params_point_bytes(s);
            assert_memory_equal(bytes, data + v.offset[s] + (size_t)i * width, width);
        }
    }
    free(data);
}

static void opened_converted_mapped(void **state) {
    (void)state;
    static const char *const names[] = {"cube", "boundary-1", "mimc-322", "many-inputs", "empty-lc"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        proving_key k;
        struct stat first, second;
        char copy[700];
        uint64_t live = buffer_total_stats().live_bytes;
        put_golden(names[i]);
        OK(proving_key_open(&k, path, KEY_CHECK_TRUSTED, workers, NULL, &err));
        assert_non_null(k.map.data);
        assert_int_equal(buffer_total_stats().live_bytes, live); /* nothing in tracked memory */
        same_points(&k, names[i]);
        assert_int_equal(k.origin, KEY_UNKNOWN);
        proving_key_close(&k);
        copy_path(copy);
        assert_int_equal(stat(copy, &first), 0);
        for (key_check c = KEY_CHECK_TRUSTED; c <= KEY_CHECK_FULL; c++) {
            OK(proving_key_open(&k, path, c, workers, NULL, &err));
            same_points(&k, names[i]);
            proving_key_close(&k);
            assert_int_equal(stat(copy, &second), 0);
            assert_int_equal(first.st_ino, second.st_ino); /* not made again */
        }
    }
}

/* The copy cut, longer, or with any byte of its header changed: made again. */
static void a_damaged_copy_is_made_again(void **state) {
    (void)state;
    char copy[700];
    proving_key k;
    size_t n;
    put_golden("cube");
    OK(proving_key_open(&k, path, KEY_CHECK_TRUSTED, workers, NULL, &err));
    proving_key_close(&k);
    copy_path(copy);
    uint8_t *good = case_read(copy, &n), *bad = malloc(n + 1);
    memcpy(bad, good, n);
    bad[n] = 0;
    const size_t lengths[] = {0, 1, sizeof(converted_header), CONVERTED_HEADER_BYTES, n - 1, n + 1};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        OK(file_write_all(copy, bad, lengths[i], false, &err));
        OK(proving_key_open(&k, path, KEY_CHECK_TRUSTED, workers, NULL, &err));
        same_points(&k, "cube");
        proving_key_close(&k);
        size_t m;
        uint8_t *again = case_read(copy, &m);
        assert_int_equal(m, n);
        assert_memory_equal(again, good, n);
        free(again);
    }
    for (size_t at = 0; at < sizeof(converted_header); at += at < 300 ? 7 : 509) {
        memcpy(bad, good, n);
        bad[at] ^= 0x10;
        OK(file_write_all(copy, bad, n, false, &err));
        OK(proving_key_open(&k, path, KEY_CHECK_TRUSTED, workers, NULL, &err));
        same_points(&k, "cube");
        proving_key_close(&k);
        size_t m;
        uint8_t *again = case_read(copy, &m);
        assert_memory_equal(again, good, n);
        free(again);
    }
    free(good);
    free(bad);
}

static void a_key_changed_in_place(void **state) {
    (void)state;
    proving_key k;
    char copy[700];
    put_golden("cube");
    OK(proving_key_open(&k, path, KEY_CHECK_TRUSTED, workers, NULL, &err));
    proving_key_close(&k);
    put_golden("mimc-322");
    OK(proving_key_open(&k, path, KEY_CHECK_TRUSTED, workers, NULL, &err));
    same_points(&k, "mimc-322");
    proving_key_close(&k);
    copy_path(copy); /* still one */
    /* A bit changed behind the clock's back: same size and times as far as they can be set; the digest finds it. */
    change_unseen(copy);
    OK(proving_key_open(&k, path, KEY_CHECK_TRUSTED, workers, NULL, &err));
    proving_key_close(&k);
    assert_int_equal(proving_key_open(&k, path, KEY_CHECK_DIGEST, workers, NULL, &err), CUZK_KEY_DAMAGED);
    assert_non_null(strstr(err.what, "SHA-256"));
    assert_int_equal(strlen(err.expected), 64);
    assert_string_not_equal(err.expected, err.found);
}

/* The copy's points themselves changed: the digest and the full check look there. The copy is blamed, not the key, and
 * goes. */
static void damaged_point_in_the_copy(key_check check) {
    proving_key k;
    char copy[700];
    size_t n;
    put_golden("mimc-322");
    OK(proving_key_open(&k, path, KEY_CHECK_TRUSTED, workers, NULL, &err));
    proving_key_close(&k);
    copy_path(copy);
    uint8_t *data = case_read(copy, &n);
    const converted_header *h = (void *)data;
    data[h->offset[PARAMS_A] + 17 * 96] ^= 1;
    OK(file_write_all(copy, data, n, false, &err));
    assert_int_equal(proving_key_open(&k, path, check, workers, NULL, &err), CUZK_KEY_DAMAGED);
    assert_non_null(strstr(err.where, ".key, section a, index 17"));
    assert_non_null(strstr(err.what, "copy"));
    assert_false(file_exists(copy));
    OK(proving_key_open(&k, path, check, workers, NULL, &err));
    OK(proving_key_doubt(&k, workers, NULL, &err));
    proving_key_close(&k);
    free(data);
}

static void a_damaged_point_in_the_copy(void **state) {
    (void)state;
    damaged_point_in_the_copy(KEY_CHECK_DIGEST);
    damaged_point_in_the_copy(KEY_CHECK_FULL);
}

static void copies_of_keys_that_are_gone(void **state) {
    (void)state;
    proving_key k;
    char copy[700], other[512];
    put_golden("cube");
    OK(proving_key_open(&k, path, KEY_CHECK_TRUSTED, workers, NULL, &err));
    proving_key_close(&k);
    case_path(other, folder, "moved.params");
    assert_int_equal(rename(path, other), 0);
    OK(proving_key_open(&k, other, KEY_CHECK_TRUSTED, workers, NULL, &err));
    proving_key_close(&k);
    copy_path(copy);
    assert_non_null(strstr(copy, "moved"));
    assert_int_equal(unlink(other), 0);
}

static void without_a_cache(void **state) {
    (void)state;
    char keys[500], blocked[400];
    proving_key k;
    put_golden("mimc-322");
    char *cache = strdup(getenv("CUZK_CACHE"));
    /* A file where the folder should be. */
    snprintf(blocked, sizeof blocked, "%s/blocked", folder);
    OK(file_write_all(blocked, "x", 1, false, &err));
    snprintf(keys, sizeof keys, "%s/cache", blocked);
    setenv("CUZK_CACHE", keys, 1);
    uint64_t live = buffer_total_stats().live_bytes;
    for (int i = 0; i < 2; i++) {
        OK(proving_key_open(&k, path, i ? KEY_CHECK_FULL : KEY_CHECK_DIGEST, workers, NULL, &err));
        assert_null(k.map.data);
        assert_true(buffer_class_stats(BUFFER_KEY).live_bytes > 0);
        same_points(&k, "mimc-322");
        proving_key_close(&k);
        assert_int_equal(buffer_total_stats().live_bytes, live);
    }
    setenv("CUZK_CACHE", cache, 1);
    free(cache);
}

/* Four processes at once: all can use the key, and one copy is there. */
static void opened_by_four_processes(void **state) {
    (void)state;
    char copy[700];
    put_golden("mimc-322");
    pid_t pids[4];
    for (int i = 0; i < 4; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            proving_key k;
            _exit(proving_key_open(&k, path, KEY_CHECK_FULL, NULL, NULL, &err) == CUZK_OK && k.map.data ? 0 : 1);
        }
    }
    for (int i = 0; i < 4; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    copy_path(copy);
}

/* ---- bad files ---- */

static void expect_damaged(const char *where) {
    proving_key k;
    bool valid = true;
    assert_int_equal(proving_key_open(&k, path, KEY_CHECK_TRUSTED, workers, NULL, &err), CUZK_KEY_DAMAGED);
    if (where && !strstr(err.where, where)) fail_msg("\"%s\" is not in \"%s\" (%s)", where, err.where, err.what);
    assert_int_equal(key_verify_file(path, true, &valid, workers, NULL, &err), CUZK_OK);
    assert_false(valid);
    if (where && !strstr(err.where, where)) fail_msg("\"%s\" is not in \"%s\" (%s)", where, err.where, err.what);
}

/* One bit of one point of every section. */
static void flipped_bits(void **state) {
    (void)state;
    size_t n;
    params_view v;
    uint8_t *data = golden("many-inputs", &n);
    OK(params_view_open(&v, path, data, n, &err));
    for (params_section s = 0; s < PARAMS_SECTIONS; s++) {
        uint32_t width = params_point_bytes(s);
        const uint32_t indices[] = {0, v.count[s] / 2, v.count[s] - 1};
        for (int i = 0; i < 3; i++) {
            size_t at = v.offset[s] + (size_t)indices[i] * width;
            char where[128];
            snprintf(where, sizeof where, "section %s, index %u, byte %zu", params_section_name(s), indices[i], at);
            for (int k = 0; k < 3; k++) {
                if (i > 0 && k != i) continue; /* each place in the first point, one in the others */
                size_t byte = at + (k == 0 ? 0 : k == 1 ? width / 2 : width - 1);
                uint8_t mask = k == 0 ? 0x80 : 1;
                data[byte] ^= mask;
                put(data, n);
                expect_damaged(where);
                data[byte] ^= mask;
            }
        }
    }
    free(data);
}

/* Infinity, and points off the subgroup, in every query. */
static void identities_and_small_orders(void **state) {
    (void)state;
    size_t n, m;
    params_view v;
    uint8_t *data = golden("many-inputs", &n), saved[192];
    OK(params_view_open(&v, path, data, n, &err));
    /* A point on the curve and outside G1, from the known bad keys: h0's place. */
    uint8_t *outside = case_read(TEST_DATA "/tiny/bad/params-h0-not-in-subgroup.bin", &m);
    params_view small;
    OK(params_view_open(&small, "bad", outside, m, &err));
    for (params_section s = PARAMS_H; s < PARAMS_SECTIONS; s++) {
        uint32_t width = params_point_bytes(s), index = v.count[s] - 2;
        uint8_t *at = data + v.offset[s] + (size_t)index * width;
        char where[64];
        snprintf(where, sizeof where, "section %s, index %u,", params_section_name(s), index);
        memcpy(saved, at, width);
        memset(at, 0, width);
        at[0] = 0x40;
        put(data, n);
        expect_damaged(where);
        if (s != PARAMS_B_G2) {
            bool valid;
            proving_key k;
            memcpy(at, outside + small.offset[PARAMS_H], width);
            put(data, n);
            OK(key_verify_file(path, false, &valid, workers, NULL, &err));
            assert_true(valid); /* sizes and counts */
            OK(key_verify_file(path, true, &valid, workers, NULL, &err));
            assert_false(valid);
            assert_non_null(strstr(err.where, where));
            assert_int_equal(proving_key_open(&k, path, KEY_CHECK_FULL, workers, NULL, &err), CUZK_KEY_DAMAGED);
            assert_non_null(strstr(err.where, where));
            OK(proving_key_open(&k, path, KEY_CHECK_TRUSTED, workers, NULL, &err));
            proving_key_close(&k);
        }
        memcpy(at, saved, width);
    }
    free(outside);
    free(data);
}

static void cut_at_every_edge(void **state) {
    (void)state;
    size_t n;
    params_view v;
    proving_key k;
    uint8_t *data = golden("cube", &n);
    OK(params_view_open(&v, path, data, n, &err));
    size_t cuts[64], count = 0;
    for (params_section s = 0; s < PARAMS_SECTIONS; s++) {
        for (int d = -1; d <= 1; d++) {
            cuts[count++] = v.offset[s] + (size_t)d;
            cuts[count++] = v.offset[s] - 4 + (size_t)d;
        }
    }
    const size_t more[] = {0, 1, 16, 95, 96, 863, 864, n / 2, n - 1};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) cuts[count++] = more[i];
    for (size_t i = 0; i < count; i++) {
        char found[32];
        bool valid;
        put(data, cuts[i]);
        assert_int_equal(proving_key_open(&k, path, KEY_CHECK_TRUSTED, workers, NULL, &err), CUZK_KEY_DAMAGED);
        snprintf(found, sizeof found, "%zu bytes", cuts[i]);
        assert_string_equal(err.found, found);
        assert_non_null(strstr(err.what, "truncated"));
        /* The front up to h's count is a whole verifying key. */
        OK(key_verify_file(path, false, &valid, workers, NULL, &err));
        assert_int_equal(valid, cuts[i] == v.vk_bytes);
    }
    free(data);
}

static void lying_counts(void **state) {
    (void)state;
    static const uint8_t lies[][4] = {{0xff, 0xff, 0xff, 0xff}, {0x80, 0, 0, 0}, {0, 0, 1, 0}};
    size_t n;
    params_view v;
    uint8_t *data = golden("cube", &n), saved[4];
    OK(params_view_open(&v, path, data, n, &err));
    for (params_section s = 0; s < PARAMS_SECTIONS; s++) {
        uint8_t *at = data + v.offset[s] - 4;
        memcpy(saved, at, 4);
        for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
            memcpy(at, lies[i], 4);
            put(data, n);
            expect_damaged(NULL);
        }
        memcpy(at, saved, 4);
        at[3]++; /* one more, one less: the file is too short, too long, or its points are no points */
        put(data, n);
        expect_damaged(NULL);
        at[3] = (uint8_t)(at[3] - 2);
        put(data, n);
        expect_damaged(NULL);
        memcpy(at, saved, 4);
    }
    uint8_t *longer = calloc(1, n + 1);
    memcpy(longer, data, n);
    put(longer, n + 1);
    expect_damaged(NULL);
    assert_non_null(strstr(err.what, "follow"));
    free(longer);
    free(data);
}

static void no_key(void **state) {
    (void)state;
    proving_key k;
    char none[512];
    bool valid;
    case_path(none, folder, "none.params");
    assert_int_equal(proving_key_open(&k, none, KEY_CHECK_TRUSTED, workers, NULL, &err), CUZK_KEY_MISSING);
    assert_non_null(strstr(err.where, "none.params"));
    assert_int_equal(proving_key_open(&k, folder, KEY_CHECK_TRUSTED, workers, NULL, &err), CUZK_IO);
    assert_int_equal(key_verify_file(none, true, &valid, workers, NULL, &err), CUZK_IO);
}

/* ---- many points: the bulk check of subgroups ---- */

/* A key file whose h query is large; only its sizes and points are right. */
static uint8_t *large_key(size_t *n, uint32_t count, params_view *v) {
    size_t m;
    uint8_t *small = golden("cube", &m);
    params_view s;
    OK(params_view_open(&s, "cube", small, m, &err));
    *n = m + (size_t)(count - s.count[PARAMS_H]) * 96;
    uint8_t *data = malloc(*n);
    memcpy(data, small, s.vk_bytes);
    params_write_count(data + s.vk_bytes, count);
    g1_affine g, *a = malloc(count * sizeof *a);
    g1 acc, *p = malloc(count * sizeof *p);
    fp *scratch = malloc(count * sizeof *scratch);
    g1_generator_affine(&g);
    g1_set_infinity(&acc);
    for (uint32_t i = 0; i < count; i++) {
        g1_add_affine(&acc, &acc, &g);
        p[i] = acc;
    }
    g1_batch_to_affine(a, p, count, scratch);
    for (uint32_t i = 0; i < count; i++) g1_encode_uncompressed(data + s.vk_bytes + 4 + (size_t)i * 96, &a[i]);
    memcpy(data + s.vk_bytes + 4 + (size_t)count * 96, small + s.offset[PARAMS_L] - 4, m - (s.offset[PARAMS_L] - 4));
    free(small);
    free(a);
    free(p);
    free(scratch);
    OK(params_view_open(v, "large", data, *n, &err));
    return data;
}

static void bad_points_among_many(void **state) {
    (void)state;
    enum { COUNT = 140000 }; /* two tiles */
    size_t n, m;
    params_view v, small;
    bool valid;
    uint8_t *data = large_key(&n, COUNT, &v), saved[96];
    uint8_t *outside = case_read(TEST_DATA "/tiny/bad/params-h0-not-in-subgroup.bin", &m);
    OK(params_view_open(&small, "bad", outside, m, &err));
    const uint32_t at[] = {131072, 131071, COUNT - 1}; /* the last is found when all others are right */
    for (size_t i = 0; i < (TEST_SANITIZED ? 1 : sizeof at / sizeof *at); i++) {
        uint8_t *point = data + v.offset[PARAMS_H] + (size_t)at[i] * 96;
        char where[64];
        memcpy(saved, point, 96);
        memcpy(point, outside + small.offset[PARAMS_H], 96);
        put(data, n);
        OK(key_verify_file(path, true, &valid, workers, NULL, &err));
        assert_false(valid);
        snprintf(where, sizeof where, "section h, index %u,", at[i]);
        assert_non_null(strstr(err.where, where));
        memcpy(point, saved, 96);
    }
    /* A point and its negative: their parts outside the subgroup cancel in any common sum. */
    g1_affine p;
    assert_int_equal(g1_decode_uncompressed(&p, outside + small.offset[PARAMS_H], SUBGROUP_SKIP), POINT_OK);
    g1_affine_neg(&p, &p);
    memcpy(data + v.offset[PARAMS_H] + 500 * 96, outside + small.offset[PARAMS_H], 96);
    g1_encode_uncompressed(data + v.offset[PARAMS_H] + 900 * 96, &p);
    put(data, n);
    OK(key_verify_file(path, true, &valid, workers, NULL, &err));
    assert_false(valid);
    assert_non_null(strstr(err.where, "index 500,"));
    free(outside);
    free(data);
}

/* ---- origin ---- */

/* Points may stay in the file: nothing is kept but, where they are asked for, the digests. */
static void points_left_in_the_file(void **state) {
    (void)state;
    proving_key k;
    char sum[700];
    put_golden("cube"); /* what an earlier test left goes with it */
    OK(proving_key_open(&k, path, KEY_CHECK_TRUSTED, workers, NULL, &err));
    proving_key_close(&k);
    copy_path(sum);
    unlink(sum);
    put_golden("mimc-322");
    OK(proving_key_open_file(&k, path, KEY_CHECK_TRUSTED, workers, NULL, &err));
    assert_false(proving_key_on_host(&k));
    assert_null(k.h);
    assert_int_equal(cached(".key", sum) + cached(".sum", sum), 0);
    proving_key_close(&k);
    for (int i = 0; i < 2; i++) {
        OK(proving_key_open_file(&k, path, KEY_CHECK_DIGEST, workers, NULL, &err));
        proving_key_close(&k);
        assert_int_equal(cached(".sum", sum), 1);
    }
    change_unseen(sum);
    OK(proving_key_open_file(&k, path, KEY_CHECK_TRUSTED, workers, NULL, &err));
    proving_key_close(&k);
    assert_int_equal(proving_key_open_file(&k, path, KEY_CHECK_DIGEST, workers, NULL, &err), CUZK_KEY_DAMAGED);
    assert_non_null(strstr(err.what, "SHA-256"));
    /* The host may want them later, of the same file only. */
    put_golden("mimc-322");
    OK(proving_key_open_file(&k, path, KEY_CHECK_FULL, workers, NULL, &err));
    assert_true(k.subgroup);
    OK(proving_key_bring(&k, workers, NULL, &err));
    assert_true(proving_key_on_host(&k));
    same_points(&k, "mimc-322");
    OK(proving_key_bring(&k, workers, NULL, &err));
    proving_key_close(&k);
    OK(proving_key_open_file(&k, path, KEY_CHECK_TRUSTED, workers, NULL, &err));
    unlink(path);
    put_golden("mimc-322");
    assert_int_equal(proving_key_bring(&k, workers, NULL, &err), CUZK_FOREIGN);
    proving_key_close(&k);
}

/* Points that were found bad on the host stay unseen there, and a try that was broken off leaves nothing. */
static void points_that_cannot_be_brought(void **state) {
    (void)state;
    proving_key k;
    atomic_int cancel = 1;
    cuzk_control control = {.cancel = &cancel};
    char keys[500], blocked[400];
    size_t n, m;
    params_view v, small;
    uint8_t *data = golden("mimc-322", &n),
            *outside = case_read(TEST_DATA "/tiny/bad/params-h0-not-in-subgroup.bin", &m);
    OK(params_view_open(&v, path, data, n, &err));
    OK(params_view_open(&small, "bad", outside, m, &err));
    memcpy(data + v.offset[PARAMS_A] + 5 * 96, outside + small.offset[PARAMS_H], 96);
    put(data, n);
    OK(proving_key_open_file(&k, path, KEY_CHECK_FULL, workers, NULL, &err));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(proving_key_bring(&k, workers, NULL, &err), CUZK_KEY_DAMAGED);
        assert_non_null(strstr(err.where, "section a, index 5,"));
        assert_false(proving_key_on_host(&k));
    }
    proving_key_close(&k);
    put_golden("mimc-322");
    char *cache = strdup(getenv("CUZK_CACHE"));
    snprintf(blocked, sizeof blocked, "%s/blocked-too", folder);
    OK(file_write_all(blocked, "x", 1, false, &err));
    snprintf(keys, sizeof keys, "%s/cache", blocked);
    setenv("CUZK_CACHE", keys, 1);
    OK(proving_key_open_file(&k, path, KEY_CHECK_TRUSTED, workers, NULL, &err));
    uint64_t live = buffer_total_stats().live_bytes;
    assert_int_equal(proving_key_bring(&k, workers, &control, &err), CUZK_CANCELLED);
    assert_int_equal(buffer_total_stats().live_bytes, live);
    OK(proving_key_bring(&k, workers, NULL, &err));
    same_points(&k, "mimc-322");
    proving_key_close(&k);
    setenv("CUZK_CACHE", cache, 1);
    free(cache);
    free(outside);
    free(data);
}

static void origins(void **state) {
    (void)state;
    proving_key k;
    char marker[600], ours[600];
    put_golden("cube");
    OK(proving_key_open(&k, path, KEY_CHECK_TRUSTED, workers, NULL, &err));
    assert_string_equal(key_origin_name(k.origin), "unknown");
    proving_key_close(&k);
    snprintf(marker, sizeof marker, "%s.development", path);
    OK(file_write_all(marker, "", 0, false, &err));
    OK(proving_key_open(&k, path, KEY_CHECK_TRUSTED, workers, NULL, &err));
    assert_string_equal(key_origin_name(k.origin), "development");
    proving_key_close(&k);
    unlink(marker);
    snprintf(ours, sizeof ours, "%s/cache/any.params", folder);
    size_t n;
    uint8_t *data = golden("cube", &n);
    OK(file_write_all(ours, data, n, false, &err));
    assert_int_equal(key_origin_of(ours, data, 1060), KEY_DEVELOPMENT);
    assert_int_equal(key_origin_of(path, data, 1060), KEY_UNKNOWN);
    free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opened_converted_mapped),
        cmocka_unit_test(a_damaged_copy_is_made_again),
        cmocka_unit_test(a_key_changed_in_place),
        cmocka_unit_test(a_damaged_point_in_the_copy),
        cmocka_unit_test(copies_of_keys_that_are_gone),
        cmocka_unit_test(without_a_cache),
        cmocka_unit_test(opened_by_four_processes),
        cmocka_unit_test(flipped_bits),
        cmocka_unit_test(identities_and_small_orders),
        cmocka_unit_test(cut_at_every_edge),
        cmocka_unit_test(lying_counts),
        cmocka_unit_test(no_key),
        cmocka_unit_test(bad_points_among_many),
        cmocka_unit_test(origins),
        cmocka_unit_test(points_left_in_the_file),
        cmocka_unit_test(points_that_cannot_be_brought),
    };
    log_setup(LOG_ERROR, LOG_TEXT);
    case_folder_make(folder);
    case_path(path, folder, "k.params");
    workers = pool_create(2, &err);
    if (!workers) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    pool_destroy(workers);
    case_folder_remove(folder);
    return failed;
}
