/* SPDX-License-Identifier: MIT */
/* A sampler in words. */
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "negotiate.h"
#include "opening.h"

struct text {
	char *buf;
	size_t size, length;
};

static void add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *text, const char *format, ...)
{
	const size_t left = text->length < text->size ? text->size - text->length : 0;
	va_list list;
	int length;

	va_start(list, format);
	length = vsnprintf(left ? text->buf + text->length : NULL, left, format, list);
	va_end(list);
	text->length += length > 0 ? (size_t)length : 0;
}

static const char *clock_name(const struct pm_sampler *sampler)
{
	if (!sampler->clockid)
		return "perf's own clock";
	switch (pm_watch_clock(sampler)) {
	case CLOCK_MONOTONIC:
		return "CLOCK_MONOTONIC";
	case CLOCK_MONOTONIC_RAW:
		return "CLOCK_MONOTONIC_RAW";
	case CLOCK_REALTIME:
		return "CLOCK_REALTIME";
	case CLOCK_BOOTTIME:
		return "CLOCK_BOOTTIME";
	}
	return "the clock asked for";
}

static void add_rate(struct text *text, const struct watch_event *event)
{
	if (event->spec.frequency != 0)
		add(text, ", %llu a second", (unsigned long long)event->spec.frequency);
	else if (event->spec.period != 0)
		add(text, ", every %llu", (unsigned long long)event->attr.sample_period);
	else
		add(text, ", counted");
}

/* CPUs that a PMU is not of. */
static void add_missing(struct text *text, const struct pm_sampler *sampler, size_t index)
{
	size_t count = 0, missing = 0;

	if (sampler->way == WAY_THREADS)
		return;
	for (size_t i = 0; i < sampler->open.count; i++)
		count += sampler->open.list[i].spec == index;
	missing = sampler->rings.count - count;
	if (count < sampler->rings.count)
		add(text, "; not on %zu of %zu CPUs", missing, sampler->rings.count);
}

static void add_event(struct text *text, const struct pm_sampler *sampler, size_t index)
{
	const struct watch_event *event = &sampler->events[index];
	char name[320];

	(void)pm_event_name(&event->spec, name, sizeof(name));
	if (event->side)
		add(text, "side-band");
	else
		add(text, "event %zu: %s (type %u, config %#llx)", index, name, event->attr.type,
		    (unsigned long long)event->attr.config);
	if (!event->side)
		add_rate(text, event);
	if (event->leader != index)
		add(text, ", with event %zu", event->leader);
	add_missing(text, sampler, index);
	add(text, "%s%s\n", event->why[0] ? "; " : "", event->why);
}

/* Whether it was needed, and what became of what it was asked for. */
static void add_broker(struct text *text, const struct pm_sampler *sampler)
{
	const unsigned long long given = sampler->stats.brokered;

	if (sampler->opts.broker < 0)
		return;
	if (given == 0 && sampler->broker_error == 0) {
		add(text, "broker: not needed\n");
		return;
	}
	add(text, "broker: opened %llu descriptors", given);
	if (sampler->broker_error != 0)
		add(text, ", not %llu; last it said %s",
		    (unsigned long long)sampler->stats.broker_refused,
		    pm_watch_broker_says(sampler));
	add(text, "\n");
}

int pm_sampler_explain(const struct pm_sampler *sampler, char *buf, size_t size)
{
	struct text text = { .buf = buf, .size = size };

	if (size > 0)
		buf[0] = '\0';
	add(&text, "by %s, %u pages a ring, stamped by %s\n", pm_watch_way_name(sampler->way),
	    sampler->pages, clock_name(sampler));
	for (enum way way = 0; way < WAYS; way++)
		if (way != sampler->way && sampler->reasons[way][0] != '\0')
			add(&text, "not by %s: %s\n", pm_watch_way_name(way),
			    sampler->reasons[way]);
	add_broker(&text, sampler);
	for (size_t i = 0; i <= sampler->count; i++)
		add_event(&text, sampler, i);
	return (int)text.length;
}
