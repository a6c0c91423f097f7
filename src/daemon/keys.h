/* Which official keys are there, before anybody needs them. */
#ifndef CUZK_DAEMON_KEYS_H
#define CUZK_DAEMON_KEYS_H

#include "daemon/config.h"

/* In the log: the key files that are there, and those missing that the settings ask for. */
void keys_report(const config *c);
/* The keys that srs.preload names are there and have a key's form (sizes, counts, verifying key; the points are checked
 * when it is converted). KEY_MISSING, KEY_DAMAGED, IO. */
cuzk_status keys_check(const config *c, cuzk_error *err);

#endif
