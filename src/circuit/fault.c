/* Faults of vanilla proofs; see circuit/fault.h. */
#include "circuit/fault.h"

#include "base/text.h"

bool fault_false(cuzk_error *err, const char *part, const char *what) {
    cuzk_fail(err, CUZK_UNSATISFIED, "the vanilla proof is false: %s", what);
    cuzk_fail_where(err, "%s", part);
    return false;
}

static void hex_be(char out[65], const fr *v) {
    uint8_t b[32];
    fr_to_be_bytes(b, v);
    text_hex(out, b, 32);
}

bool fault_same(cuzk_error *err, const char *part, const char *what, const fr *expected, const fr *found) {
    if (fr_eq(expected, found)) return true;
    char hex[65];
    fault_false(err, part, what);
    hex_be(hex, expected);
    cuzk_fail_expected(err, "%s", hex);
    hex_be(hex, found);
    cuzk_fail_found(err, "%s", hex);
    return false;
}

bool fault_same_number(cuzk_error *err, const char *part, const char *what, const char *noun, uint64_t expected,
                       uint64_t found) {
    if (expected == found) return true;
    const char *space = noun[0] ? " " : "";
    fault_false(err, part, what);
    cuzk_fail_expected(err, "%s%s%llu", noun, space, (unsigned long long)expected);
    cuzk_fail_found(err, "%s%s%llu", noun, space, (unsigned long long)found);
    return false;
}

void fault_first_init(fault_first *f) {
    pthread_mutex_init(&f->lock, NULL);
    atomic_init(&f->tile, SIZE_MAX);
}

bool fault_first_open(fault_first *f, size_t tile) {
    return tile <= atomic_load(&f->tile);
}

void fault_first_note(fault_first *f, size_t tile, const cuzk_error *err) {
    pthread_mutex_lock(&f->lock);
    if (tile < atomic_load(&f->tile)) {
        atomic_store(&f->tile, tile);
        f->err = *err;
    }
    pthread_mutex_unlock(&f->lock);
}

cuzk_status fault_first_end(fault_first *f, cuzk_status ran, cuzk_error *err) {
    if (ran == CUZK_OK && atomic_load(&f->tile) != SIZE_MAX) {
        *err = f->err;
        ran = f->err.status;
    }
    pthread_mutex_destroy(&f->lock);
    return ran;
}
