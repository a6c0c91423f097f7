/* Products of four field elements side by side, one in each 64-bit lane of doubles; for CPUs with AVX2 and FMA.
 *
 * Included once per field, after defining
 *   X4(x), X4_T        the name x with the field's prefix, the type (fpx4)
 *   X4_LIMBS, X4_BITS  limbs and their length; R = 2^(LIMBS BITS)
 *   X4_HIGH, X4_DOWN   1.5 2^(52 + BITS), 2^-BITS
 *   X4_NEG_INV         -1/modulus modulo 2^BITS, as near to 0 as can be
 *   X4_TOP_REAL        the modulus over 2^(BITS (LIMBS-1))
 * and the tables
 *   X4(p)              the modulus and P for s = 1, 2, 3 (below), limbs in [-2^(BITS-1), 2^(BITS-1)], four times each
 *   X4(words)          the modulus, limbs in [0, 2^BITS)
 * The macros are undefined at the end.
 *
 * An element is LIMBS limbs, v[j] holding limb j of all lanes: doubles that hold integers, which may be negative or
 * longer than BITS, so sums are formed limb by limb without carries.
 *
 * Products are split exactly at 2^BITS. A column of the product has two accumulators: `high` near 1.5 2^(52+BITS),
 * where doubles are 2^BITS apart, and `low`. high' = fma(a, b, high) takes the product rounded to a multiple of 2^BITS;
 * what rounding left out is fma(a, b, high - high'), at most half of 2^BITS, and is added to low. Two multiply-adds and
 * two sums a product of limbs. (Emmart, Zheng, Weems, "Faster modular exponentiation using double precision floating
 * point arithmetic on the GPU", ARITH 2018, split each product by itself.)
 *
 * Reduction. A column's value below 2^BITS, r, is cancelled by adding r (P 2^(BITS s) - 1), where P 2^(BITS s) - 1 is a
 * multiple of the modulus: no multiplier has to be computed, and with s = 3 two more columns pass before the next one
 * needs r. P reaches s columns further than the row has, so the last rows have s = 2, 1, and 0, which is Montgomery's
 * own.
 *
 * Two products share one reduction when their columns are added before it. `low` then has twice the products'
 * remainders and no room for the bias of the column below (X4_BIAS), which is taken away when the column is finished.
 *
 * Bounds. The sum of |a_i b_j| and of r P over a column stays below 2^(51+BITS), so that high stays in its binade; low
 * stays below 2 LIMBS 2^(BITS-1) + 1.5 2^52 <= 2^53, or below 3 LIMBS 2^(BITS-1) of two products. A product's limbs are
 * at most 2^(BITS-1) + 2^(52-BITS), twice that beyond 2^(BITS-1) of two products; its value is at most |a b| / R + 0.6
 * moduli.
 *
 * All this needs rounding to nearest (a process begins with it, threads inherit it, nothing here or in the callers
 * changes MXCSR; docs/api/README.md says it to programs that link the library) and a compiler that keeps formulas as
 * they are: -ffp-contract=off and no -ffast-math.
 */

typedef struct {
    __m256d v[X4_LIMBS];
} X4_T;

#define X4_BIAS 0x1.8p52 /* a column's `high` at the start as the next column's `low` sees it */
#define X4_MASK ((INT64_C(1) << X4_BITS) - 1)
#define X4_SKIP(i) ((i) < X4_LIMBS - 3 ? 3 : X4_LIMBS - 1 - (i)) /* row i's s */

X4_INLINE __m256d X4(p_limb)(int s, int j) {
    return _mm256_load_pd(X4(p)[s][j]);
}

typedef struct {
    __m256d high[2 * X4_LIMBS], low[2 * X4_LIMBS];
} X4(columns);

/* Column k gets x y; it is the first of one or two products. */
X4_INLINE void X4(column_first)(X4(columns) * c, int k, const __m256d *x, __m256d y, bool two) {
    const __m256d high = _mm256_set1_pd(X4_HIGH), bias = _mm256_set1_pd(k && !two ? X4_HIGH - X4_BIAS : X4_HIGH);
    c->high[k] = _mm256_fmadd_pd(*x, y, high);
    c->low[k] = _mm256_fmadd_pd(*x, y, _mm256_sub_pd(bias, c->high[k]));
}

X4_INLINE void X4(column_add)(X4(columns) * c, int k, const __m256d *x, __m256d y) {
    __m256d t;
    __asm__("vmovapd %[x], %[t]\n\t"
            "vfmadd213pd %[h], %[y], %[t]\n\t"
            "vsubpd %[t], %[h], %[h]\n\t"
            "vfmadd231pd %[x], %[y], %[h]\n\t"
            "vaddpd %[h], %[l], %[l]"
            : [t] "=&x"(t), [h] "+x"(c->high[k]), [l] "+x"(c->low[k])
            : [x] "m"(*x), [y] "x"(y));
    c->high[k] = t;
}

