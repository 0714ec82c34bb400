/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does perf_event_max_stack bound what an event may ask for, and is it held while in use?
 *
 * The buffers of call chains have the size of the setting, so it must not change while an event
 * uses them: the write is EBUSY. Observed by writing the value that is there already, which
 * changes nothing.
 */
#include "probe.h"

PROBE(TITLE("the depth of call chains")
      SINCE("4.8")
      COMMIT("97c79a38cd45")
      POINT(up_to_limit, "sample_max_stack of the limit is accepted, and a chain is sampled")
      POINT(beyond_limit, "sample_max_stack of one more is EOVERFLOW")
      POINT(busy, "the setting cannot be written while a call chain event is open: EBUSY")
      NEEDS("root")
      POINT(idle, "the setting can be written while there is none")
      NEEDS("root"))

#define MAX_STACK "/proc/sys/kernel/perf_event_max_stack"

static struct perf_event_attr chain(struct __test_metadata *_metadata, int64_t *ret_limit)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_CALLCHAIN);

	attr.exclude_callchain_kernel = 1;
	close(must_open(&attr, 0, -1, -1, 0));
	if (pm_read_number(MAX_STACK, ret_limit) < 0)
		say_absent("perf_event_max_stack is not there or not readable");
	return attr;
}

TEST(up_to_limit)
{
	int64_t limit;
	struct perf_event_attr attr = chain(_metadata, &limit), plain = attr;
	struct pm_record record;
	struct watch watch;

	attr.sample_max_stack = limit > UINT16_MAX ? UINT16_MAX : limit;
	watch = ask_watch(&attr, &plain, 0, -1, 2, "sample_max_stack");
	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(1));
	if (!seek(&watch, PERF_RECORD_SAMPLE, &record) || record.sample.callchain_nr < 2)
		broken("no sample with a call chain");
}

TEST(beyond_limit)
{
	int64_t limit;
	struct perf_event_attr attr = chain(_metadata, &limit);

	if (limit >= UINT16_MAX)
		say_absent("the limit is as large as the field");
	attr.sample_max_stack = limit + 1;
	hold_rule(pm_open(&attr, 0, -1, -1, 0), EOVERFLOW, BROKEN, "one frame over the limit");
}

/* Write the value that is there. */
static int write_same(int64_t limit)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64 "\n", limit);
	return write_file(MAX_STACK, text);
}

TEST(busy)
{
	int64_t limit;
	struct perf_event_attr attr = chain(_metadata, &limit);
	int error;

	if (access(MAX_STACK, W_OK) < 0)
		say_blocked("perf_event_max_stack is not writable: needs root");
	must_open(&attr, 0, -1, -1, 0);
	error = write_same(limit);
	if (error != -EBUSY)
		broken("errno=%s want=EBUSY", errno_name(error));
}

/* Events of others are busy, too, and their buffers are freed late: try for a while. */
TEST(idle)
{
	int64_t limit;
	uint64_t end;
	int error;

	chain(_metadata, &limit);
	if (access(MAX_STACK, W_OK) < 0)
		say_blocked("perf_event_max_stack is not writable: needs root");
	end = now_ns() + 200000000;
	do {
		error = write_same(limit);
		sched_yield();
	} while (error == -EBUSY && now_ns() < end);
	if (error == -EBUSY)
		cannot_tell("EBUSY: somebody else records call chains");
	if (error)
		broken("errno=%s", errno_name(error));
}

PROBE_MAIN
