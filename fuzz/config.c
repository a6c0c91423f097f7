/* The daemon's settings file of any content: read with bounded work, and then sound. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "daemon/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    config c;
    cuzk_error err;
    memset(&err, 0, sizeof err);
    cuzk_status s = config_read(&c, "fuzz", (const char *)data, size, NULL, &err);
    if (s == CUZK_OK) {
        cuzk_engine_options engine;
        rpc_options rpc;
        config_engine_options(&c, &engine);
        config_rpc_options(&c, &rpc);
        if (engine.threads > 1024 || rpc.n_listen == 0 || rpc.n_listen > RPC_MAX_LISTEN) abort();
    } else if (!err.what[0]) {
        abort();
    }
    config_close(&c);
    return 0;
}
