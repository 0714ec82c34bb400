/* SPDX-License-Identifier: MIT */
/* perfmodes-doctor tries, here and now, what people usually want of perf events. */
#ifndef DOCTOR_H
#define DOCTOR_H

#include <sys/types.h>

#include "../policy/diagnosis/refusal.h"

#define ATTEMPTS 5
#define HOW_SIZE 4096		/* a reason (plan.h) for each strategy that was passed over */

struct attempt {
	const char *what;
	/*
	 * Does it and looks for the effect. Returns 0 when it works; `how` may then say by which
	 * means (one line; more lines are remarks). Else -errno and the refusal.
	 */
	int (*go)(const struct attempt *attempt, struct pm_refusal *refusal, char *how);
	struct pm_event_spec spec;
	unsigned int allow;		/* enum pm_allow */
	bool fewer;			/* no more a second than the kernel takes now */
	bool kernel;			/* for attempts without a spec */
	bool sums;			/* of /proc and the like: no call of perf */
	/* Where it was refused: the gate behind, which would be next. False: there is none. */
	bool (*behind)(struct pm_refusal *refusal);
};

/* The first attempt is the wish itself; the others are used instead of it, best first. */
struct wish {
	const char *name, *title;
	struct attempt attempts[ATTEMPTS];
};

struct outcome {
	const struct wish *wish;
	const char *verdict;		/* "works", "instead", "refused" */
	/* "yes", "instead", or what became of the wish itself: "blocked", "no", "not known" */
	const char *answer;
	int worked;			/* the attempt, or ATTEMPTS for none */
	int refused;			/* how many were, before it */
	struct pm_refusal refusals[ATTEMPTS];
	struct pm_refusal behind;	/* the first one; `gate` is "" where there is none */
	char how[HOW_SIZE];
};

extern const struct wish doctor_wishes[];
extern const size_t doctor_wish_count;

/*
 * What became of a call, in the words of reports/plain.py: "blocked" by policy or a limit, "no" by
 * this kernel; "not known" where the thing is not there, or nobody can tell.
 */
const char *doctor_answer_of(enum pm_cause cause);

/* The process to observe: --pid, else a child of this one. */
extern pid_t doctor_target;

typedef void tell_fn(const struct outcome *outcomes, size_t count);

/*
 * Tries the wishes of these names, NULL at the end, or all if there is none, and tells the outcome
 * on standard output. Returns DOCTOR_WORKS if all work, DOCTOR_INSTEAD if some work in another way
 * only, DOCTOR_REFUSED if some do not; or -errno: -ECHILD without a process to watch, -EIO if not
 * all of it could be written.
 */
enum { DOCTOR_WORKS, DOCTOR_INSTEAD, DOCTOR_REFUSED };
int doctor_examine(char **names, tell_fn *tell);

/* ----------------------------------------------------------------------- attempts, by file */

/* session.c: through a plan and a session, as a program works. */
int go_session(const struct attempt *attempt, struct pm_refusal *refusal, char *how);

/* branches.c: event-based branches, on Power alone. */
int go_branches(const struct attempt *attempt, struct pm_refusal *refusal, char *how);

/* reach.c: bare calls. */
int go_kernel_chain(const struct attempt *attempt, struct pm_refusal *refusal, char *how);
int go_process(const struct attempt *attempt, struct pm_refusal *refusal, char *how);
int go_system(const struct attempt *attempt, struct pm_refusal *refusal, char *how);
bool behind_tracefs(struct pm_refusal *refusal);
int go_tracepoint(const struct attempt *attempt, struct pm_refusal *refusal, char *how);
int go_switch_records(const struct attempt *attempt, struct pm_refusal *refusal, char *how);
int go_rdpmc(const struct attempt *attempt, struct pm_refusal *refusal, char *how);
int go_read(const struct attempt *attempt, struct pm_refusal *refusal, char *how);
int go_rings(const struct attempt *attempt, struct pm_refusal *refusal, char *how);

/* dynamic.c: probes planted at functions, and a BPF program on an event. */
int go_kprobe(const struct attempt *attempt, struct pm_refusal *refusal, char *how);
int go_uprobe(const struct attempt *attempt, struct pm_refusal *refusal, char *how);
int go_bpf(const struct attempt *attempt, struct pm_refusal *refusal, char *how);
bool behind_event(struct pm_refusal *refusal);

/* whole.c: whether what is counted and recorded is whole. */
int go_own_counter(const struct attempt *attempt, struct pm_refusal *refusal, char *how);
int go_lost_records(const struct attempt *attempt, struct pm_refusal *refusal, char *how);

/* flow_of_control.c: branch stacks and AUX areas. */
int go_branch_stack(const struct attempt *attempt, struct pm_refusal *refusal, char *how);
int go_aux(const struct attempt *attempt, struct pm_refusal *refusal, char *how);

/* proc.c: without perf. */
int go_rusage(const struct attempt *attempt, struct pm_refusal *refusal, char *how);
int go_process_stat(const struct attempt *attempt, struct pm_refusal *refusal, char *how);
int go_system_stat(const struct attempt *attempt, struct pm_refusal *refusal, char *how);

/* ------------------------------------------------------------------------------ what they share */

/* Runs in user and kernel mode for about so long, causes page faults and sometimes sleeps. */
void doctor_work(uint64_t ns);

/* Opens, or fills the refusal for an event of that name and reach. */
int doctor_open(const struct perf_event_attr *attr, pid_t pid, int cpu, enum pm_reach reach,
		const char *event, struct pm_refusal *refusal);

/* The refusal where everything was accepted and no record came. Returns -ENODATA. */
int doctor_silence(struct pm_refusal *refusal, const char *what);

#endif
