/* SPDX-License-Identifier: MIT */
/*
 * Values and shares of time: running / enabled is 1 where nothing is multiplexed and the estimate
 * is the value, on the running kernel by each strategy that has sums. No PMU is needed for what is
 * multiplexed: events that answer by script tell it.
 */
#define _GNU_SOURCE
#include "../test.h"

#include <sched.h>
#include <sys/resource.h>
#include <time.h>

#include "../../policy/engine/engine.h"
#include "../../policy/engine/shares.h"
#include "../../policy/strategy/order.h"
#include "sessions.h"

#define FAULTS 5000
#define WORKERS 3
#define PARTS 4096
#define MS 1000000ull
#define TIMES (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

/* ------------------------------------------------------------------------- the running kernel */

/* Goes to each CPU that it may run on, and causes a part of the faults there. */
static void fault_everywhere(void)
{
	cpu_set_t all, one;
	int count = 0, done = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	count = CPU_COUNT(&all);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
		done++;
		cause_faults((size_t)(FAULTS * done / count - FAULTS * (done - 1) / count));
	}
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

static void *fault_in_a_thread(void *context)
{
	fault_everywhere();
	return context;
}

static void expect_whole(const struct pm_value *value)
{
	uint64_t estimate = 0;

	assert_int_equal(pm_value_scale(value, &estimate), 0);
	assert_true(estimate == value->value);
	assert_true(value->enabled == value->running);
}

/* The parts make up the sum, and each tells the share of the whole. */
static void expect_parts(struct pm_session *session, size_t count, const struct pm_value *sums)
{
	static struct pm_part parts[PARTS];
	struct pm_value found[2] = { { .size = sizeof(found[0]) } };
	int have;

	parts[0].size = sizeof(parts[0]);
	have = pm_session_read_parts(session, parts, PARTS);
	assert_in_range(have, 1, PARTS);
	for (int i = 0; i < have; i++) {
		const struct pm_value part = { .size = sizeof(part), .value = parts[i].value,
			.enabled = parts[i].enabled, .running = parts[i].running };

		expect_whole(&part);
		assert_true(parts[i].event < count);
		found[parts[i].event].value += part.value;
		found[parts[i].event].running += part.running;
	}
	/* Read later, while this thread goes on; of what was closed there are no parts. */
	for (size_t i = 0; i < count; i++)
		assert_true(found[i].value + FAULTS * WORKERS >= sums[i].value);
}

