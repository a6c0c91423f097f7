/* A whole small sector, sealed the slow and obvious way: every label, every tree node. Twin of the sparse code. */
#ifndef CUZK_TESTS_REF_POREP_SECTOR_H
#define CUZK_TESTS_REF_POREP_SECTOR_H

#include "circuit/porep/graph.h"
#include "circuit/porep/vanilla.h"

typedef struct porep_sector_tree {
    fr *level[MERKLE_MAX_LEVELS + 1];
} porep_sector_tree;

typedef struct porep_sector {
    porep_params params;
    porep_request facts;
    uint8_t replica_id[32];
    porep_graph graph;
    fr *data, *rows; /* rows: layers of a node together */
    porep_sector_tree d, c, r;
    fr comm_d, comm_c, comm_r_last, comm_r;
} porep_sector;

/* facts: registered proof, prover, sector number, ticket, seed; comm_d and comm_r are filled in. Data node i is
 * SHA-256("data" || i as u64 LE), two bits cleared. All memory is from a; aborts when there is none. */
void porep_sector_seal(porep_sector *s, arena *a, const porep_params *p, const porep_request *facts);
/* Commit phase 1 for all partitions of params' kind. */
void porep_sector_prove(porep_c1 *out, arena *a, const porep_sector *s);
/* The facts of the sectors that tests/circuit/test_porep_graph.c has the values of. */
void porep_sector_worked_facts(porep_request *facts, const char *registered);

#endif
