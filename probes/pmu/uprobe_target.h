/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A function of this very program, for the probes that have its calls watched. Included behind
 * probe.h.
 */
#ifndef UPROBE_TARGET_H
#define UPROBE_TARGET_H

static volatile int32_t sink;

static int __attribute__((noinline)) watched_function(int value)
{
	sink += value;
	__asm__ volatile("" ::: "memory");
	return sink;
}

/* Called through memory: direct calls on POWER enter a function behind where a pointer leads. */
static int (*volatile call_watched)(int) = watched_function;

static inline void call_nine_times(void)
{
	for (int i = 0; i < 9; i++)
		call_watched(i);
}

#endif