/* Column k's whole value with what the one below carries. */
X4_INLINE __m256d X4(column_value)(const X4(columns) * c, int k, bool two) {
    const __m256d down = _mm256_set1_pd(X4_DOWN), bias = _mm256_set1_pd(-X4_BIAS);
    if (k == 0) return c->low[0];
    if (!two && k < 2 * X4_LIMBS - 1) return _mm256_fmadd_pd(c->high[k - 1], down, c->low[k]);
    __m256d carry = _mm256_fmadd_pd(c->high[k - 1], down, bias);
    return k < 2 * X4_LIMBS - 1 ? _mm256_add_pd(carry, c->low[k]) : carry;
}

/* Column k's value in [-2^(BITS-1), 2^(BITS-1)], the rest carried into its `high`. */
X4_INLINE __m256d X4(column_finish)(X4(columns) * c, int k, bool two) {
    __m256d v = X4(column_value)(c, k, two);
    __m256d t = _mm256_add_pd(c->high[k], v);
    v = _mm256_add_pd(v, _mm256_sub_pd(c->high[k], t));
    c->high[k] = t;
    return v;
}

/* The last row of the reduction: cancels column LIMBS - 1, whose value is r, and returns the multiplier. */
X4_INLINE __m256d X4(last_row)(X4(columns) * c, __m256d r) {
    const __m256d high = _mm256_set1_pd(X4_HIGH), inv = _mm256_set1_pd(X4_NEG_INV);
    __m256d m = _mm256_fmadd_pd(r, inv, _mm256_sub_pd(high, _mm256_fmadd_pd(r, inv, high)));
    c->high[X4_LIMBS - 1] = _mm256_add_pd(c->high[X4_LIMBS - 1], _mm256_fmadd_pd(m, X4(p_limb)(0, 0), r));
    return m;
}

/* A product by itself, or the first or second of two whose sum is reduced. */
enum { X4(ALONE), X4(FIRST), X4(SECOND) };

/* Row i of a b in columns [from, from + 4). Of a square only half of the rows is left, times two off the diagonal. */
X4_INLINE void X4(row)(X4(columns) * c, const X4_T *a, const X4_T *b, bool square, int which, int from, int i) {
    __m256d y = b->v[i], twice = _mm256_add_pd(y, y);
#pragma GCC unroll 4
    for (int k = from; k < from + 4; k++) {
        int j = k - i;
        if (j < (square ? i : 0) || j >= X4_LIMBS) continue;
        if (which != X4(SECOND) && (k < X4_LIMBS ? i == 0 : j == X4_LIMBS - 1)) {
            X4(column_first)(c, k, &a->v[j], square && j > i ? twice : y, which == X4(FIRST));
        } else {
            X4(column_add)(c, k, &a->v[j], square && j > i ? twice : y);
        }
    }
}

/* Row i of the reduction in columns [from, from + 4). The first column of the last row is done by last_row. */
X4_INLINE void X4(reduction_row)(X4(columns) * c, __m256d r, int from, int i) {
#pragma GCC unroll 4
    for (int k = from; k < from + 4; k++) {
        int j = k - i - X4_SKIP(i);
        if (j >= (i == X4_LIMBS - 1) && j < X4_LIMBS) X4(column_add)(c, k, (const __m256d *)X4(p)[X4_SKIP(i)][j], r);
    }
}

/* The upper half of the columns becomes limbs. */
X4_INLINE void X4(result)(X4_T *r, const X4(columns) * c, bool two) {
    const __m256d high = _mm256_set1_pd(X4_HIGH), down = _mm256_set1_pd(-X4_DOWN);
    __m256d value[X4_LIMBS], carry[X4_LIMBS]; /* carry: the negative of what goes up */
#pragma GCC unroll 8
    for (int j = 0; j < X4_LIMBS; j++) {
        value[j] = X4(column_value)(c, X4_LIMBS + j, two);
        if (j == X4_LIMBS - 1) break;
        carry[j] = _mm256_sub_pd(high, _mm256_add_pd(value[j], high));
        value[j] = _mm256_add_pd(value[j], carry[j]);
    }
    r->v[0] = value[0];
#pragma GCC unroll 7
    for (int j = 1; j < X4_LIMBS; j++) r->v[j] = _mm256_fmadd_pd(carry[j - 1], down, value[j]);
}

/* Limbs back to BITS bits, those below the top one in [-2^(BITS-1) - c, 2^(BITS-1) + c] with c = 2^(length of the
 * longest - BITS). */
X4_INLINE void X4(carry)(X4_T *a) {
    const __m256d high = _mm256_set1_pd(X4_HIGH), down = _mm256_set1_pd(X4_DOWN);
    __m256d carry[X4_LIMBS];
#pragma GCC unroll 8
    for (int j = 0; j < X4_LIMBS - 1; j++) {
        carry[j] = _mm256_sub_pd(_mm256_add_pd(a->v[j], high), high);
        a->v[j] = _mm256_sub_pd(a->v[j], carry[j]);
    }
#pragma GCC unroll 8
    for (int j = 1; j < X4_LIMBS; j++) a->v[j] = _mm256_fmadd_pd(carry[j - 1], down, a->v[j]);
}

