/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is left of a tracepoint in kernel code without the right to see the kernel? With
 * exclude_kernel it opens, works and reads 0, without any error. Observed: sleeps beside the
 * thread's own switch count.
 */
#include "probe.h"

PROBE(TITLE("counting the scheduler's hits")
      SINCE("2.6.31")
      NEEDS("tracefs")
      POINT(exact, "sched_switch equals the thread's own number in getrusage")
      POINT(user_only_zero, "sched_switch with exclude_kernel opens and reads 0"))

static int open_counting(struct __test_metadata *_metadata, const char *system, const char *event,
			 bool user_only)
{
	struct perf_event_attr attr = must_tracepoint(system, event);

	attr.exclude_kernel = user_only;
	attr.disabled = 0;
	return must_open(&attr, 0, -1, -1, 0);
}

/* How many of at least 10 switches were counted; a sleep that is over at once is none. */
static uint64_t count_sleeps(struct __test_metadata *_metadata, int fd, uint64_t *real)
{
	uint64_t from[2], to[2], counted = 0;

	for (int attempt = 0; attempt < 10; attempt++) {
		from[0] = switches_so_far();
		counted = must_count(fd);
		from[1] = switches_so_far();
		for (int i = 0; i < 1000 && switches_so_far() < from[1] + 10; i++)
			poll(NULL, 0, 1);
		to[0] = switches_so_far();
		counted = must_count(fd) - counted;
		to[1] = switches_so_far();
		*real = to[0] - from[0];
		if (from[0] == from[1] && to[0] == to[1])
			return counted;	/* no switch between the two readings */
	}
	cannot_tell("switched away at every reading");
}

TEST(exact)
{
	int fd = open_counting(_metadata, "sched", "sched_switch", false);
	uint64_t real, count = count_sleeps(_metadata, fd, &real);

	if (count != real || real < 10)
		broken("counted=%" PRIu64 " getrusage=%" PRIu64 " want>=10", count, real);
}

TEST(user_only_zero)
{
	int fd = open_counting(_metadata, "sched", "sched_switch", true);
	uint64_t real, count = count_sleeps(_metadata, fd, &real);

	if (real < 10)
		cannot_tell("only %" PRIu64 " switches", real);
	if (count)
		say_no("counted %" PRIu64 " of %" PRIu64 " in user mode", count, real);
}

PROBE_MAIN
