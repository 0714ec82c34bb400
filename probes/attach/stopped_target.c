/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * May a process be watched that is stopped, and does its event wait with it? A sampler that
 * attaches to many processes meets some that a shell or a debugger has stopped.
 * Observed: a child stops itself; events are opened on it, and it goes on and causes known page
 * faults.
 */
#include "probe.h"
#include <signal.h>
#include <sys/wait.h>

PROBE(TITLE("processes that are stopped")
      SINCE("2.6.31")
      POINT(opens, "an event opens on a stopped process and counts exactly once it goes on")
      POINT(silent, "while the process is stopped the event counts nothing and its times stand "
		    "still")
      POINT(stopped_later, "an event of a process that is stopped and continued ten times counts "
			   "on")
      POINT(no_hang_up, "poll of its ring does not hang up while it is stopped")
      POINT(killed, "poll hangs up when a stopped process is killed"))

#define TIMES (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

static pid_t child;

static void must_be_stopped(void)
{
	int status;

	ASSERT_EQ(child, waitpid(child, &status, WUNTRACED));
	ASSERT_NE(0, WIFSTOPPED(status));
}

/* Stops itself before every 16 faults. */
static int stop_and_fault(void *times)
{
	cause_faults(1);
	for (int i = 0; i < *(int *)times; i++) {
		raise(SIGSTOP);
		if (cause_faults(16))
			return 1;
	}
	raise(SIGSTOP);
	return 0;
}

static void must_start(int times)
{
	child = start_child(stop_and_fault, &times);
	ASSERT_LT(0, child);
	must_be_stopped();
}

static void go_on(void)
{
	ASSERT_EQ(0, kill(child, SIGCONT));
	must_be_stopped();
}

static struct perf_event_attr attr_watch(void)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.disabled = 0;
	attr.read_format = TIMES;
	return attr;
}

static void end_child(void)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* The way back into the child's own code may cost it a fault. */
static void expect_about(uint64_t got, uint64_t want)
{
	if (got < want || got > want + want / 8)
		say_broken("counted=%" PRIu64 " want=%" PRIu64, got, want);
}

TEST(opens)
{
	struct perf_event_attr attr = attr_watch();
	int fd;

	must_start(1);
	fd = must_open(&attr, child, -1, -1, 0);
	go_on();
	expect_about(must_counts(fd, TIMES).member[0].value, 16);
	end_child();
}

/* Who stops tells its parent before it leaves its CPU: the times may go on for a moment. */
static struct pm_counts settled(int fd)
{
	struct pm_counts before, now = must_counts(fd, TIMES);

	for (int looks = 0; looks < 100; looks++) {
		before = now;
		spin_ns(1000000);
		now = must_counts(fd, TIMES);
		if (now.time_enabled == before.time_enabled)
			break;
	}
	return now;
}

TEST(silent)
{
	struct perf_event_attr attr = attr_watch();
	struct pm_counts first, second;
	int fd;

	must_start(1);
	fd = must_open(&attr, child, -1, -1, 0);
	first = settled(fd);
	spin_ns(20000000);
	second = must_counts(fd, TIMES);
	end_child();
	if (second.member[0].value || second.time_running != first.time_running ||
	    second.time_enabled != first.time_enabled)
		say_broken("value=%" PRIu64 " time_enabled=%" PRIu64 ", then %" PRIu64,
			   second.member[0].value, first.time_enabled, second.time_enabled);
}

TEST(stopped_later)
{
	struct perf_event_attr attr = attr_watch();
	int fd;

	must_start(10);
	fd = must_open(&attr, child, -1, -1, 0);
	for (int i = 0; i < 10; i++)
		go_on();
	expect_about(must_counts(fd, TIMES).member[0].value, 160);
	end_child();
}

static int must_poll(void)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);
	struct pm_ring ring;
	int fd;

	must_start(1);
	fd = must_open(&attr, child, -1, -1, 0);
	must_map(fd, 1, &ring);
	return fd;
}

TEST(no_hang_up)
{
	int revents = poll_once(must_poll(), POLLIN, 50);

	end_child();
	if (revents)
		say_broken("revents=%#x", revents);
}

TEST(killed)
{
	int fd = must_poll(), revents;

	end_child();
	revents = poll_once(fd, POLLIN, 2000);
	if (!(revents & POLLHUP))
		say_broken("revents=%#x want POLLHUP", revents);
}

PROBE_MAIN
