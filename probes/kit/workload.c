/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What probes do so that the kernel has something to count. See workload.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "again.h"
#include "internal.h"
#include "workload.h"

#define PAGES_AT_ONCE 64
#define POPULATE_READ 22	/* MADV_POPULATE_READ, v5.14 */
#define LOOKS 10		/* at the program's pages, with 5 ms between two */
#if defined(__x86_64__) || defined(__i386__)
#define MAY_FAULT_AGAIN 0
#else
#define MAY_FAULT_AGAIN 1	/* the processor may have no accessed bit */
#endif

extern const char __executable_start[], etext[];	/* of the linker: the program's code */

static bool faults_matter;	/* this test has an event that counts them */
static unsigned int surplus;	/* page faults in cause_faults() beyond those it caused */

/*
 * Minor faults of this thread, by the kernel's account of the task: perf events are not asked. Each
 * caller gives it the same piece of stack, so that only the first call can fault there itself.
 */
static __attribute__((noinline)) uint64_t faults_so_far(void)
{
	struct rusage usage = { .ru_minflt = 0 };

	getrusage(RUSAGE_THREAD, &usage);
	return (uint64_t)usage.ru_minflt;
}

static void touch_code(size_t page)
{
	for (const volatile char *at = __executable_start; at < etext; at += page)
		(void)*at;
}

/*
 * A kernel that ages pages, or takes them back, makes a thread fault again on what it has had all
 * the time: a processor without an accessed bit in hardware does so each time. From v6.17 on the
 * kernel may age a page here and there all the time (DAMON_STAT): then one fault more falls into
 * one window of a hundred, a look shows nothing, and the same is asked again.
 */
unsigned int uncaused_faults(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned int came = 0;
	uint64_t before = 0;

	if (!faults_matter)
		return 0;
	/* In the first rounds all that a round needs is touched. */
	for (int i = -2; i < LOOKS && !surplus; i++) {
		poll(NULL, 0, 5);
		touch_code(page);
		if (i < 0)
			before = faults_so_far();
		else
			came = (unsigned int)(faults_so_far() - before);
	}
	came = surplus ? surplus : came > LOOKS ? came : 0;
	if (came || MAY_FAULT_AGAIN)
		dprintf(STDOUT_FILENO, ASK_AGAIN "a page may have faulted once more\n");
	return came;
}

/*
 * Transparent huge pages would make one fault out of 512, so they are refused; MADV_NOHUGEPAGE
 * fails harmlessly where the kernel has none. The first write to a page is one minor fault then.
 * The pages are given back and written again, so that a full ring of 64 KiB does not cost 256 MiB
 * where pages are that large.
 */
void expect_faults(void)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	const uintptr_t begin = (uintptr_t)__executable_start & ~(page - 1);

	/*
	 * The kernel maps a program's pages around one that is touched, but for those that another
	 * process is just getting: they would fault later, amid what is counted. Older kernels do
	 * not know the request.
	 */
	if (!faults_matter)
		(void)madvise((void *)begin, (uintptr_t)etext - begin, POPULATE_READ);
	faults_matter = true;
}

int cause_faults(unsigned int count)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = PAGES_AT_ONCE * page;
	volatile char *area;
	uint64_t before, seen;
	int error = 0;

	area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED)
		return -errno;
	madvise((void *)area, size, MADV_NOHUGEPAGE);
	before = faults_so_far();
	for (unsigned int i = 0; i < count && !error; i++) {
		if (i && i % PAGES_AT_ONCE == 0 && madvise((void *)area, size, MADV_DONTNEED))
			error = -errno;
		else
			area[i % PAGES_AT_ONCE * page] = 1;
	}
	seen = faults_so_far() - before;
	if (!error && seen > count)
		surplus += (unsigned int)(seen - count);
	munmap((void *)area, size);
	return error;
}

uint64_t now_ns(void)
{
	uint64_t now = 0;

	pm_clock_ns(CLOCK_MONOTONIC, &now);
	return now;
}

void spin_ns(uint64_t ns)
{
	const uint64_t end = now_ns() + ns;

	while (now_ns() < end)
		;
}

int wake_and_spin(void *unused)
{
	(void)unused;
	poll(NULL, 0, 1);
	spin_ns(2000000);
	return 0;
}

uint64_t count_switches(void)
{
	struct rusage usage = { .ru_nvcsw = 0 };

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

uint64_t cause_switches(unsigned int times)
{
	const uint64_t before = count_switches();

	for (int i = 0; i < 1000 && count_switches() < before + times; i++)
		poll(NULL, 0, 1);
	return count_switches() - before;
}
