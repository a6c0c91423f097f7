/* The tests of one group. Included once per group after defining
 *   CASE(x)  name of a test function     GG(x)  g1_##x or g2_##x     GG_T, GG_AFFINE, GG_XYZZ  its types
 *   CO(x), CO_T   the coordinate field   CO_RANDOM()  a random coordinate    GG_FILE  its vector file
 *   GG_BYTES      of the uncompressed form
 *   COFACTOR, COFACTOR_LIMBS, COFACTOR_PRIMES  limbs of the cofactor and some of its prime factors
 */

/* ---- the obvious way: chord and tangent on affine points ---- */

static GG_AFFINE CASE(slow_add)(const GG_AFFINE *p, const GG_AFFINE *q) {
    GG_AFFINE r;
    CO_T slope, t;
    if (GG(affine_is_infinity)(p)) return *q;
    if (GG(affine_is_infinity)(q)) return *p;
    if (CO(eq)(&p->x, &q->x)) {
        if (!CO(eq)(&p->y, &q->y)) {
            GG(affine_set_infinity)(&r);
            return r;
        }
        CO(sqr)(&t, &p->x);
        CO(add)(&slope, &t, &t);
        CO(add)(&slope, &slope, &t);
        CO(add)(&t, &p->y, &p->y);
    } else {
        CO(sub)(&slope, &q->y, &p->y);
        CO(sub)(&t, &q->x, &p->x);
    }
    CO(inv)(&t, &t);
    CO(mul)(&slope, &slope, &t);
    CO(sqr)(&t, &slope);
    CO(sub)(&t, &t, &p->x);
    CO(sub)(&r.x, &t, &q->x);
    CO(sub)(&t, &p->x, &r.x);
    CO(mul)(&t, &t, &slope);
    CO(sub)(&r.y, &t, &p->y);
    return r;
}

static GG_AFFINE CASE(slow_mul)(const GG_AFFINE *p, const uint64_t *k, int limbs) {
    GG_AFFINE r;
    GG(affine_set_infinity)(&r);
    for (int i = 64 * limbs - 1; i >= 0; i--) {
        r = CASE(slow_add)(&r, &r);
        if (k[i / 64] >> (i % 64) & 1) r = CASE(slow_add)(&r, p);
    }
    return r;
}

/* A random point of the curve, hardly ever in the subgroup. */
static GG_AFFINE CASE(curve_point)(void) {
    GG_AFFINE p;
    CO_T t, b;
    do {
        p.x = CO_RANDOM();
        CO(sqr)(&t, &p.x);
        CO(mul)(&t, &t, &p.x);
        GG(set_b)(&b);
        CO(add)(&t, &t, &b);
    } while (!CO(sqrt)(&p.y, &t));
    return p;
}

static GG_AFFINE CASE(group_point)(void) {
    GG_AFFINE g, r;
    GG_T p;
    fr_canon k = test_scalar();
    GG(generator_affine)(&g);
    GG(from_affine)(&p, &g);
    GG(mul)(&p, &p, &k);
    GG(to_affine)(&r, &p);
    return r;
}

/* The same point on a random denominator. */
static GG_T CASE(scaled)(const GG_AFFINE *p) {
    GG_T r;
    CO_T z = CO_RANDOM(), zz;
    CO(sqr)(&zz, &z);
    CO(mul)(&r.X, &p->x, &zz);
    CO(mul)(&zz, &zz, &z);
    CO(mul)(&r.Y, &p->y, &zz);
    r.Z = z;
    if (GG(affine_is_infinity)(p)) { /* infinity with nonsense in X and Y */
        r.X = CO_RANDOM();
        r.Y = CO_RANDOM();
        CO(set_zero)(&r.Z);
    }
    return r;
}

static GG_XYZZ CASE(scaled_xyzz)(const GG_AFFINE *p) {
    GG_T j = CASE(scaled)(p);
    GG_XYZZ r;
    r.X = j.X;
    r.Y = j.Y;
    CO(sqr)(&r.ZZ, &j.Z);
    CO(mul)(&r.ZZZ, &r.ZZ, &j.Z);
    return r;
}

