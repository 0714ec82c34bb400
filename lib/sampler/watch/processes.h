/* SPDX-License-Identifier: MIT */
/*
 * The processes that a sampler knows, each under a serial number of its own; not installed.
 *
 * What happens to them is told in the order of time, by records. /proc is only asked who somebody
 * is, which is later than the record says: so each answer is checked against what the record knows.
 */
#ifndef PM_SAMPLER_PROCESSES_H
#define PM_SAMPLER_PROCESSES_H

#include "../../policy/engine/threads.h"
#include "../target/proc.h"
#include "../target/target.h"

struct process {
	struct pm_process told;		/* its cmdline is the copy below */
	struct process *next;		/* of the same slot; of one pid the newest comes first */
	struct process *behind;		/* in the queue of those that end */
	char *cmdline, *cgroup;		/* NULL: "" */
	char *arguments;		/* NULL: none */
	size_t threads;			/* that are known */
	bool counted;			/* `threads` is all of them */
	bool ending;
	bool refused;			/* its events cannot be opened; that is told once */
	bool inherits;			/* watched as a child of one that is */
	uint64_t root;			/* serial of the process whose events it has; 0: none */
	uint64_t named_at;		/* ns: of the exec record it is known by */
	uint64_t looked_at;		/* ns: when /proc told of it; 0: never */
	uint64_t seen_at;		/* ns: of its last record */
};

/* Who is watched, from the options. */
struct rules {
	struct targets targets;
	bool children;
	unsigned int shard, shards, first;
	uint32_t self;			/* a pid that is left out; 0: none */
};

typedef void process_told(void *context, struct process *process, enum pm_process_change change,
			  uint64_t time);

struct processes {
	struct process **slots;
	size_t room, count, most;
	size_t watched, pidfds;
	uint64_t serials;
	struct process *first_ending, *last_ending;
	struct threads tids;
	struct rules rules;
	int clock;			/* of the records' times; -1: one that cannot be read */
	process_told *tell;
	void *context;
	uint64_t reused, execs, gone, unwatched;	/* as in struct pm_sampler_stats */
};

/* Each that is known, in no order; none of them may be added or dropped meanwhile. */
#define for_each_process(at, of) \
	for (size_t slot_ = 0; slot_ < (of)->room; slot_++) \
		for (struct process *at = (of)->slots[slot_]; at != NULL; at = at->next)

/* 0 or -ENOMEM. `most` processes are known at a time. */
int pm_processes_begin(struct processes *processes, size_t most);

/*
 * The process that had the pid at that time. One that is not known is looked for. NULL beyond the
 * limit, or without memory.
 */
struct process *pm_processes_find(struct processes *processes, uint32_t pid, uint64_t time);

/* All that there are now. 0 or -errno. */
int pm_processes_list(struct processes *processes, uint64_t now);

/* The same at the start: threads are listed anew, and those that ended meanwhile end. 0, -errno. */
int pm_processes_refresh(struct processes *processes, uint64_t now);

/* Records of birth (of a process where pid != parent, of a thread else), exec, name and end. */
void pm_processes_birth(struct processes *processes, uint32_t pid, uint32_t tid, uint32_t parent,
			uint64_t time);
void pm_processes_exec(struct processes *processes, uint32_t pid, const char *comm, uint64_t time);
void pm_processes_name(struct processes *processes, uint32_t pid, const char *comm, uint64_t time);
void pm_processes_end(struct processes *processes, uint32_t pid, uint32_t tid, uint64_t time);

/* Lets go of those that ended before `time`; UINT64_MAX: of all that ended. */
void pm_processes_settle(struct processes *processes, uint64_t time);

/* Finds those whose end was not told. Asks the kernel about each: once a second is enough. */
void pm_processes_sweep(struct processes *processes, uint64_t now);

void pm_processes_free(struct processes *processes);

/* ---- who.c: who a process is, and whether it is watched */

/*
 * Asks /proc. `expect` is the name that a record told; NULL: any. False, with `gone` set, when
 * what is there now is another process, or nothing.
 */
bool pm_process_look(struct processes *processes, struct process *process, const char *expect,
		     uint64_t time);

/* Whether /proc has that very process now; fills its stat. */
bool pm_process_same_now(const struct processes *processes, const struct process *process,
			 uint64_t time, struct proc_stat *ret);

/* Nothing is known of it any more but the name. */
void pm_process_name_only(struct process *process, const char *comm);

/* A child is what its parent is, until it becomes another program. */
void pm_process_take_after(struct process *process, const struct process *parent);

/* Decides by the rules; `inherits`: it is watched because its parent is. */
void pm_process_judge(struct processes *processes, struct process *process, bool inherits);

#endif
