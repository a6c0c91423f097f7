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
#include "gadget/multi_eq.h"
#include "gadget/pack.h"

static const uint32_t initial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

static const uint32_t round_constant[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

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
        word_set_const(&r->k[now], round_constant[i]);
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
