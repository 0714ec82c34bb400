/* SPDX-License-Identifier: MIT */
/* See silence.h. */
#include "silence.h"

#include <stdio.h>
#include <string.h>

#include "../doctor/flow.h"
#include "words.h"

#define INDENT 9
#define SET_OUTPUT 5		/* of REQUESTS */
#define SET_BPF 8

static bool is_clock(const struct shape *shape)
{
	return shape->attr.type == PERF_TYPE_SOFTWARE &&
		(shape->attr.config == PERF_COUNT_SW_CPU_CLOCK ||
		 shape->attr.config == PERF_COUNT_SW_TASK_CLOCK);
}

/* Events that are never 0 where something ran. */
static bool must_count(const struct shape *shape)
{
	const struct perf_event_attr *attr = &shape->attr;

	return is_clock(shape) || (attr->type == PERF_TYPE_HARDWARE &&
				   attr->config <= PERF_COUNT_HW_INSTRUCTIONS);
}

/*
 * Samples that nobody can get: no ring of its own or of another, no program of BPF and no signal.
 */
static bool has_no_ring(const struct shape *shape)
{
	return shape->opened > 0 && shape->attr.sample_period != 0 && shape->rings == 0 &&
		shape->map_error.count == 0 && shape->requests[SET_OUTPUT] == 0 &&
		shape->requests[SET_BPF] == 0 && remarks.calls[CALL_BPF] == 0 &&
		remarks.calls[CALL_FCNTL] == 0;
}

bool is_silent(const struct shape *shape)
{
	return (shape->opened > 0 && counts_nothing(shape)) || shape->never_ran > 0 ||
		(shape->never_there > 0 && shape->never_there == shape->opened) ||
		has_no_ring(shape) ||
		shape->part_time > 0 || shape->in_error > 0 || shape->lost > 0 ||
		shape->never_sampled > 0 || shape->never_woken > 0 ||
		(shape->idle > 0 && must_count(shape));
}

static void put(struct pm_words *words, const char *format, unsigned int count, unsigned int of)
{
	pm_put(words, "%s", words->length ? ", " : "");
	pm_put(words, format, count, of);
}

void put_silence(const struct shape *shape, struct pm_words *words)
{
	const unsigned int looked = shape->looked;
	const char *comma = words->length ? ", " : "";

	if (shape->attr.sample_period == 0 && !shape->attr.mmap && looked > 0) {
		pm_put(words, "%scounted %llu%s", comma, (unsigned long long)shape->sum,
		       is_clock(shape) ? " ns" : "");
		if (looked < shape->opened)
			pm_put(words, " in %u of them", looked);
	}
	if (shape->never_enabled > 0)
		put(words, "never enabled (%u of %u)", shape->never_enabled, looked);
	if (shape->never_there > 0)
		put(words, "no thread ran on that CPU (%u of %u)", shape->never_there, looked);
	if (has_no_ring(shape))
		pm_put(words, "%sno ring was mapped", words->length ? ", " : "");
	if (has_no_ring(shape) && shape->sum > 0)
		pm_put(words, ", counted %llu", (unsigned long long)shape->sum);
	if (shape->never_ran > 0)
		put(words, "never on a counter (%u of %u)", shape->never_ran, looked);
	if (shape->part_time > 0)
		put(words, "on a counter for less than half of the time (%u of %u)",
		    shape->part_time, looked);
	if (shape->in_error > 0)
		put(words, "in error state, as a pinned event that finds no counter (%u of %u)",
		    shape->in_error, looked + shape->in_error);
	if (shape->never_sampled > 0)
		put(words, "no sample, as it counted less than its period (%u of %u)",
		    shape->never_sampled, looked);
	if (shape->never_woken > 0)
		put(words, "never woke its reader (%u of %u)", shape->never_woken, looked);
	if (shape->lost > 0)
		pm_put(words, "%s%llu records lost", words->length ? ", " : "",
		       (unsigned long long)shape->lost);
}

static void say(const char *text)
{
	struct flow flow;

	flow_begin(&flow, "silent", INDENT);
	flow_put(&flow, "%s", text);
	flow_end(&flow);
}

static void say_never(void)
{
	char text[500], name[200];
	size_t kinds = 0;

	for (size_t i = 0; i < shapes.count; i++) {
		const struct shape *shape = shapes.list[i];

		if (shape->opened == 0 || !counts_nothing(shape))
			continue;
		if (kinds++ == 0)
			name_event(shape, name, sizeof(name));
	}
	if (kinds == 0)
		return;
	snprintf(text, sizeof(text), "%s%s opened and cannot count: it happens in the kernel, "
		 "which user mode only (exclude_kernel) leaves out; its 0 is no count", name,
		 kinds > 1 ? " and others of its kind" : "");
	say(text);
}

static uint64_t count_of(size_t offset)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < shapes.count; i++)
		sum += *(const uint32_t *)((const char *)shapes.list[i] + offset);
	return sum;
}

void say_silence(void)
{
	uint64_t lost = 0;
	bool no_ring = false;

	say_never();
	for (size_t i = 0; i < shapes.count; i++) {
		lost += shapes.list[i]->lost;
		no_ring |= has_no_ring(shapes.list[i]);
	}
	if (no_ring)
		say("events that sample, and no ring was mapped: their samples go nowhere, and "
		    "only their counts can be read; mmap(2) of the descriptor makes a ring");
	if (count_of(offsetof(struct shape, never_ran)) > 0)
		say("events that never got a counter: others hold them, or a group is larger than "
		    "the PMU; their 0 is no count");
	if (count_of(offsetof(struct shape, part_time)) > 0)
		say("events share counters: their counts are estimates from less than half of the "
		    "time; ask for fewer at once");
	if (count_of(offsetof(struct shape, in_error)) > 0)
		say("pinned events found no counter, and read(2) of them gives 0 bytes: ask for "
		    "fewer, or without pinned, and they share counters");
	if (count_of(offsetof(struct shape, never_sampled)) > 0)
		say("events counted less than their sample_period, and took no sample: a smaller "
		    "one, or sample_freq");
	if (count_of(offsetof(struct shape, never_woken)) > 0)
		say("fewer records than wake who waits for them, which is at wakeup_events "
		    "samples, beyond wakeup_watermark bytes, or else half of the ring: poll(2) of "
		    "it never returned for them; ask to be woken earlier, or read the ring "
		    "without");
	if (lost > 0)
		say("records were lost: a larger ring, or fewer samples");
}
