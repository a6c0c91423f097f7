/* Checking every point of a key: curve and subgroup, in bulk. Internal to groth16/key*.c. */
#ifndef CUZK_GROTH16_KEY_CHECK_H
#define CUZK_GROTH16_KEY_CHECK_H

#include "groth16/key.h"

/* The native points of an open key. KEY_DAMAGED naming section and index of the first bad one; v gives its byte in the
 * .params file. */
cuzk_status key_check_native(const proving_key *k, const params_view *v, pool *p, const cuzk_control *control,
                             cuzk_error *err);
/* The points of a mapped .params file, sections h to b_g2. */
cuzk_status key_check_file(const char *path, const file_map *m, const params_view *v, pool *p,
                           const cuzk_control *control, cuzk_error *err);

#endif