/* As the kernel accounts them without perf; ended threads are among those of all. */
static uint64_t faults_of(int tid)
{
	struct rusage usage;

	assert_int_equal(getrusage(tid == 0 ? RUSAGE_THREAD : RUSAGE_SELF, &usage), 0);
	return (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
}

static clockid_t clock_of(int tid)
{
	return tid == 0 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID;
}

/*
 * The clock has the CPU time that its threads used, and no more than has passed for each of them.
 * CPU time is no upper bound: it leaves out what a host took away, and events do not.
 */
static void expect_clock(const struct pm_value *before, const struct pm_value *value, uint64_t used,
			 uint64_t passed)
{
	const uint64_t counted = value->value - before->value;

	if (counted + counted / 4 + MS < used || value->value > passed || value->running > passed)
		fail_msg("counted %llu, running %llu, of %llu ns that passed; CPU time %llu",
			 (unsigned long long)value->value, (unsigned long long)value->running,
			 (unsigned long long)passed, (unsigned long long)used);
}

static void expect_shares(enum pm_strategy strategy, int tid, uint64_t period, bool may_refuse)
{
	struct pm_event_spec specs[] = {
		{ .size = sizeof(specs[0]), .type = PERF_TYPE_SOFTWARE, .tid = tid,
		  .config = PERF_COUNT_SW_PAGE_FAULTS, .period = period ? 1 : 0 },
		{ .size = sizeof(specs[0]), .type = PERF_TYPE_SOFTWARE, .tid = tid,
		  .config = PERF_COUNT_SW_TASK_CLOCK, .period = period },
	};
	/* Events of CPUs tell of the clock of CPUs, and of what others do there. */
	const size_t count = tid == PM_SYSTEM ? 1 : ARRAY_SIZE(specs);
	const bool all = tid == PM_ALL_THREADS;
	const uint64_t makers = all ? 1 + WORKERS : 1;
	struct pm_plan *plan = plan_of(specs, count, strategy, NULL);
	struct pm_value before[2] = { { .size = sizeof(before[0]) } };
	struct pm_value values[2] = { { .size = sizeof(values[0]) } };
	struct pm_diag diag = { .size = sizeof(diag) };
	pthread_t threads[WORKERS];
	struct pm_session *session;
	uint64_t begun = 0, now = 0, caused, clock[2], did;
	int err;

	if (plan == NULL)
		skip();
	session = pm_session_create(plan, NULL, NULL);
	assert_int_equal(pm_clock_ns(CLOCK_MONOTONIC, &begun), 0);
	err = pm_session_attach(session, &diag);
	if (err < 0 && !may_refuse)
		fail_msg("%d %s", err, diag.text);
	if (err < 0)
		skip();
	did = faults_of(tid);
	assert_int_equal(pm_session_read(session, before, count), count);
	assert_int_equal(pm_clock_ns(clock_of(tid), &clock[0]), 0);
	fault_everywhere();
	for (int i = 0; all && i < WORKERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, fault_in_a_thread, NULL), 0);
	for (int i = 0; all && i < WORKERS; i++)
		expect_null(threads[i]);
	assert_int_equal(pm_clock_ns(clock_of(tid), &clock[1]), 0);
	assert_int_equal(pm_session_read(session, values, count), count);
	for (size_t i = 0; i < count; i++)
		expect_whole(&values[i]);
	did = faults_of(tid) - did;
	caused = values[0].value - before[0].value;
	if (caused < FAULTS * makers || (tid != PM_SYSTEM && caused > did))
		fail_msg("%s: %llu faults of %llu", pm_strategy_name(strategy),
			 (unsigned long long)caused, (unsigned long long)did);
	assert_int_equal(pm_clock_ns(CLOCK_MONOTONIC, &now), 0);
	if (count > 1)
		expect_clock(&before[1], &values[1], clock[1] - clock[0],
			     (now - begun + (now - begun) / 16) * makers);
	expect_parts(session, count, values);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

static void per_cpu(void **state)
{
	(void)state;
	expect_shares(PM_STRATEGY_PER_CPU, PM_ALL_THREADS, MS, false);
}

static void per_cpu_of_one_thread(void **state)
{
	(void)state;
	expect_shares(PM_STRATEGY_PER_CPU, 0, MS, false);
}

static void per_thread(void **state)
{
	(void)state;
	expect_shares(PM_STRATEGY_PER_THREAD, 0, MS, false);
}

static void signals(void **state)
{
	struct pm_event_spec spec = { .size = sizeof(spec), .type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS, .period = 1000 };
	struct pm_plan *plan = plan_of(&spec, 1, PM_STRATEGY_SIGNALS, NULL);
	struct pm_value value = { .size = sizeof(value) };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_session *session;

	(void)state;
	if (plan == NULL)
		skip();
	session = pm_session_create(plan, NULL, NULL);
	assert_int_equal(pm_session_attach(session, &diag), PM_STRATEGY_SIGNALS);
	cause_faults(FAULTS);
	assert_int_equal(pm_session_read(session, &value, 1), 1);
	expect_whole(&value);
	assert_in_range(value.value, FAULTS, FAULTS + FAULTS / 4);	/* a sanitizer's, too */
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

static void counters(void **state)
{
	(void)state;
	expect_shares(PM_STRATEGY_COUNTERS, PM_ALL_THREADS, 0, false);
}

static void counters_per_cpu(void **state)
{
	(void)state;
	expect_shares(PM_STRATEGY_COUNTERS_PER_CPU, PM_ALL_THREADS, 0, false);
}

static void cpu_wide(void **state)
{
	(void)state;
	expect_shares(PM_STRATEGY_CPU_WIDE, PM_SYSTEM, 0, true);
}

/* ---------------------------------------------------------------------------- answers by script */

#define EVENTS 4

static struct pm_plan plan;
static struct pm_session session;
static struct session_event events[EVENTS];
static struct shares shares;
static struct pm_value sums[PLAN_EVENTS_MAX];

/* Events of one hardware event, on threads 7 and 8 and CPUs 0 and 1. */
static int by_script(void **state)
{
	(void)state;
	memset(&plan, 0, sizeof(plan));
	memset(&session, 0, sizeof(session));
	memset(events, 0, sizeof(events));
	session.plan = &plan;
	session.strategy = pm_strategy_of(PM_STRATEGY_PER_CPU);
	session.events = (struct event_list){ .list = events, .plan = &plan,
		.read_format = { TIMES, TIMES } };
	plan.count = plan.asked = 1;
	plan.now.cpus = 2;
	plan.events[0].attr.type = PERF_TYPE_HARDWARE;
	plan.events[0].attr.read_format = TIMES;
	return 0;
}

static struct session_event *add(pid_t tid, int cpu, uint64_t value, uint64_t enabled,
				 uint64_t running)
{
	const uint64_t words[] = { value, enabled, running };
	struct session_event *event = &events[session.events.count++];
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], words, sizeof(words)), sizeof(words));
	close(ends[1]);
	event->fd = ends[0];
	event->tid = tid;
	event->cpu = cpu;
	return event;
}

