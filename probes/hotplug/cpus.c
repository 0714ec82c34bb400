/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What happens to events on a CPU (pid -1) when it goes away and comes back? A system-wide profiler
 * that does not reopen them goes blind on that CPU and is not told.
 * Observed: a task pinned to the CPU causes page faults before and after.
 */
#include "probe.h"
#include <stdio.h>

PROBE(TITLE("events on a CPU that comes and goes")
      SINCE("2.6.31")
      DISTURBS("CPU hotplug")
      NEEDS("cpu2")
      NEEDS("hotplug")
      NEEDS("root")
      POINT(resumes, "an event on the CPU counts again by itself when the CPU is back")
      POINT(revived, "ENABLE after the CPU is back makes it count again")
      POINT(reopened, "a new event opened after the CPU is back counts")
      POINT(open_offline, "opening one while the CPU is offline is ENODEV")
      SINCE("4.12")
      POINT(read_offline, "read(2) while offline returns at once with the last count")
      POINT(ioctl_offline, "DISABLE, ENABLE and RESET while offline return at once, without error")
      POINT(ring_readable, "the ring of an offline CPU still holds its samples")
      POINT(poll_silent, "a poller of the event is not woken by the CPU going offline")
      POINT(strategy_gap, "a ring per CPU has no samples of a CPU that came back: reopen it"))

static char switch_path[80];
static int target = -1, target_nth;

static void __attribute__((constructor)) choose_cpu(void)
{
	cpu_set_t set;

	target_nth = count_cpus() - 1;
	if (target_nth < 1 || sched_getaffinity(0, sizeof(set), &set))
		return;
	for (int cpu = CPU_SETSIZE - 1; cpu > 0 && target < 0; cpu--)
		if (CPU_ISSET(cpu, &set))
			target = cpu;
	snprintf(switch_path, sizeof(switch_path), "/sys/devices/system/cpu/cpu%d/online", target);
	keep_file(switch_path);
}

static void must_switch(struct __test_metadata *_metadata, bool on)
{
	int error;

	ASSERT_LE(0, move_to_nth_cpu(0));
	error = write_file(switch_path, on ? "1" : "0");
	if (error && on)
		cannot_tell("CPU %d does not come back: %s", target, errno_name(error));
	if (error)
		say_blocked("CPU %d cannot be taken offline: %s", target, errno_name(error));
}

static struct watch watch_cpu(struct __test_metadata *_metadata)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);
	struct watch watch;

	require(REQUIRE_CPU2 | REQUIRE_ROOT);
	if (target < 0 || access(switch_path, W_OK))
		say_absent("no CPU here can be switched off");
	write_file(switch_path, "1");	/* an earlier test may have ended in between */
	watch = must_watch(&attr, -1, target, 64);
	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	return watch;
}

/* Faults of this task on the CPU; how many of them the event counts, at least. */
static uint64_t count_there(struct __test_metadata *_metadata, int fd)
{
	uint64_t before = must_count(fd);

	ASSERT_EQ(target, move_to_nth_cpu(target_nth));
	ASSERT_EQ(0, cause_faults(50));
	return must_count(fd) - before;
}

static struct watch toggled(struct __test_metadata *_metadata)
{
	struct watch watch = watch_cpu(_metadata);

	if (count_there(_metadata, watch.fd) < 50)
		broken("not even before the CPU went offline are its faults counted");
	must_switch(_metadata, false);
	must_switch(_metadata, true);
	return watch;
}

TEST(resumes)
{
	struct watch watch = toggled(_metadata);
	uint64_t after = count_there(_metadata, watch.fd);

	if (after < 50)
		say_no("after the CPU came back %" PRIu64 " of 50 faults are counted", after);
}

TEST(revived)
{
	struct watch watch = toggled(_metadata);
	uint64_t after;

	must_ioctl(watch.fd, PERF_EVENT_IOC_DISABLE, 0);
	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	after = count_there(_metadata, watch.fd);
	if (after < 50)
		say_no("after DISABLE and ENABLE %" PRIu64 " of 50 faults are counted", after);
}

TEST(reopened)
{
	struct watch again;
	uint64_t after;

	toggled(_metadata);
	again = watch_cpu(_metadata);
	after = count_there(_metadata, again.fd);
	if (after < 50)
		broken("a new event counts %" PRIu64 " of 50 faults", after);
}

TEST(open_offline)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int fd;

	watch_cpu(_metadata);
	must_switch(_metadata, false);
	fd = pm_open(&attr, -1, target, -1, 0);
	must_switch(_metadata, true);
	hold_rule(fd, ENODEV, NO, "an event on an offline CPU");
}

TEST(read_offline)
{
	struct watch watch = watch_cpu(_metadata);
	uint64_t before, during;

	count_there(_metadata, watch.fd);
	must_switch(_metadata, false);
	during = must_count(watch.fd);
	before = must_count(watch.fd);
	must_switch(_metadata, true);
	if (during < 50 || during != before)
		broken("counts while offline=%" PRIu64 ",%" PRIu64 " want>=50, the same", during,
		       before);
}

TEST(ioctl_offline)
{
	static const unsigned long requests[] = { PERF_EVENT_IOC_DISABLE, PERF_EVENT_IOC_ENABLE,
						  PERF_EVENT_IOC_RESET };
	struct watch watch = watch_cpu(_metadata);
	int answers[3];
	uint64_t count;

	count_there(_metadata, watch.fd);
	must_switch(_metadata, false);
	for (int i = 0; i < 3; i++)
		answers[i] = pm_ioctl(watch.fd, requests[i], 0);
	count = must_count(watch.fd);
	must_switch(_metadata, true);
	if (answers[0] || answers[1] || answers[2] || count)
		broken("DISABLE=%s ENABLE=%s RESET=%s count=%" PRIu64, errno_name(answers[0]),
		       errno_name(answers[1]), errno_name(answers[2]), count);
}

TEST(ring_readable)
{
	struct watch watch = watch_cpu(_metadata);
	int samples;

	count_there(_metadata, watch.fd);
	must_switch(_metadata, false);
	samples = count_records(&watch.ring, PERF_RECORD_SAMPLE);
	must_switch(_metadata, true);
	if (samples < 50)
		broken("samples readable while offline=%d want>=50", samples);
}

TEST(poll_silent)
{
	struct watch watch = watch_cpu(_metadata);
	int quiet, woken;

	poll_once(watch.fd, POLLIN, 0);
	must_switch(_metadata, false);
	while (pm_ring_skip_all(&watch.ring) || poll_once(watch.fd, POLLIN, 0) > 0)
		;
	quiet = poll_once(watch.fd, POLLIN, 50);
	must_switch(_metadata, true);
	woken = poll_once(watch.fd, POLLIN, 0);
	if (quiet || (woken & POLLHUP))
		broken("poll while offline=%#x, when back=%#x", quiet, woken);
}

TEST(strategy_gap)
{
	struct watch watch = toggled(_metadata), again;
	int old, new;

	pm_ring_skip_all(&watch.ring);
	count_there(_metadata, watch.fd);
	old = count_records(&watch.ring, PERF_RECORD_SAMPLE);
	again = watch_cpu(_metadata);
	count_there(_metadata, again.fd);
	new = count_records(&again.ring, PERF_RECORD_SAMPLE);
	if (new < 50)
		broken("a reopened ring has %d samples of 50 faults", new);
	if (old >= 50)
		say_no("the old ring goes on by itself: %d samples of 50 faults", old);
}

PROBE_MAIN
