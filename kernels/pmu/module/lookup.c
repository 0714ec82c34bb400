// SPDX-License-Identifier: GPL-2.0-only
/*
 * Addresses of functions that no module is given. An overflow has to go through the kernel's own
 * perf_event_overflow(), or throttling, signals and wakeups would be ours and not the core's. A
 * kprobe finds a function by its name; it is removed before it could ever be hit.
 */
#include <linux/kprobes.h>

#include "pmu.h"

int (*core_overflow)(struct perf_event *event, struct perf_sample_data *data,
		     struct pt_regs *regs);
long (*core_copy_aux)(struct perf_output_handle *aux, struct perf_output_handle *handle,
		      unsigned long from, unsigned long to);

#define ENDBR64 0xfa1e0ff3u

static void *lookup(const char *name)
{
	struct kprobe probe = { .symbol_name = name };
	void *address;

	if (register_kprobe(&probe))
		return NULL;
	address = probe.addr;
	unregister_kprobe(&probe);
	/* A probe lies behind an ENDBR; an indirect call has to land on it. */
	if (*(u32 *)(address - 4) == ENDBR64)
		address -= 4;
	return address;
}

int lookup_all(void)
{
	core_overflow = lookup("perf_event_overflow");
	core_copy_aux = lookup("perf_output_copy_aux");
	return core_overflow ? 0 : -ENOENT;
}
