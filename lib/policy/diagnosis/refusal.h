/* SPDX-License-Identifier: MIT */
/* What refused a call, with the parts of the answer kept apart; not installed. */
#ifndef PM_REFUSAL_H
#define PM_REFUSAL_H

#include "../../gate.h"
#include "../../perfmodes.h"

struct pm_refusal {
	char call[160];		/* "perf_event_open(page-faults, this thread, any cpu)" */
	int error;		/* a positive errno, 0 when nothing was refused */
	enum pm_cause cause;
	const char *name;	/* of the row (gate.h); NULL where none was looked for */
	int level;		/* of perf_event_paranoid that is needed; INT_MIN: none */
	char gate[360];		/* who decided, with its setting */
	char change[1000];	/* what to do about it, in clauses (gate.h) */
	/* Of an open, for pm_refusal_by_level(). */
	bool of_open;
	struct perf_event_attr attr;
	enum pm_reach reach;
};

/*
 * What refused perf_event_open(2) on that CPU, -1 for none, with `error` > 0. Makes harmless calls.
 * Fills all but `call`.
 */
void pm_refusal_of_open(const struct pm_event_spec *spec, enum pm_reach reach, int cpu, int error,
			struct pm_refusal *ret);

/* The same of any attr; `cgroup`: a descriptor of one was to name the tasks. */
void pm_refusal_of_attr(const struct perf_event_attr *attr, enum pm_reach reach, int cpu,
			bool cgroup, int error, struct pm_refusal *ret);

/*
 * Whether the level of perf_event_paranoid would refuse that open if a filter let it pass, as files
 * and capabilities have it, since nothing can be opened to try. False: it would not, or its file
 * cannot be read. Fills all but `call` where that is true.
 */
bool pm_refusal_by_level(const struct perf_event_attr *attr, enum pm_reach reach, int cpu,
			 bool cgroup, struct pm_refusal *ret);

/* A filter that answers perf_event_open(2) with SIGSYS. There is no errno: `error` is 0. */
void pm_refusal_of_signal(struct pm_refusal *ret);

/* What refused mmap(2) of so many rings of so many bytes. Fills all but `call`. */
void pm_refusal_of_map(size_t rings, size_t bytes, int error, struct pm_refusal *ret);

/* What refused another system call, "bpf" for example. Fills all but `call`. */
void pm_refusal_of_call(const char *name, int error, struct pm_refusal *ret);

/* Why tracefs does not tell what is asked of it: pm_tracefs_root or a file in it said `error`. */
void pm_refusal_of_tracefs(int error, struct pm_refusal *ret);

/*
 * Whether perf_event_open(2) said `error` > 0 for a flag or want of the spec and not for its event:
 * then fills cause, gate and change. Opens events, and closes them.
 */
bool pm_refused_bit(const struct pm_event_spec *spec, int cpu, int error, struct pm_refusal *ret);

/* How many kB of rings other processes of this user have mapped, and the number of one of them. */
uint64_t pm_rings_of_others(int *ret_holder);

#endif
