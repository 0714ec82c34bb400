/* SPDX-License-Identifier: MIT */
/* A CPU comes online during a session, while threads come and go. */
#define _GNU_SOURCE
#include "../test.h"

#include "late_cpus.h"

/* Threads come and go while the CPU is attached: nothing of them is told twice. */
static _Atomic bool enough, paused;
static void *areas[2];

static void *touch_and_end(void *area)
{
	hold(pthread_self(), cpu[1]);
	for (int i = 0; i < PAGES; i++)
		((volatile char *)area)[(size_t)i * page_size] = 1;
	(void)madvise(area, PAGES * page_size, MADV_DONTNEED);
	return NULL;
}

static _Atomic uint64_t caused[2];
static uint64_t told[2];

static void *churn(void *context)
{
	const size_t which = *(const size_t *)context;

	while (!enough) {
		pthread_t thread;

		if (paused) {
			sched_yield();
			continue;
		}
		assert_int_equal(pthread_create(&thread, NULL, touch_and_end, areas[which]), 0);
		expect_null(thread);
		caused[which] += PAGES;
	}
	return NULL;
}

static void on_churned(void *context, const struct pm_observed *sample)
{
	(void)context;
	for (int i = 0; i < 2; i++)
		told[i] += sample->address - (uintptr_t)areas[i] < PAGES * page_size;
}

static void churned(enum pm_strategy strategy)
{
	const struct pm_listener tells = { .size = sizeof(tells), .sample = on_churned };
	static const size_t which[2] = { 0, 1 };
	uint64_t missing[2], lost;
	pthread_t makers[2];

	begin(&faults, strategy, false);
	enough = false;
	for (int i = 0; i < 2; i++) {
		areas[i] = mmap(NULL, PAGES * page_size, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		(void)madvise(areas[i], PAGES * page_size, MADV_NOHUGEPAGE);
		caused[i] = told[i] = 0;
		assert_int_equal(pthread_create(&makers[i], NULL, churn, (void *)&which[i]), 0);
	}
	session = pm_session_create(plan, &tells, NULL);
	assert_int_equal(pm_session_attach(session, NULL), strategy);
	say_online(true);
	do
		poll_for(LOOK_MS);
	while (stats_now().late_cpus == 0 && stats_now().unwatched_cpus < 1);
	assert_int_equal(stats_now().late_cpus, 1);
	/* At most the one round of faults that was under way may be missing from now on. */
	paused = true;
	poll_for(100);
	for (int i = 0; i < 2; i++)
		missing[i] = caused[i] - told[i];
	lost = stats_now().lost;
	paused = false;
	poll_for(700);
	enough = true;
	for (int i = 0; i < 2; i++)
		expect_null(makers[i]);
	poll_for(50);
	/* A reader that a busy machine keeps waiting finds full rings: what they lost is told. */
	lost = stats_now().lost - lost;
	for (int i = 0; i < 2; i++) {
		uint64_t gap = caused[i] - told[i] - missing[i];

		print_message("%d: %lu caused, %lu told, %lu lost of both, %lu duplicates\n", i,
			      (unsigned long)caused[i], (unsigned long)told[i],
			      (unsigned long)lost, (unsigned long)stats_now().duplicates);
		assert_true(gap <= PAGES + lost || -gap <= PAGES);
		munmap(areas[i], PAGES * page_size);
	}
	end();
}

static void churned_per_cpu(void **state)
{
	(void)state;
	churned(PM_STRATEGY_PER_CPU);
}

static void churned_own_rings(void **state)
{
	(void)state;
	churned(PM_STRATEGY_OWN_RINGS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(churned_per_cpu),
		cmocka_unit_test(churned_own_rings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
