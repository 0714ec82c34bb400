/* SPDX-License-Identifier: MIT */
/*
 * Strategies whose samples come by signals, on the running kernel: a busy thread, a queue that is
 * full, and the signals and timers of somebody else. exact_test has each sample.
 */
#define _GNU_SOURCE
#include "../test.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "sessions.h"

static _Atomic int stop_spinning;
static uint32_t spinner;
static unsigned int by_spinner;

static void *spin(void *context)
{
	spinner = (uint32_t)pm_gettid();
	while (!stop_spinning)
		;
	return context;
}

static void note_spinner(void *context, const struct pm_observed *sample)
{
	(void)context;
	assert_true(sample->pid == (uint32_t)getpid() && sample->time != 0);
	by_spinner += sample->tid == spinner && sample->ip != 0;
}

/* Polls a session of a clock until it has seen a busy thread, whose share of a CPU may be small. */
static void watch_a_spinner(enum pm_strategy strategy)
{
	const struct pm_listener ticks = { .size = sizeof(ticks), .sample = note_spinner };
	struct pm_plan *plan = plan_of(&clock_of_all, 1, strategy, NULL);
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_session *session;
	pthread_t thread;
	int err;

	if (plan == NULL)
		skip();
	stop_spinning = 0;
	by_spinner = 0;
	assert_int_equal(pthread_create(&thread, NULL, spin, NULL), 0);
	session = pm_session_create(plan, &ticks, NULL);
	err = pm_session_attach(session, &diag);
	if (err < 0)
		fail_msg("%s", diag.text);
	for (int i = 0; i < 30 || (by_spinner < 4 && i < 2000); i++)
		assert_true(pm_session_poll(session, 10) >= 0);
	stop_spinning = 1;
	pthread_join(thread, NULL);
	assert_int_equal(pm_session_detach(session), 0);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
	assert_in_range(by_spinner, 4, 400);
}

static void signals_see_a_busy_thread(void **state)
{
	(void)state;
	watch_a_spinner(PM_STRATEGY_SIGNALS);
}

static unsigned int counted_faults;

static void count_fault(void *context, const struct pm_observed *sample)
{
	(void)context;
	counted_faults += sample->tid == (uint32_t)getpid();
}

/*
 * While its signal is blocked, and without room for queued ones: what comes together is one sample,
 * and the others are dropped.
 */
static void be_told_later(void)
{
	const struct pm_listener each = { .size = sizeof(each), .sample = count_fault };
	struct pm_event_spec spec = faults;
	const struct rlimit none = { 0, 0 };
	struct pm_stats stats = { .size = sizeof(stats) };
	struct pm_session *session;
	struct pm_plan *plan;
	sigset_t all;
	int err;

	spec.want = 0;
	plan = plan_of(&spec, 1, PM_STRATEGY_SIGNALS, NULL);
	session = pm_session_create(plan, &each, NULL);
	err = pm_session_attach(session, NULL);
	setrlimit(RLIMIT_SIGPENDING, &none);
	while (pm_session_poll(session, 0) > 0)
		;
	counted_faults = 0;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	cause_faults(100);
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	while (pm_session_poll(session, 0) > 0)
		;
	pm_session_stats(session, &stats);
	pm_session_destroy(session);
	_exit(err == PM_STRATEGY_SIGNALS && counted_faults < 50 &&
	      counted_faults + stats.dropped >= 100 ? 0 : 1);
}

