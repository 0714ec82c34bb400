/* SPDX-License-Identifier: MIT */
/* Others' ways of doing the same. */
#ifndef PEER_H
#define PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads all records of a ring from position 0; returns the sum of their sizes. The room is given
 * back to the kernel after each record, as libperf's own example does, or after all as a `batch`.
 */
unsigned long peer_libperf_drain(void *base, size_t data_size, bool batch);

struct peer_sample {
	uint64_t id, ip, time, period;
	uint32_t pid, tid, cpu;
};

typedef void peer_deliver(void *context, const struct peer_sample *sample);

/* The same as a batch; decodes each sample by hand, as users of libperf do, and delivers it. */
unsigned long peer_libperf_decode(void *base, size_t data_size, peer_deliver *deliver,
				  void *context);

#endif
