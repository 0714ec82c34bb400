/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the parts of the kit share among themselves. Not for probes.
 */
#ifndef INTERNAL_H
#define INTERNAL_H

#include <stdbool.h>
#include <sys/types.h>

#include "verdict.h"

/* A test begins in this thread; `end` ends it with a verdict. */
void test_begins(void (*end)(const struct finding *));
/* Whether this is that thread, so that a verdict can be said. */
bool in_test_thread(void);
/* "yes", "no" and so on. */
const char *verdict_word(enum verdict verdict);
/* Write the evidence of a broken point. */
void probe_evidence(const char *text);
/* Whether this probe may run at all: declared hazards and disturbances need leave. */
bool probe_allowed(const char *declaration, size_t size, struct finding *ret);
/* Print the declaration, a line a key. */
void probe_describe(const char *declaration, size_t size);

/* This test has an event of page faults. */
void expect_faults(void);
/*
 * How many page faults came that nobody had caused: in cause_faults() so far, or else while this
 * thread looks at its own code for 50 ms: more than one each time, for single ones come on quiet
 * machines, too. Where there are any, counts of page faults prove nothing. 0 in a test that has no
 * event of them.
 */
unsigned int uncaused_faults(void);

/* As it can be said: wrong counts of page faults are the machine's where it takes pages away. */
struct finding doubted(const struct finding *finding);

/* This test has a breakpoint, whose debug register any other program may take or give back. */
void expect_breakpoints(void);
/*
 * A verdict is about to be broken or no: in a test with a breakpoint it is asked once more. Whether
 * somebody else took a register and gave it back cannot be seen behind it.
 */
void doubt_breakpoints(void);
/* False where a breakpoint opens and none is ever hit, as behind some hypervisors, whoever asks. */
bool breakpoints_are_hit(void);

/* Let this thread run on those of its CPUs that are wanted. Returns how many, or -errno. */
int move_to_cpus(bool (*wanted)(unsigned int cpu, void *context), void *context);

/* Fork a process that puts things back. SIGTERM, which tells a whole probe to end, leaves it
 * alone from the start. Returns its pid, 0 in it, or -errno. */
pid_t fork_guard(void);

/* What an errno of mmap(2) of a ring with that many data pages means: never NO. */
void classify_map(int error, size_t pages, struct finding *ret);

/* Whether it is an event of a PMU, of the CPU or another. */
bool is_of_pmu(const struct perf_event_attr *attr);
/* Whether its driver refuses all such events, the plainest, too; then `ret` says why: ABSENT. */
bool explain_pmu(int error, const struct perf_event_attr *attr, pid_t pid, int cpu,
		 struct finding *ret);

#endif
