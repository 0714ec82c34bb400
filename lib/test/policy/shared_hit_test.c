/* SPDX-License-Identifier: MIT */
/*
 * Somebody else samples the same page faults. From 6.3 on the kernel prepares the data of such a
 * sample once, so ours may come with the other event's id (see probe sample.shared_hit). Here
 * another event of this process stands for another program's.
 */
#include "../test.h"

#include "../../perfmodes.h"
#include "sessions.h"

#define PAGES 200
#define CPUS 64

static struct {
	char *first, *end;
	unsigned long touched, others;
} seen;

static void on_sample(void *context, const struct pm_observed *sample)
{
	const bool ours = sample->address >= (uintptr_t)seen.first &&
		sample->address < (uintptr_t)seen.end;

	(void)context;
	if (sample->event == 0 && ours)
		seen.touched++;
	else
		seen.others++;
}

static const struct pm_listener listener = { .size = sizeof(listener), .sample = on_sample };

/* Inherited events are switched in with their thread, and so come before those of CPUs. */
static size_t open_others(int *fds)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS, .inherit = 1,
		.exclude_kernel = 1, .exclude_hv = 1, .sample_period = 1,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_ID,
	};
	size_t count = 0;

	for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF) && count < CPUS; cpu++) {
		fds[count] = pm_open(&attr, 0, cpu, -1, 0);
		count += fds[count] >= 0;
	}
	return count;
}

static void close_others(const int *fds, size_t count)
{
	while (count > 0)
		close(fds[--count]);
}

static void touch_pages(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	seen.first = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	assert_ptr_not_equal(seen.first, MAP_FAILED);
	seen.end = seen.first + PAGES * page;
	(void)madvise(seen.first, PAGES * page, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < PAGES; i++)
		*(volatile char *)(seen.first + i * page) = 1;
}

/* What an attach says while the other event samples, and then samples of every page, once. */
static int observe(enum pm_strategy strategy, const struct pm_event_spec *specs,
		   struct pm_diag *diag)
{
	struct pm_plan *plan = plan_of(specs, 2, strategy, NULL);
	struct pm_stats stats = { .size = sizeof(stats) };
	struct pm_session *session;
	int others[CPUS];
	size_t count = open_others(others);
	int attached;

	memset(&seen, 0, sizeof(seen));
	if (plan == NULL || count == 0) {
		pm_plan_destroy(plan);
		close_others(others, count);
		skip();
	}
	session = pm_session_create(plan, &listener, NULL);
	assert_non_null(session);
	attached = pm_session_attach(session, diag);
	if (attached >= 0) {
		touch_pages();
		while (pm_session_poll(session, 0) > 0)
			;
		assert_int_equal(pm_session_stats(session, &stats), 0);
		assert_int_equal(pm_session_detach(session), 0);
		munmap(seen.first, (size_t)(seen.end - seen.first));
		if (stats.lost == 0)
			assert_int_equal(seen.touched, PAGES);
		assert_int_equal(stats.unknown, 0);
	}
	pm_session_destroy(session);
	pm_plan_destroy(plan);
	close_others(others, count);
	return attached;
}

static void one_event_samples(void **state)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_event_spec specs[2] = { faults, faults };
	int attached;

	(void)state;
	specs[0].tid = specs[1].tid = PM_SYSTEM;
	specs[0].want |= PM_WANT_GROUP;
	specs[1].want = PM_WANT_GROUP;
	specs[1].period = 0;
	specs[1].config = PERF_COUNT_SW_PAGE_FAULTS_MIN;
	attached = observe(PM_STRATEGY_CPU_WIDE, specs, &diag);
	if (attached != PM_STRATEGY_CPU_WIDE)
		fail_msg("%d: %s", attached, diag.text);
}

static void each_event_has_a_ring(void **state)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_event_spec specs[2] = { faults, clock_of_all };
	int attached;

	(void)state;
	specs[1].period = 1000000;
	attached = observe(PM_STRATEGY_OWN_RINGS, specs, &diag);
	if (attached != PM_STRATEGY_OWN_RINGS)
		fail_msg("%d: %s", attached, diag.text);
}

/* Two that sample cannot be told apart without ids: the reason says why. */
static void two_events_share_a_ring(void **state)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_event_spec specs[2] = { faults, clock_of_all };
	int attached;

	(void)state;
	specs[0].tid = specs[1].tid = PM_SYSTEM;
	specs[1].period = 1000000;
	attached = observe(PM_STRATEGY_CPU_WIDE, specs, &diag);
	if (attached == PM_STRATEGY_CPU_WIDE)
		return;
	if (strstr(diag.text, "with the id of another program's event") == NULL)
		fail_msg("%d: %s", attached, diag.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_event_samples),
		cmocka_unit_test(each_event_has_a_ring),
		cmocka_unit_test(two_events_share_a_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
