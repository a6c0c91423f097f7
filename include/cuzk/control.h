/* Cancellation and progress of long work.
 *
 * A cuzk_control is borrowed by a call until it returns. `cancel` may be set by any thread (or a signal handler) and is
 * looked at between tiles of work; the call then returns CUZK_CANCELLED with everything freed. `progress` is called
 * from the thread that made the call or from a pool worker, never by two at once for one control.
 */
#ifndef CUZK_CONTROL_H
#define CUZK_CONTROL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#else
#include <stdatomic.h>
#endif

typedef struct cuzk_control {
#ifdef __cplusplus
    const void *cancel; /* an int32_t that C reads atomically */
#else
    const atomic_int *cancel; /* NULL: cannot be cancelled */
#endif
    /* NULL: silent. stage is a static string such as "h MSM"; done ≤ total, in tiles; total 0: a stage without count
     * begins. */
    void (*progress)(void *user, const char *stage, uint64_t done, uint64_t total);
    void *user;
} cuzk_control;

#ifdef __cplusplus
}
#endif
#endif