static void CASE(expect)(const GG_T *got, const GG_AFFINE *want) {
    GG_AFFINE a;
    GG_T w;
    GG(to_affine)(&a, got);
    assert_true(GG(affine_eq)(&a, want));
    GG(from_affine)(&w, want);
    assert_true(GG(eq)(got, &w) && GG(eq)(&w, got));
    assert_int_equal(GG(is_infinity)(got), GG(affine_is_infinity)(want));
}

static void CASE(expect_xyzz)(const GG_XYZZ *got, const GG_AFFINE *want) {
    GG_T j;
    CO_T a, b;
    GG(from_xyzz)(&j, got);
    CASE(expect)(&j, want);
    CO(sqr)(&a, &got->ZZ);
    CO(mul)(&a, &a, &got->ZZ);
    CO(sqr)(&b, &got->ZZZ);
    assert_true(CO(eq)(&a, &b));
}

/* All ways to add p and q, also in place, against chord and tangent. */
static void CASE(check_sum)(const GG_AFFINE *p, const GG_AFFINE *q) {
    GG_AFFINE want = CASE(slow_add)(p, q), twice = CASE(slow_add)(p, p), minus;
    GG_T a = CASE(scaled)(p), b = CASE(scaled)(q), one, r;
    GG_XYZZ x = CASE(scaled_xyzz)(p), y = CASE(scaled_xyzz)(q), xr;
    GG(from_affine)(&one, p);
    GG(add)(&r, &a, &b);
    CASE(expect)(&r, &want);
    r = a;
    GG(add)(&r, &r, &b);
    CASE(expect)(&r, &want);
    r = b;
    GG(add)(&r, &a, &r);
    CASE(expect)(&r, &want);
    GG(add_affine)(&r, &a, q);
    CASE(expect)(&r, &want);
    r = one;
    GG(add_affine)(&r, &r, q);
    CASE(expect)(&r, &want);
    r = a;
    GG(dbl)(&r, &r);
    CASE(expect)(&r, &twice);
    GG(dbl)(&r, &one);
    CASE(expect)(&r, &twice);
    r = a;
    GG(add)(&r, &r, &r);
    CASE(expect)(&r, &twice);
    GG(xyzz_add)(&xr, &x, &y);
    CASE(expect_xyzz)(&xr, &want);
    xr = x;
    GG(xyzz_add)(&xr, &xr, &y);
    CASE(expect_xyzz)(&xr, &want);
    xr = y;
    GG(xyzz_add)(&xr, &x, &xr);
    CASE(expect_xyzz)(&xr, &want);
    xr = x;
    GG(xyzz_add_affine)(&xr, &xr, q);
    CASE(expect_xyzz)(&xr, &want);
    GG(xyzz_from_affine)(&xr, p);
    GG(xyzz_add_affine)(&xr, &xr, q);
    CASE(expect_xyzz)(&xr, &want);
    xr = x;
    GG(xyzz_dbl)(&xr, &xr);
    CASE(expect_xyzz)(&xr, &twice);
    GG(neg)(&r, &a);
    GG(affine_neg)(&minus, p);
    CASE(expect)(&r, &minus);
    GG(xyzz_neg)(&xr, &x);
    CASE(expect_xyzz)(&xr, &minus);
    assert_int_equal(GG(eq)(&a, &b), GG(affine_eq)(p, q));
    if (!GG(affine_is_infinity)(p)) {
        GG(xyzz_dbl_affine)(&xr, p);
        CASE(expect_xyzz)(&xr, &twice);
    }
}

static void CASE(sums)(void **state) {
    (void)state;
    for (int round = 0; round < 10; round++) {
        GG_AFFINE s[6];
        GG(affine_set_infinity)(&s[0]);
        s[1] = round == 0 ? CASE(curve_point)() : CASE(group_point)();
        GG(affine_neg)(&s[2], &s[1]);
        s[3] = CASE(slow_add)(&s[1], &s[1]);
        s[4] = CASE(group_point)();
        GG(affine_neg)(&s[5], &s[4]);
        for (int i = 0; i < 6; i++) {
            for (int j = 0; j < 6; j++) CASE(check_sum)(&s[i], &s[j]);
        }
    }
}

