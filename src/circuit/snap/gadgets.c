/* Parts of the update circuit. */
#include "circuit/snap/gadgets.h"

#include <assert.h>
#include "gadget/merkle_given.h"
#include "gadget/mul.h"
#include "gadget/pack_bits.h"
#include "gadget/poseidon.h"
#include "gadget/sha256.h"

/* New x = digests * partition + j. For j = 0 the constant has coefficient zero and drops out. */
static num digest_index(cs *c, unsigned digests, const num *partition, unsigned j) {
    fr value, offset, factor;
    fr_from_u64(&factor, digests);
    fr_from_u64(&offset, j);
    if (c->values) {
        fr_mul(&value, &factor, &partition->value);
        fr_add(&value, &value, &offset);
    }
    num index = num_alloc(c, &value);
    if (!c->structure) return index;
    const fr *one = &lc_powers_get()->plus[0];
    short_lc x, y, z;
    short_lc_init(&x);
    short_lc_init(&y);
    short_lc_init(&z);
    short_lc_add(&x, &factor, partition->var);
    short_lc_add(&x, &offset, CS_ONE);
    short_lc_add(&y, one, CS_ONE);
    short_lc_add(&z, one, index.var);
    cs_enforce(c, short_lc_get(&x), short_lc_get(&y), short_lc_get(&z));
    return index;
}

void snap_challenge_bits(cs *c, const snap_params *p, const num *comm_r_new, const num *partition, boolean *out) {
    for (unsigned j = 0, done = 0; j < p->digests; j++) {
        word bits[8];
        cs_push(c, "challenge digest", j);
        num preimage[2] = {*comm_r_new, digest_index(c, p->digests, partition, j)};
        num digest = poseidon_circuit(c, snap_randomness(), preimage);
        num_to_bits_packed(c, bits, &digest);
        unsigned take = p->challenges - done < p->per_digest ? p->challenges - done : p->per_digest;
        for (unsigned i = 0; i < take * p->random_bits; i++) *out++ = word_bit(&bits[i / 32], i % 32);
        done += take;
        cs_pop(c);
    }
}

num snap_high_bits(cs *c, const uint8_t hs[SNAP_H_CHOICES], const boolean *bits, unsigned n,
                   const boolean select[SNAP_H_CHOICES]) {
    const lc_powers *p = lc_powers_get();
    num choice[SNAP_H_CHOICES];
    fr value;
    fr_set_zero(&value);
    for (unsigned t = 0; t < SNAP_H_CHOICES; t++) {
        num packed = pack_bits(c, bits + n - hs[t], hs[t]), condition = {.var = select[t].var};
        if (c->values) fr_from_u64(&condition.value, select[t].value);
        choice[t] = num_mul(c, &packed, &condition);
        if (c->values) fr_add(&value, &value, &choice[t].value);
    }
    num high = num_alloc(c, &value);
    if (!c->structure) return high;
    short_lc x, y, z;
    short_lc_init(&x);
    short_lc_init(&y);
    short_lc_init(&z);
    for (unsigned t = 0; t < SNAP_H_CHOICES; t++) short_lc_add(&x, &p->plus[0], choice[t].var);
    short_lc_add(&y, &p->plus[0], CS_ONE);
    short_lc_add(&z, &p->plus[0], high.var);
    cs_enforce(c, short_lc_get(&x), short_lc_get(&y), short_lc_get(&z));
    return high;
}

num snap_label(cs *c, const num *leaf_r_old, const num *leaf_d_new, const num *rho) {
    num product = num_mul(c, leaf_d_new, rho);
    return num_sum(c, leaf_r_old, &product);
}

void snap_apex(cs *c, const num *comm_d, const boolean *partition, unsigned n, const num *leaves, unsigned n_leaves,
               const num *siblings) {
    static const uint8_t binary[SNAP_MAX_BITS] = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
                                                  2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2};
    num row[SNAP_MAX_APEX];
    assert(n_leaves >= 1 && n_leaves <= SNAP_MAX_APEX && n <= SNAP_MAX_BITS);
    for (unsigned i = 0; i < n_leaves; i++) row[i] = leaves[i];
    for (unsigned len = n_leaves / 2; len > 0; len /= 2) {
        cs_push(c, "apex row", len);
        for (unsigned i = 0; i < len; i++) row[i] = sha256_nums_circuit(c, &row[2 * i], 2);
        cs_pop(c);
    }
    cs_push(c, "partition path", UINT32_MAX);
    merkle_given_climb(c, MERKLE_SHA256, binary, n, &row[0], partition, siblings, comm_d);
    cs_pop(c);
}
