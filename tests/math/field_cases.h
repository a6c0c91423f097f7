/* The tests of one field. Included once per field after defining
 *   CASE(x)     name of a test function           FF(x)  fr_##x or fp_##x       FF_T, FF_C  its types
 *   FF_LIMBS    4 or 6                            FF_KERNEL(x)  the member of struct field_kernels
 *   FF_VECTORS  names of its vector files, comma-separated
 */

#define FF_BYTES (8 * FF_LIMBS)

static ref_num CASE(to_ref)(const FF_T *a) {
    FF_C c;
    ref_num r = {{0}};
    assert_true(FF(limbs_reduced)(a->l));
    FF(to_canon)(&c, a);
    assert_true(FF(limbs_reduced)(c.l));
    memcpy(&r, &c, sizeof c);
    return r;
}

static void CASE(expect)(const FF_T *got, const ref_num *want) {
    ref_num r = CASE(to_ref)(got);
    if (ref_compare(&r, want) != 0) fail_msg("wrong value; lowest limb %llx", (unsigned long long)r.l[0]);
}

static FF_T CASE(random)(void) {
    FF_T r;
    do {
        chacha_bytes(&test_rng, &r, sizeof r);
        r.l[FF_LIMBS - 1] &= UINT64_MAX >> (FF_LIMBS == 4 ? 1 : 3);
    } while (!FF(limbs_reduced)(r.l));
    return r;
}

/* Numbers at which carries, borrows and reductions change their mind; as residues (Montgomery limbs), so that the limbs
 * are what is said. */
static size_t CASE(edges)(FF_T *out) {
    size_t n = 0;
    FF_T m, t;
    memcpy(&m, FF(modulus), sizeof m);
    memset(&t, 0, sizeof t);
    out[n++] = t;
    FF(set_one)(&out[n++]);
    for (uint64_t k = 1; k <= 3; k++) { /* k, m - k */
        t.l[0] = k;
        out[n++] = t;
        out[n] = m;
        out[n++].l[0] -= k;
    }
    for (int i = 0; i < FF_LIMBS; i++) { /* one limb all ones or its top bit; all limbs up to i all ones */
        memset(&t, 0, sizeof t);
        t.l[i] = UINT64_MAX;
        if (FF(limbs_reduced)(t.l)) out[n++] = t;
        t.l[i] = (uint64_t)1 << 63;
        if (FF(limbs_reduced)(t.l)) out[n++] = t;
        memset(&t, 0, sizeof t);
        memset(&t, 0xff, 8 * ((size_t)i + 1));
        if (FF(limbs_reduced)(t.l)) out[n++] = t;
        t = m; /* the modulus with a limb cut */
        t.l[i] = 0;
        if (FF(limbs_reduced)(t.l)) out[n++] = t;
        t = m;
        t.l[i]--;
        if (FF(limbs_reduced)(t.l)) out[n++] = t;
    }
    memset(&t, 0xff, sizeof t); /* all ones below the top, the top one less than the modulus' */
    t.l[FF_LIMBS - 1] = m.l[FF_LIMBS - 1] - 1;
    out[n++] = t;
    FF(half)(&out[n], &out[1]);
    n++;
    FF(neg)(&out[n], &out[n - 1]);
    n++;
    return n;
}

