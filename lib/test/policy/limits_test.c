/* SPDX-License-Identifier: MIT */
/*
 * Restrictions: what is said of a plan with one differs from what is said without it in exactly
 * the lines that it concerns, and the session still attaches. Each plan is made in a child process,
 * which can be restricted for good.
 */
#define _GNU_SOURCE
#include "../test.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "restricted.h"

/* --------------------------------------------------------------------------------------- limits */

static void lock_little(void)
{
	const struct rlimit limit = { 65536, 65536 };

	setrlimit(RLIMIT_MEMLOCK, &limit);
}

static void little_locked_memory(void **state)
{
	const struct rlimit much = { 1 << 30, 1 << 30 };
	struct rlimit had;
	struct wish wish = wish_for(&faults);

	(void)state;
	/* More than kernel.perf_event_mlock_kb has for each CPU by default. */
	wish.opts.ring_pages = 256;
	wish.as_nobody = true;
	/* Where root has no CAP_SYS_RESOURCE, the limit is what it is. */
	if (setrlimit(RLIMIT_MEMLOCK, &much) != 0) {
		getrlimit(RLIMIT_MEMLOCK, &had);
		if (had.rlim_max < 4 << 20)
			skip();
		had.rlim_cur = had.rlim_max;
		assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &had), 0);
	}
	compare(&wish, lock_little, "of the 256 that were asked for: kernel.perf_event_mlock_kb=",
		ONLY("rings: "));
}

#define WITHOUT_MEMORY 78	/* others of this user may have taken it meanwhile */

/* Two sessions of one user: the second finds less than the limits promise, and says so. */
static void attach_twice(void)
{
	struct pm_event_spec spec = faults;
	struct pm_session_opts opts = { .size = sizeof(opts), .allow = PM_ALLOW_ALL };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_plan *plans[2];
	char text[8000];

	lock_little();
	drop_privileges();
	opts.forbid = ~(1u << PM_STRATEGY_PER_CPU);
	for (int i = 0; i < 2; i++) {
		struct pm_session *session;

		if (pm_plan_make(&spec, 1, &opts, NULL, NULL, &plans[i]) < 0)
			_exit(NOT_HERE);
		session = pm_session_create(plans[i], NULL, NULL);
		if (pm_session_attach(session, &diag) < 0)
			_exit(diag.cause == PM_CAUSE_LOCKED_MEMORY ? WITHOUT_MEMORY : 1);
	}
	pm_plan_explain(plans[0], text, sizeof(text));
	/* Somebody else of this user holds memory already: a test beside this one. */
	if (strstr(text, " of the 128 that were asked for: ") != NULL)
		_exit(NOT_HERE);
	if (strstr(text, "rings: 128 data pages each\n") == NULL)
		_exit(2);
	pm_plan_explain(plans[1], text, sizeof(text));
	_exit(strstr(text, " of the 128 that were asked for: ") != NULL ? 0 : 3);
}

static void memory_that_others_have_locked(void **state)
{
	int status = WITHOUT_MEMORY << 8;

	(void)state;
	for (int tries = 0; tries < 20 && status == WITHOUT_MEMORY << 8; tries++) {
		const pid_t child = fork();

		if (child == 0)
			attach_twice();
		assert_int_equal(waitpid(child, &status, 0), child);
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_HERE)
		skip();
	assert_int_equal(status, 0);
}

static void open_few(void)
{
	const struct rlimit limit = { 64, 64 };

	setrlimit(RLIMIT_NOFILE, &limit);
}

static void few_descriptors(void **state)
{
	struct wish wish = wish_for(&faults);

	(void)state;
	wish.threads = 40;
	wish.opts.ring_pages = 1;
	compare(&wish, open_few, " of RLIMIT_NOFILE=64: ulimit -n ",
		ONLY("chosen: ", "passed over: per_cpu:", "passed over: own_rings:",
		     "passed over: per_thread:", "passed over: signals:", "passed over: counters:",
		     "passed over: counters_per_cpu:", "attached: "));
}

static void few_at_first(void)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = 64;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void few_descriptors_that_may_be_raised(void **state)
{
	struct wish wish = wish_for(&faults);

	(void)state;
	wish.threads = 40;
	wish.opts.allow |= PM_ALLOW_RAISE_NOFILE;
	compare(&wish, few_at_first, NULL, ONLY());
}

