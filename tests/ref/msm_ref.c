/* Double-and-add from the top bit, terms added one by one. */
#include "ref/msm_ref.h"

#define REF_MSM(G)                                                                                                     \
    void ref_msm_##G(G *out, const G##_affine *points, const uint32_t *index, const fr_canon *scalars, size_t n) {     \
        G##_set_infinity(out);                                                                                         \
        for (size_t i = 0; i < n; i++) {                                                                               \
            G term;                                                                                                    \
            G##_set_infinity(&term);                                                                                   \
            for (int bit = 255; bit >= 0; bit--) {                                                                     \
                G##_dbl(&term, &term);                                                                                 \
                if (scalars[i].l[bit / 64] >> (bit % 64) & 1) {                                                        \
                    G##_add_affine(&term, &term, &points[index != NULL ? index[i] : i]);                               \
                }                                                                                                      \
            }                                                                                                          \
            G##_add(out, out, &term);                                                                                  \
        }                                                                                                              \
    }

REF_MSM(g1)
REF_MSM(g2)
