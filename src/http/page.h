/* The page at /: web/index.html, built in. Its content security policy allows its own script and style by their
 * digests, and nothing from anywhere else. */
#ifndef CUZK_HTTP_PAGE_H
#define CUZK_HTTP_PAGE_H

#include <stddef.h>
#include "cuzk/error.h"

/* Static for the life of the process. */
const char *page_text(size_t *len);
/* The header's value. INTERNAL when the page has no script or style to name, which no build has. */
cuzk_status page_policy(char *out, size_t n, cuzk_error *err);

#endif
