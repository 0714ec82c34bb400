/* SPDX-License-Identifier: MIT */
/*
 * Proven once for each shape in a process: on a kernel that becomes silent, which an attach finds
 * out when it proves, and only then. Threads that are made are counted, because the proof makes
 * one.
 */
#define _GNU_SOURCE
#include "../test.h"

#include <dlfcn.h>
#include <sys/wait.h>

#include "between.h"
#include "sessions.h"

#define PROOF "strategy.per_cpu.every_sample_once"

static bool silent;			/* no event has samples */
static unsigned int created;		/* threads */

static long on_open(syscall_fn real, struct perf_event_attr *attr, const long *args)
{
	long fd;

	if (attr != NULL && silent && attr->config == PERF_COUNT_SW_PAGE_FAULTS) {
		attr->config = PERF_COUNT_SW_DUMMY;
		fd = open_really(real, args);
		attr->config = PERF_COUNT_SW_PAGE_FAULTS;
		return fd;
	}
	return open_really(real, args);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*routine)(void *),
		   void *context)
{
	static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
	created++;
	return real(thread, attr, routine, context);
}

struct outcome {
	int err;
	struct pm_stats stats;
	unsigned int created;
	char text[2000];		/* what the plan explains */
};

/* Attaches by per_cpu and detaches. What it proves before, a silent kernel cannot hide. */
static struct outcome attach_with(struct pm_profile *profile, enum pm_prove prove, const char *cpus)
{
	const struct pm_session_opts opts = { .size = sizeof(opts), .prove = prove, .cpus = cpus,
		.allow = PM_ALLOW_USER_ONLY, .forbid = ~(1u << PM_STRATEGY_PER_CPU) };
	struct outcome outcome = { .stats.size = sizeof(outcome.stats) };
	struct pm_diag diag = { .size = sizeof(diag) };
	const bool was_silent = silent;
	struct pm_session *session;
	struct pm_plan *plan;

	silent = false;		/* quick probes would find out */
	outcome.err = pm_plan_make(&faults, 1, &opts, profile, &diag, &plan);
	silent = was_silent;
	if (outcome.err < 0) {
		print_message("%s\n", diag.text);
		skip();
	}
	session = pm_session_create(plan, NULL, NULL);
	created = 0;
	outcome.err = pm_session_attach(session, &diag);
	outcome.created = created;
	pm_session_stats(session, &outcome.stats);
	pm_plan_explain(plan, outcome.text, sizeof(outcome.text));
	pm_session_destroy(session);
	pm_plan_destroy(plan);
	return outcome;
}

static struct outcome attach(enum pm_prove prove)
{
	return attach_with(NULL, prove, NULL);
}

/* Whatever tests before this one have proven: a refused attach forgets it. */
static int nothing_is_known(void **state)
{
	(void)state;
	silent = true;
	assert_int_equal(attach(PM_PROVE_ALWAYS).err, -EIO);
	silent = false;
	return 0;
}

static void always_finds_out(void **state)
{
	(void)state;
	assert_int_equal(attach(PM_PROVE_ALWAYS).err, PM_STRATEGY_PER_CPU);
	assert_true(attach(PM_PROVE_ALWAYS).created > 0);
	silent = true;
	assert_int_equal(attach(PM_PROVE_ALWAYS).err, -EIO);
}

static void once_makes_no_thread_again(void **state)
{
	struct outcome first = attach(PM_PROVE_ONCE), again = attach(PM_PROVE_ONCE);

	(void)state;
	assert_true(first.err == PM_STRATEGY_PER_CPU && first.created > 0);
	assert_true(again.err == PM_STRATEGY_PER_CPU && again.created == 0);
	/* The same is known of it. */
	assert_int_equal(again.stats.unproven_events, first.stats.unproven_events);
	assert_int_equal(again.stats.unproven_rings, first.stats.unproven_rings);
	assert_int_equal(again.stats.unproven_events, 0);
	silent = true;
	assert_int_equal(attach(PM_PROVE_ONCE).err, PM_STRATEGY_PER_CPU);
	assert_int_equal(attach(PM_PROVE_ALWAYS).err, -EIO);
	/* And then nothing is known any more. */
	assert_int_equal(attach(PM_PROVE_ONCE).err, -EIO);
}

static void once_proves_again_after_fork(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(attach(PM_PROVE_ONCE).err, PM_STRATEGY_PER_CPU);
	silent = true;
	pid = fork();
	if (pid == 0)
		_exit(attach(PM_PROVE_ONCE).err == -EIO ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_equal(attach(PM_PROVE_ONCE).err, PM_STRATEGY_PER_CPU);
}

static void once_proves_other_cpus_and_facts(void **state)
{
	struct pm_fact fact = { .size = sizeof(fact), .key = PROOF, .verdict = PM_YES,
		.rank = PM_RANK_RUNTIME };
	struct pm_profile *profile = pm_profile_create();

	(void)state;
	assert_int_equal(attach_with(profile, PM_PROVE_ONCE, NULL).err, PM_STRATEGY_PER_CPU);
	assert_int_equal(attach_with(profile, PM_PROVE_ONCE, NULL).created, 0);
	assert_int_equal(pm_profile_set(profile, &fact), 1);
	assert_true(attach_with(profile, PM_PROVE_ONCE, NULL).created > 0);
	assert_int_equal(attach_with(profile, PM_PROVE_ONCE, NULL).created, 0);
	if (pm_cpus_online() > 1)
		assert_true(attach_with(profile, PM_PROVE_ONCE, "0").created > 0);
	pm_profile_destroy(profile);
}

static void never_says_so(void **state)
{
	struct outcome outcome;

	(void)state;
	silent = true;
	outcome = attach(PM_PROVE_NEVER);
	assert_int_equal(outcome.err, PM_STRATEGY_PER_CPU);
	assert_int_equal(outcome.created, 0);
	assert_int_equal(outcome.stats.unproven_events, 1);
	assert_int_equal(outcome.stats.unproven_rings, pm_cpus_online());
	assert_non_null(strstr(outcome.text, "PM_PROVE_NEVER"));
	/* It has proven nothing for others. */
	assert_int_equal(attach(PM_PROVE_ONCE).err, -EIO);
}

static void another_value_is_refused(void **state)
{
	const struct pm_session_opts opts = { .size = sizeof(opts), .prove = 3 };
	struct pm_plan *plan;

	(void)state;
	assert_int_equal(pm_plan_make(&faults, 1, &opts, NULL, NULL, &plan), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(always_finds_out, nothing_is_known),
		cmocka_unit_test_setup(once_makes_no_thread_again, nothing_is_known),
		cmocka_unit_test_setup(once_proves_again_after_fork, nothing_is_known),
		cmocka_unit_test_setup(once_proves_other_cpus_and_facts, nothing_is_known),
		cmocka_unit_test_setup(never_says_so, nothing_is_known),
		cmocka_unit_test(another_value_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
