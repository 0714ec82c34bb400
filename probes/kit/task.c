/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPUs, threads, children and signals. See task.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "finding.h"
#include "internal.h"
#include "task.h"

/* glibc's cpu_set_t ends at 1024 CPUs; one large set serves every machine known. */
struct cpu_mask {
	unsigned long words[8192 / (8 * sizeof(unsigned long))];
};

static bool in_mask(const struct cpu_mask *mask, unsigned int cpu)
{
	const unsigned int bits = 8 * sizeof(unsigned long);

	return mask->words[cpu / bits] >> (cpu % bits) & 1;
}

/* The affinity at start-up, so that move_to_nth_cpu() still knows the way back. */
static const struct cpu_mask *first_affinity(void)
{
	static struct cpu_mask mask;
	static bool filled;

	if (!filled) {
		if (sched_getaffinity(0, sizeof(mask), (cpu_set_t *)&mask) < 0)
			mask.words[0] = 1;
		filled = true;
	}
	return &mask;
}

int count_cpus(void)
{
	int count = 0;

	for (unsigned int cpu = 0; cpu < 8192; cpu++)
		count += in_mask(first_affinity(), cpu);
	return count;
}

int move_to_cpus(bool (*wanted)(unsigned int cpu, void *context), void *context)
{
	const unsigned int bits = 8 * sizeof(unsigned long);
	struct cpu_mask some = { { 0 } };
	int count = 0;

	for (unsigned int cpu = 0; cpu < 8192; cpu++) {
		if (!in_mask(first_affinity(), cpu) || !wanted(cpu, context))
			continue;
		some.words[cpu / bits] |= 1ul << (cpu % bits);
		count++;
	}
	if (!count)
		return -ENODEV;
	return sched_setaffinity(0, sizeof(some), (cpu_set_t *)&some) < 0 ? -errno : count;
}

/* A policy that forbids to choose a CPU ends the test: its question was about one. */
static int move_to(const struct cpu_mask *one)
{
	if (sched_setaffinity(0, sizeof(*one), (const cpu_set_t *)one) == 0)
		return 0;
	if (in_test_thread() && (errno == EPERM || errno == EACCES || errno == ENOSYS))
		must_call(-1, "sched_setaffinity");
	return -errno;
}

int move_to_nth_cpu(unsigned int nth)
{
	const unsigned int bits = 8 * sizeof(unsigned long);
	int error;

	for (unsigned int cpu = 0; cpu < 8192; cpu++) {
		struct cpu_mask one = { { 0 } };

		if (!in_mask(first_affinity(), cpu) || nth-- > 0)
			continue;
		one.words[cpu / bits] = 1ul << (cpu % bits);
		error = move_to(&one);
		return error ? error : (int)cpu;
	}
	return -ENODEV;
}

int poll_once(int fd, short events, int timeout_ms)
{
	struct pollfd entry = { .fd = fd, .events = events };
	int ready = poll(&entry, 1, timeout_ms);

	return ready < 0 ? -errno : entry.revents;
}

int run_in_thread(void *(*function)(void *), void *argument)
{
	pthread_t thread;
	int error = pthread_create(&thread, NULL, function, argument);

	return error ? -error : -pthread_join(thread, NULL);
}

pid_t start_child(int (*function)(void *), void *argument)
{
	const pid_t parent = getpid();
	pid_t child = fork();

	if (child < 0)
		return -errno;
	if (child > 0)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)	/* the test ended before the line above */
		_exit(125);
	_exit(function(argument));
}

int wait_child(pid_t child)
{
	int status;

	if (child < 0)		/* was never started; to waitpid(2) it would be a group */
		return (int)child;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
