/* The constraint-system interface: paths, faults, and linear combinations in the making.
 *
 * Combinations grow by doubling in the cs's scratch arena; the old copy stays in the arena until the mark is released,
 * which at most doubles its use. cs_lc_merge works in place without memory: insertion sort for short combinations,
 * heapsort (Williams 1964) for long ones, so that no order of terms is slow.
 */
#include "r1cs/cs.h"

#include <stdio.h>
#include <string.h>
#include "r1cs/interpreter.h"

void cs_fault(cs *c, cuzk_status s, const char *what) {
    if (c->status != CUZK_OK) return;
    c->status = s;
    char path[sizeof c->err->where];
    cs_path_text(c, path, sizeof path);
    cuzk_fail(c->err, s, "%s", what);
    if (path[0] != '\0') cuzk_fail_where(c->err, "%s", path);
}

/* ---- paths ---- */

void cs_push(cs *c, const char *name, uint32_t index) {
    if (c->path_len < CS_MAX_PATH) {
        c->path[c->path_len].name = name;
        c->path[c->path_len].index = index;
    }
    c->path_len++;
}

void cs_pop(cs *c) {
    c->path_len--;
}

void cs_path_text(const cs *c, char *out, size_t n) {
    size_t used = 0;
    if (n == 0) return;
    out[0] = '\0';
    for (unsigned i = 0; i < c->path_len && i < CS_MAX_PATH && used < n - 1; i++) {
        const cs_path_part *p = &c->path[i];
        int wrote;
        if (p->index == UINT32_MAX)
            wrote = snprintf(out + used, n - used, "%s%s", i > 0 ? " / " : "", p->name);
        else
            wrote = snprintf(out + used, n - used, "%s%s %u", i > 0 ? " / " : "", p->name, p->index);
        if (wrote < 0) return;
        used += (size_t)wrote;
    }
}

/* ---- linear combinations ---- */

static bool lc_reserve(cs *c, cs_lc *lc, uint32_t more) {
    uint64_t need = (uint64_t)lc->len + more;
    if (need <= lc->cap) return true;
    uint64_t cap = lc->cap < 4 ? 4 : (uint64_t)lc->cap * 2;
    if (cap < need) cap = need;
    cs_term *terms = cap > UINT32_MAX ? NULL : arena_alloc_array(c->scratch, cap, sizeof *terms);
    if (terms == NULL) {
        cs_fault(c, CUZK_MEMORY, "no memory for a linear combination");
        return false;
    }
    if (lc->len > 0) memcpy(terms, lc->terms, lc->len * sizeof *terms);
    lc->terms = terms;
    lc->cap = (uint32_t)cap;
    return true;
}

void cs_lc_add(cs *c, cs_lc *lc, const fr *coeff, cs_var var) {
    if (lc->len == lc->cap && !lc_reserve(c, lc, 1)) return;
    cs_term *t = &lc->terms[lc->len++];
    t->coeff = *coeff;
    t->var = var;
}

void cs_lc_add_u64(cs *c, cs_lc *lc, uint64_t coeff, cs_var var) {
    fr k;
    if (coeff == 1)
        fr_set_one(&k);
    else
        fr_from_u64(&k, coeff);
    cs_lc_add(c, lc, &k, var);
}

void cs_lc_add_one(cs *c, cs_lc *lc, cs_var var) {
    fr one;
    fr_set_one(&one);
    cs_lc_add(c, lc, &one, var);
}

void cs_lc_sub_one(cs *c, cs_lc *lc, cs_var var) {
    fr minus_one = fr_minus_one();
    cs_lc_add(c, lc, &minus_one, var);
}

void cs_lc_add_scaled(cs *c, cs_lc *lc, const fr *k, const cs_lc *other) {
    if (!lc_reserve(c, lc, other->len)) return;
    cs_term *to = lc->terms + lc->len;
    uint32_t n = other->len;
    if (fr_is_one(k)) {
        if (n > 0) memmove(to, other->terms, n * sizeof *to);
    } else {
        fr one, minus_one = fr_minus_one();
        fr_set_one(&one);
        for (uint32_t i = 0; i < n; i++) {
            const cs_term *t = &other->terms[i];
            /* Most combinations are sums and differences of variables: no product for coefficients 1 and -1. */
            if (fr_eq(&t->coeff, &one))
                to[i].coeff = *k;
            else if (fr_eq(&t->coeff, &minus_one))
                fr_neg(&to[i].coeff, k);
            else
                fr_mul(&to[i].coeff, &t->coeff, k);
            to[i].var = t->var;
        }
    }
    lc->len += n;
}

/* Inputs before aux, ascending. */
static uint32_t order_of(const cs_term *t) {
    return t->var ^ CS_INPUT;
}

static void insertion_sort(cs_term *t, uint32_t n) {
    for (uint32_t i = 1; i < n; i++) {
        if (order_of(&t[i - 1]) <= order_of(&t[i])) continue;
        cs_term moving = t[i];
        uint32_t j = i;
        do {
            t[j] = t[j - 1];
            j--;
        } while (j > 0 && order_of(&t[j - 1]) > order_of(&moving));
        t[j] = moving;
    }
}

static void sift_down(cs_term *t, uint32_t at, uint32_t n) {
    cs_term moving = t[at];
    uint64_t child;
    while ((child = 2 * (uint64_t)at + 1) < n) {
        if (child + 1 < n && order_of(&t[child]) < order_of(&t[child + 1])) child++;
        if (order_of(&t[child]) <= order_of(&moving)) break;
        t[at] = t[child];
        at = (uint32_t)child;
    }
    t[at] = moving;
}

static void heapsort_terms(cs_term *t, uint32_t n) {
    for (uint32_t i = n / 2; i-- > 0;) sift_down(t, i, n);
    for (uint32_t end = n; end-- > 1;) {
        cs_term last = t[end];
        t[end] = t[0];
        t[0] = last;
        sift_down(t, 0, end);
    }
}

void cs_lc_merge(cs_lc *lc) {
    cs_term *t = lc->terms;
    uint32_t n = lc->len, kept = 0;
    bool sorted = true;
    for (uint32_t i = 1; i < n && sorted; i++) sorted = order_of(&t[i - 1]) <= order_of(&t[i]);
    if (!sorted && n <= 24)
        insertion_sort(t, n);
    else if (!sorted)
        heapsort_terms(t, n);
    for (uint32_t i = 0; i < n;) {
        cs_term sum = t[i++];
        while (i < n && t[i].var == sum.var) fr_add(&sum.coeff, &sum.coeff, &t[i++].coeff);
        if (!fr_is_zero(&sum.coeff)) t[kept++] = sum;
    }
    lc->len = kept;
}
