/* Cases of multi-scalar multiplication for one group; included after defining
 *   CASE(x) the prefixed name     CASE_G(x)  g1_##x     CASE_AFFINE, CASE_JACOBIAN     CASE_MSM msm_g1     CASE_SUM
 * msm_sum_g1 CASE_REF ref_msm_g1     CASE_DECODE_HEX  reads the uncompressed form     CASE_FIXED(x)  fixed_base_g1##x
 *   CASE_KEY "g1", the member of the golden vectors
 */

/* Points k_i G, k_i random, made one by one. */
static CASE_AFFINE *CASE(points)(size_t n) {
    CASE_AFFINE *p = test_alloc((n + 1) * sizeof *p), base;
    CASE_G(generator_affine)(&base);
    for (size_t i = 0; i < n; i++) {
        CASE_JACOBIAN t;
        fr_canon k = test_scalar();
        CASE_G(from_affine)(&t, &base);
        CASE_G(mul)(&t, &t, &k);
        CASE_G(to_affine)(&p[i], &t);
    }
    return p;
}

/* Every CPU version, by the caller alone and on 3 threads, against `want`. */
static void CASE(check)(const CASE_JACOBIAN *want, const CASE_AFFINE *points, const uint32_t *index,
                        const fr_canon *scalars, size_t n, const char *what) {
    size_t versions;
    const struct math_kernels *const *all = math_kernels_all(&versions);
    for (size_t v = 0; v < versions; v++) {
        math_kernels_use(all[v]);
        for (unsigned threads = 0; threads <= 3; threads += 3) {
            CASE_JACOBIAN got;
            cuzk_error err;
            buffer_reset_peaks();
            cuzk_status s =
                CASE_MSM(&got, points, index, scalars, n, threads == 0 ? NULL : test_pools[threads], NULL, NULL, &err);
            assert_int_equal(s, CUZK_OK);
            if (!CASE_G(eq)(&got, want)) fail_msg("%s: n %zu, %s, %u threads", what, n, all[v]->isa, threads);
            size_t told = CASE(scratch_bytes)(n, threads == 0 ? 1 : threads);
            uint64_t peak = buffer_class_stats(BUFFER_MSM_SCRATCH).peak_bytes;
            assert_true(peak >= told && peak < told + 4096);
            assert_int_equal(buffer_class_stats(BUFFER_MSM_SCRATCH).live_bytes, 0);
        }
    }
    math_kernels_use(NULL);
}

static void CASE(check_ref)(const CASE_AFFINE *points, const uint32_t *index, const fr_canon *scalars, size_t n,
                            const char *what) {
    CASE_JACOBIAN want;
    CASE_REF(&want, points, index, scalars, n);
    CASE(check)(&want, points, index, scalars, n, what);
}

static void CASE(sizes)(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 17, 18, 31, 32, 33, 255, 256, 257};
    CASE_AFFINE *points = CASE(points)(257);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i += TEST_SANITIZED && i > 0 && i < 18 ? 2 : 1) {
        size_t n = sizes[i];
        fr_canon *scalars = test_scalars(n);
        uint32_t *index = test_index(n, 257);
        CASE(check_ref)(points, NULL, scalars, n, "random");
        CASE(check_ref)(points, index, scalars, n, "random, indexed");
        free(scalars);
        free(index);
    }
    free(points);
}

static void CASE(points_edges)(void **state) {
    (void)state;
    const size_t n = 70;
    CASE_AFFINE *plain = CASE(points)(n), *points = test_alloc(n * sizeof *points);
    for (int pattern = 0; pattern < 8; pattern++) {
        fr_canon *scalars = test_scalars(n);
        memcpy(points, plain, n * sizeof *points);
        for (size_t i = 0; i < n; i++) {
            bool infinity = (pattern == 0 && i == 0) || (pattern == 1 && i == n - 1) || (pattern == 2 && i % 2 == 0) ||
                            pattern == 3;
            if (infinity) CASE_G(affine_set_infinity)(&points[i]);
            if (pattern == 4) points[i] = plain[0];
            if (pattern == 5) points[i] = plain[i / 2];
            if (pattern >= 6 && i % 2 == 1) CASE_G(affine_neg)(&points[i], &points[i - 1]);
            /* Equal scalars put the pairs into one bucket; sums cancel wholly in the last pattern. */
            if (pattern >= 4 && pattern != 6 && i % 2 == 1) scalars[i] = scalars[i - 1];
        }
        CASE(check_ref)(points, NULL, scalars, n, "points' edges");
        uint32_t *index = test_index(n, n);
        CASE(check_ref)(points, index, scalars, n, "points' edges, indexed");
        free(index);
        free(scalars);
    }
    free(plain);
    free(points);
}

static void CASE(scalars_edges)(void **state) {
    (void)state;
    const size_t n = 67;
    CASE_AFFINE *points = CASE(points)(n);
    for (int pattern = 0; pattern < 9; pattern++) {
        fr_canon *scalars = test_scalars(n), first = scalars[0];
        for (size_t i = 0; i < n; i++) {
            switch (pattern) {
            case 0: scalars[i] = (fr_canon){{0}}; break;
            case 1: scalars[i] = (fr_canon){{1}}; break;
            case 2: scalars[i] = test_minus_one(); break;
            case 3: scalars[i] = first; break;
            case 4: scalars[i] = (fr_canon){{i % 3 == 0}}; break;
            case 5: memset(&scalars[i], 0, sizeof scalars[i]), scalars[i].l[i % 4] = UINT64_C(1) << (i % 63); break;
            case 6: scalars[i] = (fr_canon){{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX >> 2}}; break;
            case 7:
                scalars[i] = (fr_canon){{0x8000800080008000, 0x8000800080008000, 0x8000800080008000, 0x8000800080}};
                break;
            default:
                if (i % 2 == 0) scalars[i] = (fr_canon){{0}};
            }
        }
        CASE(check_ref)(points, NULL, scalars, n, "scalars' edges");
        free(scalars);
    }
    free(points);
}

