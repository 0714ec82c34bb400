/* SPDX-License-Identifier: MIT */
/*
 * Weights of samples on the running kernel: the CPU time that they stand for, beside what the
 * threads used, and the time that no sample stands for.
 */
#define _GNU_SOURCE
#include "../test.h"

#include "sessions.h"

static _Atomic uint64_t weight;
static _Atomic unsigned int without_weight;
static uint32_t with_samples[256];	/* threads that have one */
static size_t threads_with_samples;

static void weigh(void *context, const struct pm_observed *sample)
{
	size_t i = 0;

	(void)context;
	weight += sample->period;
	without_weight += sample->period == 0;
	while (i < threads_with_samples && with_samples[i] != sample->tid)
		i++;
	if (i == threads_with_samples && i < sizeof(with_samples) / sizeof(with_samples[0]))
		with_samples[threads_with_samples++] = sample->tid;
}

static void *spin_briefly(void *context)
{
	uint64_t begin = 0, now;

	(void)pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &begin);
	do {
		for (volatile int i = 0; i < 10000; i++)
			;	/* in user mode, where those without rights are observed */
		(void)pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &now);
	} while (now - begin < *(const uint64_t *)context);
	return NULL;
}

static uint64_t elapsed;	/* ns; in a guest clock events also count what the host takes */
static uint64_t used;		/* ns of CPU time, by the clock of this process */

/*
 * So many threads, two at a time, use so much CPU time each; with none the calling one does.
 * Returns what the session says of it.
 */
static struct pm_stats weigh_threads(const struct pm_event_spec *spec, enum pm_strategy strategy,
				     size_t threads, uint64_t each)
{
	const struct pm_listener listener = { .size = sizeof(listener), .sample = weigh };
	struct pm_plan *plan = plan_of(spec, 1, strategy, NULL);
	struct pm_stats stats = { .size = sizeof(stats) };
	struct pm_session *session;
	pthread_t pair[2];
	uint64_t begin = 0, used_before = 0;

	if (plan == NULL)
		skip();
	weight = without_weight = threads_with_samples = 0;
	session = pm_session_create(plan, &listener, NULL);
	(void)pm_clock_ns(CLOCK_MONOTONIC, &begin);
	(void)pm_clock_ns(CLOCK_PROCESS_CPUTIME_ID, &used_before);
	assert_int_equal(pm_session_attach(session, NULL), (int)strategy);
	for (size_t i = 0; i < threads; i += 2) {
		for (size_t k = 0; k < 2; k++)
			assert_int_equal(pthread_create(&pair[k], NULL, spin_briefly, &each), 0);
		for (size_t k = 0; k < 2; k++)
			pthread_join(pair[k], NULL);
		(void)pm_session_poll(session, 0);
	}
	if (threads == 0)
		(void)spin_briefly(&each);
	pm_session_detach(session);
	(void)pm_clock_ns(CLOCK_MONOTONIC, &elapsed);
	elapsed -= begin;
	(void)pm_clock_ns(CLOCK_PROCESS_CPUTIME_ID, &used);
	used -= used_before;
	pm_session_stats(session, &stats);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
	assert_int_equal(weight, stats.cpu_time_sampled);
	assert_int_equal(without_weight, 0);
	return stats;
}

/*
 * A hypervisor that takes a CPU for a while costs samples, as one tick comes where several were
 * due, and the clocks run on. Where other programs run, too, a POSIX timer looks seldom: 50 ms of
 * 400 after its last signal were seen of a bare one. Weights that were wrong would be so each time.
 */
static struct pm_stats weigh_undisturbed(const struct pm_event_spec *spec,
					 enum pm_strategy strategy, size_t threads,
					 uint64_t ns)
{
	struct pm_stats stats;
	int tries = 0;

	do
		stats = weigh_threads(spec, strategy, threads, ns);
	while (stats.cpu_time_sampled < stats.cpu_time / 100 * 70 && ++tries < 50);
	return stats;
}

static void process_timers_weigh_by_the_cpu_clock(void **state)
{
	struct pm_stats stats;

	(void)state;
	stats = weigh_undisturbed(&clock_of_all, PM_STRATEGY_PROCESS_TIMER, 2, 200000000);
	assert_in_range(stats.cpu_time, 400000000, used);
	assert_in_range(stats.cpu_time_sampled, stats.cpu_time / 100 * 70, stats.cpu_time);
}

/*
 * Threads that end before their first tick have no sample, and that is told. A host that takes the
 * CPU adds to a thread's time and so gives it a tick; seldom to all 200.
 */
static void time_without_samples_is_told(void **state)
{
	struct pm_stats stats;
	int tries = 0;

	(void)state;
	do
		stats = weigh_threads(&clock_of_all, PM_STRATEGY_TIMERS, 200, 200000);
	while (threads_with_samples >= 200 && ++tries < 50);
	assert_in_range(threads_with_samples, 0, 199);
	assert_in_range(stats.cpu_time, 200 * 200000, used);
	assert_in_range(stats.cpu_time_sampled, 0,
			stats.cpu_time - (200 - threads_with_samples) * 200000);
	stats = weigh_undisturbed(&clock_of_all, PM_STRATEGY_PER_CPU, 2, 100000000);
	assert_in_range(stats.cpu_time_sampled, stats.cpu_time / 100 * 70, 2 * elapsed);
}

static void frequencies_tell_their_periods(void **state)
{
	struct pm_event_spec spec = clock_of_all;
	struct pm_stats stats;

	(void)state;
	spec.period = 0;
	spec.frequency = 1000;
	stats = weigh_undisturbed(&spec, PM_STRATEGY_PER_CPU, 2, 100000000);
	assert_in_range(stats.cpu_time_sampled, stats.cpu_time / 100 * 70, 2 * elapsed);
	spec.tid = 0;
	stats = weigh_undisturbed(&spec, PM_STRATEGY_SIGNALS, 0, 200000000);
	assert_true(stats.samples > 0);
	assert_in_range(stats.cpu_time_sampled, stats.cpu_time / 100 * 70, elapsed + 1000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(process_timers_weigh_by_the_cpu_clock),
		cmocka_unit_test(time_without_samples_is_told),
		cmocka_unit_test(frequencies_tell_their_periods),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
