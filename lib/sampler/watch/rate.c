/* SPDX-License-Identifier: MIT */
/*
 * Rates that change while a sampler runs. What the kernel does with them decides how samples are
 * weighed: clocks go by a fixed period even where a frequency was asked for, and their samples tell
 * the period that they began with (perf_swevent_init_hrtimer() sets it once); samples of software
 * events with a fixed period tell none. What was inherited keeps its rate: it is told by an id of
 * its own, and not by its thread, for the kernel exchanges what two threads have inherited when it
 * switches from one to the other.
 */
#include <errno.h>
#include <unistd.h>

#include "../../policy/plan/rate.h"
#include "../../policy/spec/now.h"
#include "../../policy/spec/spec.h"
#include "watch.h"

#define NS_PER_S 1000000000ull

static bool is_told(const struct perf_event_attr *attr)
{
	return attr->sample_type & PERF_SAMPLE_PERIOD;
}

/* The fixed period that an attr stands for. */
static uint64_t fixed(const struct perf_event_attr *attr)
{
	return attr->freq ? NS_PER_S / attr->sample_freq : attr->sample_period;
}

static void remember(struct rates *rates, uint64_t time, uint64_t before, uint64_t period)
{
	if (rates->count == 0)
		rates->first = before;
	if (rates->count == RATES_MAX) {
		rates->first = rates->list[0].period;
		for (size_t i = 1; i < RATES_MAX; i++)
			rates->list[i - 1] = rates->list[i];
		rates->count--;
	}
	rates->list[rates->count].time = time;
	rates->list[rates->count++].period = period;
}

static uint64_t at(const struct rates *rates, uint64_t time)
{
	uint64_t period = rates->first;

	for (size_t i = 0; i < rates->count && rates->list[i].time <= time; i++)
		period = rates->list[i].period;
	return period;
}

uint64_t pm_watch_period(const struct pm_sampler *sampler, const struct session_event *opened,
			 const struct pm_sample *sample)
{
	const struct perf_event_attr *attr = &sampler->plan->events[opened->spec].attr;
	const struct rates *rates = &sampler->rates[opened->spec];
	const bool inherited = sampler->way == WAY_THREADS &&
		sample->sid.stream_id != sample->sid.id;

	if (is_told(attr) && (rates->count == 0 || inherited || !pm_is_clock(attr)))
		return sample->period;
	return rates->count == 0 ? attr->sample_period : at(rates, sample->sid.time);
}

static int check(const struct pm_sampler *sampler, size_t event, uint64_t period,
		 uint64_t frequency)
{
	const struct perf_event_attr *attr = &sampler->plan->events[event].attr;
	struct perf_event_attr with = *attr;

	if ((period == 0) == (frequency == 0) || period >> 63 != 0 || frequency > NS_PER_S)
		return -EINVAL;
	if (!pm_is_clock(attr) && (frequency != 0) != (attr->freq != 0))
		return -EINVAL;
	with.sample_period = period;
	if (is_told(attr) && !attr->freq && !pm_period_is_told(&with))
		return -ENOTSUP;
	return sampler->way == WAY_THREADS && !is_told(attr) ? -ENOTSUP : 0;
}

int pm_sampler_rate(struct pm_sampler *sampler, size_t event, uint64_t period, uint64_t frequency)
{
	struct perf_event_attr *attr, before;
	uint64_t value;
	int err;

	if (sampler->pid != getpid())
		return -ECHILD;
	if (event >= sampler->count || !sampler->plan->events[event].sampled)
		return -EINVAL;
	err = check(sampler, event, period, frequency);
	if (err < 0)
		return err;
	attr = &sampler->plan->events[event].attr;
	before = *attr;
	attr->freq = 0;
	pm_rate_set(attr, period, frequency);
	attr->sample_type = before.sample_type;
	value = pm_is_clock(attr) ? fixed(attr) : attr->sample_period;
	if (pm_is_clock(attr) || !attr->freq)
		remember(&sampler->rates[event], pm_now_by(pm_watch_clock(sampler)),
			 fixed(&before), value);
	for (size_t i = 0; i < sampler->open.count; i++) {
		const struct session_event *opened = &sampler->open.list[i];
		const int failed = opened->spec != event || opened->fd < 0 ? 0 :
			pm_ioctl(opened->fd, PERF_EVENT_IOC_PERIOD, (unsigned long)&value);

		err = err == 0 && failed < 0 ? failed : err;
	}
	return err;
}
