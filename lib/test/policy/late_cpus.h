/* SPDX-License-Identifier: MIT */
/*
 * CPUs that come and go during a session. None really does: the test writes the list of online CPUs
 * that the library reads, and pins threads to the CPU that is said to be offline. The census in a
 * guest covers an event whose CPU really goes offline.
 */
#ifndef LATE_CPUS_H
#define LATE_CPUS_H

#include <sched.h>
#include <time.h>

#include "../fake_files.h"
#include "census.h"

#define ONLINE "/sys/devices/system/cpu/online"
#define LOOK_MS 1050		/* the library looks once a second */

static struct pm_session *session;
static struct pm_plan *plan;
static int cpu[2];		/* the first two that this process may use */

static inline bool find_cpus(void)
{
	static int found;
	cpu_set_t set;

	if (found == 2)
		return true;
	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	for (int i = 0; i < CPU_SETSIZE && found < 2; i++)
		if (CPU_ISSET(i, &set))
			cpu[found++] = i;
	return found == 2;
}

static inline void say_online(bool both)
{
	char text[64];

	snprintf(text, sizeof(text), both ? "%d,%d\n" : "%d\n", cpu[0], cpu[1]);
	fake_file(ONLINE, text);
}

static inline void hold(pthread_t thread, int on)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(on, &set);
	assert_int_equal(pthread_setaffinity_np(thread, sizeof(set), &set), 0);
}

static inline struct pm_stats stats_now(void)
{
	struct pm_stats stats = { .size = sizeof(stats) };

	assert_int_equal(pm_session_stats(session, &stats), 0);
	return stats;
}

static inline void poll_for(int ms)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		assert_true(pm_session_poll(session, 20) >= 0);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
}

static inline void begin(const struct pm_event_spec *spec, enum pm_strategy strategy, bool both)
{
	if (!find_cpus())
		skip();
	plan = plan_of(spec, 1, strategy, NULL);
	if (plan == NULL)
		skip();
	page_size = (size_t)sysconf(_SC_PAGESIZE);
	assert_int_equal(fake_setup(NULL), 0);
	say_online(both);
}

static inline void end(void)
{
	assert_int_equal(pm_session_detach(session), 0);
	pm_session_destroy(session);
	pm_plan_destroy(plan);
	fake_teardown(NULL);
	assert_int_equal(count_maps(NULL), 0);
}

#endif
