/* SPDX-License-Identifier: MIT */
/* What a source watches, by the text that names it. */
#include "events.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int say(struct pm_diag *diag, int error, const char *text, const char *what)
{
	diag->error = error;
	(void)snprintf(diag->text, sizeof(diag->text), "\"%.100s\": %s", text, what);
	return -error;
}

static int judge(const char *text, struct pm_diag *diag, struct events *events)
{
	for (size_t i = 0; i < events->count; i++) {
		const struct pm_event_listed *listed = &events->listed[i];

		if (listed->flags & PM_LISTED_WEAK)
			return say(diag, ENOTSUP, text, "a group is opened as a whole here: no W");
		if (listed->leader == 0) {
			events->leaders++;
			continue;
		}
		if (!(listed->flags & PM_LISTED_READ))
			return say(diag, ENOTSUP, text, "the first of a group takes the samples "
				   "here, and the others are counted with it: write "
				   "{a,b}:S, or a,b");
		if (events->specs[i].period || events->specs[i].frequency)
			return say(diag, ENOTSUP, text, "only the first of a group has a rate");
	}
	for (size_t i = 0; i < events->count && events->leaders > 1; i++)
		if (events->specs[i].type != PM_TYPE_TRACEPOINT || events->leaders < events->count)
			return say(diag, EINVAL, text, "each event is a source of its own; only "
				   "tracepoints are told together");
	return 0;
}

int events_read(const char *text, struct pm_diag *diag, struct events *ret)
{
	int count;

	memset(ret, 0, sizeof(*ret));
	ret->specs[0].size = sizeof(ret->specs[0]);
	ret->listed[0].size = sizeof(ret->listed[0]);
	count = pm_event_list(text, diag, ret->specs, ret->listed, EVENTS);
	if (count < 0)
		return count;
	if (count > EVENTS)
		return say(diag, E2BIG, text, "these are more than 32 events");
	ret->count = (size_t)count;
	return judge(text, diag, ret);
}

bool events_are_clock(const char *text)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct events events;

	return events_read(text, &diag, &events) == 0 &&
		events.specs[0].type == PM_TYPE_SOFTWARE &&
		(events.specs[0].config == PM_SW_CPU_CLOCK ||
		 events.specs[0].config == PM_SW_TASK_CLOCK);
}

size_t events_first(const char *text)
{
	const bool breakpoint = strncmp(text, "mem:", strlen("mem:")) == 0;
	bool terms = false, quoted = false, group = false;
	const char *at = text;

	for (; *at != '\0'; at++) {
		if (terms && *at == '\'')
			quoted = !quoted;
		else if (*at == '/' && !breakpoint && !quoted)
			terms = !terms;
		else if (!terms && (*at == '{' || *at == '}'))
			group = *at == '{';
		else if (!terms && !group && *at == ',')
			break;
	}
	return (size_t)(at - text);
}
