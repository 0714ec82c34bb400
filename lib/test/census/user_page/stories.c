/* SPDX-License-Identifier: MIT */
/* Counters read in user space between two read(2). See stories.h. */
#define _GNU_SOURCE
#include "stories.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../../perfmodes.h"
#include "../../../pm_sys.h"
#include "access.h"
#include "events.h"

#define READINGS 2000
#define AHEAD ((uint64_t)1 << 40)

enum lie lie_now;

struct tally {
	unsigned int readings, user, fallbacks;
	unsigned int outside, times_outside, failed;
	uint64_t counted;			/* by read(2), the least of all events */
	uint64_t value, least, most;		/* of the first that was outside */
};

static void end_with(struct outcome *outcome, bool right, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void end_with(struct outcome *outcome, bool right, const char *format, ...)
{
	va_list list;

	outcome->kind = right ? YES : BROKEN;
	va_start(list, format);
	vsnprintf(outcome->text, sizeof(outcome->text), format, list);
	va_end(list);
}

/* ------------------------------------------------------------------------------------- counters */

static struct pm_counters *must_open_events(size_t count, uint64_t other, struct outcome *outcome)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_counters *counters = open_events(count, other, 0, &diag);

	if (counters == NULL)
		end_with(outcome, false, "%s", diag.text);
	return counters;
}

static struct pm_counters *must_open(size_t count, struct outcome *outcome)
{
	return must_open_events(count, PERF_COUNT_HW_CPU_CYCLES, outcome);
}

static struct pm_counters_stats stats_of(const struct pm_counters *counters)
{
	struct pm_counters_stats stats = { .size = sizeof(stats) };

	(void)pm_counters_stats(counters, &stats);
	return stats;
}

static void spin(unsigned int turns)
{
	for (volatile unsigned int i = 0; i < turns; i++)
		;
}

enum kind stories_possible(char *text, size_t size)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_counters *counters = open_cycles(1, 0, &diag);
	struct pm_value value = { .size = sizeof(value) };
	bool readable = false;

	if (counters == NULL) {
		snprintf(text, size, "%s", diag.text);
		return is_gate(diag.cause) ? BLOCKED : ABSENT;
	}
	for (int i = 0; i < 100 && !readable; i++) {
		(void)pm_counters_read_one(counters, 0, &value);
		readable = stats_of(counters).user_reads > 0;
		spin(1000);
	}
	pm_counters_destroy(counters);
	snprintf(text, size, "the user page says to use read(2)");
	return readable ? YES : ABSENT;
}

/* ------------------------------------------------------------------------------------- readings */

/* One value of the library, or of the lie. True when it is of the page. */
static bool look(struct pm_counters *counters, size_t index, struct pm_value *ret)
{
	const uint64_t before = stats_of(counters).user_reads;
	bool by_page;

	if (pm_counters_read_one(counters, index, ret) < 0)
		ret->value = UINT64_MAX;
	by_page = stats_of(counters).user_reads != before;
	if (lie_now == LIE_AHEAD)
		ret->value += AHEAD;
	if (lie_now == LIE_BEHIND)
		ret->value /= 2;
	if (lie_now == LIE_TIMES)
		ret->enabled += AHEAD;
	return lie_now == LIE_PAGE || (by_page && lie_now != LIE_CALL);
}

static bool lies_between(uint64_t value, uint64_t least, uint64_t most)
{
	return value >= least && value <= most;
}

static void judge(struct tally *tally, const struct pm_value *before, const struct pm_value *value,
		  const struct pm_value *after)
{
	tally->readings++;
	if (!lies_between(value->value, before->value, after->value) && tally->outside++ == 0) {
		tally->value = value->value;
		tally->least = before->value;
		tally->most = after->value;
	}
	/* Both 0: the page does not tell the time. */
	if ((value->enabled != 0 || value->running != 0) &&
	    (!lies_between(value->enabled, before->enabled, after->enabled) ||
	     !lies_between(value->running, before->running, after->running)))
		tally->times_outside++;
}

