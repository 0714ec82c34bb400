/* SPDX-License-Identifier: MIT */
/* A recorded call as it is made on this machine, and what is said of it. */
#ifndef REPLAY_CALL_H
#define REPLAY_CALL_H

#include "recording.h"
#include "tasks.h"

#define PM_VERDICT(name, number, word, ...) V_##name = number,
enum verdict {
#include "../perfmodes_verdicts.def"
};

struct told {
	enum verdict verdict;
	char reason[700];
};

void __attribute__((format(printf, 3, 4)))
tell(struct told *ret, enum verdict verdict, const char *format, ...);

#define CPUS_MOST 64		/* on which one call is made */

/* As much as a kernel reads: a page. */
union raw {
	struct perf_event_attr attr;
	unsigned char bytes[1];
};

struct call {
	const struct asked *asked;
	union raw *raw;		/* the attr as it is passed */
	size_t room;		/* its bytes */
	pid_t pid;
	int cpus[CPUS_MOST];	/* -1: any */
	size_t cpu_count;
	int leaders[CPUS_MOST];	/* -1: none */
	unsigned long flags;
	struct task *task;	/* who is watched; NULL: who asks */
	const struct pm_env *env;
};

/* Memory for raw attrs. NULL: none. */
union raw *raw_new(size_t room);

/*
 * Fills the call in, raw, room and env being there. False where it cannot be made on this machine;
 * then *ret says so.
 */
bool call_find(const struct asked *asked, const struct recording *of, struct tasks *tasks,
	       struct call *ret, struct told *told);

/* Makes it on one of its CPUs, with that attr and flags. Returns a descriptor or -errno. */
int call_open(const struct call *call, const union raw *raw, size_t at, unsigned long flags);

/* Why it was refused. */
void call_refused(const struct call *call, size_t at, int error, struct told *ret);

/* Whether the work must make it count, wherever it works as it should. */
bool call_counts(const struct call *call);

/* Asks it, all in all: opens it, causes events, looks at what came. */
struct asking;
void call_ask(struct call *call, const struct recording *of, struct asking *before,
	      struct told *ret);

/* What is left open for the calls that follow: leaders of groups, rings that take output. */
struct asking {
	const struct asked *leader;	/* NULL: none */
	struct told leader_said;
	int leaders[CPUS_MOST], leader_cpus[CPUS_MOST];
	size_t leader_count;
	int rings[CPUS_MOST], ring_cpus[CPUS_MOST];
	struct pm_ring mapped[CPUS_MOST];
	size_t ring_count;
};

#endif
