/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What happens to events on a CPU (pid -1) when it goes offline and comes back? The kernel removes
 * them for good: a system-wide profiler that does not reopen them misses that CPU in silence.
 * Observed: a task pinned to the CPU causes page faults before and after.
 */
#include "probe.h"
#include "hotplug.h"

PROBE(TITLE("events on a CPU that comes back")
      SINCE("2.6.31")
      DISTURBS("CPU hotplug")
      NEEDS("cpu2")
      NEEDS("hotplug")
      NEEDS("root")
      POINT(does_not_resume, "a CPU-wide event counts nothing more when its CPU is back")
      POINT(not_revived, "DISABLE and ENABLE do not revive a CPU-wide event whose CPU was away")
      POINT(reopened, "a CPU-wide event opened after the CPU is back counts")
      POINT(strategy_reopen, "a ring opened anew when the CPU came back has its samples")
      FACT(resumed, int, "of 50", "faults that the old event counts when the CPU is back")
      FACT(revived, int, "of 50", "faults it counts after ENABLE")
      FACT(old_ring, int, "of 50", "samples of a CPU that came back in the old ring"))

static struct sampler toggled(void)
{
	struct sampler sampler = watch_cpu();

	if (count_there(sampler.fd) < 50)
		say_broken("not even before the CPU went offline are its faults counted");
	must_switch(false);
	must_switch(true);
	return sampler;
}

TEST(does_not_resume)
{
	struct sampler sampler = toggled();
	uint64_t after = count_there(sampler.fd);

	fact_int("resumed", after);
	if (after && after < 50)
		say_broken("after the CPU came back %" PRIu64 " of 50 faults are counted", after);
	if (after)
		say_no("it goes on by itself: %" PRIu64 " faults counted", after);
}

TEST(not_revived)
{
	struct sampler sampler = toggled();
	uint64_t after;

	must_ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	after = count_there(sampler.fd);
	fact_int("revived", after);
	if (after && after < 50)
		say_broken("after DISABLE and ENABLE %" PRIu64 " of 50 faults are counted", after);
	if (after)
		say_no("ENABLE brings it back: %" PRIu64 " faults counted", after);
}

TEST(reopened)
{
	struct sampler again;
	uint64_t after;

	toggled();
	again = watch_cpu();
	after = count_there(again.fd);
	if (after < 50)
		say_broken("a new event counts %" PRIu64 " of 50 faults", after);
}

TEST(strategy_reopen)
{
	struct sampler old = toggled(), new;
	int gone_on, samples;

	pm_ring_skip_all(&old.ring);
	count_there(old.fd);
	gone_on = count_records(&old.ring, PERF_RECORD_SAMPLE);
	fact_int("old_ring", gone_on);
	new = watch_cpu();
	count_there(new.fd);
	samples = count_records(&new.ring, PERF_RECORD_SAMPLE);
	if (samples < 50)
		say_broken("a reopened ring has %d samples of 50 faults", samples);
}

PROBE_MAIN
