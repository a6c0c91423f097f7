/* Inside the key and shape store: one circuit's entry, and making it be there or gone. */
#ifndef CUZK_ENGINE_RESOURCE_LOAD_H
#define CUZK_ENGINE_RESOURCE_LOAD_H

#include "engine/resources.h"

struct resource {
    resources *owner;
    circuit circuit; /* own copy */
    resource *next;

    /* Under the store's lock. While busy one thread loads or unloads the entry and alone touches what is below. */
    bool busy, pinned, resident;
    unsigned references;
    double used_at;     /* cpu_monotonic_seconds */
    unsigned failures;  /* loads that failed for a reason that others meet, too … */
    cuzk_error failure; /* … and that of the last one */

    cuzk_circuit handle; /* holds the shape */
    const shape *shape;  /* NULL: not loaded */
    cuzk_key *key;
    reservation shape_charge, key_charge; /* empty: not charged */

    /* Under the store's lock always, written by the thread that made the entry busy alone. */
    bool known; /* need is filled */
    resource_need need;
    bool points_here;   /* the host's processors can read the key's points */
    bool key_in_memory; /* it could not be kept on disk when it was last loaded: it is charged whoever reads it */
};

/* An entry for c's circuit with nothing loaded. Returned; free with resource_destroy. */
resource *resource_create(resources *owner, const circuit *c, cuzk_error *err);
void resource_destroy(resource *e); /* accepts NULL */

/* Where the entry's key is (at most path_bytes with its end), or is to be made (*make). KEY_MISSING. */
cuzk_status resource_key_path(const resource *e, const resources_options *o, char *path, size_t path_bytes, bool *make,
                              cuzk_error *err);
/* The shape, and what the circuit needs. By the thread that made the entry busy, as all below. */
cuzk_status resource_load_shape(resource *e, const resources_options *o, resource_need *need,
                                const cuzk_control *control, cuzk_error *err);
/* Makes the key when it must be made, opens it and looks whether it may be used. The shape is loaded. */
cuzk_status resource_load_key(resource *e, const resources_options *o, const cuzk_control *control, cuzk_error *err);
/* Everything is freed; charges stay. The key was told to those who must forget it. */
void resource_unload(resource *e);
/* The points of a key that was left in its file come to the host. */
cuzk_status resource_bring_points(resource *e, const resources_options *o, const cuzk_control *control,
                                  cuzk_error *err);
/* The key's mapped pages leave this process's memory; they come back when read. */
void resource_drop_pages(const resource *e);

#endif
