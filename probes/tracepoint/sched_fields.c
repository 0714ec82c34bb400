/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do the scheduler's tracepoints have the fields that latency tracers use, and do samples carry
 * them?
 * Observed: the format of each field, and the raw data of switches away from this thread, whose
 * name and id are known.
 */
#include "probe.h"
#include "tracepoint.h"
#include <stdio.h>
#include <sys/prctl.h>

PROBE(TITLE("fields of the scheduler's tracepoints")
      SINCE("2.6.31")
      NEEDS("tracefs")
      POINT(switch_format, "sched_switch has comm, pid and prio of both tasks, and prev_state")
      POINT(wakeup_format, "sched_wakeup has comm, pid, prio and target_cpu")
      POINT(switch_data,
	    "sched_switch away from this thread has its name and id, and another task's id")
      FACT(prev_state, int, "-", "prev_state of a thread that waits in poll(2)")
      FACT(comm_size, int, "bytes", "size of the field prev_comm"))

static char format[8192];

static struct pm_trace_field field_of(const char *name)
{
	struct pm_trace_field field = { .size = 0 };

	if (pm_tracepoint_field(format, name, &field) < 0)
		say_broken("the format has no field %s", name);
	return field;
}

static void expect_number(const char *name, uint32_t size)
{
	const struct pm_trace_field field = field_of(name);

	if (field.size != size || !field.is_signed)
		say_broken("%s: size=%u signed=%d want=%u,1", name, field.size, field.is_signed,
			   size);
}

/* A name is of characters, whose sign differs between machines. */
static void expect_task(const char *prefix)
{
	char name[32];
	uint32_t size;

	snprintf(name, sizeof(name), "%scomm", prefix);
	size = field_of(name).size;
	if (size != 16)
		say_broken("%s: size=%u want=16", name, size);
	snprintf(name, sizeof(name), "%spid", prefix);
	expect_number(name, 4);
	snprintf(name, sizeof(name), "%sprio", prefix);
	expect_number(name, 4);
}

TEST(switch_format)
{
	uint32_t state;

	must_read_format("sched", "sched_switch", format, sizeof(format));
	expect_task("prev_");
	expect_task("next_");
	/* The kernel's long: 8 bytes also before a program of 32 bits. */
	state = field_of("prev_state").size;
	expect_number("prev_state", state == 8 ? 8 : sizeof(long));
	fact_int("comm_size", field_of("prev_comm").size);
}

TEST(wakeup_format)
{
	must_read_format("sched", "sched_wakeup", format, sizeof(format));
	expect_task("");
	expect_number("target_cpu", 4);
}

static int64_t number_in(const struct pm_sample *sample, const char *name)
{
	const struct pm_trace_field field = field_of(name);
	int32_t narrow = 0;
	int64_t wide = 0;

	if (!sample->raw || field.offset + field.size > sample->raw_size)
		say_broken("raw size=%u, too small for %s at %u", sample->raw_size, name,
			   field.offset);
	if (field.size == sizeof(narrow)) {
		memcpy(&narrow, (const char *)sample->raw + field.offset, sizeof(narrow));
		return narrow;
	}
	memcpy(&wide, (const char *)sample->raw + field.offset, sizeof(wide));
	return wide;
}

TEST(switch_data)
{
	struct perf_event_attr attr = must_tracepoint("sched", "sched_switch");
	struct pm_record record;
	struct sampler sampler;
	uint64_t switches;
	int64_t self, prev, next;

	attr.exclude_kernel = 0;
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_RAW;
	ASSERT_EQ(0, prctl(PR_SET_NAME, "switched-away"));
	must_read_format("sched", "sched_switch", format, sizeof(format));
	sampler = must_run_sampler(&attr, 0, -1, 8);
	switches = cause_switches(3);
	must_ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	if (!switches)
		say_unknown("no switch of a thread that slept 1000 times");
	if (!find_record(&sampler, PERF_RECORD_SAMPLE, &record))
		say_broken("no sample of %" PRIu64 " switches", switches);
	/* Not gettid(2): in a PID namespace that is another number. */
	self = number_in(&record.sample, "common_pid");
	prev = number_in(&record.sample, "prev_pid");
	next = number_in(&record.sample, "next_pid");
	fact_int("prev_state", number_in(&record.sample, "prev_state"));
	if (prev != self || next == prev || next < 0)
		say_broken("prev_pid=%" PRId64 " want=%" PRId64 ", next_pid=%" PRId64, prev, self,
			   next);
	if (memcmp((const char *)record.sample.raw + field_of("prev_comm").offset, "switched-away",
		   14))
		say_broken("prev_comm is not this thread's name");
}

PROBE_MAIN
