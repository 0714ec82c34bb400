/* SPDX-License-Identifier: MIT */
/*
 * A CPU that comes while a sampler is at work. None really does: the test writes the list of online
 * CPUs, and what is watched runs on the one that is said to be offline. In guests one really does.
 */
#define _GNU_SOURCE
#include "../test.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../fake_files.h"
#include "watching.h"

#define ONLINE "/sys/devices/system/cpu/online"
#define PAGES 300
#define PATIENCE_S 300

static int cpu[2];		/* the first two that this process may use */

static bool find_cpus(void)
{
	int found = 0;
	cpu_set_t set;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	for (int i = 0; i < CPU_SETSIZE && found < 2; i++)
		if (CPU_ISSET(i, &set))
			cpu[found++] = i;
	return found == 2;
}

static void say_online(bool both)
{
	char text[64];

	snprintf(text, sizeof(text), both ? "%d,%d\n" : "%d\n", cpu[0], cpu[1]);
	fake_file(ONLINE, text);
}

static void live(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu[1], &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		_exit(7);
	crowd->done++;
	for (unsigned int step = 1; step <= 2; step++) {
		crowd_wait(step);
		crowd_touch(0, PAGES);
		crowd->done++;
	}
	crowd_wait(3);
	_exit(0);
}

/* Until so many CPUs have come, and so much was told. */
static void poll_until(struct pm_sampler *sampler, uint64_t late, uint64_t in_area)
{
	struct timespec now, until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += PATIENCE_S;
	do {
		assert_true(pm_sampler_poll(sampler, 20) >= 0);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((stats_of(sampler).late_cpus < late || heard.in_area < in_area) &&
		 now.tv_sec < until.tv_sec);
}

static void told_on_late_cpu(unsigned int way)
{
	const pid_t child = fork_into(live);
	const struct pm_target target = the_pid(child);
	struct pm_sampler *sampler;
	struct pm_sampler_stats stats;

	assert_int_equal(fake_setup(NULL), 0);
	fake_only = ONLINE;
	say_online(false);
	sampler = watch(&target, 1, (struct pm_sampler_opts){ .flags = way });
	if (sampler == NULL) {
		crowd->go = 3;
		(void)waitpid(child, NULL, 0);
		fake_teardown(NULL);
		skip();
	}
	crowd_step(1, 2);
	poll_until(sampler, 0, 0);
	assert_int_equal(heard.in_area, 0);
	say_online(true);
	poll_until(sampler, 1, 0);
	crowd_step(2, 3);
	poll_until(sampler, 1, PAGES);
	crowd->go = 3;
	watch_child(sampler, child);
	(void)pm_sampler_stop(sampler);
	stats = stats_of(sampler);
	assert_int_equal(stats.late_cpus, 1);
	assert_int_equal(stats.unwatched, 0);
	/* Unknown: with the id of another program's event that the same fault hit. */
	assert_true(heard.in_area <= PAGES);
	assert_true(heard.in_area + stats.lost + stats.unknown >= PAGES);
	pm_sampler_destroy(sampler);
	fake_teardown(NULL);
}

static void by_cpu_and_by_thread(void **state)
{
	(void)state;
	if (!find_cpus())
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		crowd_begin();
		told_on_late_cpu(ways[i]);
		crowd_end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_cpu_and_by_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
