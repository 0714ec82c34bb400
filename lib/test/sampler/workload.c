/* SPDX-License-Identifier: MIT */
/*
 * What the service is tried on: processes that do known work in functions with known names.
 *
 *   workload spin MS              burns MS of CPU time in known_outer() -> known_inner()
 *   workload reexec MS            half of it in before_exec(), the rest as "workload spin"
 *   workload fork MS              told to by a byte, a child does it; then tells its number and
 *                                 waits for the end of its input
 *   workload touch N              causes N page faults, in the same functions
 *   workload hidden MS SOCKET     as uid 65534 and not dumpable; willing to answer at SOCKET
 *   workload silent MS            the same, with a handler that does not answer
 *   workload closed MS            the same, without a handler
 */
#define _GNU_SOURCE
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../perfmodes_willing.h"

#define NOBODY 65534

static volatile unsigned long work;

static long long cpu_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

__attribute__((noinline)) static void known_inner(void)
{
	for (int i = 0; i < 200000; i++)
		work += (unsigned long)i * work;
}

__attribute__((noinline)) static void known_outer(long long until)
{
	while (cpu_ns() < until)
		known_inner();
	work++;		/* not a tail call */
}

__attribute__((noinline)) static void before_exec(long long until)
{
	while (cpu_ns() < until)
		for (int i = 0; i < 200000; i++)
			work += (unsigned long)i * work;
	work++;
}

static char *pages;

__attribute__((noinline)) static void touch_inner(long page)
{
	pages[page * sysconf(_SC_PAGESIZE)] = 1;
	work++;
}

__attribute__((noinline)) static void touch_outer(long page, long end)
{
	for (; page < end; page++)
		touch_inner(page);
	work++;
}

static int touch(long count)
{
	pages = mmap(NULL, (size_t)(count * sysconf(_SC_PAGESIZE)), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED || madvise(pages, (size_t)(count * sysconf(_SC_PAGESIZE)),
					   MADV_NOHUGEPAGE) != 0)
		return 1;
	/* A tenth of a second each: a process that has ended cannot be unwound any more. */
	for (int part = 0; part < 10; part++) {
		touch_outer(count / 10 * part, count / 10 * (part + 1));
		(void)usleep(100000);
	}
	return 0;
}

static int fork_one(long long ns)
{
	char byte;
	pid_t child;

	if (write(STDOUT_FILENO, "ready\n", 6) != 6 || read(STDIN_FILENO, &byte, 1) != 1)
		return 1;
	child = fork();
	if (child == 0) {
		known_outer(cpu_ns() + ns);
		_exit(0);
	}
	if (child < 0 || waitpid(child, NULL, 0) != child ||
	    dprintf(STDOUT_FILENO, "%d\n", child) < 0)
		return 1;
	return read(STDIN_FILENO, &byte, 1) != 0;
}

static void keep_silent(int number)
{
	(void)number;
}

static int hide(void)
{
	if (geteuid() == 0 && (setgroups(0, NULL) != 0 || setresgid(NOBODY, NOBODY, NOBODY) != 0 ||
			       setresuid(NOBODY, NOBODY, NOBODY) != 0))
		return -1;
	return prctl(PR_SET_DUMPABLE, 0);
}

int main(int argc, char **argv)
{
	struct pm_willing_opts willing = {
		.size = sizeof(willing), .flags = PM_WILLING_RAISE_DUMPABLE,
		.socket = argc > 3 ? argv[3] : NULL,
	};
	long long ns = argc > 2 ? atoll(argv[2]) * 1000000 : 0;
	const char *mode = argc > 2 ? argv[1] : "";
	char half[32];

	if (strcmp(mode, "reexec") == 0) {
		before_exec(cpu_ns() + ns / 2);
		(void)snprintf(half, sizeof(half), "%lld", ns / 2000000);
		execl("/proc/self/exe", "workload", "spin", half, NULL);
		return 1;
	}
	if (strcmp(mode, "touch") == 0) {
		if (write(STDOUT_FILENO, "ready\n", 6) != 6)
			return 1;
		return touch(atol(argv[2]));
	}
	if (strcmp(mode, "fork") == 0)
		return fork_one(ns);
	if (strcmp(mode, "spin") != 0 && hide() != 0)
		return perror("workload"), 1;
	if (strcmp(mode, "hidden") == 0 && pm_willing_start(&willing) != 0)
		return fprintf(stderr, "workload: not willing\n"), 1;
	if (strcmp(mode, "silent") == 0)
		(void)signal(PM_WILLING_SIGNAL, keep_silent);
	/* Time for whoever watches to see it start. */
	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		return 1;
	known_outer(cpu_ns() + ns);
	return 0;
}
