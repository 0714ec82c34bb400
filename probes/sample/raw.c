/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is the raw part of a sample: empty for software events, the fields for tracepoints, padded
 * to the next 8 bytes? Tools parse it with the tracepoint's format file.
 * Observed: this thread's own system call, by its number.
 */
#include "probe.h"
#include "tracepoint.h"
#include <sys/syscall.h>

PROBE(TITLE("raw data of samples")
      SINCE("2.6.31")
      POINT(software, "the raw part of a software event is 4 bytes of padding")
      POINT(tracepoint, "the raw part of a tracepoint holds the fields where its format file says")
      NEEDS("tracefs")
      POINT(padding, "size word and raw part together are a multiple of 8 bytes")
      NEEDS("tracefs"))

TEST(software)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_RAW);
	struct sampler sampler = must_sampler(&attr, 0, -1, 1);
	struct pm_record record;

	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(1));
	if (!find_record(&sampler, PERF_RECORD_SAMPLE, &record))
		say_broken("no sample of a page fault");
	if (record.sample.raw_size != 4 || memcmp(record.sample.raw, "\0\0\0", 4))
		say_broken("size=%u want=4 zero bytes", record.sample.raw_size);
}

/* The sample of getppid(2) by this thread. */
static struct pm_sample sample_call(struct sampler *sampler)
{
	struct perf_event_attr attr = must_call_tracepoint("sys_enter_getppid");
	struct pm_record record;

	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_RAW;
	*sampler = must_sampler(&attr, 0, -1, 1);
	must_ioctl(sampler->fd, PERF_EVENT_IOC_ENABLE, 0);
	syscall(SYS_getppid);
	must_ioctl(sampler->fd, PERF_EVENT_IOC_DISABLE, 0);
	if (!find_record(sampler, PERF_RECORD_SAMPLE, &record))
		say_broken("no sample of a system call");
	return record.sample;
}

/* A field of up to 8 bytes, found by the format file. */
static int64_t field(const struct pm_sample *sample, const char *text, const char *name)
{
	struct pm_trace_field place;
	uint32_t word;

	if (pm_tracepoint_field(text, name, &place) < 0 || place.offset + 4 > sample->raw_size)
		say_broken("field %s is not inside %u bytes", name, sample->raw_size);
	memcpy(&word, (const char *)sample->raw + place.offset, 4);
	return (int32_t)word;
}

TEST(tracepoint)
{
	char text[4096];
	struct sampler sampler;
	struct pm_sample sample = sample_call(&sampler);
	int64_t pid, number;

	must_read_format("syscalls", "sys_enter_getppid", text, sizeof(text));
	pid = field(&sample, text, "common_pid");
	number = field(&sample, text, syscall_field(text));
	if (!is_own_pid(pid) || number != SYS_getppid)
		say_broken("common_pid=%" PRId64 " want=%d, number=%" PRId64 " want=%d", pid,
			   pm_gettid(), number, (int)SYS_getppid);
}

TEST(padding)
{
	struct sampler sampler;
	struct pm_sample sample = sample_call(&sampler);

	if ((sample.raw_size + sizeof(uint32_t)) % 8)
		say_broken("raw size=%u: with the size word no multiple of 8", sample.raw_size);
}

PROBE_MAIN
