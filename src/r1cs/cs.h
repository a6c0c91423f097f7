/* The constraint-system interface: circuit code is written once against it and interpreted in several ways.
 *
 * A circuit allocates variables (public inputs and auxiliary ones), and enforces constraints A * B = C over linear
 * combinations. What happens is the interpreter's affair: the recorder builds a shape (r1cs/shape.h), the witness
 * writer a compact witness (r1cs/witness.h), the counter counts, the hasher makes the structure digest, the locator
 * finds the gadget path of a constraint.
 *
 *  - cs->values: variables have values and circuits must compute them. When false, every value is zero and must not be
 * looked at.
 *  - cs->structure: constraints are wanted. When false, gadgets skip building linear combinations and calling
 * cs_enforce. Neither may change what is allocated, in which order, nor which constraints come, in which order.
 *
 * Faults (no memory) are sticky: gadgets check nothing, the caller looks at cs->status at the end. One cs belongs to
 * one thread. Order, and what a linear combination means: docs/circuits/gadgets.md (the structure of
 * bellperson 0.27).
 */
#ifndef CUZK_R1CS_CS_H
#define CUZK_R1CS_CS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "math/field.h"

/* A variable: index of an auxiliary variable, or CS_INPUT | index of a public input. Input 0 is the constant one. */
typedef uint32_t cs_var;
#define CS_INPUT 0x80000000u
#define CS_ONE CS_INPUT
#define CS_MAX_AUX (1u << 30)

typedef struct cs_term {
    fr coeff; /* Montgomery */
    cs_var var;
} cs_term;

/* A linear combination in the making: terms in any order, duplicates allowed (interpreters sort, merge, and drop what
 * came to zero). Terms live in the cs's scratch arena; they are valid until the cs_release that frees them. */
typedef struct cs_lc {
    cs_term *terms;
    uint32_t len, cap;
} cs_lc;

typedef struct cs cs;

typedef struct cs_ops {
    cs_var (*alloc)(cs *c, const fr *value);                  /* a field element */
    cs_var (*alloc_bits)(cs *c, unsigned n, uint64_t values); /* n ≤ 64 bits, low first; returns the first variable */
    cs_var (*input)(cs *c, const fr *value);
    void (*enforce)(cs *c, const cs_lc *a, const cs_lc *b, const cs_lc *lc_c);
    bool (*block_begin)(cs *c, uint32_t index, uint32_t count, const cs_var *params, unsigned n_params);
    void (*block_end)(cs *c);
} cs_ops;

typedef struct cs_path_part {
    const char *name;
    uint32_t index; /* UINT32_MAX: none */
} cs_path_part;
#define CS_MAX_PATH 16

struct cs {
    const cs_ops *ops;
    bool values, structure;
    cuzk_status status; /* sticky */
    cuzk_error *err;
    uint32_t inputs, aux; /* allocated so far; inputs counts ONE */
    uint64_t constraints; /* enforced so far (0 where !structure) */
    arena *scratch;       /* linear combinations */
    cs_path_part path[CS_MAX_PATH];
    unsigned path_len; /* may exceed CS_MAX_PATH; deeper parts are not kept */
};

/* Allocation. With !cs->values the value is ignored (may be NULL). */
static inline cs_var cs_alloc(cs *c, const fr *value) {
    return c->ops->alloc(c, value);
}
static inline cs_var cs_alloc_bits(cs *c, unsigned n, uint64_t values) {
    return c->ops->alloc_bits(c, n, values);
}
static inline cs_var cs_alloc_bit(cs *c, bool value) {
    return c->ops->alloc_bits(c, 1, value);
}
static inline cs_var cs_input(cs *c, const fr *value) {
    return c->ops->input(c, value);
}
/* Only when cs->structure. The combinations are borrowed until return. */
static inline void cs_enforce(cs *c, const cs_lc *a, const cs_lc *b, const cs_lc *lc_c) {
    c->ops->enforce(c, a, b, lc_c);
}

/* A circuit that is a prologue, `count` equal blocks and an epilogue brackets block `index` with these. Returns false
 * when the interpreter does not want this block (the recorder wants only block 0): then skip the body, and still call
 * cs_block_end. A block may refer to variables of the prologue and of itself, never of another block; the epilogue may
 * refer to prologue and epilogue variables only. At most one run of blocks in a circuit, count ≥ 1. */
