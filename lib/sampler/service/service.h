/* SPDX-License-Identifier: MIT */
/*
 * The service: a thread that reads rings by the clock, asks for memory and keeps time, and a worker
 * that unwinds and writes. Between them is the worker's queue, at which the reader never waits.
 */
#ifndef SERVICE_SERVICE_H
#define SERVICE_SERVICE_H

#include <stdatomic.h>

#include "../../perfmodes_descriptors.h"
#include "../../perfmodes_sampler.h"
#include "../../perfmodes_stacks.h"
#include "../../policy/spec/now.h"
#include "config.h"
#include "events.h"
#include "guard.h"
#include "launch.h"
#include "note.h"
#include "output.h"
#include "report.h"
#include "scope.h"

/* What is known of a process's memory. The names are in proc.c. */
enum proc_state {
	PROC_INITIAL,		/* no sample so far that needs it */
	PROC_RESOLVING,		/* descriptors of its memory are asked for; its samples wait */
	PROC_RESOLVED,
	PROC_TIMED_OUT,		/* no descriptors in time: samples without stacks */
	PROC_REFUSED,		/* they, or the unwinder, were refused */
	PROC_REJECTED,		/* no target fits it, or one excludes it */
	PROC_KERNEL,		/* a kernel thread has no user stacks */
	PROC_GONE,		/* ended before it could be asked */
	PROC_STATES
};
extern const char *const proc_state_names[PROC_STATES];

/* A sample that waits for the memory of its process. */
struct held {
	struct held *next;
	size_t bytes;
	struct note *note;
	struct pm_stack_sample sample;	/* its arrays are behind it */
};

struct proc {
	uint64_t serial;		/* in its source's sampler; 0: a free place */
	int pid;
	enum proc_state state;
	bool ended, told;		/* told: to the worker, since its last exec */
	bool named;			/* a thread of it was */
	bool judged, in_scope;		/* its samples have stacks */
	int error;			/* of REFUSED, a positive errno */
	enum pm_descriptors_outcome outcome;	/* of the last question */
	uint32_t execs;
	struct pm_unwinder *unwinder;
	uint64_t used;			/* the time of its last sample */
	struct held *first, **last;
	int parent;
	bool born;			/* by a fork that was told, and has run no program since */
	uint64_t begun;			/* its program, by the records' clock; 0: before */
	struct mapped *mapped, **mapped_last;	/* since then */
	size_t mapped_count;
	uint64_t samples, skipped;	/* all; those without a stack that should have one */
	char comm[16];
};

struct procs {
	struct proc *places;
	size_t count, room;		/* room: a power of two */
	size_t ended;			/* since those that ended were let go of */
	uint64_t former[PROC_STATES];	/* those that were, by their last state */
};

enum source_state { SOURCE_WAITING, SOURCE_STARTED, SOURCE_DRAINING, SOURCE_STOPPED,
		    SOURCE_PURGED, SOURCE_FAILED };

struct source_counts {
	uint64_t samples;		/* of watched processes, as read */
	uint64_t lost;			/* by the kernel */
	uint64_t shed;			/* by a guardrail: told without a stack */
	uint64_t unresolved;		/* skipped: no memory of the process */
	uint64_t unscoped;		/* no stacks of the process are asked for */
	uint64_t dropped;		/* the queue was full: no stack, or not told at all */
	uint64_t untold;		/* of the dropped ones, those not told at all */
	uint64_t purged;		/* thrown away by an abrupt stop */
	uint64_t turns, capped;		/* readings; those ended by a cap */
	uint64_t polls, poll_errors;	/* readings of counters */
};

struct source {
	struct service *service;
	const struct source_config *config;
	size_t index;
	enum source_state state;
	struct pm_sampler *sampler;
	size_t leaders;			/* events that samples are taken by, */
	uint64_t periods[EVENTS], frequencies[EVENTS];	/* and their rates, as asked for */
	unsigned int halved;		/* so often, for the guardrail */
	bool fixed;			/* they cannot be changed */
	struct polling *polling;
	struct scope scope;
	struct procs procs;
	struct pm_sampler_stats stats;	/* of a sampler that is closed */
	struct source_counts counts;
	uint64_t next;			/* when to read, ns */
	uint64_t deadline;		/* of the draining */
	bool barrier;			/* is on its way */
	bool anybody;			/* was there to be watched */
	unsigned int mark;		/* turns until one is to be behind what was sampled */
	uint64_t mark_at;		/* ns, not before that */
	uint64_t anew;			/* ns that its outputs have, to begin anew then; 0 */
	atomic_bool drained, discard;	/* set by the worker; by the reader */
	_Atomic uint64_t discarded;
};