static void expect_zero(pid_t child)
{
	int status = -1;

	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void signals_that_come_together_are_one(void **state)
{
	struct pm_plan *plan = plan_of(&clock_of_all, 1, PM_STRATEGY_SIGNALS, NULL);
	pid_t child;

	(void)state;
	if (plan == NULL)
		skip();
	pm_plan_destroy(plan);
	child = fork();
	if (child == 0)
		be_told_later();
	expect_zero(child);
}

/* ----------------------------------------------------------------------------------------- fork */

static bool signal_is_taken(void)
{
	struct sigaction action;

	assert_int_equal(sigaction(SIGURG, NULL, &action), 0);
	return action.sa_handler != SIG_DFL;
}

/* In the child: a session of its own outlives the parent's. */
static int child_with_signals(struct pm_session *session)
{
	struct pm_plan *plan = plan_of(&clock_of_all, 1, PM_STRATEGY_SIGNALS, NULL);
	struct pm_session *own = pm_session_create(plan, NULL, NULL);

	if (pm_session_attach(own, NULL) != PM_STRATEGY_SIGNALS)
		return 2;
	pm_session_destroy(session);
	if (!signal_is_taken())
		return 3;
	pm_session_destroy(own);
	pm_plan_destroy(plan);
	return signal_is_taken() ? 4 : 0;
}

static int child_without(struct pm_session *session)
{
	pm_session_destroy(session);
	return signal_is_taken() ? 5 : 0;
}

/* Descriptors of events are shared with a child: what it closes must not be switched off here. */
static void a_child_leaves_the_signals(void **state)
{
	const struct pm_listener each = { .size = sizeof(each), .sample = count_fault };
	struct pm_event_spec spec = faults;
	struct pm_session *session;
	struct pm_plan *plan;
	pid_t child;

	(void)state;
	spec.want = 0;
	plan = plan_of(&spec, 1, PM_STRATEGY_SIGNALS, NULL);
	if (plan == NULL)
		skip();
	session = pm_session_create(plan, &each, NULL);
	assert_int_equal(pm_session_attach(session, NULL), PM_STRATEGY_SIGNALS);
	for (int with = 0; with < 2; with++) {
		child = fork();
		if (child == 0)
			_exit(with ? child_with_signals(session) : child_without(session));
		expect_zero(child);
	}
	counted_faults = 0;
	cause_faults(500);
	assert_int_equal(pm_session_detach(session), 0);
	assert_true(counted_faults >= 500);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

/* -------------------------------------------------------------------------------- process timer */

static const struct itimerval hour = { .it_value = { .tv_sec = 3600 } };
static const struct itimerval off = { { 0, 0 }, { 0, 0 } };

static bool itimer_runs(void)
{
	struct itimerval timer;

	assert_int_equal(getitimer(ITIMER_PROF, &timer), 0);
	return timer.it_value.tv_sec != 0 || timer.it_value.tv_usec != 0;
}

/* Without room for its signal there is no POSIX timer. */
static void allow_posix_timers(bool allow)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_SIGPENDING, &limit), 0);
	limit.rlim_cur = allow ? limit.rlim_max : 0;
	assert_int_equal(setrlimit(RLIMIT_SIGPENDING, &limit), 0);
}

static void the_process_timer_sees_a_busy_thread(void **state)
{
	(void)state;
	for (int posix = 0; posix < 2; posix++) {
		allow_posix_timers(posix);
		watch_a_spinner(PM_STRATEGY_PROCESS_TIMER);
		assert_false(itimer_runs());
	}
}

/* It outlives exec(2): only who allows it gets it. */
static void the_itimer_has_to_be_allowed(void **state)
{
	struct pm_session_opts opts = { .size = sizeof(opts), .allow = PM_ALLOW_ALL,
		.forbid = ~(1u << PM_STRATEGY_PROCESS_TIMER) };
	struct pm_diag diag = { .size = sizeof(diag) };

	(void)state;
	allow_posix_timers(false);
	for (int allowed = 0; allowed < 2; allowed++) {
		struct pm_session *session;
		struct pm_plan *plan;

		opts.allow |= allowed ? PM_ALLOW_ITIMER : 0;
		assert_int_equal(pm_plan_make(&clock_of_all, 1, &opts, NULL, NULL, &plan), 0);
		session = pm_session_create(plan, NULL, NULL);
		assert_int_equal(pm_session_attach(session, &diag),
				 allowed ? PM_STRATEGY_PROCESS_TIMER : -EAGAIN);
		assert_int_equal(itimer_runs(), allowed);
		pm_session_destroy(session);
		pm_plan_destroy(plan);
	}
	allow_posix_timers(true);
	assert_non_null(strstr(diag.text, "timer_create: EAGAIN; ITIMER_PROF, which would end"));
}

