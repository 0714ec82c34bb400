/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a probe found, and how an errno becomes a verdict. Knows nothing of the harness.
 */
#ifndef VERDICT_H
#define VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../lib/pm_sys.h"

/* YES, NO and so on, in the order of the list, which tells what each means. */
enum verdict {
#define PM_VERDICT(name, ...) name,
#include "../../lib/perfmodes_verdicts.def"
};

/* A verdict on its way to being spoken. */
struct finding {
	enum verdict verdict;
	char reason[400];
};

/* Facts: whole lines, also from threads and children. Names are relative to the probe's id. */
void fact_int(const char *name, int64_t value);
void fact_bool(const char *name, bool value);
void fact_str(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A point of its own inside a test that walks a matrix. Reason may be NULL for YES. */
void fact_verdict(const char *name, enum verdict verdict, const char *reason);

/*
 * The one place that turns an errno into a verdict. `what` names the thing asked for.
 * classify_setup: the call was only meant to prepare the question, so never NO.
 * classify_map: the same of mmap(2) of a ring with so many data pages.
 * classify_asked: the call was the question and its twin without `what` has succeeded (the pair).
 */
void classify_setup(int error, const struct perf_event_attr *attr, pid_t pid, int cpu,
		    struct finding *ret);
void classify_map(int error, size_t pages, struct finding *ret);
void classify_asked(int error, const char *what, const struct perf_event_attr *attr, pid_t pid,
		    int cpu, struct finding *ret);

/*
 * Whether the kernel takes `with`, decided by a pair of opens against `without`, which differs in
 * the asked thing alone. Both descriptors are closed. Verdict YES means accepted, not "works".
 */
void probe_pair(const struct perf_event_attr *with, const struct perf_event_attr *without,
		pid_t pid, int cpu, const char *what, struct finding *ret);


/*
 * What the answer `got` (a descriptor, closed here, or -errno) says about the rule "this is
 * refused with `want`"; its allowed twin has been accepted before. YES: that errno and no other.
 * Accepted is `accepted`: BROKEN for a rule as old as what it rules, NO for one that came later.
 */
void probe_rule(int got, int want, enum verdict accepted, const char *what, struct finding *ret);

/*
 * The same for what a machine may simply not have although its kernel knows it (a length of
 * breakpoints, a hardware event): ABSENT instead of NO.
 */
void probe_pair_machine(const struct perf_event_attr *with, const struct perf_event_attr *without,
			const char *what, struct finding *ret);



/* ---------------------------------------------------------------------------- requirements */

enum require {
	REQUIRE_PERF = 1 << 0,		/* the system call is there and not filtered */
	REQUIRE_CPU2 = 1 << 1,		/* two CPUs this thread may run on */
	REQUIRE_TRACEFS = 1 << 2,	/* tracefs mounted and readable */
	REQUIRE_PERFMON = 1 << 3,	/* CAP_PERFMON or CAP_SYS_ADMIN */
	REQUIRE_ROOT = 1 << 4,		/* effective uid 0 with CAP_SYS_ADMIN */
	REQUIRE_CPU_PMU = 1 << 5,	/* a hardware PMU of the core */
	REQUIRE_BREAKPOINT = 1 << 6,	/* a breakpoint PMU */
};

/* Whether all of `what` is there; if not, a verdict that names everything missing. */
bool probe_has(unsigned int what, struct finding *ret);

/* The environment, read once. */
const struct pm_env *probe_env(void);

/* ------------------------------------------------------------------- for probe.h's macros */

void finding_set(struct finding *ret, enum verdict verdict, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
const char *verdict_word(enum verdict verdict);
void probe_evidence(const char *text);
/* Whether this probe may run at all: declared hazards and disturbances need leave. */
bool probe_allowed(const char *declaration, size_t size, struct finding *ret);
void probe_describe(const char *declaration, size_t size);

#endif
