/* The points of a proving key from the polynomials' values at tau: scalars, fixed-base products, encoding, writing.
 * Internal to groth16/setup.c; the formulas are in docs/math/groth16.md. */
#ifndef CUZK_GROTH16_SETUP_POINTS_H
#define CUZK_GROTH16_SETUP_POINTS_H

#include "groth16/qap.h"
#include "groth16/setup.h"
#include "math/msm.h"

typedef struct setup_points {
    const shape *shape;
    const qap_values *qap;
    const trapdoor *trapdoor;
    const fixed_base_g1 *g1;
    const fixed_base_g2 *g2;
    buffer scratch; /* setup_points_scratch_bytes */
} setup_points;

uint64_t setup_points_scratch_bytes(unsigned threads);
/* Number of points of a section, from the shape. */
uint64_t setup_section_count(const shape *s, params_section section);
/* Makes all points of a section and hands them out: ic as points into ic_out, the others as bytes into w from `offset`
 * on. */
cuzk_status setup_section(const setup_points *sp, params_section section, g1_affine *ic_out, file_writer *w,
                          uint64_t offset, pool *p, const cuzk_control *control, cuzk_error *err);

#endif
