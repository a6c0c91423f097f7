/* SHA-256 in a circuit.
 *
 * The order of allocations is the order of first need: e and a of a round are sums of the round before and are made
 * only when the next round, or the end, asks for them. So the sum for e comes first in a round, then its sigma, ch,
 * then the sum for a, its sigma, maj. All sums of one compression share one run of packed equalities.
 *
 * Constants fold by themselves: the initial state is constant, hence in the first block sigma, ch and maj of the first
 * rounds are constant or one-sided; padding makes the schedule constant.
 */
#include "gadget/sha256.h"

#include <assert.h>
#include "base/hash.h"
#include "gadget/multi_eq.h"
#include "gadget/pack.h"

static const uint32_t initial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

void sha256_initial(word out[8]) {
    for (unsigned i = 0; i < 8; i++) word_set_const(&out[i], initial[i]);
}

/* out = rotr(w, a) ^ rotr(w, b) ^ (rotr or shr)(w, last) */
static void sigma(cs *c, word *out, const word *w, unsigned a, unsigned b, unsigned last, bool shift) {
    word x, y;
    word_rotr(c, &x, w, a);
    word_rotr(c, &y, w, b);
    word_xor(c, out, &x, &y);
    if (shift)
        word_shr(c, &x, w, last);
    else
        word_rotr(c, &x, w, last);
    word_xor(c, out, out, &x);
}

/* Rounds keep every a and e: in round i the working variables a, b, c, d are a[i+3], a[i+2], a[i+1], a[i], and e to h
 * the same of e. s1, ch, s0, maj and k hold the last two rounds. */
typedef struct rounds {
    word w[64], a[67], e[67];
    word s0[2], s1[2], ch[2], maj[2], k[2];
} rounds;

static void schedule(cs *c, multi_eq *eq, word w[64], const word *const block[16]) {
    for (unsigned i = 0; i < 16; i++) word_copy(c, &w[i], block[i]);
    for (unsigned i = 16; i < 64; i++) {
        word s0, s1;
        sigma(c, &s0, &w[i - 15], 7, 18, 3, true);
        sigma(c, &s1, &w[i - 2], 17, 19, 10, true);
        multi_eq_add(eq, &w[i], (const word *const[]){&w[i - 16], &s0, &w[i - 7], &s1}, 4);
    }
}

/* The sum for e that round i leaves behind (6 terms; 7 with `extra`), and for a (7 terms; 8 with `extra`). */
static void sum_e(multi_eq *eq, const rounds *r, unsigned i, word *out, const word *extra) {
    const word *ops[7] = {&r->e[i], &r->s1[i & 1], &r->ch[i & 1], &r->k[i & 1], &r->w[i], &r->a[i], extra};
    multi_eq_add(eq, out, ops, extra != NULL ? 7 : 6);
}

static void sum_a(multi_eq *eq, const rounds *r, unsigned i, word *out, const word *extra) {
    const word *ops[8] = {&r->e[i], &r->s1[i & 1], &r->ch[i & 1],  &r->k[i & 1],
                          &r->w[i], &r->s0[i & 1], &r->maj[i & 1], extra};
    multi_eq_add(eq, out, ops, extra != NULL ? 8 : 7);
}

static void run_rounds(cs *c, multi_eq *eq, rounds *r) {
    for (unsigned i = 0; i < 64; i++) {
        unsigned now = i & 1;
        word *a = &r->a[i + 3], *e = &r->e[i + 3];
        if (i > 0) sum_e(eq, r, i - 1, e, NULL);
        sigma(c, &r->s1[now], e, 6, 11, 25, false);
        word_ch(c, &r->ch[now], e, &r->e[i + 2], &r->e[i + 1]);
        word_set_const(&r->k[now], hash_sha256_round[i]);
        if (i > 0) sum_a(eq, r, i - 1, a, NULL);
        sigma(c, &r->s0[now], a, 2, 13, 22, false);
        word_maj(c, &r->maj[now], a, &r->a[i + 2], &r->a[i + 1]);
    }
}

void sha256_compress_circuit(cs *c, word state[8], const word *const block[16]) {
    multi_eq eq;
    rounds r;
    multi_eq_begin(&eq, c);
    schedule(c, &eq, r.w, block);
    for (unsigned i = 0; i < 4; i++) {
        word_copy(c, &r.a[3 - i], &state[i]);
        word_copy(c, &r.e[3 - i], &state[4 + i]);
    }
    run_rounds(c, &eq, &r);
    word h0 = state[0], h4 = state[4];
    sum_a(&eq, &r, 63, &state[0], &h0);
    for (unsigned i = 1; i < 4; i++) multi_eq_add(&eq, &state[i], (const word *const[]){&state[i], &r.a[67 - i]}, 2);
    sum_e(&eq, &r, 63, &state[4], &h4);
    for (unsigned i = 1; i < 4; i++)
        multi_eq_add(&eq, &state[4 + i], (const word *const[]){&state[4 + i], &r.e[67 - i]}, 2);
    multi_eq_end(&eq);
}

void sha256_circuit(cs *c, word out[8], const word *const *message, unsigned words) {
    word one, zero, length_high, length_low;
    const uint64_t bits = (uint64_t)words * 32;
    const unsigned total = (words + 3 + 15) / 16 * 16;
    word_set_const(&one, 0x80000000u);
    word_set_const(&zero, 0);
    word_set_const(&length_high, (uint32_t)(bits >> 32));
    word_set_const(&length_low, (uint32_t)bits);
    sha256_initial(out);
    cs_push(c, "sha256", UINT32_MAX);
    for (unsigned from = 0; from < total; from += 16) {
        const word *block[16];
        for (unsigned i = 0; i < 16; i++) {
            unsigned at = from + i;
            block[i] = at < words        ? message[at]
                       : at == words     ? &one
                       : at == total - 2 ? &length_high
                       : at == total - 1 ? &length_low
                                         : &zero;
        }
        sha256_compress_circuit(c, out, block);
    }
    cs_pop(c);
}

num sha256_nums_circuit(cs *c, const num *nums, unsigned n) {
    word bits[8], message[64], digest[8];
    const word *at[64];
    assert(n <= 8);
    for (unsigned i = 0; i < n; i++) {
        num_to_bits(c, bits, &nums[i]);
        for (unsigned j = 0; j < 8; j++) {
            word_swap_bytes(c, &message[8 * i + j], &bits[j]);
            at[8 * i + j] = &message[8 * i + j];
        }
    }
    sha256_circuit(c, digest, at, 8 * n);
    for (unsigned j = 0; j < 8; j++) word_swap_bytes(c, &bits[j], &digest[j]);
    return pack_words(c, bits);
}
