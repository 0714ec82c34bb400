/* SPDX-License-Identifier: MIT */
/*
 * A program may load the library, observe itself and unload it, again and again: an agent that is
 * attached for a while. Nothing is left behind: no thread, descriptor, mapping, memory or timer,
 * and no handler whose code is gone.
 */
#define _GNU_SOURCE
#include "../test.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "../../perfmodes.h"

#define TIMES 100
#define FIRST_TIMES 5		/* until the loader has what it keeps */
#define SMALL 32		/* bytes each time; allocators round and keep */

static const enum pm_strategy strategies[] = {
	PM_STRATEGY_PER_CPU, PM_STRATEGY_OWN_RINGS, PM_STRATEGY_PER_THREAD, PM_STRATEGY_CPU_WIDE,
	PM_STRATEGY_SIGNALS, PM_STRATEGY_TIMERS, PM_STRATEGY_PROCESS_TIMER, PM_STRATEGY_COUNTERS,
	PM_STRATEGY_COUNTERS_PER_CPU,
};

/* --------------------------------------------------------------------------------- what is left */

struct left {
	int threads, descriptors, mappings, handlers, timers;
	size_t memory;
};

static int count_entries(const char *path)
{
	DIR *dir = opendir(path);
	int count = 0;

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		count++;
	closedir(dir);
	return count;
}

static int count_lines(const char *path)
{
	FILE *file = fopen(path, "r");
	char line[4096];
	int count = 0;

	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		assert_null(strstr(line, "libperfmodes"));
		assert_null(strstr(line, "perf_event"));
		count++;
	}
	if (file != NULL)
		(void)fclose(file);
	return count;
}

static int count_handlers(void)
{
	struct sigaction action;
	int count = 0;

	for (int number = 1; number <= SIGRTMAX; number++)
		if (sigaction(number, NULL, &action) == 0)
			count += action.sa_handler != SIG_DFL;
	return count;
}

static struct left look(int threads)
{
	struct itimerval timer = { .it_value = { .tv_sec = 0 } };
	struct left left = {
		.descriptors = count_entries("/proc/self/fd"), .handlers = count_handlers(),
		.mappings = count_lines("/proc/self/maps"), .memory = mallinfo2().uordblks,
		.timers = count_lines("/proc/self/timers"),
	};

	/* A thread that was joined may not have left the kernel. */
	for (int i = 0; i < 2000; i++) {
		left.threads = count_entries("/proc/self/task") - 2;
		if (left.threads == threads)
			break;
		usleep(1000);
	}
	(void)getitimer(ITIMER_PROF, &timer);
	left.timers += timer.it_value.tv_sec + timer.it_value.tv_usec != 0;
	return left;
}

/* ------------------------------------------------------------------------------ loaded, at work */

#define FUNCTIONS(X) \
	X(pm_plan_make) X(pm_plan_destroy) X(pm_session_create) X(pm_session_attach) \
	X(pm_session_poll) X(pm_session_detach) X(pm_session_destroy)

struct library {
	void *handle;
#define X(name) __typeof__(name) *name;
	FUNCTIONS(X)
#undef X
};

static void load(struct library *ret)
{
	char path[PATH_MAX] = "";
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - sizeof(LIBRARY) - 1);

	/* build/test/policy/unload_test */
	for (int i = 0; size > 0 && i < 3; i++)
		*strrchr(path, '/') = '\0';
	strcat(path, LIBRARY);
	ret->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (ret->handle == NULL)
		fail_msg("%s", dlerror());
#define X(name) \
	*(void **)&ret->name = dlsym(ret->handle, #name); \
	assert_non_null(ret->name);
	FUNCTIONS(X)
#undef X
}

static void use(const struct library *library, enum pm_strategy strategy)
{
	const bool counts = strategy == PM_STRATEGY_COUNTERS ||
		strategy == PM_STRATEGY_COUNTERS_PER_CPU;
	struct pm_session_opts opts = { .size = sizeof(opts), .allow = PM_ALLOW_ALL,
		.forbid = ~(1u << strategy) };
	const struct pm_event_spec spec = { .size = sizeof(spec), .type = PM_TYPE_SOFTWARE,
		.config = PM_SW_TASK_CLOCK, .period = counts ? 0 : 100000, .tid = PM_ALL_THREADS };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_session *session;
	struct pm_plan *plan;

	/* Not to be had here; another test tells why. */
	if (library->pm_plan_make(&spec, 1, &opts, NULL, &diag, &plan) < 0)
		return;
	session = library->pm_session_create(plan, NULL, NULL);
	assert_non_null(session);
	if (library->pm_session_attach(session, &diag) >= 0) {
		for (volatile int i = 0; i < 300000; i++)
			;
		(void)library->pm_session_poll(session, 0);
		(void)library->pm_session_detach(session);
	}
	library->pm_session_destroy(session);
	library->pm_plan_destroy(plan);
}

static void load_and_unload(void)
{
	struct library library;

	load(&library);
	for (size_t i = 0; i < ARRAY_SIZE(strategies); i++)
		use(&library, strategies[i]);
	assert_int_equal(dlclose(library.handle), 0);
}

/* ---------------------------------------------------------------------------------------- tests */

static volatile bool over;

static void *work(void *unused)
{
	(void)unused;
	while (!over)
		usleep(100);
	return NULL;
}

static void nothing_is_left(void **state)
{
	struct left start, before, after;
	pthread_t workers[2];

	(void)state;
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&workers[i], NULL, work, NULL), 0);
	start = look(3);
	for (int i = 0; i < FIRST_TIMES; i++)
		load_and_unload();
	before = look(3);
	for (int i = 0; i < TIMES; i++)
		load_and_unload();
	after = look(3);
	/* What was pending for a handler that is gone would end this program by now. */
	over = true;
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(pthread_join(workers[i], NULL), 0);
	assert_int_equal(after.threads, 3);
	assert_int_equal(after.descriptors, start.descriptors);
	assert_int_equal(after.handlers, start.handlers);
	assert_int_equal(after.timers, start.timers);
	assert_int_equal(after.mappings, before.mappings);
	assert_in_range(after.memory, 0, before.memory + TIMES * SMALL);
}

/* The looks can fail. */
static void what_is_left_is_seen(void **state)
{
	const struct left before = look(1);
	struct left after;
	timer_t timer;
	void *volatile memory;
	int fd;

	(void)state;
	fd = dup(0);
	memory = malloc(50000);
	(void)signal(SIGPROF, SIG_IGN);
	assert_int_equal(timer_create(CLOCK_MONOTONIC, &(struct sigevent){
		.sigev_notify = SIGEV_NONE }, &timer), 0);
	after = look(1);
	assert_int_equal(after.descriptors, before.descriptors + 1);
	assert_int_equal(after.handlers, before.handlers + 1);
	assert_int_equal(after.timers > before.timers, access("/proc/self/timers", R_OK) == 0);
	assert_true(after.memory > before.memory);
	(void)timer_delete(timer);
	(void)signal(SIGPROF, SIG_DFL);
	free(memory);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_left_is_seen),
		cmocka_unit_test(nothing_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
