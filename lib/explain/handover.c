/* SPDX-License-Identifier: MIT */
/*
 * See handover.h. Left as it is, a debugger under explain is refused its program (EPERM), and one
 * whose child then stops itself, as under PTRACE_TRACEME, waits for ever for a stop that another
 * tracer has.
 */
#define _GNU_SOURCE
#include "handover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "shape.h"

/* The tracer is held at its call until the target has been let go. */
struct handover {
	struct handover *next;
	pid_t target, tracer;
};

static struct handover *handovers;

static void let_go(pid_t tid, int signal)
{
	if (ptrace(PTRACE_DETACH, tid, NULL, (void *)(long)signal) == 0)
		remarks.handed_over++;
}

/* Lets those go on that waited for it. Returns whether there was one. */
static bool answer(pid_t target)
{
	bool found = false;

	for (struct handover **at = &handovers; *at != NULL;) {
		struct handover *const one = *at;

		if (one->target != target) {
			at = &one->next;
			continue;
		}
		*at = one->next;
		(void)ptrace(PTRACE_SYSCALL, one->tracer, NULL, NULL);
		free(one);
		found = true;
	}
	return found;
}

static bool is_wanted(pid_t tid)
{
	for (const struct handover *one = handovers; one != NULL; one = one->next)
		if (one->target == tid)
			return true;
	return false;
}

bool handover_stop(pid_t tid, int signal)
{
	if (!is_wanted(tid))
		return false;
	let_go(tid, signal);
	return answer(tid);
}

void handover_enters(pid_t tid)
{
	if (is_wanted(tid))
		(void)ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
}

void handover_gone(pid_t tid)
{
	for (struct handover **at = &handovers; *at != NULL;) {
		struct handover *const one = *at;

		if (one->tracer != tid) {
			at = &one->next;
			continue;
		}
		*at = one->next;
		free(one);
	}
	(void)answer(tid);
}

/* Process ids mean the same to it. */
static bool counts_as_here(pid_t tid)
{
	char path[64], here[64] = "", there[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", tid);
	return readlink("/proc/self/ns/pid", here, sizeof(here) - 1) > 0 &&
		readlink(path, there, sizeof(there) - 1) > 0 && strcmp(here, there) == 0;
}

/* Of a call that has a target: an INTERRUPT is taken by our own threads alone. */
static bool hold(pid_t tracer, pid_t target)
{
	struct handover *made;

	if (!counts_as_here(tracer) || process_of(target, false) == process_of(tracer, false))
		return false;
	made = malloc(sizeof(*made));
	if (made == NULL)
		return false;
	if (ptrace(PTRACE_INTERRUPT, target, NULL, NULL) != 0) {
		free(made);
		return false;
	}
	*made = (struct handover){ .next = handovers, .target = target, .tracer = tracer };
	handovers = made;
	return true;
}

bool handover_begin(const struct call *call, pid_t program)
{
	const uint64_t request = call->args[0];

	/* It waits for no other, which may wait for it. */
	if (handover_stop(call->tid, 0))
		return true;
	if (request == PTRACE_TRACEME && process_of(call->tid, false) != program) {
		let_go(call->tid, 0);
		return true;
	}
	return (request == PTRACE_ATTACH || request == PTRACE_SEIZE) &&
		hold(call->tid, (pid_t)call->args[1]);
}
