/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What can be done with events on a CPU (pid -1) while it is offline? A profiler reads out what is
 * there, and must not hang.
 * Observed: page faults on the CPU, counted and sampled before it goes.
 */
#include "probe.h"
#include "hotplug.h"

PROBE(TITLE("events on a CPU that is away")
      SINCE("2.6.31")
      DISTURBS("CPU hotplug")
      NEEDS("cpu2")
      NEEDS("hotplug")
      NEEDS("root")
      POINT(open_offline, "opening one while the CPU is offline is ENODEV")
      SINCE("4.12")
      POINT(read_offline, "read(2) while offline returns at once with the last count")
      POINT(ioctl_offline, "DISABLE, ENABLE and RESET while offline return at once, without error")
      POINT(ring_readable, "the ring of an offline CPU still holds its samples")
      POINT(poll_silent, "a poller of the event is not woken by the CPU going offline"))

TEST(open_offline)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int fd;

	watch_cpu();
	must_switch(false);
	fd = pm_open(&attr, -1, target, -1, 0);
	must_switch(true);
	expect_refused(fd, ENODEV, NO, "an event on an offline CPU");
}

TEST(read_offline)
{
	struct sampler sampler = watch_cpu();
	uint64_t before, during;

	count_there(sampler.fd);
	must_switch(false);
	during = must_count(sampler.fd);
	before = must_count(sampler.fd);
	must_switch(true);
	if (during < 50 || during != before)
		say_broken("counts while offline=%" PRIu64 ",%" PRIu64 " want>=50, the same",
			   during, before);
}

TEST(ioctl_offline)
{
	static const unsigned long requests[] = { PERF_EVENT_IOC_DISABLE, PERF_EVENT_IOC_ENABLE,
						  PERF_EVENT_IOC_RESET };
	struct sampler sampler = watch_cpu();
	int answers[3];
	uint64_t count;

	count_there(sampler.fd);
	must_switch(false);
	for (int i = 0; i < 3; i++)
		answers[i] = pm_ioctl(sampler.fd, requests[i], 0);
	count = must_count(sampler.fd);
	must_switch(true);
	if (answers[0] || answers[1] || answers[2] || count)
		say_broken("DISABLE=%s ENABLE=%s RESET=%s count=%" PRIu64,
			   pm_errno_name(answers[0]), pm_errno_name(answers[1]),
			   pm_errno_name(answers[2]), count);
}

TEST(ring_readable)
{
	struct sampler sampler = watch_cpu();
	int samples;

	count_there(sampler.fd);
	must_switch(false);
	samples = count_records(&sampler.ring, PERF_RECORD_SAMPLE);
	must_switch(true);
	if (samples < 50)
		say_broken("samples readable while offline=%d want>=50", samples);
}

TEST(poll_silent)
{
	struct sampler sampler = watch_cpu();
	int quiet, woken, drained = 0;

	poll_once(sampler.fd, POLLIN, 0);
	must_switch(false);
	while ((pm_ring_skip_all(&sampler.ring) || poll_once(sampler.fd, POLLIN, 0) > 0) &&
	       ++drained < 1000)
		;
	quiet = poll_once(sampler.fd, POLLIN, 50);
	must_switch(true);
	woken = poll_once(sampler.fd, POLLIN, 0);
	if (quiet || (woken & POLLHUP))
		say_broken("poll while offline=%#x, when back=%#x", quiet, woken);
}

PROBE_MAIN
