/* Proving keys and shapes, loaded once and shared: an LRU store within the host budget.
 *
 * A circuit's shape and key are loaded by the first who asks while all others that ask wait, whatever their number;
 * they stay until evicted: by name, or under pressure when nobody uses them, the longest unused first (idle ones before
 * those used within the idle time). Tiers: RESIDENT (a device holds the key), MAPPED (the converted key is mapped
 * here), DISK (known, not loaded). Thread-safe.
 */
#ifndef CUZK_ENGINE_RESOURCES_H
#define CUZK_ENGINE_RESOURCES_H

#include "api/internal.h"
#include "engine/budget.h"

typedef struct resources resources;
typedef struct resource resource; /* shape and key of one circuit; counted references */

typedef enum resource_tier { RESOURCE_RESIDENT, RESOURCE_MAPPED, RESOURCE_DISK } resource_tier;
const char *resource_tier_name(resource_tier t); /* "resident", "mapped", "disk" */

typedef struct resources_options {
    cuzk_context *context;
    budget *host;              /* charged with key and shape bytes while they are mapped */
    bool development_keys;     /* else only keys with a published digest */
    const char *params_folder; /* borrowed */
    double idle_seconds;
} resources_options;

resources *resources_create(const resources_options *options, cuzk_error *err);
void resources_destroy(resources *r); /* all references given back before; accepts NULL */

/* The resource of c's circuit, loaded (both shape and key), with a reference for the caller. *loaded tells whether this
 * call loaded. critical: charged to the critical share. MEMORY with *again = true: the bytes are not free now, nothing
 * is held; try again after a release. MEMORY with *again = false: they can never be. KEY_MISSING, KEY_DAMAGED, FOREIGN
 * (not an official key), CANCELLED. */
cuzk_status resources_acquire(resources *r, const circuit *c, bool critical, resource **out, bool *loaded, bool *again,
                              const cuzk_control *control, cuzk_error *err);
void resources_release(resource *res); /* accepts NULL */
const shape *resource_shape(const resource *res);
const cuzk_key *resource_key(const resource *res);
/* Key and shape bytes this circuit would be charged, without loading its key (the shape is loaded or recorded).
 * KEY_MISSING as for acquire. */
cuzk_status resources_need(resources *r, const circuit *c, uint64_t *bytes, const cuzk_control *control,
                           cuzk_error *err);

/* Keeps a loaded circuit whatever the pressure, until evicted by name. */
void resource_pin(resource *res);
/* A device holds the key (or no longer does): only its tier changes. */
void resource_set_resident(resource *res, bool resident);

/* Frees unused resources, longest unused first, until `bytes` were given back or none is left: idle ones only, unless
 * hard. Returns the bytes given back. */
uint64_t resources_press(resources *r, uint64_t bytes, bool hard);
/* REFUSED while in use. *was_loaded false when it was not there. before_free (may be NULL) is called with the key
 * first, so that devices can forget it. */
cuzk_status resources_evict(resources *r, const char *circuit_name, bool *was_loaded, uint64_t *freed, cuzk_error *err);
/* Called with a key that is about to be unmapped, so that devices forget it. One for the store; set before use. */
void resources_on_unload(resources *r, void (*fn)(void *user, const cuzk_key *key), void *user);

typedef struct resource_view {
    char circuit[64];
    resource_tier tier;
    uint64_t key_bytes, shape_bytes;
    unsigned references;
    bool pinned, loading;
    double idle_seconds; /* since last use; 0 while in use */
} resource_view;
/* At most n; returns how many there are. */
size_t resources_view(resources *r, resource_view *out, size_t n);

#endif
