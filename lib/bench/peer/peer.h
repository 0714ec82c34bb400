/* SPDX-License-Identifier: MIT */
/* Others' ways of doing the same. */
#ifndef PEER_H
#define PEER_H

#include <stddef.h>

/* Reads all records of a ring from position 0; returns the sum of their sizes. */
unsigned long peer_libperf_drain(void *base, size_t data_size);

#endif
