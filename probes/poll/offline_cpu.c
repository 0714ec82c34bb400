/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does the reader of a cpu-wide event learn that its CPU went offline? The event is dead from then
 * on, so silence means that it waits in vain.
 * Observed with a thread asleep in poll(2) while the CPU is switched off. It is switched on again
 * whatever happens.
 */
#include "probe.h"
#include "privilege.h"
#include "waiter.h"

PROBE(TITLE("poll of a cpu-wide event whose CPU goes offline")
      SINCE("2.6.31")
      NEEDS("root")
      NEEDS("hotplug")
      NEEDS("cpu2")
      DISTURBS("CPU hotplug")
      POINT(stays_silent, "nothing wakes the reader and poll reports nothing; no means it is told")
      FACT(revents, int, "-", "what poll reports after the CPU went offline"))

#define ONLINE "/sys/devices/system/cpu/cpu1/online"

static void __attribute__((constructor)) keep_cpu(void)
{
	restore_at_exit(ONLINE);
}

TEST(stays_silent)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_CPU_CLOCK);
	struct waiter waiter;
	struct sampler sampler;
	int error, revents;

	require(REQUIRE_PERF | REQUIRE_CPU2 | REQUIRE_ROOT);
	if (access(ONLINE, W_OK))
		say_absent("CPU 1 cannot be switched off here (%s)", ONLINE);
	attr.sample_period = 1000000000000;
	sampler = must_sampler(&attr, -1, 1, 1);
	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	must_wait(&waiter, sampler.fd, 5000);
	error = write_file(ONLINE, "0");
	if (error || pm_cpus_online() == probe_env()->cpus_online)
		say_absent("CPU 1 cannot be switched off: %s", pm_errno_name(error));
	revents = waiter_woke(&waiter, 50);
	if (revents == -EAGAIN)
		revents = poll_once(sampler.fd, POLLIN, 0);
	write_file(ONLINE, "1");
	fact_int("revents", revents);
	if (revents)
		say_no("the reader is told that its CPU is gone");
}

PROBE_MAIN
