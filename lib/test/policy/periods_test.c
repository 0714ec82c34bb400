/* SPDX-License-Identifier: MIT */
/*
 * A period is that period: samples are as many as what was caused, divided by it, within one for
 * each thread and CPU, each says so, and no session takes what is left for a loss.
 */
#define _GNU_SOURCE
#include "../test.h"

#include <sched.h>
#include <sys/resource.h>

#include "one_cpu.h"
#include "sessions.h"

#define TURNS 10			/* after each of which the rings are read */
#define FAULTS 10240
#define SWITCHES 2000
#define WRITES 3000

static const uint64_t periods[] = { 1, 2, 7, 100, 1000, 100000 };

static struct {
	uint64_t samples, other_period, want;
	uint64_t by_event[2], weight[2];
	bool sleeps;			/* of its CPU time more than half is that of switches */
	pid_t tid;
} seen;

static void on_sample(void *context, const struct pm_observed *sample)
{
	(void)context;
	seen.by_event[sample->event]++;
	seen.weight[sample->event] += sample->period;
	seen.samples += sample->tid == (uint32_t)seen.tid;
	seen.other_period += sample->period != seen.want;
}

static const struct pm_listener listener = { .size = sizeof(listener), .sample = on_sample };

/* NULL: records did not arrive, which a flood of them is allowed to cause. */
static struct pm_session *attached_if(struct pm_plan *plan, uint64_t want, bool flood)
{
	struct pm_session *session = pm_session_create(plan, &listener, NULL);
	struct pm_diag diag = { .size = sizeof(diag) };

	memset(&seen, 0, sizeof(seen));
	seen.tid = pm_gettid();
	seen.want = want;
	if (pm_session_attach(session, &diag) >= 0)
		return session;
	if (!flood || diag.cause != PM_CAUSE_SILENCE)
		fail_msg("%s", diag.text);
	pm_session_destroy(session);
	return NULL;
}

static struct pm_session *attached(struct pm_plan *plan, uint64_t want)
{
	return attached_if(plan, want, false);
}

/* Nothing was found to be wrong that is not. */
static void end(struct pm_session *session)
{
	struct pm_stats stats = { .size = sizeof(stats) };

	assert_int_equal(pm_session_detach(session), 0);
	(void)pm_session_stats(session, &stats);
	if (stats.incomplete_events + stats.unknown > 0 ||
	    (stats.silent_events > 0 && !seen.sleeps))
		fail_msg("at a period of %llu: incomplete %llu, silent %llu, unknown %llu",
			 (unsigned long long)seen.want,
			 (unsigned long long)stats.incomplete_events,
			 (unsigned long long)stats.silent_events,
			 (unsigned long long)stats.unknown);
	pm_session_destroy(session);
}

/* What has happened is at most a lap; a clock goes on, and a slow machine never catches up. */
static void drain(struct pm_session *session)
{
	for (int laps = 0; laps < 4 && pm_session_poll(session, 0) > 0; laps++)
		;
}

/* `cause` makes it happen so often on one CPU, and says how often it did, at least and at most. */
static void expect(enum pm_strategy strategy, struct pm_event_spec spec,
		   void (*cause)(uint64_t *ret_least, uint64_t *ret_most))
{
	struct pm_plan *plan = plan_of(&spec, 1, strategy, NULL);
	struct pm_session *session;
	uint64_t least = 0, most = 0;
	cpu_set_t before;

	if (plan == NULL)
		skip();
	session = attached(plan, spec.period);
	on_one_cpu(&before);
	drain(session);
	/* What is under way since the attach may be nearly a period. */
	seen.samples = 0;
	for (int i = 0; i < TURNS; i++) {
		cause(&least, &most);
		drain(session);
	}
	(void)sched_setaffinity(0, sizeof(before), &before);
	if (seen.samples + 1 < least / spec.period || seen.samples > most / spec.period + 1 ||
	    seen.other_period > 0)
		fail_msg("%s: %llu samples of %llu to %llu at a period of %llu, %llu with another "
			 "period", pm_strategy_name(strategy), (unsigned long long)seen.samples,
			 (unsigned long long)least, (unsigned long long)most,
			 (unsigned long long)spec.period, (unsigned long long)seen.other_period);
	end(session);
	pm_plan_destroy(plan);
}

/* --------------------------------------------------------------------------- what is to happen */

