/* Compares a circuit's structure with its line in tests/data/digests.tsv (made by the reference implementation). */
#ifndef CUZK_TESTS_REF_STRUCTURE_H
#define CUZK_TESTS_REF_STRUCTURE_H

#include "r1cs/cs.h"

/* True when counts, non-zeros, densities and digest are those of line `name` of `path`; otherwise false, with the
 * differences on stderr. */
bool structure_equal(const char *path, const char *name, cs_circuit f, const void *params);
/* The same of the circuit's recorded shape: for circuits whose blocks repeat. */
bool structure_equal_shape(const char *path, const char *name, cs_circuit f, const void *params);

#endif
