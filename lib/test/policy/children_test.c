/* SPDX-License-Identifier: MIT */
/*
 * PM_ALL_THREADS is this process: what its child processes do is neither counted nor sampled. On a
 * kernel that lets processes inherit whatever threads do, sums hold them, and that is told.
 */
#define _GNU_SOURCE
#include "../test.h"

#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "between.h"
#include "sessions.h"

#define OWN 4000
#define THEIRS 30000

static bool old_kernel;			/* before v5.13 */
static const char *program;
static uint64_t sampled;

static long on_open(syscall_fn real, struct perf_event_attr *attr, const long *args)
{
	return old_kernel && attr->inherit_thread ? refuse_with(EINVAL) : open_really(real, args);
}

static void on_sample(void *context, const struct pm_observed *sample)
{
	(void)context;
	assert_true(sample->pid == (uint32_t)getpid());
	sampled += sample->period;
}

static const struct pm_listener listener = { .size = sizeof(listener), .sample = on_sample };

static uint64_t own_faults(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	return (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
}

/* Whether this kernel, or the one that it is made to be, lets processes inherit in any case. */
static bool refuses_here(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .disabled = 1, .inherit = 1,
		.config = PERF_COUNT_SW_PAGE_FAULTS, .inherit_thread = 1, .exclude_kernel = 1 };
	const int fd = pm_open(&attr, 0, -1, -1, 0);

	if (fd >= 0)
		close(fd);
	return fd < 0;
}

static void wait_for(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* One that is forked, and one that is another program. */
static void let_children_fault(void)
{
	char name[] = "child", count[] = "10000", *arguments[] = { name, count, NULL };
	char *nothing[] = { NULL };
	pid_t child = fork();

	if (child == 0) {
		for (int i = 0; i < THEIRS / 10000; i++)
			cause_faults(10000);
		_exit(0);
	}
	wait_for(child);
	assert_int_equal(posix_spawn(&child, program, NULL, NULL, arguments, nothing), 0);
	wait_for(child);
}

static void *fault_in_a_thread(void *context)
{
	cause_faults(OWN);
	return context;
}

static struct pm_session *attached(struct pm_plan *plan)
{
	struct pm_session *session = pm_session_create(plan, &listener, NULL);
	struct pm_diag diag = { .size = sizeof(diag) };

	if (pm_session_attach(session, &diag) < 0)
		fail_msg("%s", diag.text);
	return session;
}

static struct pm_value read_sum(struct pm_session *session)
{
	struct pm_value value = { .size = sizeof(value) };

	assert_int_equal(pm_session_read(session, &value, 1), 1);
	return value;
}

static bool says(const struct pm_plan *plan, const char *what)
{
	char text[8192];

	(void)pm_plan_explain(plan, text, sizeof(text));
	return strstr(text, what) != NULL;
}

/* Faults of this process and of a thread that comes later, beside those of its children. */
static void expect_own(enum pm_strategy strategy, uint64_t period)
{
	struct pm_event_spec spec = { .size = sizeof(spec), .type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS, .period = period, .tid = PM_ALL_THREADS };
	struct pm_plan *plan = plan_of(&spec, 1, strategy, NULL);
	struct pm_stats stats = { .size = sizeof(stats) };
	struct pm_session *session;
	uint64_t did, counted;
	pthread_t thread;

	if (plan == NULL)
		skip();
	sampled = 0;
	session = attached(plan);
	(void)pm_session_stats(session, &stats);
	did = own_faults();
	counted = strategy == PM_STRATEGY_OWN_RINGS ? 0 : read_sum(session).value;
	let_children_fault();
	cause_faults(OWN);
	assert_int_equal(pthread_create(&thread, NULL, fault_in_a_thread, NULL), 0);
	expect_null(thread);
	if (strategy != PM_STRATEGY_OWN_RINGS)
		counted = read_sum(session).value - counted;
	did = own_faults() - did;
	assert_int_equal(pm_session_detach(session), 0);
	(void)pm_session_stats(session, &stats);
	print_message("%s: %llu counted, %llu sampled of %llu, foreign %llu\n",
		      pm_strategy_name(strategy), (unsigned long long)counted,
		      (unsigned long long)sampled, (unsigned long long)did,
		      (unsigned long long)stats.foreign);
	/* What this kernel refuses is told; then there is no more to be expected. */
	if (stats.children_counted == 0) {
		assert_true(stats.foreign == 0 || refuses_here());
		assert_false(says(plan, "child processes"));
		if (strategy != PM_STRATEGY_OWN_RINGS)
			assert_in_range(counted, 2 * OWN, did);
	} else {
		assert_true(says(plan, "sums: child processes are in them, too"));
		assert_true(counted > THEIRS);
	}
	if (period == 1 && stats.lost == 0)
		assert_in_range(sampled, 2 * OWN, did + 64);
	assert_true(stats.children_counted ==
		    (refuses_here() && strategy != PM_STRATEGY_OWN_RINGS));
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

static void per_cpu(void **state)
{
	(void)state;
	expect_own(PM_STRATEGY_PER_CPU, 1);
}

static void own_rings(void **state)
{
	(void)state;
	expect_own(PM_STRATEGY_OWN_RINGS, 1);
}

static void counters(void **state)
{
	(void)state;
	expect_own(PM_STRATEGY_COUNTERS, 0);
}

static void counters_per_cpu(void **state)
{
	(void)state;
	expect_own(PM_STRATEGY_COUNTERS_PER_CPU, 0);
}

static int as_old(void **state)
{
	(void)state;
	old_kernel = true;
	return 0;
}

static int as_it_is(void **state)
{
	(void)state;
	old_kernel = false;
	return 0;
}

/* This very process or nothing: counts are refused, samples are not, and their sums are. */
static void exact(void **state)
{
	struct pm_event_spec spec = { .size = sizeof(spec), .type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS, .tid = PM_ALL_THREADS,
		.flags = PM_SPEC_EXACT };
	struct pm_session_opts opts = { .size = sizeof(opts), .allow = PM_ALLOW_ALL };
	struct pm_value value = { .size = sizeof(value) };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_session *session;
	struct pm_plan *plan;

	(void)state;
	if (refusal_here() != 0)
		skip();
	assert_int_equal(pm_plan_make(&spec, 1, &opts, NULL, &diag, &plan), -ENOTSUP);
	assert_true(diag.cause == PM_CAUSE_UNSUPPORTED);
	assert_non_null(strstr(diag.text, "would count child processes, too"));
	spec.period = 1;
	plan = plan_of(&spec, 1, PM_STRATEGY_PER_CPU, NULL);
	assert_non_null(plan);
	session = attached(plan);
	assert_int_equal(pm_session_read(session, &value, 1), -ENOTSUP);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(per_cpu),
		cmocka_unit_test(own_rings),
		cmocka_unit_test(counters),
		cmocka_unit_test(counters_per_cpu),
		cmocka_unit_test_setup_teardown(per_cpu, as_old, as_it_is),
		cmocka_unit_test_setup_teardown(counters, as_old, as_it_is),
		cmocka_unit_test_setup_teardown(counters_per_cpu, as_old, as_it_is),
		cmocka_unit_test_setup_teardown(exact, as_old, as_it_is),
	};

	if (argc > 1) {
		cause_faults((size_t)atoi(argv[1]));
		return 0;
	}
	program = argv[0];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