static inline bool cs_block_begin(cs *c, uint32_t index, uint32_t count) {
    return c->ops->block_begin(c, index, count, NULL, 0);
}
/* The same for blocks that also refer to variables of the prologue which differ from copy to copy: the copy's
 * parameters, as many and in the same roles in every copy. The body names them like any variable; the recorder sees
 * that they are parameters. They are auxiliary variables of the prologue in strictly ascending order, and none may
 * also be named by a block as a variable that all copies share. Only looked at when cs->structure. */
#define CS_MAX_BLOCK_PARAMS 64
static inline bool cs_block_begin_with(cs *c, uint32_t index, uint32_t count, const cs_var *params, unsigned n_params) {
    return c->ops->block_begin(c, index, count, params, n_params);
}
static inline void cs_block_end(cs *c) {
    c->ops->block_end(c);
}

/* Gadget path, for messages: "challenge 3 / label 2 / sha256". name is a static string. */
void cs_push(cs *c, const char *name, uint32_t index);
void cs_pop(cs *c);
void cs_path_text(const cs *c, char *out, size_t n);

/* Linear combinations. cs_lc_init takes nothing from the arena until the first term. */
static inline void cs_lc_init(cs_lc *lc) {
    lc->terms = 0, lc->len = lc->cap = 0;
}
void cs_lc_add(cs *c, cs_lc *lc, const fr *coeff, cs_var var);
void cs_lc_add_u64(cs *c, cs_lc *lc, uint64_t coeff, cs_var var);
void cs_lc_add_one(cs *c, cs_lc *lc, cs_var var); /* coefficient 1 */
void cs_lc_sub_one(cs *c, cs_lc *lc, cs_var var); /* coefficient -1 */
void cs_lc_add_scaled(cs *c, cs_lc *lc, const fr *k, const cs_lc *other);
void cs_lc_merge(
    cs_lc *lc); /* sorts inputs first, then aux, ascending; merges duplicates; keeps zero coefficients out */
static inline arena_mark cs_save(cs *c) {
    return arena_save(c->scratch);
}
static inline void cs_release(cs *c, arena_mark m) {
    arena_release(c->scratch, m);
}

/* Ends the run with a fault that only the status can tell (no memory, a limit, a cancellation); the first one counts,
 * the circuit may go on allocating. For interpreters, and for circuit code that allocates memory of its own. */
void cs_fault(cs *c, cuzk_status s, const char *what);

/* What an interpreter runs. `params` is the circuit's static description; `instance` the values (NULL without values).
 */
typedef void (*cs_circuit)(cs *c, const void *params, const void *instance);

/* ---- interpreters that need no shape ---- */
typedef struct cs_counts {
    uint64_t inputs /* with ONE */, aux, constraints; /* the circuit's own, without the input constraints */
    uint64_t nnz[3];
    uint64_t a_aux_density, b_input_density, b_aux_density;
} cs_counts;

/* Counter: runs every block. */
cuzk_status cs_count(cs_counts *out, cs_circuit f, const void *params, cuzk_error *err);

/* Structure digest: docs/cli.md, "circuit hash". Streams, whole circuit, no shape. checkpoint (may be
 * NULL) is called for each run of 65,536 constraints (the last may be short) with the BLAKE2s-256 of that run's bytes.
 */
typedef void (*cs_checkpoint)(void *user, uint64_t chunk, const uint8_t digest[32]);
cuzk_status cs_hash(uint8_t out[32], cs_circuit f, const void *params, cs_checkpoint checkpoint, void *user,
                    cuzk_error *err);

/* Gadget path of constraint `index` ("challenge 0 / …"). FALSE-free: INTERNAL when there is no such constraint. */
cuzk_status cs_locate(char *out, size_t n, uint64_t index, cs_circuit f, const void *params, cuzk_error *err);

/* Twin for tests: full witness as values (Montgomery) and a check of every constraint while the circuit runs.
 * *first_bad = UINT64_MAX when satisfied; path is filled otherwise. inputs/aux arrays are malloc'd, free() by the
 * caller. */
typedef struct cs_checked {
    fr *inputs, *aux;
    uint64_t n_inputs, n_aux, constraints, first_bad;
    char path[256];
} cs_checked;
cuzk_status cs_check(cs_checked *out, cs_circuit f, const void *params, const void *instance, cuzk_error *err);

#endif
