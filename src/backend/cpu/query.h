/* Sums over a key's queries weighted by the witness: sum w_i L_i, sum w_i A_i, sum w_i B_i.
 *
 * Nearly all of a witness is bits, and a bit either takes its point or leaves it: those sums are plain additions. The
 * field elements and the public inputs go through one multi-scalar multiplication. The values of a lazy witness are
 * made again for each list; its bits are kept from the first list on. Internal to backend/cpu.
 */
#ifndef CUZK_BACKEND_CPU_QUERY_H
#define CUZK_BACKEND_CPU_QUERY_H

#include "math/curve.h"
#include "r1cs/witness.h"

typedef enum { QUERY_L, QUERY_A, QUERY_B } query_kind;

/* Lists and scratch that serve one query after the other. Class MSM_SCRATCH. */
typedef struct query_work {
    const shape *shape;
    const witness *witness;
    buffer memory;
    fr_canon *scalars; /* of the current query, with the base that each multiplies */
    uint32_t *index;
    size_t n;
    const uint64_t *bits; /* the witness's, or kept_bits */
    uint64_t *kept_bits;  /* of a lazy witness */
    bool bits_kept;
    uint8_t *slots;
    size_t slot_bytes;
    unsigned threads;
} query_work;

uint64_t query_work_bytes(const shape *s, unsigned threads);
cuzk_status query_work_create(query_work *q, const shape *s, const witness *w, unsigned threads, cuzk_error *err);
void query_work_free(query_work *q);

/* Length of the query's list: field elements that have a base, and public inputs that have one. */
uint64_t query_list_count(const shape *s, query_kind kind);
/* Fills scalars, index and n for a query; needed before its sums. Fails as witness_each_copy does. */
cuzk_status query_list(query_work *q, query_kind kind, pool *p, const cuzk_control *control, const char *stage,
                       cuzk_error *err);
cuzk_status query_sum_g1(g1 *out, query_work *q, query_kind kind, const g1_affine *points, pool *p,
                         const cuzk_control *control, const char *stage, cuzk_error *err);
cuzk_status query_sum_g2(g2 *out, query_work *q, query_kind kind, const g2_affine *points, pool *p,
                         const cuzk_control *control, const char *stage, cuzk_error *err);

#endif
