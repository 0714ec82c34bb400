/* SPDX-License-Identifier: MIT */
/*
 * Sessions in a storm of signals without SA_RESTART, at every shortage of descriptors, and under
 * clocks that jump: each attaches and delivers, or says why not, and leaves nothing behind. Linked
 * with -Wl,--wrap=clock_gettime.
 */
#define _GNU_SOURCE
#include "../test.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#include "sessions.h"

#define FAULTS 100

/* --------------------------------------------------------------------------------------- clocks */

#define HOUR 3600
static int64_t jump;		/* s, of CLOCK_MONOTONIC; atomic */

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	const int err = __real_clock_gettime(clock, ret);

	if (err == 0 && (clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME))
		ret->tv_sec += __atomic_load_n(&jump, __ATOMIC_RELAXED);
	return err;
}

/* ------------------------------------------------------------------------------------- sessions */

static uint64_t told;

static void on_sample(void *context, const struct pm_observed *sample)
{
	(void)context;
	(void)sample;
	told++;
}

static uint64_t findings(const struct pm_stats *stats)
{
	return stats->lost + stats->dropped + stats->silent_events + stats->unproven_events +
		stats->unproven_rings + stats->full_rings + stats->incomplete_events;
}

/* NULL: all was delivered, or it was told why not. `disturb` comes between attach and work. */
static const char *live(enum pm_strategy strategy, void (*disturb)(void))
{
	const struct pm_session_opts opts = { .size = sizeof(opts),
		.prove = PM_PROVE_ALWAYS, .forbid = ~(1u << strategy),
		.allow = PM_ALLOW_ALL & ~(unsigned int)PM_ALLOW_RAISE_NOFILE,
		.descriptors_percent = 100, .ring_pages = 8 };
	const struct pm_listener listener = { .size = sizeof(listener), .sample = on_sample };
	struct pm_value before = { .size = sizeof(before) }, after = before;
	struct pm_stats stats = { .size = sizeof(stats) };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_event_spec spec = faults;
	struct pm_session *session;
	struct pm_plan *plan;
	int err;

	told = 0;
	if (strategy == PM_STRATEGY_SIGNALS)
		spec.want = 0;
	if (strategy >= PM_STRATEGY_TIMERS)
		spec = clock_of_all;
	if (pm_plan_make(&spec, 1, &opts, NULL, &diag, &plan) < 0)
		return strlen(diag.text) > 10 ? NULL : "no plan, and no reason";
	session = pm_session_create(plan, &listener, NULL);
	err = pm_session_attach(session, &diag);
	if (err >= 0) {
		(void)pm_session_read(session, &before, 1);
		if (disturb != NULL)
			disturb();
		cause_faults(FAULTS);
		for (int i = 0; i < 3; i++)
			(void)pm_session_poll(session, 1);
		(void)pm_session_read(session, &after, 1);
		(void)pm_session_detach(session);
		(void)pm_session_stats(session, &stats);
	}
	pm_session_destroy(session);
	pm_plan_destroy(plan);
	if (err < 0)
		return strlen(diag.text) > 10 ? NULL : "not attached, and no reason";
	return strategy >= PM_STRATEGY_TIMERS || told >= FAULTS || findings(&stats) > 0 ||
		after.value - before.value >= FAULTS ? NULL : "silence";
}

static const enum pm_strategy strategies[] = {
	PM_STRATEGY_PER_CPU, PM_STRATEGY_OWN_RINGS, PM_STRATEGY_PER_THREAD, PM_STRATEGY_CPU_WIDE,
	PM_STRATEGY_SIGNALS, PM_STRATEGY_COUNTERS, PM_STRATEGY_COUNTERS_PER_CPU,
	PM_STRATEGY_TIMERS, PM_STRATEGY_PROCESS_TIMER,
};

/* Also that nothing of it stays open. */
static void expect_life(enum pm_strategy strategy, void (*disturb)(void), const char *how)
{
	const int before = count_descriptors();
	const char *wrong = live(strategy, disturb);

	if (wrong != NULL)
		fail_msg("%s, %s: %s", pm_strategy_name(strategy), how, wrong);
	assert_int_equal(count_descriptors(), before);
	assert_int_equal(count_maps(NULL), 0);
}

/* -------------------------------------------------------------------------------------- signals */

static volatile sig_atomic_t alarms;

static void on_alarm(int number)
{
	(void)number;
	alarms++;
}

static void a_storm_of_signals(void **state)
{
	const struct itimerval each_ms = { { 0, 1000 }, { 0, 1000 } };
	struct sigaction action = { .sa_flags = 0 };
	unsigned int sessions = 0;

	(void)state;
	action.sa_handler = on_alarm;
	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &each_ms, NULL), 0);
	for (int round = 0; round < 10; round++)
		for (size_t i = 0; i < ARRAY_SIZE(strategies); i++, sessions++)
			expect_life(strategies[i], NULL, "signals");
	assert_int_equal(setitimer(ITIMER_REAL, &(struct itimerval){ { 0, 0 }, { 0, 0 } }, NULL),
			 0);
	(void)signal(SIGALRM, SIG_DFL);
	print_message("%u sessions among %d signals\n", sessions, (int)alarms);
	assert_true(alarms > 0);
}

/* ---------------------------------------------------------------------------------- descriptors */

static int run_short(enum pm_strategy strategy)
{
	struct rlimit limit = { 0, 0 };
	int attempts = 0;

	/* What a session opens by itself, its plan included, is less than this. */
	for (int room = 0; room < 24; room++, attempts++) {
		const int before = count_descriptors();
		const char *wrong;

		/* The directory that counts them is one of those counted, and free again. */
		limit.rlim_cur = (rlim_t)(before - 3 + room);
		limit.rlim_max = 1024;
		if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
			_exit(255);
		wrong = live(strategy, NULL);
		limit.rlim_cur = 1024;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
		if (wrong != NULL || count_descriptors() != before || count_maps(NULL) != 0) {
			print_message("%s, room for %d: %s\n", pm_strategy_name(strategy), room,
				      wrong ? wrong : "something stays open");
			_exit(255);
		}
	}
	return attempts;
}

static void each_shortage_of_descriptors(void **state)
{
	int attempts = 0, status;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(strategies); i++) {
		const pid_t child = fork();

		if (child == 0)
			_exit(run_short(strategies[i]));
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 255);
		attempts += WEXITSTATUS(status);
	}
	print_message("%d sessions short of descriptors\n", attempts);
}

/* ------------------------------------------------------------------------------------- clocks */

static void forward(void)
{
	__atomic_add_fetch(&jump, HOUR, __ATOMIC_RELAXED);
}

static void backward(void)
{
	__atomic_sub_fetch(&jump, HOUR, __ATOMIC_RELAXED);
}

/* Also a session that began before the clock did, as after a migration into a time namespace. */
static void clocks_that_jump(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(strategies); i++) {
		jump = 0;
		expect_life(strategies[i], forward, "an hour forward");
		expect_life(strategies[i], backward, "an hour back");
		jump = 1000 * HOUR;
		expect_life(strategies[i], backward, "from far ahead");
	}
	jump = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_storm_of_signals),
		cmocka_unit_test(each_shortage_of_descriptors),
		cmocka_unit_test(clocks_that_jump),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