static void CASE(golden)(void **state) {
    (void)state;
    cuzk_error err;
    size_t offset = 0, lines = 0;
    json_node *line;
    for (arena *a; (a = test_next_line("msm.jsonl", &offset, &line)) != NULL; arena_destroy(a), lines++) {
        size_t n = (size_t)strtoul(json_member(line, "n")->text, NULL, 10);
        const char *rule = json_member(line, "base_rule")->text;
        CASE_AFFINE generator, *points = test_alloc((n + 1) * sizeof *points), got;
        CASE_JACOBIAN base, step, out;
        fr_canon *scalars = test_alloc((n + 1) * sizeof *scalars), h = test_hex_scalar(json_member(line, "h"));
        CASE_G(generator_affine)(&generator);
        CASE_G(from_affine)(&base, &generator);
        CASE_G(mul)(&base, &base, &h);
        step = base;
        for (size_t i = 0; i < n; i++) {
            CASE_G(to_affine)(&points[i], &step);
            if (strcmp(rule, "i+1") == 0) CASE_G(add)(&step, &step, &base);
            if (strcmp(rule, "+-1") == 0) CASE_G(neg)(&step, &step);
            scalars[i] = test_hex_scalar(json_at(json_member(line, "scalars"), i));
        }
        assert_int_equal(CASE_MSM(&out, points, NULL, scalars, n, NULL, NULL, NULL, &err), CUZK_OK);
        CASE_G(to_affine)(&got, &out);
        uint8_t bytes[2 * sizeof got.x], want[2 * sizeof got.x];
        CASE(encode)(bytes, &got);
        const json_node *text = json_member(line, CASE_KEY);
        assert_true(text_unhex(want, sizeof want, text->text, text->len));
        assert_memory_equal(bytes, want, sizeof want);
        /* ... and each version agrees with the expected point now known to be right. */
        CASE(check)(&out, points, NULL, scalars, n, json_member(line, "note")->text);
        free(points);
        free(scalars);
    }
    assert_int_equal(lines, 17);
}

static void CASE(sums)(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 3, 100, 1023, 1024, 1025, 4097, 10000};
    CASE_AFFINE *points = CASE(points)(300);
    CASE_G(affine_set_infinity)(&points[7]);
    points[8] = points[9];
    CASE_G(affine_neg)(&points[10], &points[11]);
    size_t versions;
    const struct math_kernels *const *all = math_kernels_all(&versions);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint32_t *index = test_index(sizes[i], 300);
        CASE_JACOBIAN want, got;
        CASE_G(set_infinity)(&want);
        for (size_t j = 0; j < sizes[i]; j++) CASE_G(add_affine)(&want, &want, &points[index[j]]);
        for (size_t v = 0; v < versions; v++) {
            math_kernels_use(all[v]);
            void *scratch = test_alloc(CASE(sum_scratch_bytes)(sizes[i]) + 1);
            CASE_SUM(&got, points, index, sizes[i], scratch);
            free(scratch);
            assert_true(CASE_G(eq)(&got, &want));
        }
        math_kernels_use(NULL);
        free(index);
    }
    free(points);
}

/* Sizes about 2^16 against the known logarithms of the points; points and scalars from their own generators. */
static void CASE(large)(void **state) {
    (void)state;
    const size_t most = CASE_LARGE + 1;
    cuzk_error err;
    fr_canon *logs = test_scalars(most), *scalars = test_scalars(most);
    CASE_AFFINE *points = test_alloc(most * sizeof *points), base;
    CASE_FIXED() * table;
    CASE_G(generator_affine)(&base);
    assert_int_equal(CASE_FIXED(_create)(&table, &base, most, NULL, &err), CUZK_OK);
    CASE_FIXED(_mul)(table, points, logs, most);
    CASE_FIXED(_destroy)(table);
    for (size_t n = CASE_LARGE - 1; n <= most; n++) {
        fr sum, s, l;
        fr_set_zero(&sum);
        for (size_t i = 0; i < n; i++) {
            fr_from_canon(&s, &scalars[i]);
            fr_from_canon(&l, &logs[i]);
            fr_mul(&s, &s, &l);
            fr_add(&sum, &sum, &s);
        }
        fr_canon k;
        CASE_JACOBIAN want;
        fr_to_canon(&k, &sum);
        CASE_G(from_affine)(&want, &base);
        CASE_G(mul)(&want, &want, &k);
        size_t versions;
        const struct math_kernels *const *all = math_kernels_all(&versions);
        for (size_t v = 0; v < versions; v++) {
            math_kernels_use(all[v]);
            CASE_JACOBIAN got;
            assert_int_equal(CASE_MSM(&got, points, NULL, scalars, n, test_pools[2], NULL, NULL, &err), CUZK_OK);
            assert_true(CASE_G(eq)(&got, &want));
        }
        math_kernels_use(NULL);
    }
    free(points);
    free(logs);
    free(scalars);
}

#undef CASE
#undef CASE_G
#undef CASE_AFFINE
#undef CASE_JACOBIAN
#undef CASE_MSM
#undef CASE_SUM
#undef CASE_REF
#undef CASE_FIXED
#undef CASE_KEY
#undef CASE_LARGE