static void read_script(void)
{
	assert_int_equal(pm_shares_read(&session, &shares), 0);
	pm_shares_sum(&session, &shares, sums);
}

static int end_script(void **state)
{
	(void)state;
	for (size_t i = 0; i < session.events.count; i++)
		close(events[i].fd);
	pm_shares_free(&shares);
	return 0;
}

/* A hundred ms of a thread, half of them with the event, on either CPU. */
static void multiplexed(void **state)
{
	uint64_t estimate;

	(void)state;
	add(7, 0, 3000, 100 * MS, 30 * MS);
	add(7, 1, 2000, 100 * MS, 20 * MS);
	read_script();
	assert_true(sums[0].value == 5000 && sums[0].running == 50 * MS);
	assert_true(sums[0].enabled == 100 * MS);
	assert_int_equal(pm_value_scale(&sums[0], &estimate), 0);
	assert_true(estimate == 10000);
	assert_true(shares.list[0].enabled == 60 * MS && shares.list[0].running == 30 * MS);
	assert_true(shares.list[1].enabled == 40 * MS && shares.list[1].running == 20 * MS);
}

/* One thread always, the other one for a quarter of its time: each by itself. */
static void of_two_threads(void **state)
{
	(void)state;
	add(7, 0, 10, 80 * MS, 60 * MS);
	add(7, 1, 10, 80 * MS, 20 * MS);
	add(8, 0, 10, 40 * MS, 10 * MS);
	add(8, 1, 10, 40 * MS, 0);
	read_script();
	assert_true(sums[0].enabled == 120 * MS && sums[0].running == 90 * MS);
	assert_true(shares.list[1].enabled == 20 * MS);
	assert_true(shares.list[2].enabled == 40 * MS && shares.list[3].enabled == 0);
}

/* It ran while its events were opened one by one, and that is no share that is missing. */
static void opened_one_by_one(void **state)
{
	struct session_event *first = add(7, 0, 10, 80 * MS, 50 * MS);
	struct session_event *last = add(7, 1, 10, 79 * MS, 29 * MS);

	(void)state;
	first->begun[0] = 10 * MS;
	last->begun[1] = 11 * MS;
	last->begun[0] = first->begun[1] = 10 * MS + 1;
	read_script();
	assert_true(sums[0].enabled == 79 * MS && sums[0].running == 79 * MS);
}

