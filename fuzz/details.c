/* Errors as a server sends them in header values (rpc/details.h): base64 of a google.rpc.Status, and a percent-encoded
 * message. What is read can be written and read again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "rpc/details.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    cuzk_error err, again;
    char *text = malloc(n + 1);
    if (!text) return 0;
    memcpy(text, data, n);
    text[n] = 0;
    details_decode(&err, n ? data[0] % 20 : 0, text, NULL);
    details_decode(&err, n ? data[0] % 20 : 0, NULL, text);
    if (!err.status) {
        free(text);
        return 0;
    }
    char *details = details_encode(3, &err), *message = details_message(&err);
    if (!details || !message) __builtin_trap();
    details_decode(&again, 3, message, details);
    if (again.status != err.status) __builtin_trap();
    details_clean(&err);
    if (strcmp(again.where, err.where) != 0) __builtin_trap();
    free(details);
    free(message);
    free(text);
    return 0;
}
