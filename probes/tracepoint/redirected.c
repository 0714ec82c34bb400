/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do samples of a tracepoint go into the ring of another event (PERF_EVENT_IOC_SET_OUTPUT)? A
 * tracer of many tracepoints maps one ring a CPU, not one an event.
 * Observed: close(2) of numbers that are no descriptors. Samples in the ring of a software event
 * are told apart by their identifier.
 */
#include "probe.h"
#include "tp_close.h"

PROBE(TITLE("tracepoints that write into another event's ring")
      SINCE("3.12")
      NEEDS("tracefs")
      POINT(samples, "7 hits of a redirected tracepoint are 7 samples in the other event's ring")
      POINT(raw_data, "samples of a redirected tracepoint keep the length that they have in a ring "
		      "of their own"))

#define TYPE (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID)

/* A ring that belongs to the dummy event, and a tracepoint that writes into it, not yet running. */
static int must_redirect_closes(uint64_t type, struct sampler *ret_target)
{
	struct perf_event_attr closes = sampling(1, type), without = attr_sideband(), with;
	int source;

	with = without;
	with.sample_type = type;
	*ret_target = ask_sampler(&with, &without, 0, -1, 2, "PERF_SAMPLE_IDENTIFIER");
	closes.read_format = PERF_FORMAT_ID;
	source = must_open(&closes, 0, -1, -1, 0);
	ask_ioctl(source, PERF_EVENT_IOC_SET_OUTPUT, ret_target->fd, "SET_OUTPUT of a tracepoint");
	return source;
}

TEST(samples)
{
	struct sampler target;
	const int source = must_redirect_closes(TYPE, &target);
	struct pm_record record;
	uint64_t id = must_counts(source, PERF_FORMAT_ID).member[0].id;
	int samples = 0, foreign = 0;

	must_ioctl(source, PERF_EVENT_IOC_ENABLE, 0);
	cause_closes(FIRST, 7);
	must_ioctl(source, PERF_EVENT_IOC_DISABLE, 0);
	while (find_record(&target, PERF_RECORD_SAMPLE, &record)) {
		samples++;
		foreign += record.sample.sid.id != id ||
			   record.sample.sid.tid != (uint32_t)pm_gettid();
	}
	if (samples != 7 || foreign)
		say_broken("samples=%d want=7, of them with another id or tid=%d", samples,
			   foreign);
}

static unsigned int must_sample_size(struct sampler *sampler, int fd)
{
	struct pm_record record;

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	cause_closes(FIRST, 1);
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	if (!find_record(sampler, PERF_RECORD_SAMPLE, &record))
		say_broken("no sample of a hit");
	return record.size;
}

TEST(raw_data)
{
	const uint64_t type = TYPE | PERF_SAMPLE_RAW;
	struct perf_event_attr attr = sampling(1, type);
	struct sampler own, target;
	const int source = must_redirect_closes(type, &target);
	unsigned int want, size;

	own = must_sampler(&attr, 0, -1, 2);
	want = must_sample_size(&own, own.fd);
	size = must_sample_size(&target, source);
	if (size != want)
		say_broken("size=%u want=%u", size, want);
}

PROBE_MAIN