static uint64_t of_usage(bool of_faults)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_THREAD, &usage), 0);
	return of_faults ? (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt :
		(uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw;
}

static void fault(uint64_t *ret_least, uint64_t *ret_most)
{
	const uint64_t before = of_usage(true);

	cause_faults(FAULTS / TURNS);
	*ret_least += FAULTS / TURNS;
	*ret_most += of_usage(true) - before + 64;	/* of the reader, too */
}

static void sleep_often(uint64_t *ret_least, uint64_t *ret_most)
{
	const struct timespec little = { 0, 1000 };
	const uint64_t before = of_usage(false);

	seen.sleeps = true;
	for (int i = 0; i < SWITCHES / TURNS; i++)
		(void)nanosleep(&little, NULL);
	/* A timer that is over at once makes no switch. */
	*ret_least += of_usage(false) - before;
	*ret_most += of_usage(false) - before + 64;
}

static volatile long watched;

static void write_often(uint64_t *ret_least, uint64_t *ret_most)
{
	for (long i = 0; i < WRITES / TURNS; i++)
		watched = i;
	*ret_least += WRITES / TURNS;
	*ret_most += WRITES / TURNS;
}

/* -------------------------------------------------------------------------------------- events */

static const enum pm_strategy ways[] = {
	PM_STRATEGY_PER_CPU, PM_STRATEGY_OWN_RINGS, PM_STRATEGY_PER_THREAD,
};

static struct pm_event_spec named(const char *name, uint64_t period)
{
	struct pm_event_spec spec = { .size = sizeof(spec), .period = period,
				      .tid = PM_ALL_THREADS };
	struct pm_diag diag = { .size = sizeof(diag) };

	if (pm_event_parse(name, &diag, &spec) < 0) {
		print_message("%s\n", diag.text);
		skip();
	}
	return spec;
}

static void each_period(const char *name, void (*cause)(uint64_t *, uint64_t *))
{
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
		for (size_t k = 0; k < ARRAY_SIZE(periods); k++)
			expect(ways[i], named(name, periods[k]), cause);
}

static void page_faults(void **state)
{
	(void)state;
	each_period("page-faults", fault);
}

static void context_switches(void **state)
{
	(void)state;
	each_period("context-switches", sleep_often);
}

static void tracepoints(void **state)
{
	(void)state;
	each_period("sched:sched_switch", sleep_often);
}

static void breakpoints(void **state)
{
	struct pm_event_spec spec = {
		.size = sizeof(spec), .type = PERF_TYPE_BREAKPOINT, .config = HW_BREAKPOINT_W,
		.config1 = (uint64_t)(uintptr_t)&watched, .config2 = sizeof(watched),
		.flags = PM_SPEC_USER_ONLY,
	};

	(void)state;
	if (!breakpoints_fire())
		skip();
	for (size_t k = 0; k < ARRAY_SIZE(periods); k++) {
		spec.period = periods[k];
		expect(PM_STRATEGY_PER_THREAD, spec, write_often);
	}
}

/* The address of a fault is still that of a fault that was caused. */
static void with_addresses_and_chains(void **state)
{
	struct pm_event_spec spec = named("page-faults", 7);

	(void)state;
	spec.want = PM_WANT_ADDRESS | PM_WANT_CALLCHAIN;
	expect(PM_STRATEGY_PER_CPU, spec, fault);
}

static void by_signals(void **state)
{
	struct pm_event_spec spec = named("page-faults", 100);

	(void)state;
	spec.tid = 0;
	expect(PM_STRATEGY_SIGNALS, spec, fault);
}

/* CPU time of this thread, at least so much. */
static void burn(uint64_t ns)
{
	uint64_t begin = 0, now = 0;

	assert_int_equal(pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &begin), 0);
	do {
		for (volatile int i = 0; i < 10000; i++)
			;
		(void)pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &now);
	} while (now - begin < ns);
}

/* A timer may come late, never early; and no sample says that it stands for less than it does. */
static void clocks(void **state)
{
	static const uint64_t asked[] = { 1000, 100000, 1000000 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		const uint64_t period = asked[i] < 10000 ? 10000 : asked[i];
		struct pm_event_spec spec = named("task-clock", asked[i]);
		struct pm_plan *plan = plan_of(&spec, 1, PM_STRATEGY_PER_CPU, NULL);
		struct pm_session *session;
		struct pm_value value = { .size = sizeof(value) };
		char text[8192];

		if (plan == NULL)
			skip();
		(void)pm_plan_explain(plan, text, sizeof(text));
		assert_true((strstr(text, "every 10000 ns instead") != NULL) ==
			    (asked[i] < 10000));
		session = attached_if(plan, period, period < 100000);
		if (session == NULL) {
			pm_plan_destroy(plan);
			continue;
		}
		burn(50000000);
		assert_int_equal(pm_session_read(session, &value, 1), 1);
		drain(session);
		print_message("%llu ns: %llu samples in %llu ns\n", (unsigned long long)period,
			      (unsigned long long)seen.by_event[0],
			      (unsigned long long)value.value);
		assert_int_equal(seen.other_period, 0);
		assert_true(seen.by_event[0] > 0);
		end(session);
		pm_plan_destroy(plan);
	}
}

/* -------------------------------------------------------------------------------- side by side */

/* One tells its periods and the other one does not, in one ring. */
static void beside(struct pm_event_spec second, unsigned int want)
{
	struct pm_event_spec specs[] = { named("page-faults", 100), second };
	struct pm_plan *plan;
	struct pm_session *session;

	specs[0].want = specs[1].want = want;
	plan = plan_of(specs, 2, PM_STRATEGY_PER_CPU, NULL);
	if (plan == NULL)
		skip();
	session = attached(plan, 100);
	for (int i = 0; i < TURNS; i++) {
		cause_faults(FAULTS / TURNS);
		drain(session);
	}
	burn(20000000);
	drain(session);
	/* Two CPUs or more: on each a period may be under way. */
	assert_in_range(seen.by_event[0], FAULTS / 100 - 64, FAULTS / 100 + 64);
	assert_int_equal(seen.weight[0], seen.by_event[0] * 100);
	assert_true(seen.by_event[1] > 0 && seen.weight[1] >= seen.by_event[1]);
	end(session);
	pm_plan_destroy(plan);
}

static void beside_a_clock(void **state)
{
	(void)state;
	beside(named("task-clock", 1000000), 0);
	beside(named("task-clock", 1000000), PM_WANT_CALLCHAIN);
}

/* One fault hits both, and the kernel may give both samples one id (Linux 6.3). */
static void beside_each_fault(void **state)
{
	(void)state;
	beside(named("minor-faults", 1), PM_WANT_ADDRESS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(page_faults),
		cmocka_unit_test(context_switches),
		cmocka_unit_test(tracepoints),
		cmocka_unit_test(breakpoints),
		cmocka_unit_test(with_addresses_and_chains),
		cmocka_unit_test(by_signals),
		cmocka_unit_test(clocks),
		cmocka_unit_test(beside_a_clock),
		cmocka_unit_test(beside_each_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
