/* SPDX-License-Identifier: MIT */
/* Processes and their states, from the first sample to the end. */
#define _GNU_SOURCE
#include "service.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const proc_state_names[PROC_STATES] = {
	[PROC_INITIAL] = "initial", [PROC_RESOLVING] = "resolving", [PROC_RESOLVED] = "resolved",
	[PROC_TIMED_OUT] = "descriptors timed out", [PROC_REFUSED] = "unwinding refused",
	[PROC_REJECTED] = "rejected by filter", [PROC_KERNEL] = "kernel thread",
	[PROC_GONE] = "gone",
};

#define ENDED_MIN 64	/* so many are kept in any case */

/* ----------------------------------------------------------------------------------- the table */

static struct proc *place_of(const struct procs *procs, uint64_t serial)
{
	size_t at = serial * 0x9e3779b97f4a7c15 >> 20;

	for (;; at++) {
		struct proc *proc = &procs->places[at & (procs->room - 1)];

		if (proc->serial == serial || proc->serial == 0)
			return proc;
	}
}

/* Whether nothing is asked of it any more, and nothing of it waits. */
static bool is_over(const struct proc *proc)
{
	return proc->ended && proc->state != PROC_RESOLVING && !proc->first && !proc->unwinder &&
		!proc->mapped;
}

/* Moves all to a table with so much room; with `only_living` those that are over stay behind. */
static bool move(struct source *source, size_t room, bool only_living)
{
	struct procs *procs = &source->procs;
	struct proc *old = procs->places, *places = calloc(room, sizeof(*places));
	const size_t old_room = procs->room;

	if (!places)
		return false;
	procs->places = places;
	procs->room = room;
	for (size_t i = 0; i < old_room; i++) {
		struct proc *to;

		if (old[i].serial == 0)
			continue;
		if (only_living && is_over(&old[i])) {
			proc_report(source, &old[i]);
			procs->former[old[i].state]++;
			procs->count--;
			continue;
		}
		to = place_of(procs, old[i].serial);
		*to = old[i];
		if (!to->first)
			to->last = &to->first;
	}
	free(old);
	return true;
}

/* Processes come and go as long as the service runs: those that ended make room for others. */
static bool make_place(struct source *source)
{
	struct procs *procs = &source->procs;
	const size_t most = (size_t)source->service->config.processes;

	if ((procs->ended > ENDED_MIN && procs->ended * 2 > procs->count) ||
	    (procs->count >= most && procs->ended * 8 > most)) {
		procs->ended = 0;
		if (!move(source, procs->room, true))
			return false;
	}
	return procs->count * 4 < procs->room * 3 ||
		move(source, procs->room ? 2 * procs->room : 64, false);
}

struct proc *proc_find(struct source *source, uint64_t serial)
{
	struct procs *procs = &source->procs;
	struct proc *proc;

	if (!make_place(source))
		return NULL;
	proc = place_of(procs, serial);
	if (proc->serial != 0)
		return proc;
	if (procs->count >= (size_t)source->service->config.processes) {
		source->service->processes_unknown++;
		return NULL;
	}
	procs->count++;
	*proc = (struct proc){ .serial = serial };
	proc->last = &proc->first;
	return proc;
}

/* --------------------------------------------------------------------------- samples that wait */

static size_t bytes_of(const struct pm_stack_sample *sample)
{
	return (sample->callchain_count + (size_t)__builtin_popcountll(sample->regs_mask)) * 8 +
		sample->stack_used;
}

static void *copy(unsigned char **to, const void *from, size_t size)
{
	void *at = *to;

	if (size > 0)
		memcpy(at, from, size);
	*to += size;
	return at;
}

