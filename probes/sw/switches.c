/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are context switches counted exactly?
 * Observed: the kernel's own number for this thread beside the event's, samples beside counts,
 * another thread that sleeps often, and for a whole CPU the number of the machine.
 */
#include "probe.h"

#include <signal.h>
#include <stdio.h>

PROBE(TITLE("context switches")
      SINCE("2.6.31")
      POINT(exact, "context-switches equals the thread's own number in getrusage")
      POINT(sampled, "context-switches with period 1 gives a sample of each switch")
      POINT(own_thread, "context-switches does not count another thread's switches")
      POINT(whole_cpu, "context-switches of a CPU counts a thread's switches there, and no more "
	    "than /proc/stat says for the machine"))

/* cause_switches(), as a job for worker_do(). */
static int sleep_often(void *times)
{
	return cause_switches((intptr_t)times) < (uintptr_t)times ? -EAGAIN : 0;
}

static int open_running(uint64_t config)
{
	struct perf_event_attr attr = attr_software(config);

	attr.exclude_kernel = attr.disabled = 0;
	return must_open(&attr, 0, -1, -1, 0);
}

TEST(exact)
{
	int fd = open_running(PERF_COUNT_SW_CONTEXT_SWITCHES);
	uint64_t start[2], end[2], counted[2];

	for (int attempt = 0; attempt < 10; attempt++) {
		start[0] = count_switches();
		counted[0] = must_count(fd);
		start[1] = count_switches();
		ASSERT_EQ(0, sleep_often((void *)20));
		end[0] = count_switches();
		counted[1] = must_count(fd);
		end[1] = count_switches();
		if (start[0] == start[1] && end[0] == end[1])
			break;	/* no switch between the two readings */
	}
	if (start[0] != start[1] || end[0] != end[1])
		say_unknown("switched away at every reading");
	if (counted[1] - counted[0] != end[0] - start[0])
		say_broken("counted=%" PRIu64 " getrusage=%" PRIu64, counted[1] - counted[0],
			   end[0] - start[0]);
}

TEST(sampled)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_CONTEXT_SWITCHES);
	struct sampler sampler;
	uint64_t count;
	int samples;

	attr.exclude_kernel = 0;
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_TID;
	sampler = must_sampler(&attr, 0, -1, 8);
	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, sleep_often((void *)10));
	must_ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	count = must_count(sampler.fd);
	samples = count_records(&sampler.ring, PERF_RECORD_SAMPLE);
	if (count < 10 || (uint64_t)samples != count)
		say_broken("samples=%d counted=%" PRIu64 " want>=10", samples, count);
}

TEST(own_thread)
{
	int fd = open_running(PERF_COUNT_SW_CONTEXT_SWITCHES);
	uint64_t mine, count;
	struct worker worker;

	must_start_worker(&worker, WORKER_THREAD);
	mine = count_switches();
	count = must_count(fd);
	ASSERT_EQ(0, worker_do(&worker, sleep_often, (void *)30));
	count = must_count(fd) - count;
	mine = count_switches() - mine;
	if (count > mine)
		say_broken("counted=%" PRIu64 " of which this thread's=%" PRIu64, count, mine);
}

/* The number of context switches of the machine since it was started. */
static uint64_t must_read_machine(void)
{
	FILE *file = fopen("/proc/stat", "re");
	char line[4096];
	uint64_t switches = 0;

	while (file && !switches && fgets(line, sizeof(line), file))
		sscanf(line, "ctxt %" SCNu64, &switches);
	if (file)
		fclose(file);
	if (!switches)
		say_unknown("/proc/stat has no ctxt");
	return switches;
}

#define ROUNDS 300

static int answer_each(void *pipes)
{
	const int (*fds)[2] = pipes;
	char byte;

	while (read(fds[0][0], &byte, 1) == 1)
		if (write(fds[1][1], &byte, 1) != 1)
			return 1;
	return 0;
}

/*
 * Many in little time, so that nothing else on a busy machine happens as often: this thread and a
 * child on the same CPU wait for each other.
 */
static void switch_often(void)
{
	int fds[2][2];
	char byte = 0;
	pid_t child;

	ASSERT_EQ(0, pipe(fds[0]) | pipe(fds[1]));
	child = start_child(answer_each, fds);
	ASSERT_LT(0, child);
	for (int i = 0; i < ROUNDS; i++)
		ASSERT_EQ(2, write(fds[0][1], &byte, 1) + read(fds[1][0], &byte, 1));
	kill(child, SIGKILL);
	wait_child(child);
}

TEST(whole_cpu)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_CONTEXT_SWITCHES);
	uint64_t machine, mine, count;
	int fd;

	attr.exclude_kernel = attr.disabled = 0;
	fd = must_open(&attr, -1, move_to_nth_cpu(0), -1, 0);
	machine = must_read_machine();
	count = must_count(fd);
	mine = count_switches();
	switch_often();
	mine = count_switches() - mine;
	count = must_count(fd) - count;
	machine = must_read_machine() - machine;
	if (count < mine || count > machine)
		say_broken("counted=%" PRIu64 " want>=%" PRIu64 " (this thread's) and <=%" PRIu64
			   " (the machine's)",
			   count, mine, machine);
}

PROBE_MAIN
