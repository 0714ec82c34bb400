/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Findings: verdicts that a test collects before it says one, as tests do that walk a matrix and
 * write a point for each cell. Included behind probe.h.
 */
#ifndef FINDING_H
#define FINDING_H

#include <stdnoreturn.h>

#include "verdict.h"

/* Fill in a finding. */
void finding_set(struct finding *ret, enum verdict verdict, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Write a point of its own, from a test that walks a matrix. The reason may be NULL for YES. */
void fact_verdict(const char *name, enum verdict verdict, const char *reason);
/* End the test with a finding. */
noreturn void say(const struct finding *finding);
/* Whether all of REQUIRE_* is there; if not, a finding that names everything missing. */
bool has_all(unsigned int what, struct finding *ret);
/* Open an event for this task and close it again. Returns 0 or -errno. */
int try_open(const struct perf_event_attr *attr);

/* What an errno means where the call only prepared the question: never NO. */
void classify_setup(int error, const struct perf_event_attr *attr, pid_t pid, int cpu,
		    struct finding *ret);
/* What an errno of a system call other than perf's means, by its name ("bpf"). ENOSYS is ABSENT
 * only where no filter can have said it. */
void classify_call(int error, const char *call, struct finding *ret);
/* The answer of a system call that the test needs; -1 with errno ends the test. */
long must_call(long answer, const char *call);
/* What an errno means where the call was the question. `what` names the thing asked for; the twin
 * of the call without it has succeeded. */
void classify_asked(int error, const char *what, const struct perf_event_attr *attr, pid_t pid,
		    int cpu, struct finding *ret);
/* Whether the kernel accepts `with`, by a pair of opens: `without` differs in the asked thing
 * alone. Both are closed. YES means accepted, not "works". */
void judge_pair(const struct perf_event_attr *with, const struct perf_event_attr *without,
		pid_t pid, int cpu, const char *what, struct finding *ret);
/* The same for what a machine may lack although its kernel knows it, such as a hardware event or a
 * length of breakpoints: ABSENT in place of NO. */
void judge_pair_machine(const struct perf_event_attr *with, const struct perf_event_attr *without,
			const char *what, struct finding *ret);
/* What the answer `got`, a descriptor (closed here) or -errno, says about the rule "this is refused
 * with `want`". Its legal twin has been accepted before. YES: that errno and no other. Accepted is
 * `accepted`: BROKEN for a rule as old as what it rules, NO for one that came later. */
void judge_refused(int got, int want, enum verdict accepted, const char *what,
		   struct finding *ret);

#endif
