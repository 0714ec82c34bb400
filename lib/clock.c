/* SPDX-License-Identifier: MIT */
/*
 * Reads clocks, compares two of them, and converts the CPU's own as the user page describes it.
 */
#include "pm_sys.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int pm_clock_ns(int clock_id, uint64_t *ret)
{
	struct timespec now = { 0, 0 };	/* a filter may say yes and do nothing */

	if (clock_gettime(clock_id, &now) != 0)
		return -errno;
	*ret = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	return 0;
}

int pm_thread_clock(pid_t tid)
{
	return (int)(~(unsigned int)tid << 3 | 6);
}

int pm_clock_offset(const struct pm_clock_bracket *brackets, size_t count,
		    struct pm_clock_offset *ret)
{
	const struct pm_clock_bracket *best = brackets;
	uint64_t width, middle;

	if (count == 0)
		return -EINVAL;
	for (size_t i = 0; i < count; i++) {
		if (brackets[i].after < brackets[i].before)
			return -EINVAL;
		if (brackets[i].after - brackets[i].before < best->after - best->before)
			best = &brackets[i];
	}
	width = best->after - best->before;
	middle = best->before + width / 2;
	/* An odd width leaves the middle half a ns low: rounding up keeps the truth inside. */
	ret->half_width = width / 2 + width % 2;
	ret->offset = (int64_t)(best->at - middle);
	return 0;
}

/* time_mult has 32 bits, so only the two halves of the product fit: quotient and remainder. */
uint64_t pm_clock_from_tsc(uint64_t tsc, uint64_t zero, uint32_t mult, uint16_t shift)
{
	uint64_t quotient, remainder;

	if (shift > 63)
		return zero;
	quotient = tsc >> shift;
	remainder = tsc & (((uint64_t)1 << shift) - 1);
	return zero + quotient * mult + ((remainder * mult) >> shift);
}
