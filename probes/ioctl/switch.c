/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ENABLE, DISABLE, RESET: do they do what their names say, at once, on one event or a group, from
 * this process or another, on a living task or a dead one?
 * Observed: exact numbers of page faults before and after each.
 */
#include "probe.h"

PROBE(TITLE("starting, stopping, clearing")
      SINCE("2.6.31")
      POINT(enable, "nothing is counted before ENABLE, everything after it")
      POINT(disable, "nothing is counted after DISABLE")
      POINT(reset, "RESET makes the count 0 and counting goes on")
      POINT(leader_not_siblings, "without the group flag DISABLE of a sibling leaves the leader on")
      POINT(flag_group, "with PERF_IOC_FLAG_GROUP on a sibling the whole group stops and starts")
      SINCE("3.4")
      POINT(flag_group_reset, "with the group flag RESET clears every member")
      SINCE("3.4")
      POINT(other_bits_ignored, "other bits of the argument change nothing")
      POINT(by_another_process, "a child that inherited the descriptor can DISABLE the event")
      POINT(dead_task, "on a task that has ended ENABLE, DISABLE and RESET succeed"))

static int open_faults(struct __test_metadata *_metadata, int group)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.disabled = group < 0;
	return must_open(&attr, 0, -1, group, 0);
}

/* How much an event counts while 10 pages are touched. */
static uint64_t count_ten(struct __test_metadata *_metadata, int fd)
{
	uint64_t before = must_count(fd);

	ASSERT_EQ(0, cause_faults(10));
	return must_count(fd) - before;
}

static void expect(struct __test_metadata *_metadata, int fd, uint64_t want, const char *when)
{
	uint64_t counted = count_ten(_metadata, fd);

	if (counted != want)
		broken("%s: counted=%" PRIu64 " want=%" PRIu64, when, counted, want);
}

TEST(enable)
{
	int fd = open_faults(_metadata, -1);

	expect(_metadata, fd, 0, "before ENABLE");
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	expect(_metadata, fd, 10, "after ENABLE");
}

TEST(disable)
{
	int fd = open_faults(_metadata, -1);

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	expect(_metadata, fd, 10, "after ENABLE");
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	expect(_metadata, fd, 0, "after DISABLE");
}

TEST(reset)
{
	int fd = open_faults(_metadata, -1);
	uint64_t cleared;

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	expect(_metadata, fd, 10, "after ENABLE");
	must_ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	cleared = must_count(fd);
	if (cleared)
		broken("after RESET: count=%" PRIu64, cleared);
	expect(_metadata, fd, 10, "after RESET");
}

TEST(leader_not_siblings)
{
	int leader = open_faults(_metadata, -1), sibling = open_faults(_metadata, leader);

	must_ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	expect(_metadata, sibling, 10, "sibling of an enabled leader");
	must_ioctl(sibling, PERF_EVENT_IOC_DISABLE, 0);
	expect(_metadata, sibling, 0, "disabled sibling");
	expect(_metadata, leader, 10, "leader of a disabled sibling");
}

TEST(flag_group)
{
	int leader = open_faults(_metadata, -1), sibling = open_faults(_metadata, leader);

	must_ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	expect(_metadata, leader, 10, "leader after ENABLE");
	must_ioctl(sibling, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
	expect(_metadata, leader, 0, "leader after group DISABLE of a sibling");
	expect(_metadata, sibling, 0, "sibling after group DISABLE");
	must_ioctl(sibling, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
	expect(_metadata, leader, 10, "leader after group ENABLE of a sibling");
	expect(_metadata, sibling, 10, "sibling after group ENABLE");
}

TEST(flag_group_reset)
{
	int leader = open_faults(_metadata, -1), sibling = open_faults(_metadata, leader);

	must_ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	expect(_metadata, leader, 10, "leader after ENABLE");
	must_ioctl(leader, PERF_EVENT_IOC_DISABLE, 0);
	if (!must_count(sibling))
		broken("the sibling counted nothing");
	must_ioctl(leader, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
	if (must_count(leader) || must_count(sibling))
		broken("after group RESET: leader=%" PRIu64 " sibling=%" PRIu64,
		       must_count(leader), must_count(sibling));
}

TEST(other_bits_ignored)
{
	int leader = open_faults(_metadata, -1), sibling = open_faults(_metadata, leader);
	int answer = pm_ioctl(leader, PERF_EVENT_IOC_ENABLE, 0xff00);

	if (answer)
		broken("ENABLE with 0xff00: %s", errno_name(answer));
	expect(_metadata, leader, 10, "after ENABLE with 0xff00");
	must_ioctl(sibling, PERF_EVENT_IOC_DISABLE, 0xff00);
	expect(_metadata, leader, 10, "leader after DISABLE of a sibling with 0xff00");
}

static int disable_it(void *fd)
{
	return pm_ioctl(*(int *)fd, PERF_EVENT_IOC_DISABLE, 0) ? 1 : 0;
}

TEST(by_another_process)
{
	int fd = open_faults(_metadata, -1);

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	expect(_metadata, fd, 10, "after ENABLE");
	ASSERT_EQ(0, wait_child(start_child(disable_it, &fd)));
	expect(_metadata, fd, 0, "after DISABLE by a child");
}

static int fault_when_told(void *gate)
{
	gate_wait(gate);
	return cause_faults(10);
}

TEST(dead_task)
{
	static const unsigned long requests[] = { PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE,
						  PERF_EVENT_IOC_RESET };
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	struct gate gate;
	pid_t child;
	int fd;

	ASSERT_EQ(0, gate_init(&gate));
	child = start_child(fault_when_told, &gate);
	fd = must_open(&attr, child, -1, -1, 0);
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	gate_open(&gate);
	ASSERT_EQ(0, wait_child(child));
	if (must_count(fd) < 10)
		broken("the task counted %" PRIu64 " before it ended", must_count(fd));
	for (int i = 0; i < 3; i++) {
		int answer = pm_ioctl(fd, requests[i], 0);

		if (answer)
			broken("request %#lx: %s", requests[i], errno_name(answer));
	}
	if (must_count(fd))
		broken("count=%" PRIu64 " after RESET", must_count(fd));
}

PROBE_MAIN
