/* Tracked buffers over anonymous mappings; see base/buffer.h.
 *
 * Counts are in whole pages, since that is what the system gives. The total is raised by compare-and-swap before the
 * mapping is made, so that two threads can never pass the limit together; peaks are atomic maxima of the values just
 * after each raise. Buffers of 2 MiB or more start on a 2 MiB boundary and ask for huge pages: the prover walks
 * gigabytes, and 4 KiB pages would spend its time in the TLB.
 *
 * Limits: wiping touches only pages in memory (mincore), so that freeing a large, hardly used secret buffer does not
 * first fault all of it in; a page that was swapped out is dropped by the system, not overwritten on the swap device.
 */
#include "base/buffer.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/random.h"
#include "base/text.h"

#define HUGE_PAGE ((size_t)2 << 20)

typedef struct counters {
    atomic_uint_fast64_t live_bytes, live_count, peak_bytes;
} counters;

static counters by_class[BUFFER_CLASSES];
static counters total;
static atomic_uint_fast64_t limit;

static const struct {
    const char *name;
    bool secret;
} classes[] = {
#define X(name, text, secret) [BUFFER_##name] = {text, secret},
    BUFFER_CLASS_LIST(X)
#undef X
};

static size_t page_bytes(void) {
    static atomic_size_t known;
    size_t page = atomic_load_explicit(&known, memory_order_relaxed);
    if (!page) {
        page = (size_t)sysconf(_SC_PAGESIZE);
        atomic_store_explicit(&known, page, memory_order_relaxed);
    }
    return page;
}

/* bytes must be at most SIZE_MAX - a page. */
static size_t round_to_pages(size_t bytes) {
    return (bytes + page_bytes() - 1) & ~(page_bytes() - 1);
}

static void raise_peak(atomic_uint_fast64_t *peak, uint64_t value) {
    uint_fast64_t seen = atomic_load(peak);
    while (seen < value && !atomic_compare_exchange_weak(peak, &seen, value)) {
    }
}

/* Takes `bytes` from the limit; false (and *live: what is held) when it would be passed. */
static bool reserve(uint64_t bytes, uint64_t *live) {
    uint_fast64_t seen = atomic_load(&total.live_bytes), max = atomic_load(&limit);
    do {
        if (max && (seen > max || bytes > max - seen)) {
            *live = seen;
            return false;
        }
    } while (!atomic_compare_exchange_weak(&total.live_bytes, &seen, seen + bytes));
    *live = seen + bytes;
    return true;
}

static void *map_pages(size_t bytes) {
    if (bytes < HUGE_PAGE) {
        void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return p == MAP_FAILED ? NULL : p;
    }
    if (bytes > SIZE_MAX - HUGE_PAGE) {
        errno = ENOMEM;
        return NULL;
    }
    /* Map more than needed, then cut both ends so that what stays starts on a huge page. */
    char *raw = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) return NULL;
    size_t head = (HUGE_PAGE - (uintptr_t)raw % HUGE_PAGE) % HUGE_PAGE, tail = HUGE_PAGE - head;
    if (head) munmap(raw, head);
    if (tail) munmap(raw + head + bytes, tail);
    madvise(raw + head, bytes, MADV_HUGEPAGE); /* a wish: without huge pages all still works */
    return raw + head;
}

cuzk_status buffer_alloc(buffer *out, buffer_class cls, size_t bytes, cuzk_error *err) {
    assert(cls < BUFFER_CLASSES);
    *out = (buffer){NULL, 0, cls};
    if (!bytes) return CUZK_OK;
    char need[24], have[24];
    text_size(need, bytes);
    if (bytes > SIZE_MAX - page_bytes()) {
        cuzk_fail(err, CUZK_MEMORY, "a buffer of %s cannot exist", need);
        return cuzk_fail_where(err, "buffer class %s", classes[cls].name);
    }
    size_t mapped = round_to_pages(bytes);
    uint64_t live;
    if (!reserve(mapped, &live)) {
        text_size(need, mapped);
        text_size(have, buffer_limit());
        cuzk_fail(err, CUZK_MEMORY, "the memory limit would be passed");
        cuzk_fail_where(err, "buffer class %s", classes[cls].name);
        cuzk_fail_expected(err, "at most %llu bytes (%s)", (unsigned long long)buffer_limit(), have);
        cuzk_fail_found(err, "%llu bytes in use and %llu more needed (%s)", (unsigned long long)live,
                        (unsigned long long)mapped, need);
        return cuzk_fail_hint(err, "raise the memory limit or run less at once");
    }
    void *p = map_pages(mapped);
    if (!p) {
        int why = errno;
        atomic_fetch_sub(&total.live_bytes, mapped);
        cuzk_fail_errno(err, why, NULL, "memory cannot be mapped");
        cuzk_fail_where(err, "buffer class %s", classes[cls].name);
        cuzk_fail_found(err, "%llu bytes needed (%s)", (unsigned long long)mapped, need);
        err->status = CUZK_MEMORY;
        return CUZK_MEMORY;
    }
    if (classes[cls].secret) madvise(p, mapped, MADV_DONTDUMP); /* keeps witnesses out of core files */
    raise_peak(&total.peak_bytes, live);
    atomic_fetch_add(&total.live_count, 1);
    counters *c = &by_class[cls];
    raise_peak(&c->peak_bytes, atomic_fetch_add(&c->live_bytes, mapped) + mapped);
    atomic_fetch_add(&c->live_count, 1);
    out->data = p;
    out->bytes = bytes;
    return CUZK_OK;
}

