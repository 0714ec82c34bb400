/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is the depth of call chains fixed while an event uses it?
 *
 * The buffers of call chains have the size of the setting, so it must not change while an event
 * uses them: the write is EBUSY. Observed by writing the value that is there already, which
 * changes nothing.
 */
#include "probe.h"
#include "privilege.h"

PROBE(TITLE("the depth of call chains while in use")
      SINCE("4.8")
      COMMIT("97c79a38cd45")
      NEEDS("root")
      POINT(busy, "the setting cannot be written while a call chain event is open: EBUSY")
      POINT(idle, "the setting can be written while there is none"))

#define MAX_STACK "/proc/sys/kernel/perf_event_max_stack"

static struct perf_event_attr chain(void)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_CALLCHAIN);

	attr.exclude_callchain_kernel = 1;
	close(must_open(&attr, 0, -1, -1, 0));
	if (access(MAX_STACK, R_OK) < 0)
		say_absent("perf_event_max_stack is not there or not readable");
	if (access(MAX_STACK, W_OK) < 0)
		say_blocked("perf_event_max_stack is not writable: needs root");
	return attr;
}

/* Write the value that is there. */
static int write_same(void)
{
	char text[24] = "";

	pm_read_text(MAX_STACK, text, sizeof(text));
	return write_file(MAX_STACK, text);
}

TEST(busy)
{
	struct perf_event_attr attr = chain();
	int error;

	must_open(&attr, 0, -1, -1, 0);
	error = write_same();
	if (error != -EBUSY)
		say_broken("errno=%s want=EBUSY", pm_errno_name(error));
}

/* Events of others are busy, too, and their buffers are freed late: try for a while. */
TEST(idle)
{
	uint64_t end;
	int error;

	chain();
	end = now_ns() + 200000000;
	do {
		error = write_same();
		sched_yield();
	} while (error == -EBUSY && now_ns() < end);
	if (error == -EBUSY)
		say_unknown("EBUSY: somebody else records call chains");
	if (error)
		say_broken("errno=%s", pm_errno_name(error));
}

PROBE_MAIN
