/* The stacked graph and what depends on it: parents, challenges, labels, replica id. All values as the reference makes
 * them. Source: docs/circuits/porep.md. Pure functions; thread-safe. */
#ifndef CUZK_CIRCUIT_POREP_GRAPH_H
#define CUZK_CIRCUIT_POREP_GRAPH_H

#include "circuit/porep/porep.h"

/* replica_id as 32 little-endian bytes (canonical). */
void porep_replica_id(uint8_t out[32], const uint8_t prover_id[32], uint64_t sector_number, const uint8_t ticket[32],
                      const uint8_t comm_d[32], const uint8_t porep_id[32]);
/* prover_id of a miner id: unsigned LEB128, zero filled. And back: false when it is not one. */
void porep_prover_id(uint8_t out[32], uint64_t miner_id);
bool porep_miner_id(uint64_t *out, const uint8_t prover_id[32]);

typedef struct porep_graph {
    uint64_t nodes;
    unsigned api_version;
    uint8_t drg_seed[28];
    uint64_t feistel_key[3];
} porep_graph;
void porep_graph_init(porep_graph *g, uint64_t nodes, unsigned api_version, const uint8_t porep_id[32]);
/* Six DRG parents then eight expander parents. */
void porep_graph_parents(const porep_graph *g, uint64_t node, uint64_t out[POREP_DRG_PARENTS + POREP_EXP_PARENTS]);

/* Challenges of one partition (params->challenges of them). comm_r is used by the synthetic and non-interactive kinds,
 * seed by the interactive and synthetic ones. */
void porep_challenges(const porep_params *p, const uint8_t replica_id[32], const uint8_t comm_r[32],
                      const uint8_t seed[32], unsigned partition, uint64_t *out);
/* The synthetic kind with a set of any size (sectors: min(nodes, 2^18)). */
void porep_synthetic_challenges(const porep_params *p, uint64_t set, const uint8_t replica_id[32],
                                const uint8_t comm_r[32], const uint8_t seed[32], unsigned partition, uint64_t *out);

/* Label of a node (32 bytes LE, canonical): parents are 6 labels (layer 1) or 14 (6 of this layer, 8 of the one below);
 * node 0 hashes the prefix only. */
void porep_label(uint8_t out[32], const uint8_t replica_id[32], uint32_t layer, uint64_t node,
                 const uint8_t (*parents)[32], unsigned n_parents);

#endif