cuzk_status buffer_alloc_array(buffer *out, buffer_class cls, size_t count, size_t size, cuzk_error *err) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        *out = (buffer){NULL, 0, cls};
        cuzk_fail(err, CUZK_MEMORY, "a buffer of %zu times %zu bytes cannot exist", count, size);
        return cuzk_fail_where(err, "buffer class %s", classes[cls].name);
    }
    return buffer_alloc(out, cls, bytes, err);
}

/* Overwrites the pages of a range that are in memory. p and bytes are whole pages. */
static void wipe_resident(char *p, size_t bytes) {
    enum { STEP = 4096 };
    unsigned char here[STEP];
    size_t page = page_bytes();
    for (size_t at = 0; at < bytes; at += page * STEP) {
        size_t span = bytes - at < page * STEP ? bytes - at : page * STEP, pages = span / page;
        if (mincore(p + at, span, here)) {
            secure_wipe(p + at, span);
            continue;
        }
        for (size_t i = 0, run; i < pages; i += run + 1) {
            for (run = 0; i + run < pages && (here[i + run] & 1); run++) {
            }
            if (run) secure_wipe(p + at + i * page, run * page);
        }
    }
}

/* Unmaps the tail [keep, end) of a buffer's pages and takes it from the counts. */
static void give_back(buffer *b, size_t keep, size_t end) {
    if (keep == end) return;
    char *p = (char *)b->data + keep;
    if (classes[b->cls].secret) wipe_resident(p, end - keep);
    int rc = munmap(p, end - keep);
    assert(rc == 0);
    (void)rc;
    atomic_fetch_sub(&by_class[b->cls].live_bytes, end - keep);
    atomic_fetch_sub(&total.live_bytes, end - keep);
}

void buffer_shrink(buffer *b, size_t bytes) {
    assert(bytes <= b->bytes);
    if (!bytes) {
        buffer_free(b);
        return;
    }
    give_back(b, round_to_pages(bytes), round_to_pages(b->bytes));
    b->bytes = bytes;
}

void buffer_free(buffer *b) {
    if (b->data) {
        give_back(b, 0, round_to_pages(b->bytes));
        atomic_fetch_sub(&by_class[b->cls].live_count, 1);
        atomic_fetch_sub(&total.live_count, 1);
    }
    b->data = NULL;
    b->bytes = 0;
}

const char *buffer_class_name(buffer_class cls) {
    assert(cls < BUFFER_CLASSES);
    return classes[cls].name;
}

static buffer_stats stats_of(const counters *c) {
    return (buffer_stats){atomic_load(&c->live_bytes), atomic_load(&c->live_count), atomic_load(&c->peak_bytes)};
}

buffer_stats buffer_class_stats(buffer_class cls) {
    assert(cls < BUFFER_CLASSES);
    return stats_of(&by_class[cls]);
}

buffer_stats buffer_total_stats(void) {
    return stats_of(&total);
}

void buffer_reset_peaks(void) {
    for (int i = 0; i < BUFFER_CLASSES; i++)
        atomic_store(&by_class[i].peak_bytes, atomic_load(&by_class[i].live_bytes));
    atomic_store(&total.peak_bytes, atomic_load(&total.live_bytes));
}

void buffer_set_limit(uint64_t bytes) {
    atomic_store(&limit, bytes);
}
uint64_t buffer_limit(void) {
    return atomic_load(&limit);
}