/* Keeps a copy. False when samples that wait have no more room. */
static bool hold(struct source *source, struct proc *proc, struct note *note,
		 const struct pm_stack_sample *sample)
{
	struct service *service = source->service;
	size_t size = sizeof(struct held) + bytes_of(sample);
	unsigned char *at;
	struct held *held;

	if (service->held_bytes + size > (uint64_t)service->config.queue_bytes)
		return false;
	held = malloc(size);
	if (!held)
		return false;
	*held = (struct held){ .bytes = size, .note = note, .sample = *sample };
	at = (unsigned char *)(held + 1);
	held->sample.callchain = copy(&at, sample->callchain, sample->callchain_count * 8);
	held->sample.regs = copy(&at, sample->regs, sample->regs ?
				 (size_t)__builtin_popcountll(sample->regs_mask) * 8 : 0);
	held->sample.stack = copy(&at, sample->stack, sample->stack_used);
	*proc->last = held;
	proc->last = &held->next;
	service->held_bytes += size;
	return true;
}

/* Sends what waited, with a stack or without; with `purge` it is thrown away. */
static void release(struct source *source, struct proc *proc, bool purge)
{
	struct held *held = proc->first, *next;

	proc->first = NULL;
	proc->last = &proc->first;
	for (; held; held = next) {
		next = held->next;
		source->service->held_bytes -= held->bytes;
		if (purge) {
			source->counts.purged++;
			note_give(&source->service->notes, held->note);
		} else {
			proc_sample(source, proc, held->note, &held->sample);
		}
		free(held);
	}
}

/* ----------------------------------------------------------------------------------- unwinders */

static void forget(struct source *source, struct proc *proc)
{
	if (!proc->unwinder)
		return;
	pm_stack_worker_forget(source->service->worker, proc->unwinder);
	proc->unwinder = NULL;
	source->service->unwinders--;
}

/* Closes the unwinder that was used longest ago: its process is asked again when it matters. */
static void make_room(struct service *service)
{
	struct proc *oldest = NULL;
	struct source *of = NULL;

	for (size_t i = 0; i < service->config.source_count; i++) {
		struct procs *procs = &service->sources[i].procs;

		for (size_t j = 0; j < procs->room; j++) {
			struct proc *proc = &procs->places[j];

			if (proc->unwinder && (!oldest || proc->used < oldest->used)) {
				oldest = proc;
				of = &service->sources[i];
			}
		}
	}
	if (!oldest)
		return;
	forget(of, oldest);
	if (oldest->state == PROC_RESOLVED && !oldest->ended)
		oldest->state = PROC_INITIAL;
}

/* Of one that has ended side-band tells enough for its samples. */
static bool recall(struct source *source, struct proc *proc)
{
	struct service *service = source->service;

	if (service->unwinders >= (size_t)service->config.unwinders)
		make_room(service);
	proc->unwinder = mapped_unwinder(source, proc);
	if (!proc->unwinder)
		return false;
	service->unwinders++;
	proc->state = PROC_RESOLVED;
	return true;
}

static void refuse(struct source *source, struct proc *proc, enum proc_state state, int error)
{
	if (state == PROC_GONE && recall(source, proc))
		return;
	proc->state = state;
	proc->error = error;
	report_process(&source->service->report, source->config->name, proc->pid, proc->comm,
		       proc_state_names[state], error);
}

static void resolve(struct source *source, struct proc *proc, int maps, int mem)
{
	struct service *service = source->service;
	struct pm_unwinder_opts opts = {
		.size = sizeof(opts), .descriptors = true, .maps_fd = maps, .mem_fd = mem,
		.symbols = service->symbols,
	};
	int err;

	if (service->unwinders >= (size_t)service->config.unwinders)
		make_room(service);
	err = pm_unwinder_open(proc->pid, &opts, &proc->unwinder);
	if (err < 0) {
		proc->unwinder = NULL;
		refuse(source, proc, err == -ESRCH ? PROC_GONE : PROC_REFUSED, -err);
		return;
	}
	service->unwinders++;
	proc->state = PROC_RESOLVED;
}

/* One source gets the descriptors themselves, the others copies. */
static void answer_one(struct source *source, struct proc *proc,
		       const struct pm_descriptors_answer *answer)
{
	proc->outcome = answer->outcome;
	switch (answer->outcome) {
	case PM_DESCRIPTORS_OPENED:
	case PM_DESCRIPTORS_PASSED:
		resolve(source, proc, dup(answer->maps), dup(answer->mem));
		break;
	case PM_DESCRIPTORS_TIMED_OUT:
		refuse(source, proc, PROC_TIMED_OUT, ETIMEDOUT);
		break;
	case PM_DESCRIPTORS_GONE:
		refuse(source, proc, PROC_GONE, ESRCH);
		break;
	default:
		refuse(source, proc, PROC_REFUSED, answer->error ? answer->error : EACCES);
		break;
	}
	release(source, proc, false);
}

