/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What happens to a task's events bound to a CPU, when that CPU goes away and comes back? The
 * per-core design opens one for each thread and CPU and never looks again.
 * Observed: the test pins itself to the CPU that will toggle, and causes page faults before,
 * during (elsewhere) and after. The CPU is put back whatever happens.
 */
#include "probe.h"
#include <stdio.h>

PROBE(TITLE("a task's events and CPUs that come and go")
      SINCE("2.6.31")
      DISTURBS("CPU hotplug")
      NEEDS("cpu2")
      NEEDS("hotplug")
      POINT(resumes, "an event on this task and that CPU counts before, not during, and after")
      POINT(any_cpu, "an event on this task and any CPU counts before, during and after")
      POINT(opened_offline, "it can be opened while the CPU is offline and counts when it is back")
      POINT(ring_survives, "its ring holds the samples of before, and those of after follow")
      POINT(new_thread, "a thread made after the CPU came back is inherited there")
      POINT(other_cpu_unaffected, "an event of the task on another CPU counts all the time")
      POINT(possible_cpus, "a task's event opens for every possible CPU, online or not"))

static char switch_path[80];
static int target = -1, target_nth;

/* The last CPU this task may use, if it has a switch. */
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
	int error = write_file(switch_path, on ? "1" : "0");
	int64_t state = -1;

	if (error && on)
		cannot_tell("CPU %d does not come back: %s", target, errno_name(error));
	if (error)
		say_blocked("CPU %d cannot be taken offline: %s", target, errno_name(error));
	if (pm_read_number(switch_path, &state) || state != on)
		cannot_tell("CPU %d is %s after the write", target, state ? "online" : "offline");
}

static void require_hotplug(struct __test_metadata *_metadata)
{
	require(REQUIRE_CPU2 | REQUIRE_ROOT);
	if (target < 0 || access(switch_path, W_OK))
		say_absent("no CPU here can be switched off");
	write_file(switch_path, "1");	/* an earlier test may have ended in between */
}

static int open_faults(struct __test_metadata *_metadata, int cpu)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.disabled = 0;
	return must_open(&attr, 0, cpu, -1, 0);
}

static uint64_t count_ten(struct __test_metadata *_metadata, int fd, int nth)
{
	uint64_t before;

	ASSERT_LE(0, move_to_nth_cpu(nth));
	before = must_count(fd);
	ASSERT_EQ(0, cause_faults(10));
	return must_count(fd) - before;
}

/* Count ten faults before on the CPU, during on the first one, and after on the CPU again. */
static void toggle(struct __test_metadata *_metadata, int fd, uint64_t counts[3])
{
	counts[0] = count_ten(_metadata, fd, target_nth);
	ASSERT_LE(0, move_to_nth_cpu(0));
	must_switch(_metadata, false);
	counts[1] = count_ten(_metadata, fd, 0);
	must_switch(_metadata, true);
	counts[2] = count_ten(_metadata, fd, target_nth);
}

static void expect(struct __test_metadata *_metadata, const uint64_t *got, uint64_t during)
{
	if (got[0] != 10 || got[1] != during || got[2] != 10)
		broken("before=%" PRIu64 " during=%" PRIu64 " after=%" PRIu64 " want=10,%" PRIu64
		       ",10", got[0], got[1], got[2], during);
}

TEST(resumes)
{
	uint64_t counts[3];

	require_hotplug(_metadata);
	toggle(_metadata, open_faults(_metadata, target), counts);
	expect(_metadata, counts, 0);
}

TEST(any_cpu)
{
	uint64_t counts[3];

	require_hotplug(_metadata);
	toggle(_metadata, open_faults(_metadata, -1), counts);
	expect(_metadata, counts, 10);
}

TEST(other_cpu_unaffected)
{
	uint64_t counts[3];
	int fd;

	require_hotplug(_metadata);
	fd = open_faults(_metadata, move_to_nth_cpu(0));
	counts[0] = count_ten(_metadata, fd, 0);
	must_switch(_metadata, false);
	counts[1] = count_ten(_metadata, fd, 0);
	must_switch(_metadata, true);
	counts[2] = count_ten(_metadata, fd, 0);
	expect(_metadata, counts, 10);
}

TEST(opened_offline)
{
	uint64_t after;
	int fd;

	require_hotplug(_metadata);
	ASSERT_LE(0, move_to_nth_cpu(0));
	must_switch(_metadata, false);
	fd = open_faults(_metadata, target);
	must_switch(_metadata, true);
	after = count_ten(_metadata, fd, target_nth);
	if (after != 10)
		broken("after=%" PRIu64 " want=10", after);
}

TEST(ring_survives)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_CPU);
	struct watch watch;
	int before, after;

	require_hotplug(_metadata);
	ASSERT_EQ(target, move_to_nth_cpu(target_nth));
	watch = must_watch(&attr, 0, target, 4);
	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(10));
	ASSERT_LE(0, move_to_nth_cpu(0));
	must_switch(_metadata, false);
	before = count_records(&watch.ring, PERF_RECORD_SAMPLE);
	must_switch(_metadata, true);
	ASSERT_EQ(target, move_to_nth_cpu(target_nth));
	ASSERT_EQ(0, cause_faults(10));
	after = count_records(&watch.ring, PERF_RECORD_SAMPLE);
	if (before < 10 || after < 10)
		broken("samples read while offline=%d after=%d want=10,10", before, after);
}

static void *fault_there(void *unused)
{
	move_to_nth_cpu(target_nth);
	cause_faults(10);
	return unused;
}

TEST(new_thread)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	uint64_t before;
	int fd;

	require_hotplug(_metadata);
	attr.inherit = 1;
	attr.disabled = 0;
	fd = must_open(&attr, 0, target, -1, 0);
	ASSERT_LE(0, move_to_nth_cpu(0));
	must_switch(_metadata, false);
	must_switch(_metadata, true);
	before = must_count(fd);
	ASSERT_EQ(0, in_thread(fault_there, NULL));
	if (must_count(fd) - before < 10)
		broken("a new thread's faults=%" PRIu64 " want>=10", must_count(fd) - before);
}

TEST(possible_cpus)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int possible = probe_env()->cpus_possible;

	require_hotplug(_metadata);
	must_switch(_metadata, false);
	for (int cpu = 0; cpu < possible; cpu++) {
		int fd = pm_open(&attr, 0, cpu, -1, 0);

		if (fd < 0)
			broken("CPU %d of %d: %s", cpu, possible, errno_name(fd));
		close(fd);
	}
	must_switch(_metadata, true);
}

PROBE_MAIN