/* Sum, difference, product, square of a and b by every version, against the schoolbook; also with aliased arguments. */
static void CASE(check_pair)(const FF_T *a, const FF_T *b) {
    ref_num x = CASE(to_ref)(a), y = CASE(to_ref)(b);
    ref_num sum = ref_add(&x, &y, FF_LIMBS), dif = ref_sub(&x, &y, FF_LIMBS), pro = ref_mul(&x, &y, FF_LIMBS),
            squ = ref_mul(&x, &x, FF_LIMBS);
    FF_T r;
    size_t n;
    const struct math_kernels *const *all = math_kernels_all(&n);
    for (size_t k = 0; k < n; k++) {
        const struct field_kernels *f = all[k]->field;
        f->FF_KERNEL(add)(&r, a, b, 1);
        CASE(expect)(&r, &sum);
        f->FF_KERNEL(sub)(&r, a, b, 1);
        CASE(expect)(&r, &dif);
        f->FF_KERNEL(mul)(&r, a, b, 1);
        CASE(expect)(&r, &pro);
        f->FF_KERNEL(sqr)(&r, a, 1);
        CASE(expect)(&r, &squ);
        r = *a;
        f->FF_KERNEL(mul)(&r, &r, b, 1);
        CASE(expect)(&r, &pro);
        r = *b;
        f->FF_KERNEL(mul)(&r, a, &r, 1);
        CASE(expect)(&r, &pro);
        r = *b;
        f->FF_KERNEL(sub)(&r, a, &r, 1);
        CASE(expect)(&r, &dif);
    }
    FF(add)(&r, a, b); /* the version outside the kernels */
    CASE(expect)(&r, &sum);
    FF(sub)(&r, a, b);
    CASE(expect)(&r, &dif);
    FF(mul)(&r, a, b);
    CASE(expect)(&r, &pro);
    FF(neg)(&r, a);
    FF(add)(&r, &r, a);
    assert_true(FF(is_zero)(&r));
    FF(half)(&r, a);
    FF(dbl)(&r, &r);
    assert_true(FF(eq)(&r, a));
}

static void CASE(edge_values)(void **state) {
    (void)state;
    FF_T e[64];
    size_t n = CASE(edges)(e);
    assert_true(n <= 64);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) CASE(check_pair)(&e[i], &e[j]);
    }
}

static void CASE(random_values)(void **state) {
    (void)state;
    for (int i = 0; i < 5000; i++) {
        FF_T a = CASE(random)(), b = CASE(random)();
        CASE(check_pair)(&a, &b);
    }
}

/* Millions of products by every version against the first one. */
static void CASE(versions_agree)(void **state) {
    (void)state;
    enum { N = 4096, ROUNDS = 500 };
    FF_T *a = test_alloc(N * sizeof *a), *b = test_alloc(N * sizeof *b), *want = test_alloc(N * sizeof *want),
         *got = test_alloc(N * sizeof *got);
    size_t n;
    const struct math_kernels *const *all = math_kernels_all(&n);
    for (int i = 0; i < N; i++) a[i] = CASE(random)(), b[i] = CASE(random)();
    for (int round = 0; round < ROUNDS; round++) {
        all[0]->field->FF_KERNEL(mul)(want, a, b, N);
        for (size_t k = 1; k < n; k++) {
            all[k]->field->FF_KERNEL(mul)(got, a, b, N);
            assert_memory_equal(got, want, N * sizeof *got);
        }
        /* The next operands: products are as good as random numbers. Sums are compared on the way. */
        all[0]->field->FF_KERNEL(add)(b, a, want, N);
        all[n - 1]->field->FF_KERNEL(add)(got, a, want, N);
        assert_memory_equal(got, b, N * sizeof *got);
        memcpy(a, want, N * sizeof *a);
    }
    free(a);
    free(b);
    free(want);
    free(got);
}

static void CASE(inversion)(void **state) {
    (void)state;
    FF_T e[64], r, t;
    size_t edges = CASE(edges)(e), n;
    const struct math_kernels *const *all = math_kernels_all(&n);
    uint64_t minus_2[FF_LIMBS];
    memcpy(minus_2, FF(modulus), sizeof minus_2);
    minus_2[0] -= 2;
    FF(set_zero)(&t);
    FF(inv)(&r, &t);
    assert_true(FF(is_zero)(&r));
    for (size_t i = 0; i < edges + 2000 + 64 * FF_LIMBS; i++) {
        FF_T a = i < edges ? e[i] : CASE(random)();
        if (i >= edges + 2000) { /* powers of two as limbs */
            size_t bit = i - edges - 2000;
            memset(&a, 0, sizeof a);
            a.l[bit / 64] = (uint64_t)1 << (bit % 64);
            if (!FF(limbs_reduced)(a.l)) continue;
        }
        FF(inv)(&r, &a);
        assert_true(FF(limbs_reduced)(r.l));
        FF(pow)(&t, &a, minus_2, FF_LIMBS); /* Fermat */
        assert_true(FF(eq)(&r, &t));
        FF(mul)(&t, &r, &a);
        assert_true(FF(is_zero)(&a) ? FF(is_zero)(&t) : FF(is_one)(&t));
    }
    /* In batches, with zeros at the ends and inside. */
    FF_T batch[33], scratch[33], before[33];
    for (size_t len = 0; len <= 33; len++) {
        for (size_t i = 0; i < len; i++) {
            batch[i] = CASE(random)();
            if (i % 5 == 0) FF(set_zero)(&batch[i]);
            before[i] = batch[i];
        }
        FF(batch_inv)(batch, len, scratch);
        for (size_t i = 0; i < len; i++) {
            FF(inv)(&t, &before[i]);
            assert_true(FF(eq)(&t, &batch[i]));
        }
    }
    for (size_t k = 0; k < n; k++) { /* the array kernels that only one field has are tested by its own cases */
        FF_T a = CASE(random)();
        FF(sqr)(&t, &a);
        all[k]->field->FF_KERNEL(sqr)(&r, &a, 1);
        assert_true(FF(eq)(&r, &t));
    }
}