static void a_timer_of_somebody_else(void **state)
{
	struct pm_plan *plan = plan_of(&clock_of_all, 1, PM_STRATEGY_PROCESS_TIMER, NULL);
	struct pm_session *session = pm_session_create(plan, NULL, NULL);
	struct itimerval timer;

	(void)state;
	assert_int_equal(setitimer(ITIMER_PROF, &hour, NULL), 0);
	assert_int_equal(pm_session_attach(session, NULL), -EBUSY);
	assert_int_equal(getitimer(ITIMER_PROF, &timer), 0);
	assert_true(timer.it_value.tv_sec > 3000);
	assert_int_equal(setitimer(ITIMER_PROF, &off, NULL), 0);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

/* In the child: a timer that it set itself. */
static int child_with_a_timer(struct pm_session *session)
{
	struct itimerval timer;

	if (setitimer(ITIMER_PROF, &hour, NULL) != 0)
		return 2;
	pm_session_destroy(session);
	return getitimer(ITIMER_PROF, &timer) == 0 && timer.it_value.tv_sec > 3000 ? 0 : 3;
}

static void a_child_keeps_its_process_timer(void **state)
{
	(void)state;
	for (int posix = 0; posix < 2; posix++) {
		struct pm_plan *plan = plan_of(&clock_of_all, 1, PM_STRATEGY_PROCESS_TIMER, NULL);
		struct pm_session *session = pm_session_create(plan, NULL, NULL);
		pid_t child;

		allow_posix_timers(posix);
		assert_int_equal(pm_session_attach(session, NULL), PM_STRATEGY_PROCESS_TIMER);
		child = fork();
		if (child == 0)
			_exit(child_with_a_timer(session));
		expect_zero(child);
		pm_session_destroy(session);
		pm_plan_destroy(plan);
	}
}

/* ----------------------------------------------------------------------- taken over meanwhile */

static _Atomic unsigned int ticks_of_program;

static void on_own_tick(int number)
{
	(void)number;
	ticks_of_program++;
}

static void take_over(int number)
{
	struct sigaction action = { .sa_handler = on_own_tick };

	sigemptyset(&action.sa_mask);
	assert_int_equal(sigaction(number, &action, NULL), 0);
}

static bool is_taken_over(int number)
{
	struct sigaction action;

	return sigaction(number, NULL, &action) == 0 && action.sa_handler == on_own_tick;
}

/* The signals that a session has taken get another handler; its end must leave that in place. */
static bool may_be_taken(int number)
{
	return number == SIGURG || number == SIGWINCH || number == SIGIO || number == SIGPROF ||
		number >= SIGRTMIN;
}

static void expect_kept(enum pm_strategy strategy)
{
	struct pm_plan *plan = plan_of(&clock_of_all, 1, strategy, NULL);
	struct pm_session *session;
	struct sigaction action;
	bool taken[65] = { false };

	if (plan == NULL)
		skip();
	session = pm_session_create(plan, NULL, NULL);
	assert_int_equal(pm_session_attach(session, NULL), strategy);
	for (int number = 1; number <= SIGRTMAX; number++)
		if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_DFL &&
		    may_be_taken(number)) {
			take_over(number);
			taken[number] = true;
		}
	pm_session_destroy(session);
	pm_plan_destroy(plan);
	assert_true(taken[SIGPROF] || taken[SIGURG]);
	print_message("%-16s own handler: stays\n", pm_strategy_name(strategy));
	for (int number = 1; number <= SIGRTMAX; number++)
		if (taken[number]) {
			assert_true(is_taken_over(number));
			(void)signal(number, SIG_IGN);
			(void)signal(number, SIG_DFL);
		}
}

static void signals_taken_over_are_left_alone(void **state)
{
	(void)state;
	expect_kept(PM_STRATEGY_TIMERS);
	expect_kept(PM_STRATEGY_PROCESS_TIMER);
	expect_kept(PM_STRATEGY_SIGNALS);
}

