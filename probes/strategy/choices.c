/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The other choices a library has to make at run time, each tried as a whole: counting without
 * rings, watching whole CPUs, stopping a reader, accounting for loss, getting call chains.
 */
#include "probe.h"
#include <sys/eventfd.h>
#include <sys/syscall.h>

PROBE(TITLE("choices of a library, end to end")
      SINCE("2.6.31")
      POINT(inherit_any_cpu_count, "one inheriting event on any CPU counts new threads")
      POINT(inherit_any_cpu_ring, "forwarded to a plain event of the task it gives one ring for all")
      POINT(cpu_wide_filter, "a ring on each CPU, filtered by tid, has every fault of a thread")
      NEEDS("root")
      POINT(stop_channel, "an eventfd beside the ring wakes a reader; DISABLE does not")
      POINT(chosen_clock, "CLOCK_MONOTONIC stamps of all CPUs lie between readings of it")
      SINCE("4.1")
      POINT(callchain, "with both kernel exclusions a call chain is taken and filled")
      SINCE("3.7")
      POINT(lost_accounting, "PERF_FORMAT_LOST, or LOST records, account for every lost sample")
      POINT(tracepoint_user_only, "with exclude_kernel a system call's tracepoint counts")
      NEEDS("tracefs")
      POINT(software_zero, "with exclude_kernel context switches are counted")
      FACT(lost_by, enum, "-", "how loss is known: format (PERF_FORMAT_LOST), records"))

static void *fault_hundred(void *unused)
{
	cause_faults(100);
	return unused;
}

TEST(inherit_any_cpu_count)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	uint64_t one, two;
	int fd;

	attr.inherit = 1;
	fd = must_open(&attr, 0, -1, -1, 0);
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, in_thread(fault_hundred, NULL));
	one = must_count(fd);
	for (int i = 0; i < 4; i++)
		ASSERT_EQ(0, in_thread(fault_hundred, NULL));
	two = must_count(fd);
	/* Each thread also faults a little for its own stack. */
	if (one < 100 || one >= 200 || two - one < 400 || two - one >= 800)
		broken("one thread=%" PRIu64 " four more=%" PRIu64 " want>=100,>=400", one,
		       two - one);
}

TEST(inherit_any_cpu_ring)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);
	struct watch leader = must_watch(&attr, 0, -1, 32);
	struct pm_record record;
	int source, foreign = 0;

	attr.inherit = 1;
	source = must_open(&attr, 0, -1, -1, 0);
	must_ioctl(source, PERF_EVENT_IOC_SET_OUTPUT, leader.fd);
	must_ioctl(source, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, in_thread(fault_hundred, NULL));
	while (seek(&leader, PERF_RECORD_SAMPLE, &record))
		foreign += record.sample.sid.tid != (uint32_t)pm_gettid();
	if (foreign < 100)
		broken("samples of the new thread=%d want>=100", foreign);
}

TEST(cpu_wide_filter)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);
	struct watch watches[64];
	int cpus = count_cpus() < 64 ? count_cpus() : 64, mine = 0;
	struct pm_record record;

	for (int i = 0; i < cpus; i++) {
		watches[i] = must_watch(&attr, -1, move_to_nth_cpu(i), 64);
		must_ioctl(watches[i].fd, PERF_EVENT_IOC_ENABLE, 0);
	}
	for (int i = 0; i < cpus; i++) {
		ASSERT_LE(0, move_to_nth_cpu(i));
		ASSERT_EQ(0, cause_faults(20));
	}
	for (int i = 0; i < cpus; i++)
		must_ioctl(watches[i].fd, PERF_EVENT_IOC_DISABLE, 0);
	for (int i = 0; i < cpus; i++)
		while (seek(&watches[i], PERF_RECORD_SAMPLE, &record))
			mine += record.sample.sid.tid == (uint32_t)pm_gettid();
	if (mine < 20 * cpus)
		broken("samples of this thread=%d want>=%d", mine, 20 * cpus);
}

TEST(stop_channel)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);
	struct watch watch = must_watch(&attr, 0, -1, 8);
	struct pollfd fds[2] = { { .fd = watch.fd, .events = POLLIN }, { .events = POLLIN } };
	uint64_t one = 1;
	int by_disable, by_channel;

	fds[1].fd = eventfd(0, EFD_CLOEXEC);
	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(1));
	poll(fds, 1, 0);
	must_ioctl(watch.fd, PERF_EVENT_IOC_DISABLE, 0);
	if (!must_count(watch.fd))
		broken("the event did not run");
	by_disable = poll(fds, 2, 30);
	ASSERT_EQ(8, write(fds[1].fd, &one, 8));
	by_channel = poll(fds, 2, 1000);
	if (by_disable || by_channel != 1 || !(fds[1].revents & POLLIN))
		broken("woken by DISABLE=%d by the channel=%d", by_disable, by_channel);
}

