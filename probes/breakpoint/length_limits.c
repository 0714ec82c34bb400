/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where do the lengths of breakpoints end? A debugger that watches an array, or steps over code,
 * must ask first. Observed: the lengths that open for execution, the longest power of two for
 * writes, and a range that would wrap around the address space.
 */
#include "probe.h"
#include "breakpoint.h"
#include "call.h"
#include <stdio.h>

PROBE(TITLE("limits of breakpoint lengths")
      SINCE("2.6.33")
      NEEDS("breakpoint")
      POINT(execution, "a breakpoint on execution takes a length from 1 to 8, and counts")
      POINT(power_of_two, "the longest power of two is 4 or more, and its last byte is watched")
      POINT(wraps, "a range that would wrap around the address space is refused with EINVAL")
      FACT(x.lengths, string, "bytes", "lengths accepted for a breakpoint on execution")
      FACT(w.longest, int, "bytes", "longest power of two accepted for a write breakpoint"))

static volatile uint8_t bytes[8192] __attribute__((aligned(4096)));

static void function(void)
{
	bytes[64]++;
}

/* Called through memory: direct calls on POWER enter a function behind where a pointer leads. */
static void (*volatile call_function)(void) = function;

TEST(execution)
{
	struct perf_event_attr attr = attr_call(function);
	char text[64] = "";
	int count;

	close(must_open(&attr, 0, -1, -1, 0));
	for (unsigned int length = 1; length <= 8; length++) {
		int fd;

		attr.bp_len = length;
		fd = pm_open(&attr, 0, -1, -1, 0);
		if (fd < 0)
			continue;
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%u",
			 text[0] ? "," : "", length);
		close(fd);
	}
	fact_str("x.lengths", "%s", text);
	if (!text[0])
		say_broken("the length that opened before is refused now");
	attr = attr_call(function);
	attr.disabled = 0;
	count = must_open(&attr, 0, -1, -1, 0);
	for (int i = 0; i < 5; i++)
		call_function();
	expect_count(count, 5);
}

TEST(power_of_two)
{
	struct perf_event_attr control = attr_access(HW_BREAKPOINT_W, bytes, 4);
	unsigned int longest = 0;
	int watching;

	close(must_open(&control, 0, -1, -1, 0));
	for (unsigned int length = 1; length <= 4096; length *= 2) {
		struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, bytes, length);
		int fd = pm_open(&attr, 0, -1, -1, 0);

		if (fd >= 0) {
			longest = length;
			close(fd);
		}
	}
	fact_int("w.longest", longest);
	if (longest < 4)
		say_broken("4 bytes are refused now");
	control = attr_access(HW_BREAKPOINT_W, bytes, longest);
	control.disabled = 0;
	watching = must_open(&control, 0, -1, -1, 0);
	bytes[longest - 1] = 1;
	expect_count(watching, 1);
}

TEST(wraps)
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, bytes, 4);

	close(must_open(&attr, 0, -1, -1, 0));
	attr.bp_len = ~0ull - attr.bp_addr + 2;
	expect_refused(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN, "a range that wraps");
}

PROBE_MAIN
