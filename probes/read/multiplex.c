/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do more hardware events than counters share the time fairly enough to be scaled? Every tool
 * that asks for many events multiplies counts by time_enabled / time_running.
 * Observed: many instruction counters, in groups of one, over a busy stretch: each gets time, none
 * more than all of it, and the scaled counts agree.
 */
#include "probe.h"
#include "core_pmu.h"
#include "late.h"

PROBE(TITLE("more events than counters")
      SINCE("2.6.31")
      NEEDS("pmu")
      POINT(each_runs, "each of twice too many events gets time to run")
      SINCE("3.11")
      POINT(less_than_all, "running is less than enabled for events that had to share")
      POINT(scaling, "counts scaled by enabled / running agree within a quarter")
      FACT(counters, int, "events", "instruction counters that run at once")
      FACT(least_share, int, "%", "smallest part of its enabled time that an event ran"))

#define MOST 32
#define TRIES 4		/* windows in which an event did not run, or a timer was late */
#define FORMAT (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

FIXTURE(multiplex)
{
	struct pm_counts counts[MOST];
	int count;
	bool late;		/* a timer's interrupts came late as well */
};

/* Opens `count` events, keeps busy, reads them. */
static int run(int count, uint64_t ns, struct pm_counts *counts)
{
	struct perf_event_attr attr = attr_core(PERF_COUNT_HW_INSTRUCTIONS);
	int fds[MOST], error = 0;

	attr.read_format = FORMAT;
	attr.disabled = 0;
	for (int i = 0; i < count; i++) {
		fds[i] = pm_open(&attr, 0, -1, -1, 0);
		if (fds[i] < 0)
			return fds[i];
	}
	spin_ns(ns);
	for (int i = 0; i < count; i++) {
		error = error ?: pm_ioctl(fds[i], PERF_EVENT_IOC_DISABLE, 0);
		error = error ?: pm_read_counts(fds[i], FORMAT, &counts[i]);
		close(fds[i]);
	}
	return error;
}

static bool shared(const struct pm_counts *counts)
{
	return counts->time_running < counts->time_enabled - counts->time_enabled / 20;
}

static int count_idle(const FIXTURE_DATA(multiplex) * self)
{
	int idle = 0;

	for (int i = 0; i < self->count; i++)
		idle += !self->counts[i].time_running;
	return idle;
}

/*
 * Events take turns by a timer, and a starved host lets few of its ticks through. A window in which
 * one did not run is followed by another.
 */
static int run_all(FIXTURE_DATA(multiplex) * self)
{
	struct timer timer = must_timer();
	int error = 0;

	for (int i = 0; i < TRIES && !error; i++) {
		restart_timer(&timer);
		error = run(self->count, 60000000, self->counts);
		self->late = is_late(&timer);
		if (!count_idle(self) && !self->late)
			break;
	}
	return error;
}

FIXTURE_SETUP(multiplex)
{
	struct perf_event_attr attr = attr_core(PERF_COUNT_HW_INSTRUCTIONS);
	int error = 0, free = 0;

	must_have_counters();
	close(must_open(&attr, 0, -1, -1, 0));
	for (int count = 1; count <= MOST / 2 && !error; count++) {
		error = run(count, 500000, self->counts);
		if (!error && shared(&self->counts[count - 1]))
			break;
		free = count;
	}
	if (!error && !free) {
		must_have_run();
		say_unknown("a lone event ran for less than all of its time: others use counters");
	}
	if (!error && free == MOST / 2)
		say_absent("%d instruction counters run at once here", free);
	self->count = 2 * free;
	fact_int("counters", free);
	error = error ?: run_all(self);
	if (error)
		say_unknown("%d events: %s", self->count, pm_errno_name(error));
}

FIXTURE_TEARDOWN(multiplex)
{
}

TEST_F(multiplex, each_runs)
{
	uint64_t least = 100;

	if (self->late && count_idle(self))
		say_unknown("%d of %d events did not run, and a timer's interrupts were late as "
			    "well", count_idle(self), self->count);
	for (int i = 0; i < self->count; i++) {
		const struct pm_counts *counts = &self->counts[i];
		uint64_t share = 100 * counts->time_running / (counts->time_enabled | 1);

		if (!counts->time_running || !counts->member[0].value)
			say_broken("event %d of %d: running=%" PRIu64 " of %" PRIu64, i,
				   self->count, counts->time_running, counts->time_enabled);
		least = share < least ? share : least;
	}
	fact_int("least_share", least);
}

TEST_F(multiplex, less_than_all)
{
	int sharing = 0;

	for (int i = 0; i < self->count; i++) {
		if (self->counts[i].time_running > self->counts[i].time_enabled)
			say_broken("event %d: running=%" PRIu64 " enabled=%" PRIu64, i,
				   self->counts[i].time_running, self->counts[i].time_enabled);
		sharing += shared(&self->counts[i]);
	}
	if (!sharing)
		say_broken("%d events and not one had to share", self->count);
}

TEST_F(multiplex, scaling)
{
	double low = 0, high = 0;

	for (int i = 0; i < self->count; i++) {
		const struct pm_counts *counts = &self->counts[i];
		double rate;

		if (!counts->time_running)
			say_unknown("event %d never ran", i);
		rate = (double)counts->member[0].value / counts->time_running;
		low = !i || rate < low ? rate : low;
		high = rate > high ? rate : high;
	}
	if (high > low * 1.25 && self->late)
		say_unknown("instructions a ns: lowest %.3f, highest %.3f, and a timer's "
			    "interrupts were late as well", low, high);
	if (high > low * 1.25)
		say_broken("instructions a ns: lowest %.3f, highest %.3f", low, high);
}

PROBE_MAIN
