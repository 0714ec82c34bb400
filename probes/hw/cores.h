/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What probes about cores of several kinds share. Included behind probe.h.
 */
#ifndef CORES_H
#define CORES_H

static uint64_t count_loop(int fd)
{
	uint64_t before = must_count(fd);

	spin_ns(2000000);
	return must_count(fd) - before;
}

#endif
