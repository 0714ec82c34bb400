/* SPDX-License-Identifier: MIT */
/*
 * Each system call that a session makes refused by a filter, in each way that filters refuse: the
 * session delivers, counts, or says what it lacks. It never dies, and is never silent.
 */
#define _GNU_SOURCE
#include "../test.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "sessions.h"

#define FAULTS 200
#define BURN_NS 25000000
#define NOT_HERE 77
#ifndef __NR_rseq
#define __NR_rseq 334
#endif

static const struct {
	const char *name;
	unsigned int number;
	bool refusable;
} calls[] = {
#define X(name, refusable) { #name, __NR_##name, refusable },
#include "calls.def"
#undef X
};

static void install(struct sock_filter *code, size_t count)
{
	const struct sock_fprog program = { (unsigned short)count, code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		_exit(NOT_HERE);
}

#define NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define GIVE(what) BPF_STMT(BPF_RET | BPF_K, (what))

static void refuse(unsigned int number, int error)
{
	struct sock_filter code[] = {
		NUMBER,
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		GIVE(SECCOMP_RET_ERRNO | (unsigned int)error),
		GIVE(SECCOMP_RET_ALLOW),
	};

	install(code, ARRAY_SIZE(code));
}

static uint64_t told;

static void on_sample(void *context, const struct pm_observed *sample)
{
	(void)context;
	told += sample->period;
}

static void burn(uint64_t ns)
{
	uint64_t begin = (uint64_t)clock(), now;

	do
		now = (uint64_t)clock();
	while ((now - begin) * (1000000000 / CLOCKS_PER_SEC) < ns && now != UINT64_MAX);
}

/* 0: it delivers or says why not; 1: silence. */
static int observe(const struct pm_event_spec *spec, unsigned int forbid)
{
	const struct pm_session_opts opts = { .size = sizeof(opts), .allow = PM_ALLOW_ALL,
					      .forbid = forbid };
	const struct pm_listener listener = { .size = sizeof(listener), .sample = on_sample };
	struct pm_value before = { .size = sizeof(before) }, after = before;
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_stats stats = { .size = sizeof(stats) };
	struct pm_session *session;
	struct pm_plan *plan;
	int err = pm_plan_make(spec, 1, &opts, NULL, &diag, &plan);

	if (err < 0)
		return strlen(diag.text) < 20;
	session = pm_session_create(plan, &listener, NULL);
	if (session == NULL || pm_session_attach(session, &diag) < 0)
		return strlen(diag.text) < 20;
	(void)pm_session_read(session, &before, 1);
	cause_faults(FAULTS);
	if (spec->config == PERF_COUNT_SW_TASK_CLOCK)
		burn(BURN_NS);
	for (int i = 0; i < 3; i++)
		(void)pm_session_poll(session, 1);
	(void)pm_session_read(session, &after, 1);
	pm_session_detach(session);
	pm_session_stats(session, &stats);
	return told == 0 && after.value == before.value && stats.lost + stats.dropped +
		stats.silent_events + stats.silent_threads + stats.unproven_events +
		stats.unproven_threads + stats.unproven_rings == 0;
}

/* By the way the plan would go, and by those that it goes where others are refused. */
static int observe_each(void)
{
	static const unsigned int ways[] = {
		0, ~(1u << PM_STRATEGY_PER_THREAD), ~(1u << PM_STRATEGY_SIGNALS),
		~(1u << PM_STRATEGY_COUNTERS),
	};
	int silent = 0;

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		told = 0;
		silent |= observe(&faults, ways[i]) << i;
	}
	silent |= observe(&clock_of_all, ~(1u << PM_STRATEGY_TIMERS)) << 4;
	return silent | observe(&clock_of_all, ~(1u << PM_STRATEGY_PROCESS_TIMER)) << 5;
}

static bool is_silent(unsigned int index, int error)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		(void)signal(SIGSYS, SIG_DFL);
		(void)signal(SIGSEGV, SIG_DFL);
		refuse(calls[index].number, error);
		alarm(20);
		_exit(observe_each());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_HERE)
		skip();
	if (status != 0)
		print_error("%s, %s: status %#x\n", calls[index].name,
			    pm_errno_name(error), (unsigned int)status);
	return status != 0;
}

static void each_call_refused_in_each_way(void **state)
{
	static const int ways[] = { EPERM, ENOSYS, EACCES };

	unsigned int failed = 0;

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(calls); i++)
		for (size_t k = 0; calls[i].refusable && k < ARRAY_SIZE(ways); k++)
			failed += is_silent(i, ways[k]);
	assert_int_equal(failed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_call_refused_in_each_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
