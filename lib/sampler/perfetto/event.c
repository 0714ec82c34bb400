/* SPDX-License-Identifier: MIT */
/* Which event it is: one that Perfetto has a number for, a tracepoint, or the kernel's numbers. */
#include "perfetto.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../policy/spec/spec.h"
#include "fields.h"

const struct event_fields timebase_fields = { TIMEBASE_COUNTER, TIMEBASE_TRACEPOINT, TIMEBASE_RAW,
					      TIMEBASE_MODIFIER, TIMEBASE_NAME };
const struct event_fields follower_fields = { FOLLOWER_COUNTER, FOLLOWER_TRACEPOINT, FOLLOWER_RAW,
					      FOLLOWER_MODIFIER, FOLLOWER_NAME };

/* PerfEvents.Counter of PERF_COUNT_SW_*, in their order. */
static const uint8_t software[] = {
	[PERF_COUNT_SW_CPU_CLOCK] = 1, [PERF_COUNT_SW_TASK_CLOCK] = 3,
	[PERF_COUNT_SW_PAGE_FAULTS] = 2, [PERF_COUNT_SW_CONTEXT_SWITCHES] = 4,
	[PERF_COUNT_SW_CPU_MIGRATIONS] = 5, [PERF_COUNT_SW_PAGE_FAULTS_MIN] = 6,
	[PERF_COUNT_SW_PAGE_FAULTS_MAJ] = 7, [PERF_COUNT_SW_ALIGNMENT_FAULTS] = 8,
	[PERF_COUNT_SW_EMULATION_FAULTS] = 9, [PERF_COUNT_SW_DUMMY] = 20,
};

/* 0: it has none. */
static unsigned int counter_of(const struct pm_event_spec *spec)
{
	if (spec->type == PERF_TYPE_SOFTWARE && spec->config < sizeof(software))
		return software[spec->config];
	if (spec->type == PERF_TYPE_HARDWARE && spec->config <= PERF_COUNT_HW_REF_CPU_CYCLES)
		return COUNTER_HARDWARE + (unsigned int)spec->config;
	return 0;
}

/* The group and the name, without modes and terms; "": the caller calls it something else. */
static void name_tracepoint(struct trace_event *event)
{
	const char *name = event->spec.name ? event->spec.name : "", *at = strchr(name, ':');
	const size_t size = at ? (size_t)(at - name) + 1 + strcspn(at + 1, ":/") : 0;

	if (size > 0 && size < sizeof(event->tracepoint))
		(void)snprintf(event->tracepoint, sizeof(event->tracepoint), "%.*s", (int)size,
			       name);
}

int event_take(struct trace_event *event, const struct pm_event_spec *specs, size_t index,
	       const char *name)
{
	(void)snprintf(event->name, sizeof(event->name), "%s", name ? name : "");
	if (!specs)
		return 0;
	if (!pm_spec_take(specs, index, &event->spec))
		return -EINVAL;
	event->known = true;
	if (event->spec.type == PERF_TYPE_TRACEPOINT)
		name_tracepoint(event);
	if (event->spec.filter)
		(void)snprintf(event->filter, sizeof(event->filter), "%s", event->spec.filter);
	return 0;
}

static void put_text(struct packet *packet, unsigned int field, const char *text)
{
	if (text[0] != '\0')
		packet_text(packet, field, text, strlen(text));
}

static void put_raw(struct packet *packet, unsigned int field, const struct pm_event_spec *spec)
{
	size_t mark = packet_begin(packet, field);

	packet_number(packet, RAW_TYPE, spec->type);
	packet_number(packet, RAW_CONFIG, spec->config);
	packet_number(packet, RAW_CONFIG1, spec->config1);
	packet_number(packet, RAW_CONFIG2, spec->config2);
	packet_end(packet, mark);
}

/* Nothing is told of modes where all are counted. */
static void put_modes(struct packet *packet, unsigned int field, const struct pm_event_spec *spec)
{
	const struct perf_event_attr attr = pm_spec_attr(spec, false);

	if (!attr.exclude_user && !attr.exclude_kernel && !attr.exclude_hv)
		return;
	if (!attr.exclude_user)
		packet_number(packet, field, MODIFIER_USER);
	if (!attr.exclude_kernel)
		packet_number(packet, field, MODIFIER_KERNEL);
	if (!attr.exclude_hv)
		packet_number(packet, field, MODIFIER_HYPERVISOR);
}

void event_put(struct packet *packet, const struct event_fields *fields,
	       const struct trace_event *event)
{
	const unsigned int counter = event->known ? counter_of(&event->spec) : 0;
	size_t mark;

	if (counter != 0) {
		packet_number(packet, fields->counter, counter);
	} else if (event->tracepoint[0] != '\0') {
		mark = packet_begin(packet, fields->tracepoint);
		put_text(packet, TRACEPOINT_NAME, event->tracepoint);
		put_text(packet, TRACEPOINT_FILTER, event->filter);
		packet_end(packet, mark);
	} else if (event->known) {
		put_raw(packet, fields->raw, &event->spec);
	}
	put_text(packet, fields->name, event->name);
	if (event->known)
		put_modes(packet, fields->modifier, &event->spec);
}
