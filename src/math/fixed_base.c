/* Fixed-base multiplication: the choice of the window, and the building of the table.
 *
 * Window w of `bits` bits has a row of all multiples of 2^(bits w) * base that a signed digit can ask for, so a scalar
 * costs one batched affine addition a window (math/kernels/msm_template.h, fixed_mul). A row costs about as many
 * additions as it has points; bits weighs that against the scalars to come.
 */
#include <assert.h>
#include <stdlib.h>
#include "base/buffer.h"
#include "math/kernels.h"
#include "math/kernels/msm_digits.h"
#include "math/msm.h"

#define FIXED_BITS_MAX 16u

static unsigned fixed_bits(size_t expected_scalars) {
    unsigned best = 1;
    double best_cost = 0;
    for (unsigned bits = 2; bits <= FIXED_BITS_MAX; bits++) {
        unsigned windows = msm_digit_windows(bits);
        double cost = (double)windows * (double)expected_scalars + (double)fixed_row_start(bits, windows);
        if (best == 1 || cost < best_cost) {
            best = bits;
            best_cost = cost;
        }
    }
    return best;
}

#define FIXED(x) fixed_base_g1##x
#define FIXED_G(x) g1_##x
#define FIXED_KERNEL(x) msm->g1_##x
#define FIXED_AFFINE g1_affine
#define FIXED_JACOBIAN g1
#include "math/fixed_base_group.h"

#define FIXED(x) fixed_base_g2##x
#define FIXED_G(x) g2_##x
#define FIXED_KERNEL(x) msm->g2_##x
#define FIXED_AFFINE g2_affine
#define FIXED_JACOBIAN g2
#include "math/fixed_base_group.h"