static void CASE(powers)(void **state) {
    (void)state;
    FF_T zero, r, a = CASE(random)(), t;
    uint64_t exp[FF_LIMBS] = {0};
    FF(set_zero)(&zero);
    FF(pow)(&r, &zero, exp, FF_LIMBS);
    assert_true(FF(is_one)(&r));
    FF(set_one)(&t);
    for (unsigned k = 0; k < 300; k++) {
        exp[0] = k;
        FF(pow)(&r, &a, exp, 1);
        assert_true(FF(eq)(&r, &t));
        FF(mul)(&t, &t, &a);
    }
    ref_num x = CASE(to_ref)(&a), e = {{0}};
    for (int i = 0; i < FF_LIMBS; i++) e.l[i] = exp[i] = chacha_u64(&test_rng);
    ref_num want = ref_pow(&x, &e, FF_LIMBS);
    r = a;
    FF(pow)(&r, &r, exp, FF_LIMBS);
    CASE(expect)(&r, &want);
}

/* A root exactly when Euler's criterion says so. */
static void CASE(roots)(void **state) {
    (void)state;
    FF_T e[64], r, t, a, minus;
    size_t edges = CASE(edges)(e);
    uint64_t half[FF_LIMBS];
    for (int i = 0; i < FF_LIMBS; i++)
        half[i] = FF(modulus)[i] >> 1 | (i + 1 < FF_LIMBS ? FF(modulus)[i + 1] << 63 : 0);
    for (size_t i = 0; i < edges + 300; i++) {
        a = i < edges ? e[i] : CASE(random)();
        FF(pow)(&t, &a, half, FF_LIMBS);
        bool square = FF(is_zero)(&a) || FF(is_one)(&t);
        minus = a;
        r = a;
        assert_int_equal(FF(sqrt)(&r, &r), square);
        FF(sqr)(&t, &r);
        assert_true(FF(eq)(square ? &t : &r, &a)); /* untouched when there is none */
        FF(sqr)(&a, &minus);
        assert_true(FF(sqrt)(&r, &a));
        FF(neg)(&t, &r);
        assert_true(FF(eq)(&r, &minus) || FF(eq)(&t, &minus));
        FF(neg)(&t, &minus);
        if (!FF(is_zero)(&a)) assert_true(FF(is_larger_half)(&t) != FF(is_larger_half)(&minus));
    }
    FF(set_zero)(&t);
    assert_false(FF(is_larger_half)(&t));
    FF(set_one)(&t);
    assert_false(FF(is_larger_half)(&t));
    FF(neg)(&t, &t);
    assert_true(FF(is_larger_half)(&t));
}

