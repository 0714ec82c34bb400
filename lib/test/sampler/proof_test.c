/* SPDX-License-Identifier: MIT */
/*
 * Kernels that accept everything and enable nothing: a sampler does not begin, or tells of it. And
 * one that is true, but too old to tell an id by ioctl(2).
 */
#define _GNU_SOURCE
#include "../test.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define BETWEEN_IOCTL
#include "../policy/between.h"
#include "../../pm_sys.h"
#include "watching.h"

enum lie { TRUTH, ALL, OF_CPUS, OF_OTHERS, NO_IDS };
static enum lie lie;
static bool dead[4096];

static long on_open(syscall_fn real, struct perf_event_attr *attr, const long *args)
{
	const pid_t task = (pid_t)args[1];
	long fd = open_really(real, args);

	(void)attr;
	if (fd >= 0 && fd < (long)ARRAY_SIZE(dead))
		dead[fd] = lie == ALL || (lie == OF_CPUS && task == -1) ||
			(lie == OF_OTHERS && task > 0 && task != pm_gettid());
	return fd;
}

static int on_ioctl(ioctl_fn real, int fd, unsigned long request, void *argument)
{
	if (request == PERF_EVENT_IOC_ENABLE && dead[fd])
		return 0;
	if (request == PERF_EVENT_IOC_ID && lie == NO_IDS)
		return (int)refuse_with(ENOTTY);
	return real(fd, request, argument);
}

static pid_t start_busy(void)
{
	pid_t child = fork();

	if (child == 0)
		for (volatile unsigned int work = 0;; work++)
			;
	assert_true(child > 0);
	return child;
}

static void end_busy(pid_t child)
{
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

/* The error of the open, or of the start behind it. */
static int begin(pid_t pid, unsigned int way, struct pm_diag *diag, struct pm_sampler **ret)
{
	const struct pm_target target = the_pid(pid);
	const struct pm_sampler_opts opts = { .size = sizeof(opts), .flags = way };
	int err = pm_sampler_open(&fault_event, 1, &target, 1, &opts, NULL, &listener, NULL, diag,
				  ret);

	if (is_refused(err))
		skip();
	return err < 0 ? err : pm_sampler_start(*ret, diag);
}

static void expect_refused(unsigned int way, enum lie what, const char *says)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_sampler *sampler = NULL;

	lie = what;
	assert_int_equal(begin(getpid(), way, &diag, &sampler), -EIO);
	assert_int_equal(diag.cause, PM_CAUSE_SILENCE);
	if (strstr(diag.text, says) == NULL)
		fail_msg("%s", diag.text);
	pm_sampler_destroy(sampler);
}

static void nothing_is_enabled(void **state)
{
	(void)state;
	expect_refused(PM_SAMPLER_ONLY_THREADS, ALL, "an event of this very thread stands still");
	expect_refused(PM_SAMPLER_ONLY_CPUS, ALL, "an event of this very thread stands still");
}

static void events_of_cpus_stand_still(void **state)
{
	(void)state;
	expect_refused(PM_SAMPLER_ONLY_CPUS, OF_CPUS, "stand still");
}

/* Polls until the busy thread is judged, and returns what has been found. */
static struct pm_sampler_stats judged(enum lie what)
{
	struct pm_sampler_stats stats = { .size = sizeof(stats) };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_sampler *sampler = NULL;
	const pid_t child = start_busy();

	lie = what;
	if (begin(child, PM_SAMPLER_ONLY_THREADS, &diag, &sampler) < 0)
		fail_msg("%s", diag.text);
	do {
		assert_true(pm_sampler_poll(sampler, 100) >= 0);
		assert_int_equal(pm_sampler_stats(sampler, &stats), 0);
	} while (stats.unproven_threads > 0);
	pm_sampler_destroy(sampler);
	end_busy(child);
	return stats;
}

static void events_of_a_busy_thread_stand_still(void **state)
{
	(void)state;
	assert_int_equal(judged(OF_OTHERS).silent_threads, 1);
	assert_int_equal(judged(TRUTH).silent_threads, 0);
}

static void a_true_kernel_is_believed(void **state)
{
	(void)state;
	lie = TRUTH;
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		struct pm_diag diag = { .size = sizeof(diag) };
		struct pm_sampler *sampler = NULL;

		if (begin(getpid(), ways[i], &diag, &sampler) < 0)
			fail_msg("%s", diag.text);
		assert_true(pm_sampler_stop(sampler) >= 0);
		pm_sampler_destroy(sampler);
	}
}

/* Of two events, so that none of their samples is told without its id. */
static void ids_are_had_from_read(void **state)
{
	static const struct pm_event_spec clock = {
		.size = sizeof(clock), .type = PM_TYPE_SOFTWARE, .config = PM_SW_TASK_CLOCK,
	};
	const struct pm_sampler_event events[] = {
		fault_event, { .size = sizeof(events[1]), .spec = &clock },
	};
	const struct pm_target target = the_pid(getpid());

	(void)state;
	lie = NO_IDS;
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		const struct pm_sampler_opts opts = {
			.size = sizeof(opts), .flags = ways[i], .want = PM_WANT_ADDRESS,
		};
		struct pm_sampler *sampler = NULL;
		int err = pm_sampler_open(events, 2, &target, 1, &opts, NULL, &listener, NULL, NULL,
					  &sampler);

		if (is_refused(err))
			skip();
		assert_int_equal(err, 0);
		memset(&heard, 0, sizeof(heard));
		crowd_begin();
		assert_int_equal(pm_sampler_start(sampler, NULL), 0);
		crowd_touch(0, 100);
		assert_true(pm_sampler_stop(sampler) >= 0);
		assert_int_equal(heard.in_area, 100);
		pm_sampler_destroy(sampler);
		crowd_end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_enabled),
		cmocka_unit_test(events_of_cpus_stand_still),
		cmocka_unit_test(events_of_a_busy_thread_stand_still),
		cmocka_unit_test(a_true_kernel_is_believed),
		cmocka_unit_test(ids_are_had_from_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
