/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are wrong sizes of the stack copy refused? A sample is at most 64 KiB long.
 * Observed: a right size is accepted, and copied, before a wrong one is tried.
 */
#include "probe.h"
#include "one_fault.h"

PROBE(TITLE("sizes of the stack copy")
      SINCE("3.7")
      POINT(too_large, "EINVAL for STACK_USER of 65536 bytes")
      POINT(unaligned, "EINVAL for STACK_USER of 9 bytes, which is no multiple of 8"))

static struct perf_event_attr attr_stack(uint32_t size)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID | PERF_SAMPLE_STACK_USER);

	attr.sample_stack_user = size;
	return attr;
}

static void refuse(uint32_t size, const char *what)
{
	struct perf_event_attr without = attr_faults(PERF_SAMPLE_TID);
	struct perf_event_attr right = attr_stack(64), wrong = attr_stack(size);
	struct sampler sampler = ask_sampler(&right, &without, 0, -1, 1, "STACK_USER");

	if (sample_fault(&sampler).stack_user_size != 64)
		say_broken("a copy of 64 bytes is not 64 bytes long");
	expect_refused(pm_open(&wrong, 0, -1, -1, 0), EINVAL, BROKEN, what);
}

TEST(too_large)
{
	refuse(65536, "a stack copy of 65536 bytes");
}

TEST(unaligned)
{
	refuse(9, "a stack copy of 9 bytes");
}

PROBE_MAIN