/* Without a handler: what the signal of a strategy does to the program by default. */
static int run_by_default(enum pm_strategy strategy, int number)
{
	struct pm_plan *plan = plan_of(&clock_of_all, 1, strategy, NULL);
	struct pm_session *session = pm_session_create(plan, NULL, NULL);
	/* A timer fires at a tick that finds the thread running, on a busy machine seldom. */
	const uint64_t enough = number == SIGPROF ? 3000000000 : 200000000;
	uint64_t begin, now;

	if (pm_session_attach(session, NULL) != (int)strategy)
		return 2;
	(void)signal(number, SIG_DFL);
	(void)pm_clock_ns(CLOCK_PROCESS_CPUTIME_ID, &begin);
	do
		(void)pm_clock_ns(CLOCK_PROCESS_CPUTIME_ID, &now);
	while (now - begin < enough);
	return 0;
}

static void a_handler_that_is_reset(void **state)
{
	static const struct { enum pm_strategy strategy; int number, ended_by; } cases[] = {
		{ PM_STRATEGY_SIGNALS, SIGURG, 0 }, { PM_STRATEGY_TIMERS, SIGPROF, SIGPROF },
		{ PM_STRATEGY_PROCESS_TIMER, SIGPROF, SIGPROF },
		{ PM_STRATEGY_PROCESS_TIMER, SIGPROF, SIGPROF },	/* by ITIMER_PROF */
	};

	(void)state;
	if (refusal_here() != 0)
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		pid_t child = fork();
		int status;

		if (child == 0 && i == 3)
			allow_posix_timers(false);
		if (child == 0)
			_exit(run_by_default(cases[i].strategy, cases[i].number));
		assert_int_equal(waitpid(child, &status, 0), child);
		print_message("%-16s SIG_DFL: %s\n", i == 3 ? "by ITIMER_PROF" :
			      pm_strategy_name(cases[i].strategy), status == 0 ? "is ignored" :
			      WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF ?
			      "SIGPROF ends the program" : "something else");
		assert_int_equal(WIFSIGNALED(status) ? WTERMSIG(status) : status,
				 cases[i].ended_by);
	}
}

/* A program that starts its own profiling timer keeps it; a timer left behind would end others. */
static void take_the_timer_over(bool own)
{
	struct pm_plan *plan = plan_of(&clock_of_all, 1, PM_STRATEGY_PROCESS_TIMER, NULL);
	struct pm_session *session = pm_session_create(plan, NULL, NULL);

	assert_int_equal(pm_session_attach(session, NULL), PM_STRATEGY_PROCESS_TIMER);
	if (own)
		take_over(SIGPROF);
	else
		(void)signal(SIGPROF, SIG_DFL);
	if (own)
		assert_int_equal(setitimer(ITIMER_PROF, &hour, NULL), 0);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
	assert_int_equal(itimer_runs(), own);
	assert_int_equal(setitimer(ITIMER_PROF, &off, NULL), 0);
	(void)signal(SIGPROF, SIG_DFL);
}

static void a_timer_taken_over_goes_on(void **state)
{
	(void)state;
	for (int posix = 0; posix < 2; posix++) {
		allow_posix_timers(posix);
		take_the_timer_over(false);
		take_the_timer_over(true);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signals_see_a_busy_thread),
		cmocka_unit_test(signals_that_come_together_are_one),
		cmocka_unit_test(a_child_leaves_the_signals),
		cmocka_unit_test(the_process_timer_sees_a_busy_thread),
		cmocka_unit_test(the_itimer_has_to_be_allowed),
		cmocka_unit_test(a_timer_of_somebody_else),
		cmocka_unit_test(a_child_keeps_its_process_timer),
		cmocka_unit_test(signals_taken_over_are_left_alone),
		cmocka_unit_test(a_handler_that_is_reset),
		cmocka_unit_test(a_timer_taken_over_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