static void read_round(struct pm_counters *counters, size_t count, struct tally *tally)
{
	struct pm_value before[MOST], value[MOST], after[MOST];

	before[0].size = value[0].size = after[0].size = sizeof(value[0]);
	if (pm_counters_read(counters, before, count) != (int)count) {
		tally->failed++;
		return;
	}
	for (size_t i = 0; i < count; i++) {
		value[i].size = sizeof(value[i]);
		if (look(counters, i, &value[i]))
			tally->user++;
		else
			tally->fallbacks++;
	}
	if (pm_counters_read(counters, after, count) != (int)count) {
		tally->failed++;
		return;
	}
	tally->counted = after[0].value;
	for (size_t i = 0; i < count; i++) {
		judge(tally, &before[i], &value[i], &after[i]);
		if (after[i].value < tally->counted)
			tally->counted = after[i].value;
	}
}

static void end_tally(struct outcome *outcome, const struct tally *tally, bool right)
{
	end_with(outcome, right && tally->counted > 0 && tally->outside == 0 &&
		 tally->times_outside == 0 && tally->failed == 0,
		 "%u readings, %u in user space, %u by read(2), up to %" PRIu64 "; %u outside (%"
		 PRIu64 " of %" PRIu64 "..%" PRIu64 "), %u with times outside, %u failed",
		 tally->readings, tally->user, tally->fallbacks, tally->counted, tally->outside,
		 tally->value, tally->least, tally->most, tally->times_outside, tally->failed);
}

/* ---------------------------------------------------------------------- the value between calls */

static void nap(unsigned int turn)
{
	const struct timespec while_ = { .tv_nsec = 100000 };

	if (turn % 20 == 0)
		(void)nanosleep(&while_, NULL);
	else if (turn % 2 == 0)
		(void)sched_yield();
}