static void never_on(void **state)
{
	uint64_t estimate;

	(void)state;
	add(7, 0, 0, 80 * MS, 0);
	add(7, 1, 0, 80 * MS, 0);
	read_script();
	assert_true(sums[0].enabled == 80 * MS && sums[0].running == 0);
	assert_int_equal(pm_value_scale(&sums[0], &estimate), -ENODATA);
	assert_true(shares.list[0].enabled == 40 * MS && shares.list[1].enabled == 40 * MS);
}

/* Of the CPUs that are not observed nothing is known; what takes no turns was always on. */
static void on_some_cpus(void **state)
{
	(void)state;
	strcpy(plan.cpus, "0");
	add(7, 0, 30, 100 * MS, 30 * MS);
	read_script();
	assert_true(sums[0].value == 30 && sums[0].enabled == 0 && sums[0].running == 0);
	close(events[0].fd);
	session.events.count = 0;
	plan.events[0].attr.type = PERF_TYPE_SOFTWARE;
	add(7, 0, 30, 100 * MS, 30 * MS);
	read_script();
	assert_true(sums[0].value == 30 && sums[0].enabled == 30 * MS);
	assert_true(shares.list[0].enabled == 30 * MS);
}

/* CPU 0 has one kind of cores and CPU 1 the other, and the caller asked for one event. */
static void on_two_kinds(void **state)
{
	(void)state;
	plan.count = 2;
	plan.events[1] = plan.events[0];
	strcpy(plan.events[0].pmu, "cpu_core");
	strcpy(plan.events[1].pmu, "cpu_atom");
	plan.events[0].on[0] = 1;
	plan.events[1].on[0] = 2;
	add(7, 0, 30, 100 * MS, 60 * MS);
	add(7, 1, 30, 100 * MS, 20 * MS)->spec = 1;
	read_script();
	assert_true(sums[0].value == 60 && sums[0].enabled == 100 * MS);
	assert_true(sums[0].running == 80 * MS);
}

/* Thread 8 came after the session: on CPU 0 it is counted for its maker, on CPU 1 by itself. */
static void on_a_cpu_that_came(void **state)
{
	(void)state;
	add(7, 0, 30, 100 * MS, 60 * MS);
	add(7, 1, 30, 50 * MS, 10 * MS)->late = 1;
	add(8, 1, 30, 30 * MS, 30 * MS)->late = 1;
	read_script();
	assert_true(sums[0].value == 90);
	assert_true(sums[0].enabled == 100 * MS && sums[0].running == 100 * MS);
}

/* Each event of a CPU is by itself. */
static void of_cpus(void **state)
{
	(void)state;
	session.strategy = pm_strategy_of(PM_STRATEGY_CPU_WIDE);
	add(-1, 0, 10, 100 * MS, 50 * MS);
	add(-1, 1, 10, 100 * MS, 100 * MS);
	read_script();
	assert_true(sums[0].enabled == 200 * MS && sums[0].running == 150 * MS);
	assert_true(shares.list[0].enabled == 100 * MS && shares.list[1].enabled == 100 * MS);
}

#define SCRIPT(test) cmocka_unit_test_setup_teardown(test, by_script, end_script)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(per_cpu),
		cmocka_unit_test(per_cpu_of_one_thread),
		cmocka_unit_test(per_thread),
		cmocka_unit_test(signals),
		cmocka_unit_test(counters),
		cmocka_unit_test(counters_per_cpu),
		cmocka_unit_test(cpu_wide),
		SCRIPT(multiplexed),
		SCRIPT(of_two_threads),
		SCRIPT(opened_one_by_one),
		SCRIPT(never_on),
		SCRIPT(on_some_cpus),
		SCRIPT(on_two_kinds),
		SCRIPT(on_a_cpu_that_came),
		SCRIPT(of_cpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