static void no_strategy_but_for_limits(void **state)
{
	struct wish wish = wish_for(&faults);
	struct said said;
	char begin[32];

	(void)state;
	wish.threads = 40;
	wish.opts.forbid = 1u << PM_STRATEGY_OWN_RINGS | 1u << PM_STRATEGY_CPU_WIDE;
	say(&wish, NULL, &said);
	if (strncmp(said.text, "no plan", 7) == 0)
		skip();
	say(&wish, open_few, &said);
	snprintf(begin, sizeof(begin), "no plan, cause %d:", PM_CAUSE_DESCRIPTORS);
	if (strncmp(said.text, begin, strlen(begin)) != 0)
		fail_msg("%s", said.text);
}

/* --------------------------------------------------------------------------------- hidden files */

static void own_mounts(void)
{
	int flags = geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER;

	if (unshare(flags) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		_exit(NOT_HERE);
}

static void hide_proc_sys(void)
{
	own_mounts();
	if (mount("none", "/proc/sys", "tmpfs", 0, NULL) != 0)
		_exit(NOT_HERE);
}

static void hidden_proc_sys(void **state)
{
	struct wish wish = wish_for(&faults);

	(void)state;
	wish.as_nobody = true;
	compare(&wish, hide_proc_sys, "(not readable here)", ONLY("passed over: cpu_wide:"));
}

static void hidden_proc_sys_and_little_memory(void)
{
	hide_proc_sys();
	lock_little();
}

static void limits_that_are_hidden(void **state)
{
	struct wish wish = wish_for(&faults);
	struct said said;

	(void)state;
	wish.opts.ring_pages = 4096;
	wish.as_nobody = true;
	say(&wish, hidden_proc_sys_and_little_memory, &said);
	if (strncmp(said.text, "no plan", 7) == 0)
		skip();
	assert_non_null(strstr(said.text, "kernel.perf_event_mlock_kb is hidden, 516 a CPU"));
}

static void hide_tracefs(void)
{
	own_mounts();
	(void)mount("none", "/sys/kernel/debug", "tmpfs", 0, NULL);
	if (mount("none", "/sys/kernel/tracing", "tmpfs", 0, NULL) != 0)
		_exit(NOT_HERE);
}

static void show_tracefs(void)
{
	own_mounts();
	if (mount("none", "/sys/kernel/tracing", "tracefs", 0, NULL) != 0)
		_exit(NOT_HERE);
}

/* The first that there is, without tracefs to ask. */
static bool some_tracepoint(struct pm_event_spec *spec)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .sample_period = 1,
					.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_IDENTIFIER };

	for (attr.config = 1; attr.config < 3000; attr.config++) {
		int fd = pm_open(&attr, 0, -1, -1, 0);

		if (fd < 0)
			continue;
		close(fd);
		spec->config = attr.config;
		return true;
	}
	return false;
}

static void hidden_tracefs(void **state)
{
	struct pm_event_spec spec = { .size = sizeof(spec), .type = PERF_TYPE_TRACEPOINT,
				      .period = 1, .tid = PM_ALL_THREADS };
	struct wish wish = wish_for(&faults);
	struct said with, without;

	(void)state;
	wish.as_nobody = getuid() != 0;
	compare(&wish, hide_tracefs, NULL, ONLY());
	if (!some_tracepoint(&spec))
		skip();
	wish = wish_for(&spec);
	say(&wish, show_tracefs, &with);
	say(&wish, hide_tracefs, &without);
	assert_int_equal(lines_beyond(with.text, without.text, ONLY()), 0);
	assert_int_equal(lines_beyond(without.text, with.text, ONLY("event 0, ")), 1);
	assert_non_null(strstr(without.text, "tracefs is not readable here"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(little_locked_memory),
		cmocka_unit_test(memory_that_others_have_locked),
		cmocka_unit_test(few_descriptors),
		cmocka_unit_test(few_descriptors_that_may_be_raised),
		cmocka_unit_test(no_strategy_but_for_limits),
		cmocka_unit_test(hidden_proc_sys),
		cmocka_unit_test(limits_that_are_hidden),
		cmocka_unit_test(hidden_tracefs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