static void CASE(multiples)(void **state) {
    (void)state;
    GG_AFFINE p = CASE(group_point)(), want;
    GG_T j = CASE(scaled)(&p), r;
    fr_canon k;
    for (unsigned i = 0; i < 40; i++) {
        memset(&k, 0, sizeof k);
        if (i < 18) k.l[0] = i;
        if (i >= 18 && i < 22) k.l[i - 18] = (uint64_t)1 << 63;
        if (i == 22) memset(&k, 0xff, sizeof k);
        if (i == 23) k = test_minus_one();
        if (i == 24) memcpy(&k, fr_modulus, sizeof k);
        if (i > 24) k = test_scalar();
        want = CASE(slow_mul)(&p, k.l, 4);
        GG(mul)(&r, &j, &k);
        CASE(expect)(&r, &want);
        r = j;
        GG(mul)(&r, &r, &k);
        CASE(expect)(&r, &want);
    }
    const uint64_t x_abs = 0xd201000000010000;
    want = CASE(slow_mul)(&p, &x_abs, 1);
    GG(mul_x_abs)(&r, &j);
    CASE(expect)(&r, &want);
    GG(set_infinity)(&j);
    GG(mul)(&r, &j, &k);
    assert_true(GG(is_infinity)(&r));
    GG(mul_x_abs)(&r, &j);
    assert_true(GG(is_infinity)(&r));
}

static void CASE(batches)(void **state) {
    (void)state;
    enum { N = 40 };
    GG_AFFINE want[N], got[N];
    GG_T p[N];
    CO_T scratch[N];
    memset(p, 0, sizeof p);
    for (size_t n = 0; n <= N; n += n < 5 ? 1 : 7) {
        for (size_t i = 0; i < n; i++) {
            want[i] = CASE(group_point)();
            if (i % 7 == 0 || n == 4) GG(affine_set_infinity)(&want[i]);
            p[i] = CASE(scaled)(&want[i]);
        }
        GG(batch_to_affine)(got, p, n, scratch);
        for (size_t i = 0; i < n; i++) assert_true(GG(affine_eq)(&got[i], &want[i]));
    }
}

/* The fast test says what [r] P = 0 says. */
static void CASE(check_member)(const GG_AFFINE *p) {
    assert_true(GG(affine_on_curve)(p));
    GG_AFFINE t = CASE(slow_mul)(p, fr_modulus, 4);
    assert_int_equal(GG(affine_in_subgroup)(p), GG(affine_is_infinity)(&t));
}

static void CASE(membership)(void **state) {
    (void)state;
    static const uint64_t h[COFACTOR_LIMBS] = COFACTOR;
    static const unsigned primes[] = {COFACTOR_PRIMES};
    GG_AFFINE p, q, t;
    GG(affine_set_infinity)(&p);
    assert_true(GG(affine_on_curve)(&p) && GG(affine_in_subgroup)(&p));
    GG(generator_affine)(&p);
    assert_true(GG(affine_on_curve)(&p) && GG(affine_in_subgroup)(&p));
    t = CASE(slow_mul)(&p, fr_modulus, 4);
    assert_true(GG(affine_is_infinity)(&t));
    for (int i = 0; i < 20; i++) {
        p = CASE(curve_point)();
        CASE(check_member)(&p);
        q = CASE(slow_mul)(&p, h, COFACTOR_LIMBS); /* in the subgroup */
        assert_true(GG(affine_in_subgroup)(&q));
        CASE(check_member)(&q);
        p = CASE(slow_mul)(&p, fr_modulus, 4); /* of an order that divides the cofactor */
        CASE(check_member)(&p);
        p = CASE(slow_add)(&p, &q);
        CASE(check_member)(&p);
        CO_T one;
        CO(set_one)(&one);
        CO(add)(&p.x, &p.x, &one);
        assert_false(GG(affine_on_curve)(&p));
    }
    /* Small orders, alone and added to a point of the subgroup. */
    for (size_t k = 0; k < sizeof primes / sizeof *primes; k++) {
        uint64_t part[COFACTOR_LIMBS], prime = primes[k];
        unsigned __int128 rest = 0;
        for (int i = COFACTOR_LIMBS - 1; i >= 0; i--) {
            rest = rest << 64 | h[i];
            part[i] = (uint64_t)(rest / prime);
            rest %= prime;
        }
        assert_true(rest == 0);
        int found = 0;
        for (int i = 0; i < 40 && found < 3; i++) {
            p = CASE(curve_point)();
            p = CASE(slow_mul)(&p, fr_modulus, 4);
            p = CASE(slow_mul)(&p, part, COFACTOR_LIMBS);
            if (GG(affine_is_infinity)(&p))
                continue; /* one in `prime` points, or all when the group is not cyclic there */
            t = CASE(slow_mul)(&p, &prime, 1);
            assert_true(GG(affine_is_infinity)(&t));
            assert_false(GG(affine_in_subgroup)(&p));
            q = CASE(group_point)();
            p = CASE(slow_add)(&p, &q);
            assert_false(GG(affine_in_subgroup)(&p));
            CASE(check_member)(&p);
            found++;
        }
    }
}

