/* Sums and multiples of many points, written once over a group.
 *
 * Included once per group, after defining
 *   MSM(x)           the name x with the group's prefix
 *   MSM_F, MSM_FN(x) the coordinate field's type and its functions (fp, fp_##x)
 *   MSM_AFFINE, MSM_JACOBIAN, MSM_GROUP(x)  the point types and their functions (g1_affine, g1, g1_##x)
 *   MSM_SEGMENT      points per segment: a power of two, so that a segment and its products stay in the L2 cache
 *   MSM_PASS         points per pass: few enough for sorting in the cache and for their pages' translations
 *   MSM_PRODUCT      what add_pairs keeps a pair in the list of products: MSM_F, or more
 *   MSM_VECTOR       (optional) a header with another add_pairs, which may use this one as add_pairs_plain
 * All are undefined at the end.
 *
 * Everything rests on add_pairs: many independent affine additions that share one inversion (Montgomery 1987). An
 * addition then costs 5 products and a square: 3 for its share of the inversion, 2 and a square for the chord. Pairs
 * that have no chord (a point at infinity, equal or opposite points) are told apart when their denominator is built, so
 * any mixture is right.
 *
 * A window of an MSM is, pass by pass over the points: digits sorted by bucket (counting sort), then segment by segment
 * gathered and summed by a tree inside every bucket's run, to which the bucket's sum so far belongs; at the end the
 * buckets' weighted sum. Docs: docs/math/msm.md.
 */

/* left += right, or left -= right when negative. kind is filled by add_pairs. */
typedef struct {
    MSM_AFFINE *left;
    const MSM_AFFINE *right;
    uint32_t negative;
    uint32_t kind;
} MSM(pair);

/* One bucket's points in a segment: pts[start .. start + len). */
typedef struct {
    uint32_t start, len, bucket;
} MSM(run);

enum { MSM(ADD), MSM(DOUBLE), MSM(KEEP), MSM(TAKE), MSM(CLEAR) };

static inline bool MSM(is_infinity)(const MSM_AFFINE *p) {
    return MSM_FN(is_zero)(&p->x) && MSM_FN(is_zero)(&p->y);
}

/* The pair's denominator (returns true), or a kind that needs none. */
static inline bool MSM(denominator)(MSM(pair) * p, MSM_F *d) {
    MSM_FN(sub)(d, &p->right->x, &p->left->x);
    if (__builtin_expect(MSM(is_infinity)(p->right), 0)) {
        p->kind = MSM(KEEP);
        return false;
    }
    if (__builtin_expect(MSM(is_infinity)(p->left), 0)) {
        p->kind = MSM(TAKE);
        return false;
    }
    if (__builtin_expect(!MSM_FN(is_zero)(d), 1)) {
        p->kind = MSM(ADD);
        return true;
    }
    /* Equal x: the same point or opposite ones. The sum of the signed y is 2y or 0 (0 also for a point of order two).
     */
    if (p->negative) {
        MSM_FN(sub)(d, &p->left->y, &p->right->y);
    } else {
        MSM_FN(add)(d, &p->left->y, &p->right->y);
    }
    p->kind = MSM_FN(is_zero)(d) ? MSM(CLEAR) : MSM(DOUBLE);
    return p->kind == MSM(DOUBLE);
}

/* The chord or tangent through left and right, given the inverse of its denominator. */
static inline void MSM(finish)(const MSM(pair) * p, const MSM_F *inverse) {
    MSM_AFFINE *l = p->left;
    const MSM_AFFINE *r = p->right;
    MSM_F slope, x, t;
    if (__builtin_expect(p->kind == MSM(DOUBLE), 0)) {
        MSM_FN(sqr)(&t, &l->x);
        MSM_FN(dbl)(&slope, &t);
        MSM_FN(add)(&slope, &slope, &t);
    } else if (p->negative) { /* -yr - yl */
        MSM_FN(add)(&slope, &r->y, &l->y);
        MSM_FN(neg)(&slope, &slope);
    } else {
        MSM_FN(sub)(&slope, &r->y, &l->y);
    }
    MSM_FN(mul)(&slope, &slope, inverse);
    MSM_FN(sqr)(&x, &slope);
    MSM_FN(sub)(&x, &x, &l->x);
    MSM_FN(sub)(&x, &x, &r->x);
    MSM_FN(sub)(&t, &l->x, &x);
    MSM_FN(mul)(&t, &t, &slope);
    MSM_FN(sub)(&l->y, &t, &l->y);
    l->x = x;
}