struct service {
	struct config config;
	struct launch launch;
	bool brief;			/* options were given: told in few words */
	bool progress;			/* a terminal is told how far it is */
	struct report report;
	struct notes notes;
	struct outputs outputs;
	struct pm_symbols *symbols;
	struct pm_stack_worker *worker;
	struct pm_descriptors *descriptors;
	struct guard guard;
	struct guard_reading last;	/* totals at the beginning of the window */
	struct source sources[SOURCES];
	uint64_t begin, window;		/* ns */
	uint64_t keep;			/* ns, when outputs are made whole next */
	uint64_t rotate;		/* ns, when they begin anew next */
	uint64_t begun;			/* ns, when they were begun */
	uint64_t since;			/* when the first source had started; 0: none has */
	size_t unwinders;		/* open */
	uint64_t held_bytes;		/* of samples that wait */
	uint64_t mapped_bytes;		/* of what processes have mapped */
	uint64_t purged;		/* samples, by the worker's end */
	_Atomic uint64_t notes_queued;	/* notes that are no samples, in the worker's queue */
	uint64_t processes_unknown;	/* beyond the limit of processes */
	bool guardrail, failed;
	int stop;			/* signals so far */
	int broker;			/* a socket; 0: none, or it cannot be reached */
	char error[800];
};

/* --------------------------------------------------------------------------- processes: proc.c */

/* The process of that serial, made when it is new; NULL beyond the limit, which is counted. */
struct proc *proc_find(struct source *source, uint64_t serial);

/* Puts a sample on its way: unwound, waiting, or without a stack. Takes the note. */
void proc_sample(struct source *source, struct proc *proc, struct note *note,
		 const struct pm_stack_sample *sample);

/* Its program is another from here on, or it has ended: nothing of its memory is good any more. */
void proc_exec(struct source *source, struct proc *proc);
void proc_end(struct source *source, struct proc *proc);

/* The answer to a question, for every source. */
void procs_answer(struct service *service, const struct pm_descriptors_answer *answer);

/* Processes of which an answer is awaited. */
size_t procs_waiting(const struct source *source);

/* Gives up waiting, forgets all unwinders. `purge`: samples that wait are thrown away. */
void procs_close(struct source *source, bool purge);

/* Tells the report what became of it. */
void proc_report(const struct source *source, const struct proc *proc);

/* -------------------------------------------------------------- what they have mapped: mapped.c */

/* Its unwinder is told of an executable mapping, which is kept besides as long as there is room. */
void mapped_add(struct source *source, struct proc *proc, const struct pm_side *side);
void mapped_free(struct source *source, struct proc *proc);

/* An unwinder of a process that has ended; NULL: nothing is known of its mappings. */
struct pm_unwinder *mapped_unwinder(const struct source *source, const struct proc *proc);

/* --------------------------------------------------------------------------- the queue: send.c */

/* Hands a sample to the worker; what does not fit is told without a stack, and counted. */
void send_sample(struct source *source, struct pm_unwinder *unwinder, struct note *note,
		 const struct pm_stack_sample *sample);

/* A sample whose stack is missing for that reason. */
void send_without(struct source *source, struct note *note, enum pm_perfetto_skip why,
		  const struct pm_stack_sample *sample);

/* Something of a source without a stack; its text is freed. False when there is no room. */
bool send_note(struct source *source, const struct note *told);

/* What the worker calls. */
void on_stack(void *context, struct pm_unwinder *unwinder, const struct pm_stack *stack);

/* ---------------------------------------------------------- what samplers tell: listener.c */

extern const struct pm_sampler_listener source_listener;	/* its context is the source */

/* --------------------------------------------------------------------------- sources: source.c */

/* -errno with a sentence in service->error. */
int source_start(struct source *source);

/* One turn of reading, within its caps. Whether all that was there is read. */
bool source_read(struct source *source);

/* By the clock that stamps its samples. */
uint64_t source_now(const struct source *source);

/*
 * SIGUSR1: what was sampled so far is read and written, and a mark behind it. SIGUSR2: nothing that
 * is written from here on refers to what was written before.
 */
void request_take(struct service *service, uint32_t signal);
void requests_due(struct service *service, uint64_t now);

/* Traces begin their numbers anew, and tell the rate of now. */
void source_tell_rate(struct source *source);

/* How often its rates can be halved, and halves them so often from what was asked for. */
unsigned int source_halvings(const struct source *source);
void source_slow_down(struct source *source, unsigned int halvings);

/* Stops in order: what is in rings is read, answers are awaited, the queue is worked off. */
void source_stop(struct source *source);
void source_drain(struct source *source);

/* Stops at once: what is on its way is thrown away, and counted. */
void source_purge(struct source *source, const char *why);
bool source_is_over(const struct source *source);

/* -------------------------------------------------------------------------- polling: polling.c */

/* Counters of every CPU, or of the processes that targets name by pid. */
int polling_open(struct source *source, struct polling **ret);
void polling_read(struct source *source);
void polling_close(struct polling *polling);

/* ---------------------------------------------------------------------------- broker: broker.c */

/* Whether it can be reached is told; without it the service goes on by itself. */
void broker_connect(struct service *service);
void broker_close(struct service *service);

/* --------------------------------------------------------------------------------------- run.c */

/* From start to end. Returns the exit status of the program. */
int service_run(struct service *service);

/* How far it is, on a terminal; with `last` its line is cleared. What became of everything. Both
 * and what frees everything: summary.c. */
void service_progress(const struct service *service, bool last);
void service_summary(struct service *service);

/* Nothing was seen, or too much of it was lost: told; an exit status, or 0. */
int service_shortfall(const struct service *service);
void service_free(struct service *service);

#endif
