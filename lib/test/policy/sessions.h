/* SPDX-License-Identifier: MIT */
/* Shared by tests of whole sessions: one event, a plan of a given strategy, what remains open. */
#ifndef SESSIONS_H
#define SESSIONS_H

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../perfmodes.h"
#include "../../pm_sys.h"

static const struct pm_event_spec faults = {
	.size = sizeof(faults), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS,
	.period = 1, .tid = PM_ALL_THREADS, .want = PM_WANT_ADDRESS,
};

static const struct pm_event_spec clock_of_all = {
	.size = sizeof(clock_of_all), .type = PERF_TYPE_SOFTWARE,
	.config = PERF_COUNT_SW_TASK_CLOCK, .period = 1000000, .tid = PM_ALL_THREADS,
};

/* Why this machine refuses an event of this thread that counts in the kernel, too: errno, or 0. */
static inline int refusal_here(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .disabled = 1,
		.config = PERF_COUNT_SW_PAGE_FAULTS };
	const int fd = pm_open(&attr, 0, -1, -1, 0);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? -fd : 0;
}

/*
 * Whether a breakpoint on a variable of this thread counts a write. Virtual machines without debug
 * registers accept such an event, and it never fires.
 */
static inline bool breakpoints_fire(void)
{
	static volatile uint64_t written;
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT, .bp_type = HW_BREAKPOINT_W, .exclude_kernel = 1,
		.bp_addr = (uint64_t)(uintptr_t)&written, .bp_len = sizeof(written),
	};
	const int fd = pm_open(&attr, 0, -1, -1, 0);
	uint64_t count = 0;

	if (fd < 0)
		return false;
	written++;
	if (read(fd, &count, sizeof(count)) != sizeof(count))
		count = 0;
	close(fd);
	return count > 0;
}

/* NULL: this machine refuses perf events. */
static inline struct pm_plan *plan_of(const struct pm_event_spec *specs, size_t count,
				      enum pm_strategy strategy, struct pm_profile *profile)
{
	struct pm_session_opts opts = { .size = sizeof(opts),
		.prove = PM_PROVE_ALWAYS, .descriptors_percent = 100,
					.allow = PM_ALLOW_ALL | PM_ALLOW_ITIMER };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_plan *plan;
	int err;

	opts.forbid = ~(1u << strategy);
	err = pm_plan_make(specs, count, &opts, profile, &diag, &plan);
	if (err == -ENOTSUP && diag.cause != PM_CAUSE_UNSUPPORTED) {
		print_message("%s\n", diag.text);
		return NULL;
	}
	if (err < 0)
		fail_msg("%s", diag.text);
	return plan;
}

static inline int count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(dir) != NULL)
		count++;
	closedir(dir);
	return count;
}

/* Mappings of rings; the address of the first. */
static inline int count_maps(void **ret_first)
{
	FILE *file = fopen("/proc/self/maps", "r");
	char line[4096];
	int count = 0;

	while (fgets(line, sizeof(line), file) != NULL) {
		if (strstr(line, "perf_event") == NULL)
			continue;
		if (count++ == 0 && ret_first != NULL)
			*ret_first = (void *)(uintptr_t)strtoull(line, NULL, 16);
	}
	fclose(file);
	return count;
}

/* That many page faults of the calling thread, whatever the size of a huge page. */
static inline void cause_faults(size_t count)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *area = mmap(NULL, count * page, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(area != MAP_FAILED);
	(void)madvise(area, count * page, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < count; i++)
		((volatile char *)area)[i * page] = 1;
	munmap(area, count * page);
}

/* How often to do what is to be done often. */
static inline unsigned int rounds(void)
{
	const char *text = getenv("PM_ROUNDS");

	return text != NULL ? (unsigned int)atoi(text) : 50;
}

/* Waits for a thread that found nothing wrong. */
static inline void expect_null(pthread_t thread)
{
	void *result;

	assert_int_equal(pthread_join(thread, &result), 0);
	assert_null(result);
}

#endif
