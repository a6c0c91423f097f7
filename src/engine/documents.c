/* The public functions that give documents: a picture is taken and written. */
#include "engine/documents.h"

#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

cuzk_status cuzk_engine_status_json(cuzk_engine *engine, char **json, cuzk_error *err) {
    engine_view v;
    size_t len;
    *json = NULL;
    if (engine_view_get(engine, &v, err)) return err->status;
    json_out *o = json_out_create();
    if (o) status_put(o, &v, false);
    const char *text = o ? json_out_text(o, &len) : NULL;
    if (text) *json = strdup(text);
    json_out_destroy(o);
    engine_view_free(&v);
    return *json ? CUZK_OK : cuzk_fail(err, CUZK_MEMORY, "no memory for the status document");
}

cuzk_status cuzk_engine_metrics_text(cuzk_engine *engine, char **text, cuzk_error *err) {
    engine_view v;
    *text = NULL;
    if (engine_view_get(engine, &v, err)) return err->status;
    cuzk_status s = metrics_write(&v, engine_trace(engine), text, err);
    engine_view_free(&v);
    return s;
}
