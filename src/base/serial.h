/* Numbers that name an object for the life of the process, so that a copy of it elsewhere (on a device, say) is never
 * taken for that of a later object at the same address. Thread-safe. */
#ifndef CUZK_BASE_SERIAL_H
#define CUZK_BASE_SERIAL_H

#include <stdint.h>

uint64_t serial_next(void); /* 1, 2, … */

#endif
