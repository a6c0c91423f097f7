/* Text forms: hex, base64, sizes, UTF-8. All refuse what is not exactly right. Pure functions; thread-safe. */
#ifndef CUZK_BASE_TEXT_H
#define CUZK_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void text_hex(char *out /* 2*len+1 */, const uint8_t *data, size_t len);
/* Exactly 2*len hex digits (either case, no prefix); false otherwise. */
bool text_unhex(uint8_t *out, size_t len, const char *hex, size_t hex_len);
size_t text_base64_bound(size_t encoded_len); /* bytes that text_unbase64 may write */
/* Standard alphabet, padding required, no white space. Returns false on any fault; *bad_at is the offset of the first.
 * out may not overlap in. */
bool text_unbase64(uint8_t *out, size_t *out_len, const char *in, size_t in_len, size_t *bad_at);
/* "2KiB" … "64GiB" and plain numbers with K, M, G, T, KiB, MiB, GiB, TiB (K = KiB = 1024). */
bool text_bytes(uint64_t *out, const char *s);
bool text_u64(uint64_t *out, const char *s, size_t len); /* decimal digits only, no overflow */
/* Length of the UTF-8 character at s (1..4), 0 when there is none: also for overlong forms, surrogates, and a character
 * that does not end within len. */
size_t text_utf8_char(const char *s, size_t len);
bool text_is_utf8(const char *s, size_t len);
/* printf's %.*g with a decimal point whatever the process's locale says. out holds 32 bytes; digits ≤ 17. */
void text_double(char out[32], int digits, double v);
/* "2.7 MiB", for people. */
void text_size(char out[24], uint64_t bytes);
/* The word of the list that looks most like this one, or NULL when none does: for "did you mean". */
const char *text_nearest(const char *word, const char *const *list, size_t n);

#endif
