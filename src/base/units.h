/* Sizes in bytes. */
#ifndef CUZK_BASE_UNITS_H
#define CUZK_BASE_UNITS_H

#include <stdint.h>

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

#endif