/* All pairs, as if at once. `left` points are distinct. A `right` may be the `left` of a pair that comes *earlier* in
 * the list; its value before the addition counts. products: n elements. */
#ifdef MSM_VECTOR
static void MSM(add_pairs_plain)(MSM(pair) * pairs, size_t n, MSM_F *products) {
#else
static void MSM(add_pairs)(MSM(pair) * pairs, size_t n, MSM_F *products) {
#endif
    MSM_F acc[2], d, inverse; /* of even and odd pairs: two chains of products run side by side */
    MSM_FN(set_one)(&acc[0]);
    MSM_FN(set_one)(&acc[1]);
    for (size_t i = 0; i < n; i++) {
        if (i + 4 < n) {
            __builtin_prefetch(pairs[i + 4].right);
            __builtin_prefetch((const char *)pairs[i + 4].right + 64);
        }
        products[i] = acc[i & 1];
        if (MSM(denominator)(&pairs[i], &d)) MSM_FN(mul)(&acc[i & 1], &acc[i & 1], &d);
    }
    MSM_FN(mul)(&inverse, &acc[0], &acc[1]);
    MSM_FN(inv)(&inverse, &inverse);
    MSM_FN(mul)(&d, &inverse, &acc[1]);
    MSM_FN(mul)(&acc[1], &inverse, &acc[0]);
    acc[0] = d;
    for (size_t i = n; i-- > 0;) {
        MSM(pair) *p = &pairs[i];
        switch (p->kind) {
        case MSM(KEEP): continue;
        case MSM(TAKE):
            *p->left = *p->right;
            if (p->negative) MSM_FN(neg)(&p->left->y, &p->left->y);
            continue;
        case MSM(CLEAR): memset(p->left, 0, sizeof *p->left); continue;
        case MSM(DOUBLE):
            if (p->negative) {
                MSM_FN(sub)(&d, &p->left->y, &p->right->y);
            } else {
                MSM_FN(add)(&d, &p->left->y, &p->right->y);
            }
            break;
        default: MSM_FN(sub)(&d, &p->right->x, &p->left->x);
        }
        MSM_FN(mul)(&inverse, &acc[i & 1], &products[i]);
        MSM_FN(mul)(&acc[i & 1], &acc[i & 1], &d);
        MSM(finish)(p, &inverse);
    }
}

#ifdef MSM_VECTOR
#include MSM_VECTOR
#endif

/* What a window's work needs beside its buckets. */
typedef struct {
    MSM_AFFINE pts[MSM_SEGMENT];
    MSM_PRODUCT products[MSM_SEGMENT / 2];
    MSM(pair) pairs[MSM_SEGMENT / 2];
    MSM(run) runs[MSM_SEGMENT];
} MSM(segment);

/* Sums each run into its first point. Level k adds points 2^k apart, so nothing moves. */
static void MSM(sum_runs)(MSM(segment) * s, size_t runs) {
    for (uint32_t step = 1;; step *= 2) {
        size_t n = 0;
        for (size_t i = 0; i < runs; i++) {
            MSM_AFFINE *p = s->pts + s->runs[i].start;
            uint32_t len = s->runs[i].len;
            for (uint32_t j = 0; j + step < len; j += 2 * step) {
                s->pairs[n++] = (MSM(pair)){.left = p + j, .right = p + j + step};
            }
        }
        if (n == 0) return;
        MSM(add_pairs)(s->pairs, n, s->products);
    }
}

/* ---- weighted sum of buckets ---- */

#define MSM_LANES_MAX 256u
/* At least 32 buckets a lane: a lane costs about as much in the end as a few dozen batched additions. */
static inline uint32_t MSM(lanes)(uint32_t buckets) {
    uint32_t lanes = 1;
    while (lanes < MSM_LANES_MAX && lanes * 64 <= buckets) lanes *= 2;
    return lanes;
}

/* out = sum over b = 1 .. n of b * bucket[b - 1], one after the other. */
static void MSM(weigh_plain)(MSM_JACOBIAN *out, const MSM_AFFINE *bucket, uint32_t n) {
    MSM_JACOBIAN run, total;
    MSM_GROUP(set_infinity)(&run);
    MSM_GROUP(set_infinity)(&total);
    for (uint32_t b = n; b-- > 0;) {
        MSM_GROUP(add_affine)(&run, &run, &bucket[b]);
        MSM_GROUP(add)(&total, &total, &run);
    }
    *out = total;
}

/* The same in lanes of neighbouring buckets that advance together, so that additions are batched. In lane j,
 * run_j = sum of its buckets, total_j = sum of t * bucket[j * len + t - 1]; the whole is sum total_j + len * sum j
 * run_j. */
static void MSM(weigh)(MSM_JACOBIAN *out, MSM_AFFINE *bucket, uint32_t n, MSM(segment) * s) {
    uint32_t lanes = MSM(lanes)(n);
    if (lanes == 1) {
        MSM(weigh_plain)(out, bucket, n);
        return;
    }
    uint32_t len = (n + lanes - 1) / lanes;
    MSM_AFFINE *run = s->pts, *total = s->pts + MSM_LANES_MAX;
    memset(s->pts, 0, 2 * MSM_LANES_MAX * sizeof s->pts[0]);
    for (uint32_t t = len + 1; t-- > 0;) {
        size_t m = 0;
        /* First run += bucket, then total += run as it was: one batch advances both, totals one step behind. */
        for (uint32_t j = 0; j < lanes && t > 0; j++) {
            uint64_t b = (uint64_t)j * len + t - 1;
            if (b < n) s->pairs[m++] = (MSM(pair)){.left = run + j, .right = bucket + b};
        }
        for (uint32_t j = 0; j < lanes; j++) s->pairs[m++] = (MSM(pair)){.left = total + j, .right = run + j};
        MSM(add_pairs)(s->pairs, m, s->products);
    }
    MSM_JACOBIAN high, sum, scaled;
    MSM_GROUP(set_infinity)(&high);
    MSM_GROUP(set_infinity)(&sum);
    for (uint32_t j = lanes; j-- > 1;) {
        MSM_GROUP(add_affine)(&high, &high, &run[j]);
        MSM_GROUP(add)(&sum, &sum, &high);
    }
    MSM_GROUP(set_infinity)(&scaled);
    for (uint32_t bit = 1u << 31; bit != 0; bit >>= 1) {
        MSM_GROUP(dbl)(&scaled, &scaled);
        if (len & bit) MSM_GROUP(add)(&scaled, &scaled, &sum);
    }
    for (uint32_t j = 0; j < lanes; j++) MSM_GROUP(add_affine)(&scaled, &scaled, &total[j]);
    *out = scaled;
}

/* ---- one window ---- */

static size_t MSM(window_bytes)(size_t n, unsigned bits) {
    return sizeof(MSM(segment)) + msm_digit_buckets_max(bits) * sizeof(MSM_AFFINE) +
           (msm_digit_buckets_max(bits) + 2) * sizeof(uint32_t) + (n < MSM_PASS ? n : MSM_PASS) * sizeof(uint32_t);
}

/* Fills one segment from a pass's sorted entries. */
typedef struct {
    const MSM_AFFINE *points;
    MSM_AFFINE *bucket;
    const uint32_t *end; /* end[b]: one past bucket b's last entry */
    const uint32_t *entries;
    uint32_t buckets, b, next;
} MSM(cursor);

static inline void MSM(gather)(MSM_AFFINE *out, const MSM_AFFINE *points, uint32_t entry) {
    *out = points[entry & ~MSM_NEGATIVE];
    if (entry & MSM_NEGATIVE) MSM_FN(neg)(&out->y, &out->y);
}

static size_t MSM(fill)(MSM(cursor) * c, MSM(segment) * s, uint32_t total) {
    uint32_t used = 0;
    size_t runs = 0;
    while (c->b < c->buckets && used + 1 < MSM_SEGMENT) {
        uint32_t left = c->end[c->b] - c->next;
        if (left == 0) {
            c->b++;
            continue;
        }
        MSM(run) *r = &s->runs[runs++];
        r->start = used;
        r->bucket = c->b;
        if (!MSM(is_infinity)(&c->bucket[c->b])) s->pts[used++] = c->bucket[c->b]; /* its sum so far */
        uint32_t take = left < MSM_SEGMENT - used ? left : MSM_SEGMENT - used;
        for (uint32_t i = 0; i < take; i++) {
            if (c->next + i + 8 < total) {
                const char *ahead = (const char *)&c->points[c->entries[c->next + i + 8] & ~MSM_NEGATIVE];
                for (size_t line = 0; line < sizeof(MSM_AFFINE); line += 64) __builtin_prefetch(ahead + line);
                __builtin_prefetch(ahead + sizeof(MSM_AFFINE) - 1);
            }
            MSM(gather)(&s->pts[used + i], c->points, c->entries[c->next + i]);
        }
        used += take;
        r->len = used - r->start;
        c->next += take;
    }
    return runs;
}

/* Adds a pass's points to their buckets. */
static void MSM(fill_buckets)(MSM(cursor) * c, MSM(segment) * s, uint32_t total) {
    for (;;) {
        size_t runs = MSM(fill)(c, s, total);
        if (runs == 0) return;
        MSM(sum_runs)(s, runs);
        for (size_t i = 0; i < runs; i++) c->bucket[s->runs[i].bucket] = s->pts[s->runs[i].start];
    }
}

/* out = sum of digit(scalar_i, window) * point_i. scratch: window_bytes(n, bits). */
static void MSM(window)(MSM_JACOBIAN *out, const MSM_AFFINE *points, const uint32_t *index, const fr_canon *scalars,
                        size_t n, unsigned bits, unsigned window, void *scratch) {
    MSM(segment) *s = scratch;
    MSM_AFFINE *bucket = (MSM_AFFINE *)(s + 1);
    uint32_t buckets = msm_digit_buckets(bits, window);
    uint32_t *end = (uint32_t *)(bucket + msm_digit_buckets_max(bits));
    uint32_t *entries = end + msm_digit_buckets_max(bits) + 2;
    bool any = false;
    memset(bucket, 0, buckets * sizeof *bucket);
    for (size_t at = 0; at < n; at += MSM_PASS) {
        size_t m = n - at < MSM_PASS ? n - at : MSM_PASS;
        uint32_t total = msm_digit_sort(entries, end, index != NULL ? index + at : NULL, scalars + at, m, bits, window);
        MSM(cursor)
        c = {.points = index != NULL ? points : points + at,
             .bucket = bucket,
             .end = end,
             .entries = entries,
             .buckets = buckets};
        MSM(fill_buckets)(&c, s, total);
        any |= total != 0;
    }
    MSM_GROUP(set_infinity)(out);
    if (any) MSM(weigh)(out, bucket, buckets, s);
}

static void MSM(combine)(MSM_JACOBIAN *out, const MSM_JACOBIAN *sums, unsigned windows, size_t ranges, unsigned bits) {
    MSM_JACOBIAN acc;
    MSM_GROUP(set_infinity)(&acc);
    for (unsigned w = windows; w-- > 0;) {
        for (unsigned i = 0; i < bits && !MSM_GROUP(is_infinity)(&acc); i++) MSM_GROUP(dbl)(&acc, &acc);
        for (size_t r = 0; r < ranges; r++) MSM_GROUP(add)(&acc, &acc, &sums[w * ranges + r]);
    }
    *out = acc;
}

/* ---- plain sums ---- */

static size_t MSM(sum_bytes)(void) {
    return sizeof(MSM(segment));
}

static void MSM(sum)(MSM_JACOBIAN *out, const MSM_AFFINE *points, const uint32_t *index, size_t n, void *scratch) {
    MSM(segment) *s = scratch;
    /* Half of the segment holds running sums, the other half takes new points: full batches until the last tree. */
    const uint32_t half = MSM_SEGMENT / 2;
    uint32_t width = n < half ? (uint32_t)n : half;
    for (uint32_t i = 0; i < width; i++) s->pts[i] = points[index != NULL ? index[i] : i];
    for (size_t at = width; at < n;) {
        uint32_t m = n - at < half ? (uint32_t)(n - at) : half;
        for (uint32_t i = 0; i < m; i++) {
            s->pairs[i] = (MSM(pair)){.left = s->pts + i, .right = &points[index != NULL ? index[at + i] : at + i]};
        }
        MSM(add_pairs)(s->pairs, m, s->products);
        at += m;
    }
    MSM_GROUP(set_infinity)(out);
    if (width == 0) return;
    s->runs[0] = (MSM(run)){.start = 0, .len = width};
    MSM(sum_runs)(s, 1);
    MSM_GROUP(from_affine)(out, &s->pts[0]);
}

/* ---- fixed base ---- */

/* row[j] = (j + 1) * base for j < n, doubling the filled part with one batch of additions each time. */
static void MSM(fixed_row)(MSM_AFFINE *row, const MSM_AFFINE *base, size_t n) {
    MSM(pair) pairs[FIXED_BATCH];
    MSM_PRODUCT products[FIXED_BATCH];
    row[0] = *base;
    for (size_t have = 1; have < n; have *= 2) {
        size_t more = have < n - have ? have : n - have;
        for (size_t at = 0; at < more; at += FIXED_BATCH) {
            size_t m = more - at < FIXED_BATCH ? more - at : FIXED_BATCH;
            for (size_t i = 0; i < m; i++) {
                row[have + at + i] = row[at + i];
                pairs[i] = (MSM(pair)){.left = row + have + at + i, .right = row + have - 1};
            }
            MSM(add_pairs)(pairs, m, products);
        }
    }
}

/* table: window w's row begins at w * 2^(bits-1). */
static void MSM(fixed_mul)(const MSM_AFFINE *table, unsigned bits, MSM_AFFINE *out, const fr_canon *scalars, size_t n) {
    MSM(pair) pairs[FIXED_BATCH];
    MSM_PRODUCT products[FIXED_BATCH];
    unsigned windows = msm_digit_windows(bits);
    fr_canon offset = msm_digit_offset(bits);
    for (size_t at = 0; at < n; at += FIXED_BATCH) {
        size_t m = n - at < FIXED_BATCH ? n - at : FIXED_BATCH;
        memset(out + at, 0, m * sizeof *out);
        for (unsigned w = 0; w < windows; w++) {
            const MSM_AFFINE *row = table + fixed_row_start(bits, w);
            size_t used = 0;
            for (size_t i = 0; i < m; i++) {
                int32_t digit = msm_digit(&scalars[at + i], &offset, bits, w, windows);
                if (digit == 0) continue;
                uint32_t magnitude = (uint32_t)(digit < 0 ? -digit : digit);
                pairs[used++] = (MSM(pair)){.left = out + at + i, .right = row + magnitude - 1, .negative = digit < 0};
            }
            MSM(add_pairs)(pairs, used, products);
        }
    }
}

#undef MSM_LANES_MAX
#undef MSM
#undef MSM_F
#undef MSM_FN
#undef MSM_AFFINE
#undef MSM_JACOBIAN
#undef MSM_GROUP
#undef MSM_SEGMENT
#undef MSM_PASS
#undef MSM_PRODUCT
#undef MSM_VECTOR
