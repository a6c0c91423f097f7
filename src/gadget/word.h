/* Words of 32 bits in a circuit, low bit first, each bit a constant, a variable or a negated variable.
 *
 * Kinds are kept as masks, so that a circuit that only computes values (no structure) works on whole words: a xor of
 * two words of variables is one instruction and one allocation of 32 bits. With structure the variables' numbers are
 * kept too and each bit gets its constraint. Both ways allocate the same variables in the same order; the kinds of bits
 * and hence the allocations follow gadget/boolean.h bit by bit, from bit 0 to bit 31.
 *
 * Source: docs/circuits/gadgets.md. */
#ifndef CUZK_GADGET_WORD_H
#define CUZK_GADGET_WORD_H

#include "gadget/boolean.h"

typedef struct word {
    uint32_t value;    /* after negation; only constant bits are known when !cs->values */
    uint32_t constant; /* 1: the bit is a constant */
    uint32_t negated;  /* 1: the bit is a negated variable; 0 for constants */
    cs_var var[32];    /* of the bits that are no constants; only with structure */
} word;

void word_set_const(word *out, uint32_t value);
/* n words of new bits (low bit of the first word first), each bit with its constraint. */
void word_alloc(cs *c, word *out, unsigned n, const uint32_t *values);
/* The lowest n ≤ 64 bits are new variables with their constraints; used for two words (out[0], out[1]), what is not
 * allocated becomes constant 0. */
void word_alloc_bits(cs *c, word out[2], unsigned n, uint64_t values);

boolean word_bit(const word *w, unsigned i);
void word_set_bit(word *w, unsigned i, boolean b);
void word_copy(const cs *c, word *out, const word *a);

/* out may not be a. */
void word_rotr(const cs *c, word *out, const word *a, unsigned n);
void word_shr(const cs *c, word *out, const word *a, unsigned n);
/* Reverses the four bytes. On the 8 words of a 32-byte string this is the change between little-endian numbering and
 * the order in which SHA-256 numbers bits. */
void word_swap_bytes(const cs *c, word *out, const word *a);

/* out may be one of the operands. */
void word_xor(cs *c, word *out, const word *a, const word *b);
void word_ch(cs *c, word *out, const word *a, const word *b, const word *x);
void word_maj(cs *c, word *out, const word *a, const word *b, const word *x);

#endif