/* As integers, in [0, 2^BITS) except where said. */
typedef struct {
    __m256i v[X4_LIMBS];
} X4(int);

/* Integers between -2^51 and 2^51 as doubles. */
X4_INLINE __m256d X4(double)(__m256i a) {
    const __m256d bias = _mm256_set1_pd(X4_BIAS);
    return _mm256_sub_pd(_mm256_castsi256_pd(_mm256_add_epi64(a, _mm256_castpd_si256(bias))), bias);
}

/* a - b limb by limb. */
X4_INLINE void X4(difference)(X4_T *r, const X4(int) * a, const X4(int) * b) {
#pragma GCC unroll 8
    for (int j = 0; j < X4_LIMBS; j++) r->v[j] = X4(double)(_mm256_sub_epi64(a->v[j], b->v[j]));
}

/* One lane below 0 or not below the modulus, by less than that. */
static inline void X4(correct_lane)(int64_t a[X4_LIMBS]) {
    int sign = a[X4_LIMBS - 1] < 0 ? 1 : -1;
    int64_t t[X4_LIMBS], carry = 0;
    for (int j = 0; j < X4_LIMBS; j++) {
        t[j] = a[j] + sign * X4(words)[j] + carry;
        carry = t[j] >> X4_BITS;
        if (j < X4_LIMBS - 1) t[j] &= X4_MASK;
    }
    if (t[X4_LIMBS - 1] >= 0) memcpy(a, t, sizeof t);
}

static __attribute__((noinline)) void X4(correct)(X4(int) * a) {
    int64_t l[X4_LIMBS][4], lane[X4_LIMBS];
    memcpy(l, a, sizeof l);
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < X4_LIMBS; j++) lane[j] = l[j][i];
        X4(correct_lane)(lane);
        for (int j = 0; j < X4_LIMBS; j++) l[j][i] = lane[j];
    }
    memcpy(a, l, sizeof l);
}

/* a - b modulo the modulus, fully reduced; b may be NULL. |a - b| is up to 2^8 moduli, limbs of the sum of |a|, |b| and
 * the modulus that often are below 2^51. */
X4_INLINE void X4(reduce)(X4(int) * r, const X4_T *a, const X4(int) * b) {
    const __m256d bias = _mm256_set1_pd(X4_BIAS);
    const __m256i mask = _mm256_set1_epi64x(X4_MASK);
    /* The quotient's floor by the top limb, which may be one too large or small next to a multiple. */
    __m256d q = _mm256_sub_pd(b ? X4(double)(b->v[X4_LIMBS - 1]) : _mm256_setzero_pd(), a->v[X4_LIMBS - 1]);
    q = _mm256_ceil_pd(_mm256_mul_pd(q, _mm256_set1_pd(1 / X4_TOP_REAL)));
    __m256i carry = _mm256_setzero_si256();
#pragma GCC unroll 8
    for (int j = 0; j < X4_LIMBS; j++) {
        __m256d v = _mm256_fmadd_pd(q, X4(p_limb)(0, j), _mm256_add_pd(a->v[j], bias));
        /* 2^52 more keeps limbs positive, so that the carry is a logical shift, and is taken back in the next limb. */
        const int64_t take = INT64_C(0x4338000000000000) - (j < X4_LIMBS - 1 ? INT64_C(1) << 52 : 0) +
                             (j > 0 ? INT64_C(1) << (52 - X4_BITS) : 0);
        __m256i t = _mm256_sub_epi64(_mm256_castpd_si256(v), b ? _mm256_add_epi64(b->v[j], _mm256_set1_epi64x(take))
                                                               : _mm256_set1_epi64x(take));
        t = _mm256_add_epi64(t, carry);
        carry = _mm256_srli_epi64(t, X4_BITS);
        r->v[j] = j < X4_LIMBS - 1 ? _mm256_and_si256(t, mask) : t;
    }
    __m256i beyond = _mm256_or_si256(
        r->v[X4_LIMBS - 1], _mm256_sub_epi64(_mm256_set1_epi64x(X4(words)[X4_LIMBS - 1] - 1), r->v[X4_LIMBS - 1]));
    if (__builtin_expect(_mm256_movemask_pd(_mm256_castsi256_pd(beyond)) != 0, 0)) X4(correct)(r);
}

#undef X4
#undef X4_T
#undef X4_LIMBS
#undef X4_BITS
#undef X4_HIGH
#undef X4_DOWN
#undef X4_NEG_INV
#undef X4_TOP_REAL
#undef X4_BIAS
#undef X4_MASK
#undef X4_SKIP
