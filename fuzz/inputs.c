/* Public inputs as text: what is read is what the lines say, written again in lower case. */
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "format/public_inputs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cuzk_error err;
    public_inputs in, again;
    cuzk_status s = public_inputs_read(&in, "fuzz", (const char *)data, size, &err);
    if (in.n > size / 64) abort();
    if (s == CUZK_OK) {
        char *text = malloc(65 * in.n + 1);
        if (!text) abort();
        for (size_t i = 0; i < in.n; i++) {
            text_hex(text + 65 * i, in.element[i], 32);
            text[65 * i + 64] = '\n';
        }
        if (public_inputs_read(&again, "again", text, 65 * in.n, &err) != CUZK_OK || again.n != in.n) abort();
        if (in.n && memcmp(again.element, in.element, 32 * in.n) != 0) abort();
        public_inputs_free(&again);
        free(text);
    } else if (s != err.status || !err.what[0] || !err.where[0]) {
        abort();
    }
    public_inputs_free(&in);
    return 0;
}
