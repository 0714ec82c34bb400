/* SPDX-License-Identifier: MIT */
/* A binary heap of pointers, the first of which comes before all others; not installed. */
#ifndef PM_HEAP_H
#define PM_HEAP_H

#include <stdbool.h>
#include <stddef.h>

typedef bool comes_before(const void *one, const void *other);

/* The last of `count` was added. */
void pm_heap_up(void **heap, size_t count, comes_before *before);

/* The first of `count` is another one, or comes later than it did. */
void pm_heap_down(void **heap, size_t count, comes_before *before);

#endif
