/* Proving keys and shapes, loaded once and shared: an LRU store within the host budget.
 *
 * A circuit's shape and key are loaded by the first who asks while all others that ask wait, whatever their number;
 * they stay until evicted: by name, or under pressure when nobody uses them, the longest unused first (idle ones before
 * those used within the idle time). Tiers: RESIDENT (a device holds the key), MAPPED (the converted key is mapped
 * here), DISK (known, not loaded). Thread-safe.
 *
 * Charged to the budget are the shape's bytes, and the key's native bytes when the host's processors read its points
 * (or it lies in memory because it could not be kept on disk): pages of a mapped file count as this process's memory
 * once they were read. A device reads the mapping once; its pages are dropped then.
 *
 * Who waits holds nothing: a partition takes a reference and its plan's bytes in one step, or neither. Otherwise two
 * jobs could each keep the key that the other one waits to see go. A refused step changes nothing that others see, so
 * that it wakes nobody, itself least of all. The budget's on_release is called when bytes came free, when a resource
 * came out of use (it can be pressed out now) and when a load ended.
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
    cuzk_context *context;     /* borrowed until destroyed */
    budget *host;              /* likewise; charged while shape and key are loaded */
    bool development_keys;     /* else only keys with a published digest */
    bool files_to_devices;     /* devices read keys' files; the host's processors get the points when they need them */
    bool made_on_devices;      /* development keys that are not there are made by devices, and are nowhere else */
    const char *params_folder; /* copied; NULL: cuzk_key_official_folder() */
    double idle_seconds;
} resources_options;

resources *resources_create(const resources_options *options, cuzk_error *err);
void resources_destroy(resources *r); /* all references given back before; accepts NULL */

typedef struct resource_use {
    uint64_t bytes;   /* taken from the budget together with the reference: the partition's plan */
    bool critical;    /* all of it is charged to the critical share */
    bool on_host;     /* the host's processors will read the key's points: they are charged, too */
    bool loaded_only; /* neither loads nor waits for a load: MEMORY with *again when it is not there */
} resource_use;

/* The resource of c's circuit, loaded (both shape and key), with a reference for the caller, and use.bytes in *held
 * (empty before; may be NULL when they are 0). *loaded tells whether this call loaded. Presses unused others out when
 * there is no room. MEMORY with *again = true: the bytes are not free now, nothing is held; try again after a release.
 * TOO_LARGE: they can never be. KEY_MISSING, KEY_DAMAGED, FOREIGN (not an official key, or another
 * circuit's), CANCELLED. */
cuzk_status resources_acquire(resources *r, const circuit *c, resource_use use, resource **out, reservation *held,
                              bool *loaded, bool *again, const cuzk_control *control, cuzk_error *err);
void resources_release(resource *res); /* accepts NULL */
const shape *resource_shape(const resource *res);
const cuzk_key *resource_key(const resource *res);

typedef struct resource_need {
    uint64_t shape_bytes, key_bytes; /* what would be charged */
    uint64_t making_bytes;           /* for a while, when a development key must be made first; else 0 */
} resource_need;
/* What c's circuit needs, without loading its key. look (may be NULL) is called with the shape, which is loaded or
 * recorded for it and borrowed until look returns: for plans. KEY_MISSING as for acquire. Limit: a shape that does not
 * fit the budget now is in memory uncharged while look runs, one at a time. */
cuzk_status resources_need(resources *r, const circuit *c, resource_need *out, void (*look)(void *user, const shape *s),
                           void *user, const cuzk_control *control, cuzk_error *err);

/* Keeps a loaded circuit whatever the pressure, until evicted by name. */
void resource_pin(resource *res);
/* A device holds the key (or no longer does). The host's pages of it are dropped when they are not charged. */
void resource_set_resident(resource *res, bool resident);

/* Frees unused resources, longest unused first, until `bytes` were given back or none is left: idle ones only, unless
 * hard. Returns the bytes given back. */
uint64_t resources_press(resources *r, uint64_t bytes, bool hard);
/* REFUSED while in use or being loaded. *was_loaded false when it was not there. */
cuzk_status resources_evict(resources *r, const char *circuit_name, bool *was_loaded, uint64_t *freed, cuzk_error *err);
/* Called with a key that is about to be unmapped, so that devices forget it. One for the store; set before use. */
void resources_on_unload(resources *r, void (*fn)(void *user, const cuzk_key *key), void *user);

typedef struct resource_view {
    char circuit[64];
    resource_tier tier;
    uint64_t key_bytes, shape_bytes, charged_bytes;
    unsigned references;
    bool pinned, loading;
    double idle_seconds; /* since last use; 0 while in use */
} resource_view;
/* Whether one is being loaded or given back at this moment: bytes may come free without any release. */
bool resources_busy(resources *r);
/* At most n; returns how many there are. */
size_t resources_view(resources *r, resource_view *out, size_t n);

#endif
