/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What do ioctls answer when they are wrong: unknown, with a bad pointer, or on an event they are
 * not made for? Libraries probe for features by these errnos.
 */
#include "probe.h"

PROBE(TITLE("errnos of ioctl")
      SINCE("2.6.31")
      POINT(unknown, "numbers 12, 13 and 200 are ENOTTY")
      POINT(unknown_type, "a request of another driver's type is ENOTTY")
      POINT(id_unique, "ID gives two events different ids, the ones in their samples")
      SINCE("3.12")
      POINT(id_pointer, "ID with a bad pointer is EFAULT")
      SINCE("3.12")
      POINT(filter_software, "SET_FILTER on a software event is EINVAL")
      SINCE("2.6.33")
      POINT(filter_tracepoint, "SET_FILTER on a tracepoint: a nonsense filter is EINVAL")
      SINCE("2.6.33")
      NEEDS("tracefs")
      POINT(bpf_software, "SET_BPF with a descriptor that is no program is refused")
      SINCE("4.1")
      POINT(query_bpf_software, "QUERY_BPF on a software event is refused with a documented errno")
      SINCE("4.16")
      POINT(modify_pointer, "MODIFY_ATTRIBUTES with a bad pointer is EFAULT")
      SINCE("4.17")
      POINT(pause_unmapped, "PAUSE_OUTPUT without a mapping is EINVAL")
      SINCE("4.7")
      FACT(bpf_errno, enum, "-", "errno of SET_BPF with a descriptor that is no program")
      FACT(query_errno, enum, "-", "errno of QUERY_BPF on a software event"))

static int open_faults(struct __test_metadata *_metadata)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_ID);

	return must_open(&attr, 0, -1, -1, 0);
}

/* An errno is only an answer where the event as such works. */
static int open_alive(struct __test_metadata *_metadata)
{
	int fd = open_faults(_metadata);

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(1));
	if (!must_count(fd))
		cannot_tell("ENABLE has no effect: no answer of ioctl can be believed");
	return fd;
}

static void must_answer(struct __test_metadata *_metadata, int answer, int want,
			const char *what)
{
	if (answer == -ENOTTY && want != ENOTTY)
		say_no("%s: ENOTTY, while ENABLE works", what);
	if (answer != -want)
		broken("%s: %s want=%s", what, errno_name(answer), errno_name(want));
}

TEST(unknown)
{
	static const unsigned int numbers[] = { 12, 13, 200 };
	int fd = open_alive(_metadata);

	for (int i = 0; i < 3; i++)
		must_answer(_metadata, pm_ioctl(fd, _IO('$', numbers[i]), 0), ENOTTY,
			    "an unknown number");
}

TEST(unknown_type)
{
	must_answer(_metadata, pm_ioctl(open_alive(_metadata), _IO('T', 1), 0), ENOTTY,
		    "another driver's request");
}

TEST(id_unique)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_ID);
	struct watch watches[2];
	uint64_t ids[2] = { 0 };
	struct pm_record record;

	for (int i = 0; i < 2; i++) {
		int answer;

		watches[i] = must_watch(&attr, 0, -1, 1);
		answer = pm_ioctl(watches[i].fd, PERF_EVENT_IOC_ID, (uintptr_t)&ids[i]);
		if (answer)
			must_answer(_metadata, answer, 0, "ID");
		must_ioctl(watches[i].fd, PERF_EVENT_IOC_ENABLE, 0);
		ASSERT_EQ(0, cause_faults(1));
		must_ioctl(watches[i].fd, PERF_EVENT_IOC_DISABLE, 0);
		if (!seek(&watches[i], PERF_RECORD_SAMPLE, &record) ||
		    record.sample.sid.id != ids[i])
			broken("event %d: id in its sample is not %" PRIu64, i, ids[i]);
	}
	if (!ids[0] || ids[0] == ids[1])
		broken("ids=%" PRIu64 ",%" PRIu64, ids[0], ids[1]);
}

TEST(id_pointer)
{
	must_answer(_metadata, pm_ioctl(open_alive(_metadata), PERF_EVENT_IOC_ID, 8), EFAULT,
		    "ID with a bad pointer");
}

TEST(filter_software)
{
	must_answer(_metadata, pm_ioctl(open_alive(_metadata), PERF_EVENT_IOC_SET_FILTER,
					(uintptr_t)"common_pid == 1"), EINVAL,
		    "SET_FILTER on a software event");
}

TEST(filter_tracepoint)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_TRACEPOINT, 0);
	int fd, id;

	require(REQUIRE_TRACEFS);
	id = pm_tracepoint_id("sched", "sched_switch");
	if (id < 0)
		say_absent("no sched:sched_switch (%s)", errno_name(id));
	attr.config = id;
	fd = must_open(&attr, 0, -1, -1, 0);
	must_ioctl(fd, PERF_EVENT_IOC_SET_FILTER, (uintptr_t)"prev_pid == 1");
	fd = must_open(&attr, 0, -1, -1, 0);	/* a second filter on one event is EEXIST */
	must_answer(_metadata, pm_ioctl(fd, PERF_EVENT_IOC_SET_FILTER,
					(uintptr_t)"no_such_field == 1"), EINVAL,
		    "SET_FILTER on a field that is not there");
}

TEST(bpf_software)
{
	int answer = pm_ioctl(open_alive(_metadata), PERF_EVENT_IOC_SET_BPF, STDIN_FILENO);

	fact_str("bpf_errno", "%s", errno_name(answer));
	if (answer == -ENOTTY)
		say_no("SET_BPF: ENOTTY, while ENABLE works");
	if (answer >= 0)
		broken("SET_BPF took descriptor 0 for a program");
}

TEST(query_bpf_software)
{
	struct perf_event_query_bpf query = { .ids_len = 0 };
	int answer = pm_ioctl(open_alive(_metadata), PERF_EVENT_IOC_QUERY_BPF, (uintptr_t)&query);

	fact_str("query_errno", "%s", errno_name(answer));
	if (answer == -ENOTTY)
		say_no("QUERY_BPF: ENOTTY, while ENABLE works");
	if (answer != -EINVAL && answer != -EACCES && answer != -EPERM)
		broken("QUERY_BPF on a software event: %s", errno_name(answer));
}

TEST(modify_pointer)
{
	must_answer(_metadata, pm_ioctl(open_alive(_metadata), PERF_EVENT_IOC_MODIFY_ATTRIBUTES,
					8), EFAULT, "MODIFY_ATTRIBUTES with a bad pointer");
}

TEST(pause_unmapped)
{
	int fd = open_alive(_metadata), answer;
	struct pm_ring ring;

	answer = pm_ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
	must_answer(_metadata, answer, EINVAL, "PAUSE_OUTPUT without a mapping");
	must_map(fd, 1, &ring);
	must_ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
}

PROBE_MAIN
