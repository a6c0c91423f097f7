/* Public inputs as text: one element a line, 64 hexadecimal digits, big-endian. The last line may lack its end, or be
 * empty. Pure; thread-safe. */
#ifndef CUZK_FORMAT_PUBLIC_INPUTS_H
#define CUZK_FORMAT_PUBLIC_INPUTS_H

#include <stddef.h>
#include <stdint.h>
#include "cuzk/error.h"

typedef struct public_inputs {
    uint8_t (*element)[32];
    size_t n;
} public_inputs;

/* MALFORMED names the line of the file `name`. Elements need not be below r: verifying looks at that. Free with
 * public_inputs_free, also after a failure. */
cuzk_status public_inputs_read(public_inputs *out, const char *name, const char *text, size_t len, cuzk_error *err);
void public_inputs_free(public_inputs *in);

#endif
