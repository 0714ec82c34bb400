/* SPDX-License-Identifier: MIT */
/* Diagnoses: one line for a refusal. refusal.c finds out whose it was. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../pm_sys.h"
#include "diag.h"
#include "refusal.h"
#include "words.h"
#include "../spec/spec.h"

int pm_diag_say(struct pm_diag *diag, int error, enum pm_cause cause, const char *format, ...)
{
	const size_t text = offsetof(struct pm_diag, text);
	size_t room;
	va_list list;

	/* What is too small for a text at all, an uninitialised one perhaps, is left alone. */
	if (diag == NULL || diag->size <= text)
		return -error;
	room = diag->size - text < sizeof(diag->text) ? diag->size - text : sizeof(diag->text);
	diag->error = error;
	diag->cause = cause;
	va_start(list, format);
	vsnprintf(diag->text, room, format, list);
	va_end(list);
	return -error;
}

/* --------------------------------------------------------------------------------- refusals */

/* As many whole clauses as there is room for; the first ones take the least privilege. */
static int whole_clauses(const char *change, size_t room)
{
	size_t length = strlen(change);

	while (length > room) {
		do
			length--;
		while (length > 0 && strncmp(change + length, "; ", 2) != 0);
	}
	return (int)length;
}

void pm_diag_refusal(struct pm_diag *diag, const struct pm_refusal *refusal)
{
	const char *error = pm_errno_name(refusal->error);
	const size_t used = strlen(refusal->call) + strlen(error) + strlen(refusal->gate) +
		sizeof(": : ; ");
	const size_t room = sizeof(diag->text) > used ? sizeof(diag->text) - used : 0;
	const int length = whole_clauses(refusal->change, room);

	(void)pm_diag_say(diag, refusal->error, refusal->cause, "%s: %s: %s%s%.*s", refusal->call,
			  error, refusal->gate, length > 0 ? "; " : "", length, refusal->change);
}

/* A thread id beside ours may be of another process; this process's own are listed in /proc. */
static enum pm_reach reach_of(const struct pm_event_spec *spec)
{
	char path[64];

	if (spec->type == PERF_TYPE_TRACEPOINT && (spec->want & PM_WANT_RAW))
		return PM_REACH_TRACE;
	if (spec->tid < PM_ALL_THREADS)		/* PM_SYSTEM, PM_CGROUP */
		return PM_REACH_CPU;
	if (spec->tid <= 0)
		return PM_REACH_OWN;
	snprintf(path, sizeof(path), "/proc/self/task/%d", spec->tid);
	return access(path, F_OK) == 0 ? PM_REACH_OWN : PM_REACH_OTHER;
}

static bool opens_without_filter(const struct pm_event_spec *spec, int cpu)
{
	struct perf_event_attr attr = pm_spec_attr(spec, false);

	attr.disabled = 1;
	return pm_spec_opens(spec, &attr, cpu);
}

static void blame_filter(const struct pm_event_spec *spec, struct pm_refusal *ret)
{
	PM_SAY(ret->gate, "the kernel does not take the filter \"%.100s\": it does not parse, or "
	       "names a field that this tracepoint does not have", spec->filter);
	PM_SAY(ret->change, "fields are in events/SYSTEM/NAME/format of tracefs; in the file "
	       "filter beside it the kernel marks the error");
}

/* The event by the caller's own name if it has one, and whom it was to observe in words. */
static void put_call(const struct pm_event_spec *spec, int cpu, char *buf, size_t size)
{
	char event[64], target[32], place[24];

	if (spec->name != NULL && spec->name[0] != '\0')
		pm_put_plain(spec->name, event, sizeof(event));
	else
		(void)pm_event_name(spec, event, sizeof(event));
	if (spec->tid > 0)
		snprintf(target, sizeof(target), "tid %d", spec->tid);
	else
		snprintf(target, sizeof(target), "%s", spec->tid == 0 ? "this thread" :
			 spec->tid == PM_ALL_THREADS ? "all threads" :
			 spec->tid == PM_SYSTEM ? "the whole machine" : "a cgroup");
	if (cpu >= 0)
		snprintf(place, sizeof(place), "cpu %d", cpu);
	else
		snprintf(place, sizeof(place), "any cpu");
	snprintf(buf, size, "perf_event_open(%s, %s, %s)", event, target, place);
}

enum pm_cause pm_diag_open(struct pm_diag *diag, const struct pm_event_spec *spec, int cpu,
			   int error)
{
	struct pm_refusal refusal = { .cause = PM_CAUSE_NONE };
	const enum pm_reach reach = reach_of(spec);

	error = error < 0 ? -error : error;
	pm_refusal_of_open(spec, reach, cpu, error, &refusal);
	if (error == EINVAL && spec->filter != NULL && opens_without_filter(spec, cpu))
		blame_filter(spec, &refusal);
	else
		(void)pm_refused_bit(spec, cpu, error, &refusal);
	if (error == EMFILE && strncmp(refusal.change, "ulimit", strlen("ulimit")) == 0)
		strncat(refusal.change, ", or PM_ALLOW_RAISE_NOFILE",
			sizeof(refusal.change) - strlen(refusal.change) - 1);
	put_call(spec, cpu, refusal.call, sizeof(refusal.call));
	pm_diag_refusal(diag, &refusal);
	return refusal.cause;
}

int pm_diag_map(struct pm_diag *diag, size_t rings, size_t bytes, int error)
{
	struct pm_refusal refusal = { .cause = PM_CAUSE_NONE };

	snprintf(refusal.call, sizeof(refusal.call), "mmap(%zu rings of %zu bytes)", rings, bytes);
	pm_refusal_of_map(rings, bytes, error, &refusal);
	pm_diag_refusal(diag, &refusal);
	return -error;
}