static void CASE(bytes)(void **state) {
    (void)state;
    uint8_t le[FF_BYTES], be[FF_BYTES];
    FF_T a, r;
    for (int i = 0; i < 1000; i++) {
        a = CASE(random)();
        ref_num x = CASE(to_ref)(&a);
        FF(to_le_bytes)(le, &a);
        FF(to_be_bytes)(be, &a);
        for (int j = 0; j < FF_BYTES; j++) {
            assert_int_equal(le[j], (uint8_t)(x.l[j / 8] >> (8 * (j % 8))));
            assert_int_equal(le[j], be[FF_BYTES - 1 - j]);
        }
        assert_true(FF(from_le_bytes)(&r, le) && FF(eq)(&r, &a));
        assert_true(FF(from_be_bytes)(&r, be) && FF(eq)(&r, &a));
    }
    /* m - 1 is in, m, m + 1, and all ones are not, and then nothing is written. */
    ref_num m = ref_modulus(FF_LIMBS);
    FF_T before = a = CASE(random)();
    for (int k = 0; k < 4; k++) {
        ref_num v = m;
        if (k == 3) {
            memset(&v, 0xff, sizeof v);
        } else {
            v.l[0] += (uint64_t)k - 1;
        }
        for (int j = 0; j < FF_BYTES; j++) be[FF_BYTES - 1 - j] = le[j] = (uint8_t)(v.l[j / 8] >> (8 * (j % 8)));
        a = before;
        assert_int_equal(FF(from_le_bytes)(&a, le), k == 0);
        assert_int_equal(FF(eq)(&a, &before), k != 0);
        a = before;
        assert_int_equal(FF(from_be_bytes)(&a, be), k == 0);
        assert_int_equal(FF(eq)(&a, &before), k != 0);
    }
    FF(from_u64)(&a, UINT64_MAX);
    ref_num u = {{UINT64_MAX}};
    CASE(expect)(&a, &u);
}

static FF_T CASE(hex)(const json_node *line, const char *key) {
    const json_node *v = json_member(line, key);
    uint8_t b[FF_BYTES];
    FF_T r;
    assert_non_null(v);
    assert_true(text_unhex(b, sizeof b, v->text, v->len));
    assert_true(FF(from_be_bytes)(&r, b));
    return r;
}

static void CASE(vector_line)(const json_node *line) {
    FF_T a = CASE(hex)(line, "a"), b = CASE(hex)(line, "b"), r, want;
    size_t n;
    const struct math_kernels *const *all = math_kernels_all(&n);
    for (size_t k = 0; k < n; k++) {
        const struct field_kernels *f = all[k]->field;
        f->FF_KERNEL(add)(&r, &a, &b, 1);
        want = CASE(hex)(line, "add");
        assert_true(FF(eq)(&r, &want));
        f->FF_KERNEL(sub)(&r, &a, &b, 1);
        want = CASE(hex)(line, "sub");
        assert_true(FF(eq)(&r, &want));
        f->FF_KERNEL(mul)(&r, &a, &b, 1);
        want = CASE(hex)(line, "mul");
        assert_true(FF(eq)(&r, &want));
        f->FF_KERNEL(sqr)(&r, &a, 1);
        want = CASE(hex)(line, "sqr");
        assert_true(FF(eq)(&r, &want));
    }
    if (json_member(line, "inv")->kind == JSON_NULL) {
        assert_true(FF(is_zero)(&a));
    } else {
        FF(inv)(&r, &a);
        want = CASE(hex)(line, "inv");
        assert_true(FF(eq)(&r, &want));
    }
    if (json_member(line, "sqrt")->kind == JSON_NULL) {
        assert_false(FF(sqrt)(&r, &a));
    } else {
        assert_true(FF(sqrt)(&r, &a));
        want = CASE(hex)(line, "sqrt");
        FF_T minus;
        FF(neg)(&minus, &want);
        assert_true(FF(eq)(&r, &want) || FF(eq)(&r, &minus));
    }
    /* The Montgomery limbs as one number. */
    want = CASE(hex)(line, "mont");
    FF_C c;
    FF(to_canon)(&c, &want);
    assert_memory_equal(&a, &c, sizeof a);
}

static void CASE(vectors)(void **state) {
    (void)state;
    static const char *const names[] = {FF_VECTORS};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t offset = 0, lines = 0;
        json_node *line;
        arena *a;
        for (; (a = test_next_line(names[i], &offset, &line)) != NULL; lines++) {
            CASE(vector_line)(line);
            arena_destroy(a);
        }
        assert_true(lines >= 70);
    }
}

#undef FF_BYTES
#undef CASE
#undef FF
#undef FF_T
#undef FF_C
#undef FF_LIMBS
#undef FF_KERNEL
#undef FF_VECTORS