void procs_answer(struct service *service, const struct pm_descriptors_answer *answer)
{
	for (size_t i = 0; i < service->config.source_count; i++) {
		struct procs *procs = &service->sources[i].procs;

		for (size_t j = 0; j < procs->room; j++) {
			struct proc *proc = &procs->places[j];

			if (proc->serial != 0 && proc->pid == answer->pid &&
			    proc->state == PROC_RESOLVING)
				answer_one(&service->sources[i], proc, answer);
		}
	}
	if (answer->maps >= 0)
		close(answer->maps);
	if (answer->mem >= 0)
		close(answer->mem);
}

/* -------------------------------------------------------------------------------------- states */

static void ask(struct source *source, struct proc *proc)
{
	int err;

	if (proc->ended) {
		refuse(source, proc, PROC_GONE, ESRCH);
		return;
	}
	proc->state = PROC_RESOLVING;
	err = pm_descriptors_ask(source->service->descriptors, proc->pid);
	if (err < 0 && err != -EALREADY)
		refuse(source, proc, PROC_REFUSED, -err);
}

void proc_sample(struct source *source, struct proc *proc, struct note *note,
		 const struct pm_stack_sample *sample)
{
	proc->used = note->time;
	if (source->config->stacks == STACKS_NONE || proc->state == PROC_KERNEL) {
		send_sample(source, NULL, note, sample);
		return;
	}
	if (proc->state == PROC_INITIAL)
		ask(source, proc);
	if (proc->state == PROC_GONE && proc->mapped)	/* since it was found to be gone */
		(void)recall(source, proc);
	if (proc->state == PROC_RESOLVED) {
		send_sample(source, proc->unwinder, note, sample);
	} else if (proc->state == PROC_RESOLVING) {
		if (hold(source, proc, note, sample))
			return;
		source->counts.dropped++;
		send_without(source, note, PM_PERFETTO_SKIP_QUEUE, sample);
	} else {
		proc->skipped++;
		source->counts.unresolved++;
		send_without(source, note, PM_PERFETTO_SKIP_READ, sample);
	}
}

/* The program that was asked about, or may be asked about yet, is no more: `state` says why. */
static void leave(struct source *source, struct proc *proc, enum proc_state state, int error,
		  bool purge)
{
	if (proc->state == PROC_RESOLVING) {
		(void)pm_descriptors_cancel(source->service->descriptors, proc->pid);
		refuse(source, proc, state, error);
	}
	release(source, proc, purge);
	forget(source, proc);
	mapped_free(source, proc);
}

void proc_exec(struct source *source, struct proc *proc)
{
	leave(source, proc, PROC_GONE, ESRCH, false);
	proc->born = false;
	proc->execs++;
	proc->told = proc->judged = false;
	proc->state = PROC_INITIAL;
}

void proc_end(struct source *source, struct proc *proc)
{
	source->procs.ended += !proc->ended;
	proc->ended = true;
	leave(source, proc, PROC_GONE, ESRCH, false);
	if (proc->state == PROC_RESOLVED)
		return;
	if (proc->state == PROC_INITIAL && proc->samples > 0)
		proc->state = PROC_GONE;
}

size_t procs_waiting(const struct source *source)
{
	size_t count = 0;

	for (size_t i = 0; i < source->procs.room; i++)
		count += source->procs.places[i].serial != 0 &&
			source->procs.places[i].state == PROC_RESOLVING;
	return count;
}

void procs_close(struct source *source, bool purge)
{
	for (size_t i = 0; i < source->procs.room; i++) {
		struct proc *proc = &source->procs.places[i];

		if (proc->serial != 0)
			leave(source, proc, PROC_TIMED_OUT, ECANCELED, purge);
	}
}
