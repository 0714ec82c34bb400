/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which kinds of events can share a group and count together? Software, breakpoint, tracepoint
 * and hardware events live in different contexts of the kernel, and groups that cross them were
 * broken for years (v2.6.37 to v3.7).
 * Observed: leader and sibling of different kinds both count the same deed, enabled by the leader.
 */
#include "probe.h"

PROBE(TITLE("groups of different kinds of events")
      SINCE("2.6.33")
      POINT(software_kinds, "page faults, task clock and dummy count in one group")
      POINT(breakpoint_sibling, "a breakpoint counts as sibling of a software leader")
      NEEDS("breakpoint")
      POINT(breakpoint_leader, "a software event counts as sibling of a breakpoint")
      NEEDS("breakpoint")
      POINT(tracepoint_sibling, "a tracepoint joins a software leader, and both count")
      NEEDS("tracefs")
      POINT(hardware_leader, "a software sibling counts under a hardware leader")
      NEEDS("pmu")
      POINT(software_leader, "a hardware sibling joins a software leader, and both count")
      SINCE("3.8")
      NEEDS("pmu")
      POINT(two_core_pmus, "EINVAL for a group across two kinds of core")
      SINCE("5.13")
      NEEDS("pmu"))

#define FAULTS 7

static volatile int watched;

static struct perf_event_attr faults(void)
{
	return attr_software(PERF_COUNT_SW_PAGE_FAULTS);
}

static struct perf_event_attr writes(void)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_BREAKPOINT, 0);

	attr.bp_type = HW_BREAKPOINT_W;
	attr.bp_addr = (uintptr_t)&watched;
	attr.bp_len = sizeof(watched);
	return attr;
}

/* Leader disabled, sibling not: one ENABLE starts both. */
static void pair_up(struct __test_metadata *_metadata, const struct perf_event_attr *leader,
		    struct perf_event_attr sibling, int *fds)
{
	sibling.disabled = 0;
	close(must_open(&sibling, 0, -1, -1, 0));
	fds[0] = must_open(leader, 0, -1, -1, 0);
	fds[1] = pm_open(&sibling, 0, -1, fds[0], 0);
	if (fds[1] < 0)
		broken("type %u joins no leader of type %u: %s", sibling.type, leader->type,
		       errno_name(fds[1]));
	ASSERT_EQ(0, cause_faults(1));
	must_ioctl(fds[0], PERF_EVENT_IOC_ENABLE, 0);
}

TEST(software_kinds)
{
	struct perf_event_attr attr = faults(), other = attr_software(PERF_COUNT_SW_TASK_CLOCK);
	int fds[2], third;
	uint64_t gain;

	pair_up(_metadata, &attr, other, fds);
	other.config = attr_sideband().config;
	third = must_open(&other, 0, -1, fds[0], 0);
	gain = gain_of_faults(fds[0], NULL, FAULTS);
	for (int tries = 0; tries < 50 && !must_count(fds[1]); tries++)
		spin_ns(1000000);
	if (gain != FAULTS || !must_count(fds[1]) || must_count(third))
		broken("faults=%" PRIu64 " want=%d, clock=%" PRIu64 ", dummy=%" PRIu64, gain,
		       FAULTS, must_count(fds[1]), must_count(third));
}

static void count_both(struct __test_metadata *_metadata, int faults_fd, int writes_fd)
{
	uint64_t before = must_count(writes_fd), written, gain;

	gain = gain_of_faults(faults_fd, NULL, FAULTS);
	for (int i = 0; i < 3; i++)
		watched = i;
	written = must_count(writes_fd) - before;
	if (gain != FAULTS || written != 3)
		broken("faults=%" PRIu64 " want=%d, writes=%" PRIu64 " want=3", gain, FAULTS,
		       written);
}

TEST(breakpoint_sibling)
{
	const struct perf_event_attr attr = faults();
	int fds[2];

	require(REQUIRE_PERF | REQUIRE_BREAKPOINT);
	pair_up(_metadata, &attr, writes(), fds);
	count_both(_metadata, fds[0], fds[1]);
}

TEST(breakpoint_leader)
{
	const struct perf_event_attr attr = writes();
	int fds[2];

	require(REQUIRE_PERF | REQUIRE_BREAKPOINT);
	pair_up(_metadata, &attr, faults(), fds);
	count_both(_metadata, fds[1], fds[0]);
}

TEST(tracepoint_sibling)
{
	const struct perf_event_attr attr = faults();
	struct perf_event_attr other = attr_of(PERF_TYPE_TRACEPOINT, 0);
	uint64_t before, switches;
	int fds[2], id;

	require(REQUIRE_PERF | REQUIRE_TRACEFS);
	id = pm_tracepoint_id("sched", "sched_switch");
	if (id < 0)
		say_absent("no tracepoint sched:sched_switch (%s)", errno_name(id));
	other.config = id;
	other.exclude_kernel = 0;
	pair_up(_metadata, &attr, other, fds);
	before = must_count(fds[1]);
	poll(NULL, 0, 1);
	switches = must_count(fds[1]) - before;
	if (gain_of_faults(fds[0], NULL, FAULTS) != FAULTS || !switches)
		broken("switches=%" PRIu64 " want at least 1", switches);
}

static void count_with_hardware(struct __test_metadata *_metadata, bool hardware_leads)
{
	const struct perf_event_attr software = faults();
	const struct perf_event_attr hardware = attr_of(PERF_TYPE_HARDWARE,
							PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t gain, instructions;
	int fds[2];

	require(REQUIRE_PERF | REQUIRE_CPU_PMU);
	pair_up(_metadata, hardware_leads ? &hardware : &software,
		hardware_leads ? software : hardware, fds);
	gain = gain_of_faults(fds[hardware_leads], NULL, FAULTS);
	instructions = must_count(fds[!hardware_leads]);
	if (gain != FAULTS || !instructions)
		broken("faults=%" PRIu64 " want=%d, instructions=%" PRIu64, gain, FAULTS,
		       instructions);
}

TEST(hardware_leader)
{
	count_with_hardware(_metadata, true);
}

TEST(software_leader)
{
	count_with_hardware(_metadata, false);
}

struct core_pmus {
	int types[2], count;
};

/* The PMU of one kind of core among several says which CPUs it is for in a file "cpus". */
static int note_core_pmu(const char *name, void *context)
{
	struct core_pmus *found = context;
	char path[160], text[64];
	int type = pm_pmu_type(name);

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/cpus", name);
	if (type >= 0 && pm_read_text(path, text, sizeof(text)) > 0 && found->count < 2)
		found->types[found->count++] = type;
	return 0;
}

TEST(two_core_pmus)
{
	struct core_pmus found = { .count = 0 };
	struct perf_event_attr attr[2];
	int leader;

	require(REQUIRE_PERF);
	pm_pmu_each(note_core_pmu, &found);
	if (found.count < 2)
		say_absent("%d PMUs of one kind of core; needs two", found.count);
	for (int i = 0; i < 2; i++) {
		attr[i] = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
		attr[i].config |= (uint64_t)found.types[i] << PERF_PMU_TYPE_SHIFT;
		leader = must_open(&attr[i], 0, -1, -1, 0);
	}
	hold_rule(pm_open(&attr[0], 0, -1, leader, 0), EINVAL, BROKEN, "a group across two PMUs");
	must_open(&attr[1], 0, -1, leader, 0);
}

PROBE_MAIN
