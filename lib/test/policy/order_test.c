/* SPDX-License-Identifier: MIT */
/* Records of several rings in the order of time: arrivals, bounds, losses, a real session. */
#include "../test.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../perfmodes.h"

#define SEEN_MAX 100000

static struct seen {
	uint64_t time, first, raw, branches, group;
	uint32_t cpu;
	char kind;
} seen[SEEN_MAX];
static size_t count;

static void on_sample(void *context, const struct pm_observed *sample)
{
	struct seen *one = &seen[count++];

	assert_ptr_equal(context, &count);
	*one = (struct seen){ .time = sample->time, .cpu = sample->cpu, .kind = 's' };
	if (sample->callchain_count > 0)
		one->first = sample->callchain[sample->callchain_count - 1];
	if (sample->raw != NULL)
		memcpy(&one->raw, sample->raw, sizeof(one->raw));
	for (size_t i = 0; i < sample->branch_count; i++)
		one->branches += sample->branches[i].to;
	for (size_t i = 0; i < sample->group_count; i++)
		one->group += sample->group[i].value;
}

static void on_task(void *context, int tid, int parent, uint64_t time)
{
	(void)context;
	seen[count++] = (struct seen){ .time = time, .cpu = (uint32_t)(tid + parent), .kind = 't' };
}

static void on_lost(void *context, uint64_t number)
{
	(void)context;
	seen[count++] = (struct seen){ .first = number, .kind = 'l' };
}

static void on_other(void *context, const void *record, size_t size)
{
	(void)context;
	assert_int_equal(size, 16);
	seen[count++] = (struct seen){ .raw = *(const uint64_t *)record, .kind = 'o' };
}

static struct pm_order *make(size_t bytes, uint64_t window, struct pm_listener *ret)
{
	const struct pm_listener mine = { .size = sizeof(mine), .sample = on_sample,
					  .task = on_task, .lost = on_lost, .other = on_other };
	const struct pm_order_opts opts = { .size = sizeof(opts), .bytes = bytes,
					    .window = window };
	struct pm_order *order = pm_order_create(&opts, &mine, &count);

	assert_non_null(order);
	ret->size = sizeof(*ret);
	assert_int_equal(pm_order_listener(order, ret), 0);
	count = 0;
	return order;
}

static struct pm_order_stats stats_of(const struct pm_order *order)
{
	struct pm_order_stats stats = { .size = sizeof(stats) };

	assert_int_equal(pm_order_stats(order, &stats), 0);
	return stats;
}

/* A sample whose arrays tell its time; they are gone when the call has returned. */
static void put(struct pm_order *order, const struct pm_listener *to, uint32_t cpu, uint64_t time)
{
	uint64_t chain[3] = { 1, 2, time }, raw = time * 3;
	struct pm_branch branches[2] = { { .to = time }, { .to = time } };
	struct pm_member group[2] = { { .value = time }, { .value = 4 * time } };
	const struct pm_observed sample = {
		.size = sizeof(sample), .cpu = cpu, .time = time, .callchain = chain,
		.callchain_count = time % 4 ? 3 : 0, .raw = time % 3 ? &raw : NULL,
		.raw_size = time % 3 ? sizeof(raw) : 0, .branches = time % 5 ? branches : NULL,
		.branch_count = time % 5 ? 2 : 0, .group = time % 7 ? group : NULL,
		.group_count = time % 7 ? 2 : 0,
	};

	to->sample(order, &sample);
	memset(group, 0, sizeof(group));
	memset(branches, 0, sizeof(branches));
}

static void check_sample(const struct seen *one)
{
	assert_int_equal(one->first, one->time % 4 ? one->time : 0);
	assert_int_equal(one->raw, one->time % 3 ? one->time * 3 : 0);
	assert_int_equal(one->branches, one->time % 5 ? one->time * 2 : 0);
	assert_int_equal(one->group, one->time % 7 ? one->time * 5 : 0);
}

/* Rings of 5 CPUs, each in order, are drained one after the other. */
static void rings_are_merged(void **state)
{
	struct pm_listener to;
	struct pm_order *order = make(1 << 30, 0, &to);
	uint64_t time[5] = { 0 }, all = 0;

	(void)state;
	srand(1);
	for (uint32_t cpu = 0; cpu < 5; cpu++)
		for (int i = 0; i < 2000; i++, all++)
			put(order, &to, cpu, time[cpu] += 1 + (uint64_t)rand() % 7);
	assert_int_equal(count, 0);
	assert_int_equal(stats_of(order).held, all);
	assert_int_equal(pm_order_flush(order), all);
	assert_int_equal(count, all);
	for (size_t i = 0; i < count; i++) {
		check_sample(&seen[i]);
		assert_true(i == 0 || seen[i].time >= seen[i - 1].time);
	}
	assert_int_equal(stats_of(order).late, 0);
	assert_int_equal(stats_of(order).held_bytes, 0);
	pm_order_destroy(order);
}

