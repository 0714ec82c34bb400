/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do samples of tracepoints carry the fields that the format file promises? A profiler reads the
 * arguments of system calls so.
 * Observed: close(2) of numbers that are no descriptors; the raw data holds the same numbers.
 */
#include "probe.h"
#include "tp_close.h"
#include "tracepoint.h"
#include <sys/syscall.h>

PROBE(TITLE("raw data of tracepoints")
      SINCE("2.6.31")
      NEEDS("tracefs")
      POINT(common, "raw data: common_type is the id, common_pid this thread")
      POINT(argument, "raw data: the fields hold the arguments of each call, in order")
      FACT(raw_size, int, "bytes", "raw data of sys_enter_close, padding included"))

/* The value of a field in raw data, of 4 or 8 bytes in the machine's own order. */
static uint64_t field_of(const struct pm_sample *sample, const char *text, const char *name)
{
	struct pm_trace_field field;
	uint64_t wide;
	uint32_t narrow;
	uint16_t half;
	const char *at;

	if (pm_tracepoint_field(text, name, &field) < 0)
		say_broken("the format has no field %s", name);
	if (!sample->raw || field.offset + field.size > sample->raw_size)
		say_broken("raw size=%u, too small for %s at %u", sample->raw_size, name,
			   field.offset);
	at = (const char *)sample->raw + field.offset;
	memcpy(&half, at, sizeof(half));
	if (field.size == sizeof(half))
		return half;
	memcpy(&narrow, at, sizeof(narrow));
	if (field.size == sizeof(narrow))
		return narrow;
	memcpy(&wide, at, sizeof(wide));
	return wide;
}

TEST(common)
{
	uint64_t id = must_tracepoint("syscalls", "sys_enter_close").config, type, pid;
	struct sampler sampler;
	struct pm_record record;
	char text[8192];

	must_read_format("syscalls", "sys_enter_close", text, sizeof(text));
	sampler = watch_closes(1, PERF_SAMPLE_RAW);
	cause_closes(FIRST, 1);
	if (!find_record(&sampler, PERF_RECORD_SAMPLE, &record))
		say_broken("no sample");
	fact_int("raw_size", record.sample.raw_size);
	type = field_of(&record.sample, text, "common_type");
	pid = field_of(&record.sample, text, "common_pid");
	if (type != id || !is_own_pid(pid))
		say_broken("common_type=%" PRIu64 " want=%" PRIu64 ", common_pid=%" PRIu64
			   " want=%d",
			   type, id, pid, pm_gettid());
}

TEST(argument)
{
	struct sampler sampler;
	struct pm_record record;
	char text[8192];

	must_read_format("syscalls", "sys_enter_close", text, sizeof(text));
	sampler = watch_closes(1, PERF_SAMPLE_RAW);
	cause_closes(FIRST, 5);
	must_ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	for (int i = 0; i < 5; i++) {
		uint64_t argument, number;

		if (!find_record(&sampler, PERF_RECORD_SAMPLE, &record))
			say_broken("samples=%d want=5", i);
		argument = field_of(&record.sample, text, "fd");
		number = field_of(&record.sample, text, syscall_field(text));
		if (argument != (uint64_t)FIRST + i || number != SYS_close)
			say_broken("call %d: fd=%" PRIu64 " want=%d, number=%" PRIu64 " want=%d", i,
				   argument, FIRST + i, number, (int)SYS_close);
	}
}

PROBE_MAIN
