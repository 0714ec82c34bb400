/* SPDX-License-Identifier: MIT */
/*
 * CPUs by what they are, as PerfEventConfig's `cpuid` names them: on Arm the implementer, part,
 * variant and revision of /proc/cpuinfo, in hexadecimal one behind the other ("41d0b30": Cortex-A76
 * r3p0). Other machines tell none. Not installed.
 */
#ifndef PRODUCER_CPU_ID_H
#define PRODUCER_CPU_ID_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define CPU_ID 36

struct cpu_ids {
	const char *const *begins;	/* one of them begins the id of a CPU that is wanted */
	size_t begin_count;
	const uint16_t *named;		/* it is one of these, too; none: any */
	size_t named_count;
	char first[CPU_ID];		/* written: the id of the first CPU that tells one; "" */
};

/* How many are wanted, as a list such as "0-3,6" in `ret`. -EOVERFLOW: that has no room. */
int cpu_ids_list(FILE *cpuinfo, struct cpu_ids *ids, char *ret, size_t room);

#endif