static void equal_times_keep_their_order(void **state)
{
	struct pm_listener to;
	struct pm_order *order = make(0, 0, &to);

	(void)state;
	for (uint32_t i = 0; i < 300; i++)
		put(order, &to, i, 7 + i / 100);
	pm_order_flush(order);
	for (uint32_t i = 0; i < 300; i++)
		assert_int_equal(seen[i].cpu, i);
	pm_order_destroy(order);
}

/* A loss, and a record without a time, stay behind the record of their ring that came before. */
static void losses_keep_their_place(void **state)
{
	const uint64_t record[2] = { 4711, 0 };
	struct pm_listener to;
	struct pm_order *order = make(0, 0, &to);

	(void)state;
	put(order, &to, 0, 10);
	to.lost(order, 5);
	to.other(order, record, sizeof(record));
	put(order, &to, 0, 30);
	put(order, &to, 1, 5);
	to.task(order, 3, 4, 20);
	assert_int_equal(pm_order_flush(order), 6);
	assert_int_equal(seen[0].time, 5);
	assert_int_equal(seen[1].time, 10);
	assert_int_equal(seen[2].kind, 'l');
	assert_int_equal(seen[2].first, 5);
	assert_int_equal(seen[3].kind, 'o');
	assert_int_equal(seen[3].raw, 4711);
	assert_int_equal(seen[4].cpu, 7);
	assert_int_equal(seen[5].time, 30);
	assert_int_equal(stats_of(order).lost, 5);
	pm_order_destroy(order);
}

/* Records that no callback is for are not among those delivered; losses are told in any case. */
static void only_what_is_listened_to(void **state)
{
	const struct pm_listener mine = { .size = sizeof(mine), .sample = on_sample };
	struct pm_order *order = pm_order_create(NULL, &mine, &count);
	struct pm_listener to = { .size = sizeof(to) };

	(void)state;
	assert_int_equal(pm_order_listener(order, &to), 0);
	assert_null(to.task);
	assert_null(to.other);
	count = 0;
	to.lost(order, 5);
	assert_int_equal(stats_of(order).held, 0);
	put(order, &to, 0, 10);
	assert_int_equal(pm_order_flush(order), 1);
	assert_int_equal(count, 1);
	assert_int_equal(stats_of(order).delivered, 1);
	assert_int_equal(stats_of(order).lost, 5);
	pm_order_destroy(order);
}

/* Memory is bounded, nothing is dropped, and what comes too late is told. */
static void bytes_are_bounded(void **state)
{
	struct pm_listener to;
	struct pm_order *order = make(4096, 0, &to);
	struct pm_order_stats stats;

	(void)state;
	for (uint64_t time = 1000; time > 0; time--)
		put(order, &to, 0, time);
	stats = stats_of(order);
	assert_true(stats.held_bytes_max <= 4096 && stats.held_bytes <= 4096);
	assert_true(stats.forced >= 900);
	pm_order_flush(order);
	stats = stats_of(order);
	assert_int_equal(count, 1000);
	assert_int_equal(stats.delivered, 1000);
	assert_true(stats.late >= 900);
	for (size_t i = 0; i < count; i++)
		check_sample(&seen[i]);
	pm_order_destroy(order);
}

static void a_window_delivers_by_itself(void **state)
{
	struct pm_listener to;
	struct pm_order *order = make(0, 100, &to);

	(void)state;
	put(order, &to, 0, 1000);
	put(order, &to, 1, 950);
	put(order, &to, 0, 1100);
	assert_int_equal(count, 2);
	assert_int_equal(seen[0].time, 950);
	put(order, &to, 1, 900);	/* older than the window: told to be late */
	assert_int_equal(count, 3);
	assert_int_equal(stats_of(order).late, 1);
	assert_int_equal(stats_of(order).held, 1);
	pm_order_destroy(order);	/* with one held: no leak */
	pm_order_destroy(NULL);
}

/* ------------------------------------------------------------------------------- a real session */

static int cpus[2];

