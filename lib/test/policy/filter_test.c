/* SPDX-License-Identifier: MIT */
/*
 * A filter in the kernel: of all system calls on all CPUs only those that were asked for become
 * samples. Needs a privilege and tracefs, which a mount namespace of its own provides.
 */
#define _GNU_SOURCE
#include "../test.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "sessions.h"

#define CALLS 50
#define RARE SYS_io_destroy	/* that of no context fails, and nobody else calls it now */
#define NOT_HERE 77

static unsigned int seen, strangers;
static struct pm_diag said = { .size = sizeof(said) };	/* of the last plan */

static void on_call(void *context, const struct pm_observed *sample)
{
	(void)context;
	if (sample->tid == (uint32_t)getpid())
		seen++;
	else
		strangers++;
}

/* Samples of our own calls in `seen`; the plan's error. */
static int observe(const char *filter)
{
	const struct pm_listener calls = { .size = sizeof(calls), .sample = on_call };
	struct pm_event_spec spec = { .size = sizeof(spec), .type = PERF_TYPE_TRACEPOINT,
				      .period = 1, .tid = PM_SYSTEM, .filter = filter };
	struct pm_session_opts opts = { .size = sizeof(opts), .descriptors_percent = 100 };
	int id = pm_tracepoint_id("raw_syscalls", "sys_enter"), err;
	struct pm_session *session;
	struct pm_plan *plan;

	if (id < 0)
		_exit(NOT_HERE);
	spec.config = (uint64_t)id;
	err = pm_plan_make(&spec, 1, &opts, NULL, &said, &plan);
	if (err < 0)
		return err;
	session = pm_session_create(plan, &calls, NULL);
	if (pm_session_attach(session, NULL) != PM_STRATEGY_CPU_WIDE)
		_exit(NOT_HERE);
	seen = strangers = 0;
	for (int i = 0; i < CALLS; i++)
		(void)syscall(RARE, 0L);
	pm_session_detach(session);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
	return 0;
}

static void observe_with_tracefs(void)
{
	char filter[100];

	if (refusal_here() != 0 || unshare(CLONE_NEWNS) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    (access("/sys/kernel/tracing/events", F_OK) != 0 &&
	     mount("none", "/sys/kernel/tracing", "tracefs", 0, NULL) != 0))
		_exit(NOT_HERE);
	/* Not by common_pid: in a PID namespace that is another number. */
	snprintf(filter, sizeof(filter), "id == %d", RARE);
	if (observe(filter) != 0 || seen != CALLS || strangers != 0)
		_exit(1);
	/* A filter that lets nobody through, none at all, and one that the kernel refuses. */
	snprintf(filter, sizeof(filter), "common_pid == 0 && id == %d", RARE);
	if (observe(filter) != 0 || seen != 0)
		_exit(2);
	if (observe(NULL) != 0 || seen < CALLS)
		_exit(3);
	/* Misspelt: the filter is blamed, and not the kernel. */
	if (observe("no_such_field == 1") != -ENOTSUP ||
	    strstr(said.text, "names a field that this tracepoint does not have") == NULL)
		_exit(4);
	_exit(observe("id === 1") == -ENOTSUP &&
	      strstr(said.text, "does not take the filter \"id === 1\"") != NULL ? 0 : 5);
}

static void only_what_the_filter_lets_through(void **state)
{
	int status;
	pid_t child = fork();

	(void)state;
	if (child == 0)
		observe_with_tracefs();
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_HERE)
		skip();
	assert_int_equal(status, 0);
}

static void filters_are_for_tracepoints(void **state)
{
	struct pm_event_spec spec = faults;
	char longest[600];
	struct pm_plan *plan;

	(void)state;
	spec.filter = "common_pid == 1";
	assert_int_equal(pm_plan_make(&spec, 1, NULL, NULL, NULL, &plan), -EINVAL);
	memset(longest, '1', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	spec.type = PERF_TYPE_TRACEPOINT;
	spec.filter = longest;
	assert_int_equal(pm_plan_make(&spec, 1, NULL, NULL, NULL, &plan), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filters_are_for_tracepoints),
		cmocka_unit_test(only_what_the_filter_lets_through),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