TEST(chosen_clock)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TIME), without = attr;
	struct pm_record record;
	struct watch watch;
	uint64_t last = 0;
	int seen = 0;

	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	watch = ask_watch(&attr, &without, 0, -1, 4, "use_clockid");
	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 10; i++) {
		ASSERT_LE(0, move_to_nth_cpu(i % count_cpus()));
		last = now_ns();
		ASSERT_EQ(0, cause_faults(1));
		for (; seek(&watch, PERF_RECORD_SAMPLE, &record); seen++)
			if (record.sample.sid.time > now_ns() ||
			    record.sample.sid.time + 1000000000 < last)
				broken("stamp=%" PRIu64 " now=%" PRIu64, record.sample.sid.time,
				       now_ns());
	}
	if (seen < 10)
		broken("samples=%d of 10 faults", seen);
}

TEST(callchain)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_CALLCHAIN);
	struct pm_record record;
	struct watch watch;

	attr.exclude_callchain_kernel = 1;
	watch = must_watch(&attr, 0, -1, 2);
	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(1));
	if (!seek(&watch, PERF_RECORD_SAMPLE, &record) || record.sample.callchain_nr < 2)
		broken("no call chain of this thread's own fault");
}

TEST(lost_accounting)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID), without = attr;
	struct pm_counts counts = { 0 };
	struct pm_record record;
	struct finding finding;
	struct watch watch;
	uint64_t seen = 0, lost = 0, total;
	bool format;

	attr.read_format = PERF_FORMAT_LOST;
	probe_pair(&attr, &without, 0, -1, "PERF_FORMAT_LOST", &finding);
	format = finding.verdict == YES;
	fact_str("lost_by", "%s", format ? "format" : "records");
	watch = must_watch(format ? &attr : &without, 0, -1, 1);
	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(2 * watch.ring.data_size / 16));
	for (; seek(&watch, PERF_RECORD_SAMPLE, &record); seen++)
		;
	ASSERT_EQ(0, cause_faults(1));		/* a LOST record waits for the next one */
	must_ioctl(watch.fd, PERF_EVENT_IOC_DISABLE, 0);
	while (seek(&watch, 0, &record)) {
		lost += record.type == PERF_RECORD_LOST ? record.lost.lost : 0;
		seen += record.type == PERF_RECORD_SAMPLE;
	}
	ASSERT_EQ(0, pm_read_counts(watch.fd, format ? PERF_FORMAT_LOST : 0, &counts));
	total = counts.member[0].value;
	if (format)
		lost = counts.member[0].lost;
	if (!lost || seen + lost != total)
		broken("faults=%" PRIu64 " samples=%" PRIu64 " lost=%" PRIu64, total, seen, lost);
}

TEST(tracepoint_user_only)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_TRACEPOINT, 0);
	uint64_t with, without;
	int fd, id;

	require(REQUIRE_TRACEFS);
	id = pm_tracepoint_id("syscalls", "sys_enter_getppid");
	if (id < 0)
		say_absent("no syscalls:sys_enter_getppid (%s)", errno_name(id));
	attr.config = id;
	attr.disabled = 0;
	fd = must_open(&attr, 0, -1, -1, 0);
	syscall(SYS_getppid);
	with = must_count(fd);
	attr.exclude_kernel = 0;
	fd = must_open(&attr, 0, -1, -1, 0);
	syscall(SYS_getppid);
	without = must_count(fd);
	if (!without)
		broken("one system call is not counted with the kernel included either");
	if (!with)
		say_no("with exclude_kernel the call is not counted, without it it is");
}

TEST(software_zero)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_CONTEXT_SWITCHES);
	uint64_t count;
	int fd;

	attr.disabled = 0;
	fd = must_open(&attr, 0, -1, -1, 0);
	for (int i = 0; i < 10; i++)
		ASSERT_EQ(0, in_thread(fault_hundred, NULL));
	for (int i = 0; i < 5; i++)
		poll(NULL, 0, 1);
	count = must_count(fd);
	if (!count)
		say_no("with exclude_kernel at least 5 context switches are counted as 0");
}

PROBE_MAIN