static GG_AFFINE CASE(hex)(const json_node *line, const char *key) {
    uint8_t b[GG_BYTES];
    GG_AFFINE p;
    assert_int_equal(vector_bytes(b, sizeof b, json_member(line, key)), GG_BYTES);
    assert_int_equal(GG(decode_uncompressed)(&p, b, SUBGROUP_SKIP), POINT_OK);
    /* The compressed twin means the same point, and both encode back. */
    char twin[16];
    uint8_t c[GG_BYTES / 2], again[GG_BYTES];
    GG_AFFINE q;
    snprintf(twin, sizeof twin, "%s_c", key);
    assert_int_equal(vector_bytes(c, sizeof c, json_member(line, twin)), GG_BYTES / 2);
    assert_int_equal(GG(decode_compressed)(&q, c, SUBGROUP_SKIP), POINT_OK);
    assert_true(GG(affine_eq)(&p, &q));
    GG(encode_uncompressed)(again, &p);
    assert_memory_equal(again, b, GG_BYTES);
    GG(encode_compressed)(again, &p);
    assert_memory_equal(again, c, GG_BYTES / 2);
    return p;
}

static void CASE(vectors)(void **state) {
    (void)state;
    size_t offset = 0, lines = 0;
    json_node *line;
    arena *ar;
    for (; (ar = test_next_line(GG_FILE, &offset, &line)) != NULL; lines++) {
        GG_AFFINE p = CASE(hex)(line, "p"), q = CASE(hex)(line, "q"), want, minus;
        GG_T a = CASE(scaled)(&p), r;
        fr_canon k;
        uint8_t bytes[32];
        GG(add_affine)(&r, &a, &q);
        want = CASE(hex)(line, "add");
        CASE(expect)(&r, &want);
        GG(dbl)(&r, &a);
        want = CASE(hex)(line, "dbl");
        CASE(expect)(&r, &want);
        GG(affine_neg)(&minus, &p);
        want = CASE(hex)(line, "neg");
        assert_true(GG(affine_eq)(&minus, &want));
        assert_int_equal(vector_bytes(bytes, 32, json_member(line, "k")), 32);
        for (int i = 0; i < 4; i++) {
            k.l[i] = 0;
            for (int j = 0; j < 8; j++) k.l[i] = k.l[i] << 8 | bytes[8 * (3 - i) + j];
        }
        GG(mul)(&r, &a, &k);
        want = CASE(hex)(line, "mul");
        CASE(expect)(&r, &want);
        arena_destroy(ar);
    }
    assert_true(lines >= 40);
}

#undef CASE
#undef GG
#undef GG_T
#undef GG_AFFINE
#undef GG_XYZZ
#undef GG_FILE
#undef GG_BYTES
#undef CO
#undef CO_T
#undef CO_RANDOM
#undef COFACTOR
#undef COFACTOR_LIMBS
#undef COFACTOR_PRIMES