static void *touch(void *argument)
{
	const int cpu = *(const int *)argument;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *area = mmap(NULL, 2000 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	madvise(area, 2000 * page, MADV_NOHUGEPAGE);
	for (int i = 0; i < 2000; i++) {
		((volatile char *)area)[(size_t)i * page] = 1;
		if (i % 100 == 0)
			sched_yield();
	}
	munmap(area, 2000 * page);
	return NULL;
}

static void session_in_order(void **state)
{
	const struct pm_session_opts opts = { .size = sizeof(opts), .allow = PM_ALLOW_USER_ONLY };
	const struct pm_event_spec faults = {
		.size = sizeof(faults), .type = PM_TYPE_SOFTWARE, .config = PM_SW_PAGE_FAULTS,
		.period = 1, .tid = PM_ALL_THREADS, .flags = PM_SPEC_USER_ONLY,
	};
	struct pm_session *session = NULL;
	struct pm_listener to;
	struct pm_order *order = make(0, 0, &to);
	struct pm_plan *plan = NULL;
	pthread_t threads[2];
	int polled = 0;

	(void)state;
	if (pm_plan_make(&faults, 1, &opts, NULL, NULL, &plan) == 0)
		session = pm_session_create(plan, &to, order);
	if (session == NULL || pm_session_attach(session, NULL) < 0) {
		pm_session_destroy(session);
		pm_plan_destroy(plan);
		pm_order_destroy(order);
		skip();
	}
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, touch, &cpus[i]);
	for (int i = 0; i < 50 && polled >= 0; i++)
		polled = pm_order_poll(order, session, 5);
	assert_true(polled >= 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(pm_session_detach(session), 0);
	pm_order_flush(order);
	assert_true(count + stats_of(order).lost >= 4000);
	for (size_t i = 1; i < count && stats_of(order).late == 0; i++)
		assert_true(seen[i].kind != 's' || seen[i - 1].kind != 's' ||
			    seen[i].time >= seen[i - 1].time);
	print_message("%zu records, %llu late, %llu lost\n", count,
		      (unsigned long long)stats_of(order).late,
		      (unsigned long long)stats_of(order).lost);
	assert_true(stats_of(order).late * 100 <= count);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
	pm_order_destroy(order);
}

/* The smallest rings, which nobody reads: what the kernel could not write is told. */
static void overflow_is_told(void **state)
{
	const struct pm_session_opts opts = { .size = sizeof(opts), .ring_pages = 1 };
	const struct pm_event_spec faults = {
		.size = sizeof(faults), .type = PM_TYPE_SOFTWARE, .config = PM_SW_PAGE_FAULTS,
		.period = 1, .tid = PM_ALL_THREADS, .flags = PM_SPEC_USER_ONLY,
	};
	struct pm_session *session = NULL;
	struct pm_listener to;
	struct pm_order *order = make(0, 0, &to);
	struct pm_plan *plan = NULL;
	size_t told = 0;

	(void)state;
	if (pm_plan_make(&faults, 1, &opts, NULL, NULL, &plan) == 0)
		session = pm_session_create(plan, &to, order);
	if (session == NULL || pm_session_attach(session, NULL) < 0) {
		pm_session_destroy(session);
		pm_plan_destroy(plan);
		pm_order_destroy(order);
		skip();
	}
	touch(&cpus[0]);
	/* A loss is told by the record behind it, for which there must be room again. */
	assert_true(pm_order_poll(order, session, 0) >= 0);
	touch(&cpus[0]);
	assert_int_equal(pm_session_detach(session), 0);
	pm_order_flush(order);
	for (size_t i = 0; i < count; i++)
		told += seen[i].kind == 'l';
	assert_true(told > 0 && stats_of(order).lost > 1000);
	assert_true(count + stats_of(order).lost >= 2000);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
	pm_order_destroy(order);
}

static int two_cpus(void **state)
{
	cpu_set_t allowed;
	int n = 0;

	(void)state;
	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (int cpu = 0; cpu < CPU_SETSIZE && n < 2; cpu++)
		if (CPU_ISSET(cpu, &allowed))
			cpus[n++] = cpu;
	if (n == 1)
		cpus[1] = cpus[0];
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rings_are_merged),
		cmocka_unit_test(equal_times_keep_their_order),
		cmocka_unit_test(losses_keep_their_place),
		cmocka_unit_test(only_what_is_listened_to),
		cmocka_unit_test(bytes_are_bounded),
		cmocka_unit_test(a_window_delivers_by_itself),
		cmocka_unit_test(session_in_order),
		cmocka_unit_test(overflow_is_told),
	};

	return cmocka_run_group_tests(tests, two_cpus, NULL);
}
