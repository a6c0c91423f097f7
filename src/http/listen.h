/* A listening socket from "HOST:PORT". */
#ifndef CUZK_HTTP_LISTEN_H
#define CUZK_HTTP_LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include "cuzk/error.h"

/* HOST may be a name, an address, "[::1]" or "" (every address). *fd is the caller's to close; name gets the address
 * with the port really taken, *loopback whether only this machine reaches it. USAGE: not an address. IO: it cannot be
 * listened on. */
cuzk_status listen_open(int *fd, char *name, size_t name_size, bool *loopback, const char *address, cuzk_error *err);

#endif
