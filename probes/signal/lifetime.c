/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long do signals of an event go on? Beyond close(2) while a ring is mapped, and beyond an
 * exec of the watched task: a handler must be ready for a signal of a descriptor it has closed.
 * Observed with a blocked real-time signal, one page fault at a time.
 */
#include "probe.h"
#include <fcntl.h>
#include "fork_exec.h"
#include "signals.h"

PROBE(TITLE("signals after close and exec")
      SINCE("2.6.31")
      POINT(closed_mapped_signals_on, "with a ring mapped, samples after close still send signals")
      POINT(async_off_stops, "no signal comes once O_ASYNC is taken back, though samples do")
      POINT(closed_unmapped_stops, "without a ring, no signal comes after close")
      SINCE("3.0")
      POINT(exec_signals_on, "samples of a task still send signals after its exec")
      SINCE("3.0"))

static int prepare(pid_t task, struct pm_ring *ring)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	int fd = must_open(&attr, task, -1, -1, 0);

	if (ring)
		must_map(fd, 1, ring);
	must_get_signals(fd, SIGRTMIN + 3, pm_gettid());
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	return fd;
}

/* Take all signals; wait for the first that long. Returns how many. */
static int take_signals(int first_ms)
{
	int count = 0;

	while (take_signal(SIGRTMIN + 3, count ? 0 : first_ms, NULL))
		count++;
	return count;
}

static void must_signal(int signals)
{
	if (!signals)
		say_unknown("no signal to begin with");
}

TEST(closed_mapped_signals_on)
{
	struct pm_ring ring;
	int fd = prepare(0, &ring), signals;

	ASSERT_EQ(0, cause_faults(3));
	must_signal(take_signals(1000));
	if (count_records(&ring, PERF_RECORD_SAMPLE) < 3)
		say_unknown("3 faults before close left no 3 records");
	must_close(fd);
	take_signals(0);
	ASSERT_EQ(0, cause_faults(3));
	signals = take_signals(200);
	if (!signals && !count_records(&ring, PERF_RECORD_SAMPLE))
		say_no("the event itself has ended with close");
	if (!signals)
		say_broken("samples after close go on, signals do not");
}

TEST(async_off_stops)
{
	struct pm_ring ring;
	int fd = prepare(0, &ring), signals;

	ASSERT_EQ(0, cause_faults(3));
	must_signal(take_signals(1000));
	ASSERT_EQ(0, fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_ASYNC));
	take_signals(0);
	count_records(&ring, 0);
	ASSERT_EQ(0, cause_faults(3));
	signals = take_signals(20);
	if (count_records(&ring, PERF_RECORD_SAMPLE) < 3)
		say_unknown("3 faults without O_ASYNC left no 3 records");
	if (signals)
		say_broken("signals=%d without O_ASYNC", signals);
}

TEST(closed_unmapped_stops)
{
	int fd = prepare(0, NULL), signals;

	ASSERT_EQ(0, cause_faults(3));
	must_signal(take_signals(1000));
	must_close(fd);
	take_signals(0);
	ASSERT_EQ(0, cause_faults(3));
	signals = take_signals(20);
	if (signals)
		say_broken("signals=%d of an event that is closed", signals);
}

TEST(exec_signals_on)
{
	struct worker task;
	int fd, signals;

	must_start_worker(&task, WORKER_CHILD);
	fd = prepare(task.tid, NULL);
	worker_faults(&task, 3);
	must_signal(take_signals(1000));
	must_exec_worker(&task);
	take_signals(0);
	worker_faults(&task, 3);
	signals = take_signals(1000);
	worker_stop(&task);
	close(fd);
	if (!signals)
		say_no("no signal of samples after the exec");
}

PROBE_MAIN
