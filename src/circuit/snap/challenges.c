/* Randomness of sector updates: phi, rho, challenges, and the public inputs. Source:
 * docs/circuits/snap.md. */
#include <pthread.h>
#include "circuit/snap/snap.h"

#define RANDOMNESS_TAG ((uint64_t)1 << 40)

static poseidon_constants randomness;

static void make_randomness(void) {
    randomness = *poseidon_get(2);
    fr_from_u64(&randomness.domain_tag, RANDOMNESS_TAG);
}

const poseidon_constants *snap_randomness(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_randomness);
    return &randomness;
}

static void hash_two(fr *out, const fr *a, const fr *b) {
    fr both[2] = {*a, *b};
    poseidon_hash(snap_randomness(), out, both);
}

void snap_phi(fr *out, const fr *comm_d_new, const fr *comm_r_old) {
    hash_two(out, comm_d_new, comm_r_old);
}

void snap_rho(const snap_params *p, fr *out, const fr *phi, uint64_t node) {
    fr high;
    fr_from_u64(&high, node >> (p->challenge_bits - p->h));
    hash_two(out, phi, &high);
}

/* n ≤ 32 bits of a number from bit `at` on. */
static uint64_t bits_of(const fr_canon *v, unsigned at, unsigned n) {
    uint64_t bits = v->l[at / 64] >> (at % 64);
    if (at % 64 + n > 64) bits |= v->l[at / 64 + 1] << (64 - at % 64);
    return bits & (((uint64_t)1 << n) - 1);
}

void snap_challenges(const snap_params *p, const fr *comm_r_new, unsigned k, uint64_t *out) {
    fr_canon bits = {{0}};
    for (unsigned i = 0; i < p->challenges; i++) {
        unsigned j = i / p->per_digest, chunk = i % p->per_digest;
        if (chunk == 0) {
            fr index, digest;
            fr_from_u64(&index, (uint64_t)k * p->digests + j);
            hash_two(&digest, comm_r_new, &index);
            fr_to_canon(&bits, &digest);
        }
        out[i] = bits_of(&bits, chunk * p->random_bits, p->random_bits) | (uint64_t)k << p->random_bits;
    }
}

void snap_public_inputs(const snap_params *p, unsigned k, const fr *comm_r_old, const fr *comm_d_new,
                        const fr *comm_r_new, fr out[SNAP_PUBLIC_INPUTS]) {
    fr_from_u64(&out[0], k | (uint64_t)p->h_select << p->partition_bits);
    out[1] = *comm_r_old;
    out[2] = *comm_d_new;
    out[3] = *comm_r_new;
}
