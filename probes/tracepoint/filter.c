/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does the kernel filter tracepoint hits by their fields? A profiler then gets fewer samples.
 * Observed: close(2) of numbers that are no descriptors, counted and sampled through filters on the
 * argument.
 * Linux 6fb2915df7f0 ("tracing/profile: Add filter support") (v2.6.33)
 */
#include "probe.h"
#include "tp_filter.h"
#include "tracepoint.h"

PROBE(TITLE("filters of tracepoints")
      SINCE("2.6.33")
      COMMIT("6fb2915df7f0")
      POINT(equal, "the filter \"fd == N\" lets 1 of 20 calls through")
      NEEDS("tracefs")
      POINT(range, "the filter \"fd >= N && fd < M\" lets 5 of 20 calls through")
      NEEDS("tracefs")
      POINT(none, "a tracepoint event whose filter no call meets counts nothing")
      NEEDS("tracefs")
      POINT(samples, "a tracepoint's filter holds for its samples, too")
      NEEDS("tracefs"))

static void want(int fd, const char *filter, uint64_t wanted)
{
	uint64_t before, count;

	cause_closes(1000000, 20);
	before = must_count(fd);
	must_filter(fd, filter);
	cause_closes(1000000, 20);
	count = must_count(fd) - before;
	if (before != 20 || count != wanted)
		say_broken("without=%" PRIu64 " want=20, with=%" PRIu64 " want=%" PRIu64, before,
			   count, wanted);
}

TEST(equal)
{
	want(open_closes(), "fd == 1000003", 1);
	want(open_closes(), "fd != 1000003", 19);
}

TEST(range)
{
	want(open_closes(), "fd >= 1000003 && fd < 1000008", 5);
	want(open_closes(), "fd < 1000002 || fd > 1000016", 5);
	want(open_closes(), "fd == 1000003 || (fd > 1000010 && fd <= 1000014 && fd != 1000012)", 4);
}

TEST(none)
{
	want(open_closes(), "fd == 999999", 0);
}

TEST(samples)
{
	struct perf_event_attr attr = must_call_tracepoint("sys_enter_close");
	struct sampler sampler;
	int samples;

	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_TID;
	sampler = must_sampler(&attr, 0, -1, 4);
	must_filter(sampler.fd, "fd < 1000003 || (fd >= 1000015 && fd != 1000017)");
	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	cause_closes(1000000, 20);
	samples = count_records(&sampler.ring, PERF_RECORD_SAMPLE);
	if (samples != 7)
		say_broken("samples=%d want=7", samples);
}

PROBE_MAIN