static void migrate(unsigned int turn)
{
	cpu_set_t set;

	if (turn % 4 != 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(turn / 4 % 2, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
}

static void read_beside(struct outcome *outcome, size_t count, uint64_t other,
			void (*meanwhile)(unsigned int))
{
	struct pm_counters *counters = must_open_events(count, other, outcome);
	struct tally tally = { 0 };

	if (counters == NULL)
		return;
	for (unsigned int i = 0; i < READINGS; i++) {
		if (meanwhile != NULL)
			meanwhile(i);
		read_round(counters, count, &tally);
	}
	/* On a busy PMU, an event may be without a counter now and then. */
	end_tally(outcome, &tally, tally.user > tally.fallbacks);
	pm_counters_destroy(counters);
}

static void running(struct outcome *outcome)
{
	read_beside(outcome, 1, 0, NULL);
}

static void switched(struct outcome *outcome)
{
	read_beside(outcome, 1, 0, nap);
}

static void migrated(struct outcome *outcome)
{
	cpu_set_t before;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2 ||
	    sched_getaffinity(0, sizeof(before), &before) != 0 || !CPU_ISSET(0, &before) ||
	    !CPU_ISSET(1, &before)) {
		outcome->kind = ABSENT;
		snprintf(outcome->text, sizeof(outcome->text), "no two CPUs");
		return;
	}
	read_beside(outcome, 1, 0, migrate);
	(void)sched_setaffinity(0, sizeof(before), &before);
}

static void group(struct outcome *outcome)
{
	read_beside(outcome, 2, other_event(), nap);
}

static void reset(struct outcome *outcome)
{
	struct pm_counters *counters = must_open(1, outcome);
	struct tally tally = { 0 };

	if (counters == NULL)
		return;
	for (unsigned int i = 0; i < READINGS; i++) {
		if (i % 10 == 0 && pm_counters_reset(counters) < 0)
			tally.failed++;
		read_round(counters, 1, &tally);
	}
	end_tally(outcome, &tally, tally.user > tally.fallbacks);
	pm_counters_destroy(counters);
}

/* ------------------------------------------------------------------------------- no counter now */

/* Until each event has been counted, with a counter at hand and without. */
static bool is_enough(const struct tally *tally)
{
	return tally->readings >= READINGS && tally->counted > 0 && tally->user > 0 &&
		tally->fallbacks > 0;
}

static bool rotate(struct tally *tally, struct outcome *outcome)
{
	const uint64_t end = now_ns() + 5000000000u;
	struct pm_counters *counters;

	if (!counts_twice()) {
		outcome->kind = ABSENT;
		snprintf(outcome->text, sizeof(outcome->text),
			 "of two events of cycles one stands still, by read(2), too");
		return false;
	}
	counters = must_open(MOST, outcome);
	if (counters == NULL)
		return false;
	while (now_ns() < end && !is_enough(tally)) {
		read_round(counters, MOST, tally);
		spin(2000);
	}
	pm_counters_destroy(counters);
	return true;
}

static void multiplexed(struct outcome *outcome)
{
	struct tally tally = { 0 };

	if (rotate(&tally, outcome))
		end_tally(outcome, &tally, tally.user > 0);
}

static void multiplexed_away(struct outcome *outcome)
{
	struct tally tally = { 0 };

	if (rotate(&tally, outcome))
		end_tally(outcome, &tally, tally.fallbacks > 0);
}

static void stopped(struct outcome *outcome)
{
	struct pm_counters *counters = must_open(1, outcome);
	struct tally tally = { 0 };

	if (counters == NULL)
		return;
	spin(10000);
	if (pm_counters_stop(counters) < 0)
		tally.failed++;
	for (unsigned int i = 0; i < 100; i++)
		read_round(counters, 1, &tally);
	end_tally(outcome, &tally, tally.user == 0);
	pm_counters_destroy(counters);
}

/* ----------------------------------------------------------------------- not the opening thread */

struct reader {
	struct pm_counters *counters;
	struct tally tally;
};

static void *read_often(void *context)
{
	struct reader *reader = context;

	for (unsigned int i = 0; i < 100; i++)
		read_round(reader->counters, 1, &reader->tally);
	return NULL;
}

static void thread(struct outcome *outcome)
{
	struct reader reader = { .counters = must_open(1, outcome) };
	pthread_t other;

	if (reader.counters == NULL)
		return;
	if (pthread_create(&other, NULL, read_often, &reader) != 0)
		reader.tally.failed++;
	else
		(void)pthread_join(other, NULL);
	end_tally(outcome, &reader.tally, reader.tally.user == 0);
	pm_counters_destroy(reader.counters);
}

/* Afterwards the parent reads in user space as before. */
static void forked(struct outcome *outcome)
{
	struct reader reader = { .counters = must_open(1, outcome) };
	struct tally parent = { 0 };
	int status = -1;
	pid_t child;

	if (reader.counters == NULL)
		return;
	fflush(stdout);
	child = fork();
	if (child == 0) {
		(void)read_often(&reader);
		_exit(reader.tally.user == 0 && reader.tally.outside == 0 &&
		      reader.tally.times_outside == 0 && reader.tally.failed == 0 ? 0 : 1);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		parent.failed++;
	if (lie_now == LIE_PAGE)
		lie_now = LIE_NONE;	/* of the child alone */
	for (unsigned int i = 0; i < 100; i++)
		read_round(reader.counters, 1, &parent);
	end_tally(outcome, &parent, parent.user > 0 && status == 0);
	pm_counters_destroy(reader.counters);
}

static void off(struct outcome *outcome)
{
	struct pm_counters *counters;
	struct tally tally = { 0 };

	if (!access_set(false)) {
		outcome->kind = BLOCKED;
		snprintf(outcome->text, sizeof(outcome->text), "no switch that may be turned");
		return;
	}
	counters = must_open(1, outcome);
	for (unsigned int i = 0; counters != NULL && i < 100; i++)
		read_round(counters, 1, &tally);
	if (counters != NULL)
		end_tally(outcome, &tally, tally.user == 0);
	pm_counters_destroy(counters);
	(void)access_set(true);
}

/* ----------------------------------------------------------------------------------------- cost */

#define ROUNDS 41
#define EACH 500

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(double *values)
{
	qsort(values, ROUNDS, sizeof(values[0]), compare);
	return values[ROUNDS / 2];
}

static double time_of(struct pm_counters *counters)
{
	struct pm_value value = { .size = sizeof(value) };
	uint64_t begin = now_ns();

	for (int i = 0; i < EACH; i++)
		(void)pm_counters_read_one(counters, 0, &value);
	return (double)(now_ns() - begin) / EACH;
}

/* Of one thread both, in turns. */
static void cost(struct outcome *outcome)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_counters *page = must_open(1, outcome);
	struct pm_counters *call = open_cycles(1, PM_COUNTERS_SYSTEM_CALL, &diag);
	double of_page[ROUNDS], of_call[ROUNDS], ratio[ROUNDS];
	bool right;

	for (int i = 0; page != NULL && call != NULL && i < ROUNDS; i++) {
		of_page[i] = time_of(lie_now == LIE_SLOW ? call : page);
		if (lie_now == LIE_SLOW)
			of_page[i] += time_of(call);
		of_call[i] = time_of(call);
		ratio[i] = of_page[i] / of_call[i];
	}
	if (page != NULL && call != NULL) {
		right = median(ratio) < 1 && stats_of(page).user_reads > EACH * ROUNDS / 2;
		end_with(outcome, right, "%.0f ns in user space, %.0f ns by read(2)",
			 median(of_page), median(of_call));
		if (lie_now == LIE_NONE)
			printf("#:perfmodes: user_ns=%.0f\n#:perfmodes: call_ns=%.0f\n"
			       "#:perfmodes: ratio=%.0f\n", median(of_page), median(of_call),
			       1000 * median(ratio));
	} else if (page != NULL) {
		end_with(outcome, false, "%s", diag.text);
	}
	pm_counters_destroy(page);
	pm_counters_destroy(call);
}

const struct story stories[] = {
	{ "between.running", running, { LIE_AHEAD, LIE_BEHIND, LIE_TIMES, LIE_CALL } },
	{ "between.switched", switched, { LIE_AHEAD, LIE_BEHIND, LIE_TIMES, LIE_CALL } },
	{ "between.migrated", migrated, { LIE_AHEAD, LIE_BEHIND, LIE_TIMES, LIE_CALL } },
	{ "between.reset", reset, { LIE_AHEAD, LIE_BEHIND, LIE_TIMES, LIE_CALL } },
	{ "between.group", group, { LIE_AHEAD, LIE_BEHIND, LIE_TIMES, LIE_CALL } },
	{ "between.multiplexed", multiplexed, { LIE_AHEAD, LIE_BEHIND, LIE_TIMES, LIE_CALL } },
	{ "falls_back.multiplexed", multiplexed_away, { LIE_AHEAD, LIE_BEHIND, LIE_PAGE } },
	{ "falls_back.stopped", stopped, { LIE_AHEAD, LIE_BEHIND, LIE_PAGE } },
	{ "falls_back.forked", forked, { LIE_AHEAD, LIE_BEHIND, LIE_CALL, LIE_PAGE } },
	{ "falls_back.thread", thread, { LIE_AHEAD, LIE_BEHIND, LIE_PAGE } },
	{ "falls_back.off", off, { LIE_AHEAD, LIE_BEHIND, LIE_PAGE } },
	{ "cost.less", cost, { LIE_SLOW } },
};
const size_t stories_count = sizeof(stories) / sizeof(stories[0]);
