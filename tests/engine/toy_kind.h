/* A small proof kind for the tests of the engine and of what is built on it.
 *
 * "toy" has circuits of 1 KiB, 2 KiB, 4 KiB, … 1 MiB; a circuit of n bytes has n / 4 constraints (256 … 262,144): some
 * bits, and a chain x' = -x x0 whose first two results are the public inputs. "toy-lazy" is the same as blocks alone,
 * with lazy witnesses. Keys are development keys, so tests set $CUZK_CACHE to a folder of their own
 * (ref/groth16_case.h, case_folder_make) and the engine's option development_keys.
 *
 * A job is its request alone, a JSON object; all members may be left out:
 *   bytes         sector size (1024); the submission's sector_bytes goes before it
 *   partitions    1 … 4096 (1)
 *   start         number (1): partition k begins with x0 = start + k + 2, so equal starts give equal public inputs
 *   unsatisfied   list of partitions whose witness breaks a constraint: status UNSATISFIED from the device
 *   bad_check     true: the vanilla check fails, UNSATISFIED
 *   witness_ms    every witness takes so long (sleeping)
 *   check_ms      the vanilla check takes so long; it can be cancelled meanwhile
 *   pad           any string: makes the request large, and different for the same start
 */
#ifndef CUZK_TESTS_ENGINE_TOY_KIND_H
#define CUZK_TESTS_ENGINE_TOY_KIND_H

#include "circuit/job.h"
#include "format/bellperson.h"

extern const circuit_kind toy_kind, toy_lazy_kind;

/* A request as text, free with free(). unsatisfied: a partition, or -1. */
char *toy_request(uint64_t bytes, unsigned partitions, uint64_t start, int unsatisfied, unsigned witness_ms);

/* Whether every one of the proofs (192 bytes each) is right for a request with this start, by the verifying key of the
 * development key in $CUZK_CACHE. Faults end the test program. */
bool toy_verify(const circuit_kind *kind, uint64_t bytes, unsigned partitions, uint64_t start, const uint8_t *proofs,
                size_t proof_bytes);

#endif
