/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * PR_TASK_PERF_EVENTS_DISABLE and _ENABLE: whose events do they stop? The name says the task's;
 * it is those the calling thread opened, wherever they are attached.
 * Observed: exact page faults on events opened by and attached to parent, child and threads.
 */
#include "probe.h"
#include <sys/prctl.h>

PROBE(TITLE("prctl on a task's events")
      SINCE("2.6.31")
      POINT(disable, "events this thread opened stop")
      POINT(enable, "and go on after PR_TASK_PERF_EVENTS_ENABLE")
      POINT(opened_on_child, "an event opened here on a child stops as well")
      POINT(not_opened_by_others, "an event that another process opened on this one goes on")
      POINT(thread_scope, "an event that another thread of this process opened goes on"))

static int open_on(struct __test_metadata *_metadata, pid_t pid)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.disabled = 0;
	return must_open(&attr, pid, -1, -1, 0);
}

static void expect(struct __test_metadata *_metadata, int fd, uint64_t want, const char *when)
{
	uint64_t before = must_count(fd), counted;

	ASSERT_EQ(0, cause_faults(10));
	counted = must_count(fd) - before;
	if (counted != want)
		broken("%s: counted=%" PRIu64 " want=%" PRIu64, when, counted, want);
}

TEST(disable)
{
	int fd = open_on(_metadata, 0);

	expect(_metadata, fd, 10, "before");
	ASSERT_EQ(0, prctl(PR_TASK_PERF_EVENTS_DISABLE));
	expect(_metadata, fd, 0, "after PR_TASK_PERF_EVENTS_DISABLE");
}

TEST(enable)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int fd = must_open(&attr, 0, -1, -1, 0);

	expect(_metadata, fd, 0, "before");
	ASSERT_EQ(0, prctl(PR_TASK_PERF_EVENTS_ENABLE));
	expect(_metadata, fd, 10, "after PR_TASK_PERF_EVENTS_ENABLE");
}

struct turns {
	struct gate go, done;
	int fd, saw_before, saw_after;
};

static int fault_twice(void *argument)
{
	struct turns *turns = argument;

	for (int i = 0; i < 2; i++) {
		gate_wait(&turns->go);
		cause_faults(10);
		gate_open(&turns->done);
	}
	return 0;
}

TEST(opened_on_child)
{
	struct turns turns;
	uint64_t first;
	pid_t child;
	int fd;

	ASSERT_EQ(0, gate_init(&turns.go));
	ASSERT_EQ(0, gate_init(&turns.done));
	child = start_child(fault_twice, &turns);
	fd = open_on(_metadata, child);
	gate_open(&turns.go);
	gate_wait(&turns.done);
	first = must_count(fd);
	if (first < 10)
		broken("counted=%" PRIu64 " of the child before", first);
	ASSERT_EQ(0, prctl(PR_TASK_PERF_EVENTS_DISABLE));
	first = must_count(fd);
	gate_open(&turns.go);
	gate_wait(&turns.done);
	if (must_count(fd) != first)
		broken("counted=%" PRIu64 " more of the child afterwards", must_count(fd) - first);
	wait_child(child);
}

/* Somebody else opens an event on us and keeps it: count before and after our prctl. */
static void *watch_parent(void *argument)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	struct turns *turns = argument;

	attr.disabled = 0;
	turns->fd = pm_open(&attr, turns->saw_before, -1, -1, 0);
	gate_open(&turns->done);
	gate_wait(&turns->go);
	return NULL;
}

TEST(thread_scope)
{
	struct turns turns = { .saw_before = pm_gettid() };
	int own = open_on(_metadata, 0);
	pthread_t thread;

	ASSERT_EQ(0, gate_init(&turns.go));
	ASSERT_EQ(0, gate_init(&turns.done));
	ASSERT_EQ(0, pthread_create(&thread, NULL, watch_parent, &turns));
	gate_wait(&turns.done);
	if (turns.fd < 0)
		cannot_tell("another thread may not watch this one: %s", errno_name(turns.fd));
	expect(_metadata, turns.fd, 10, "the other thread's event before");
	ASSERT_EQ(0, prctl(PR_TASK_PERF_EVENTS_DISABLE));
	expect(_metadata, own, 0, "this thread's event afterwards");
	expect(_metadata, turns.fd, 10, "the other thread's event afterwards");
	gate_open(&turns.go);
	pthread_join(thread, NULL);
}

static int count_parent(void *argument)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	struct turns *turns = argument;
	uint64_t counts[3] = { 0 };
	int fd;

	attr.disabled = 0;
	fd = pm_open(&attr, turns->saw_before, -1, -1, 0);
	for (int i = 0; i < 3; i++) {
		if (fd < 0 || pm_read_count(fd, &counts[i]))
			return 99;
		gate_open(&turns->done);
		gate_wait(&turns->go);
	}
	return (counts[1] - counts[0] >= 10) | (counts[2] - counts[1] >= 10) << 1;
}

TEST(not_opened_by_others)
{
	struct turns turns = { .saw_before = getpid() };
	int own = open_on(_metadata, 0), answer;
	uint64_t before, counted;
	pid_t child;

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);	/* Yama would let only parents watch */
	ASSERT_EQ(0, gate_init(&turns.go));
	ASSERT_EQ(0, gate_init(&turns.done));
	child = start_child(count_parent, &turns);
	for (int i = 0; i < 2; i++) {
		if (poll_once(turns.done.fds[0], POLLIN, 2000) != POLLIN)
			say_blocked("the child may not watch its parent");
		gate_wait(&turns.done);
		if (i == 1)
			ASSERT_EQ(0, prctl(PR_TASK_PERF_EVENTS_DISABLE));
		before = must_count(own);
		ASSERT_EQ(0, cause_faults(10));
		/* fork made pages fault again: 10 or more */
		counted = must_count(own) - before;
		if (i ? counted != 0 : counted < 10)
			broken("round %d: this process's event counted %" PRIu64, i, counted);
		gate_open(&turns.go);
	}
	gate_wait(&turns.done);
	gate_open(&turns.go);
	answer = wait_child(child);
	if (answer != 3)
		broken("the child's event counted before=%d after=%d want=1,1", answer & 1,
		       answer >> 1);
}

PROBE_MAIN
