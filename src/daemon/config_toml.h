/* TOML read by toml++: every setting of a document with the place it stands at. C face of one C++ file. */
#ifndef CUZK_DAEMON_CONFIG_TOML_H
#define CUZK_DAEMON_CONFIG_TOML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cuzk/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum toml_kind { TOML_TEXT, TOML_WHOLE, TOML_REAL, TOML_TRUTH, TOML_LIST, TOML_TABLE, TOML_OTHER } toml_kind;

typedef struct toml_item {
    toml_kind kind;
    const char *text; /* TEXT: UTF-8, terminated, but may hold zero bytes */
    size_t len;
    int64_t whole;
    double real;
    bool truth;
    unsigned line, column; /* from 1 */
} toml_item;

/* One setting. path is that of the table it is in ("daemon", "a.b", "" at the top), name its own. LIST: items has n.
 * TABLE: a table that holds nothing; of others only what they hold is told. All is borrowed until return. Return OK to
 * go on. */
typedef cuzk_status (*toml_setting)(void *user, const char *path, const char *name, const toml_item *item,
                                    const toml_item *items, size_t n, cuzk_error *err);

/* Calls each in the order of the document. file: its name, for errors. MALFORMED with line and column. Never throws. */
cuzk_status toml_read(const char *file, const char *text, size_t len, toml_setting each, void *user, cuzk_error *err);

#ifdef __cplusplus
}
#endif
#endif
