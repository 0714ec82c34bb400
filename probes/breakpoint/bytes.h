/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bytes that breakpoints look at. Included behind probe.h.
 */
#ifndef BYTES_H
#define BYTES_H

/* Write each byte from start[from] to start[to - 1] once. */
static inline void write_bytes(volatile uint8_t *start, int from, int to)
{
	for (int i = from; i < to; i++)
		start[i] = i;
}

#endif
