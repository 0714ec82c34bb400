/* SPDX-License-Identifier: MIT */
/* What the sampler of a source tells: samples, and what becomes of processes. */
#define _GNU_SOURCE
#include "service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void tell_process(struct source *source, struct proc *proc, const struct pm_process *process)
{
	struct note note = {
		.kind = NOTE_PROCESS, .pid = process->pid, .parent = (int32_t)process->parent,
		.uid = process->uid == UINT32_MAX ? -1 : (int64_t)process->uid,
		.started = process->started, .kernel = process->kernel,
	};

	memcpy(note.comm, process->comm, sizeof(note.comm));
	note.text = process->arguments_size > 0 ? malloc(process->arguments_size) : NULL;
	note.text_size = note.text ? process->arguments_size : 0;
	if (note.text)
		memcpy(note.text, process->arguments, note.text_size);
	memcpy(note.inner_pids, process->inner_pids, sizeof(note.inner_pids));
	proc->told = send_note(source, &note);
}

static void tell_end(struct source *source, enum note_kind kind, uint32_t pid, uint32_t tid)
{
	(void)send_note(source, &(struct note){ .kind = kind, .pid = pid, .tid = tid });
}

static void on_process(void *context, const struct pm_process *process,
		       enum pm_process_change change, uint64_t time)
{
	struct source *source = context;
	struct proc *proc = proc_find(source, process->serial);

	if (!proc)
		return;
	source->anybody = source->anybody || process->watched;
	proc->pid = (int)process->pid;
	proc->parent = (int)process->parent;
	if (change == PM_PROCESS_BORN)
		proc->born = true;
	if (change == PM_PROCESS_BORN || change == PM_PROCESS_EXEC)
		proc->begun = time;
	memcpy(proc->comm, process->comm, sizeof(proc->comm));
	if (change == PM_PROCESS_EXEC)
		proc_exec(source, proc);
	if (change == PM_PROCESS_ENDED) {
		proc_end(source, proc);
		if (proc->told || proc->named)
			tell_end(source, NOTE_ENDED, process->pid, process->pid);
	} else if (process->kernel)
		proc->state = PROC_KERNEL;
	else if (!process->watched && proc->state == PROC_INITIAL)
		proc->state = PROC_REJECTED;
	else if (process->watched && proc->state == PROC_REJECTED)
		proc->state = PROC_INITIAL;
}

static void fill_note(struct note *note, const struct source *source,
		      const struct pm_sampled *sampled)
{
	note->source = source->index;
	note->time = sampled->time;
	note->cpu = sampled->cpu;
	note->pid = sampled->pid;
	note->tid = sampled->tid;
	note->mode = sampled->mode;
	note->value_count = sampled->values_count < NOTE_VALUES ? sampled->values_count :
		NOTE_VALUES;
	if (note->value_count > 0)
		memcpy(note->values, sampled->values, note->value_count * 8);
	memcpy(note->comm, sampled->process->comm, sizeof(note->comm));
}

static struct pm_stack_sample stack_of(const struct source *source,
				       const struct pm_sampled *sampled)
{
	return (struct pm_stack_sample){
		.size = sizeof(struct pm_stack_sample), .pid = (int)sampled->pid,
		.tid = (int)sampled->tid, .time = sampled->time, .weight = sampled->period,
		.ip = source->config->stacks == STACKS_NONE ? 0 : sampled->ip,
		.callchain = sampled->chain, .callchain_count = sampled->chain_count,
		.regs_abi = sampled->registers_abi,
		.regs_mask = sampled->registers ? sampled->registers_mask : 0,
		.regs = sampled->registers, .stack = sampled->stack,
		.stack_size = (size_t)source->config->stack_bytes,
		.stack_used = sampled->stack ? sampled->stack_size : 0,
	};
}

static bool is_in_scope(struct source *source, struct proc *proc, const struct pm_process *process)
{
	if (!proc->judged)
		proc->in_scope = scope_has(&source->scope, process);
	proc->judged = true;
	return proc->in_scope;
}

static void on_sample(void *context, const struct pm_sampled *sampled)
{
	struct source *source = context;
	struct service *service = source->service;
	struct pm_stack_sample sample = stack_of(source, sampled);
	struct proc *proc = proc_find(source, sampled->process->serial);
	struct note *note;

	if (sampled->event >= source->leaders)
		return;		/* followers are counted with the leader's samples */
	source->counts.samples++;
	if (proc && !proc->told)
		tell_process(source, proc, sampled->process);
	note = proc ? note_take(&service->notes, NOTE_SAMPLE) : NULL;
	if (!note) {
		source->counts.dropped++;
		source->counts.untold++;
		return;
	}
	proc->samples++;
	fill_note(note, source, sampled);
	if (!is_in_scope(source, proc, sampled->process)) {
		source->counts.unscoped++;
		send_without(source, note, PM_PERFETTO_SKIP_SCOPE, &sample);
		return;
	}
	if (guard_admits(&service->guard)) {
		proc_sample(source, proc, note, &sample);
		return;
	}
	source->counts.shed++;
	proc->skipped++;
	send_without(source, note, PM_PERFETTO_SKIP_QUEUE, &sample);
}

/* The name of a program comes with its samples. */
static void tell_name(struct source *source, struct proc *proc, const struct pm_side *side)
{
	struct note note = { .kind = NOTE_THREAD, .pid = side->pid, .tid = side->tid };

	(void)snprintf(note.comm, sizeof(note.comm), "%s", side->text);
	proc->named |= send_note(source, &note);
}

static void on_side(void *context, const struct pm_side *side)
{
	struct source *source = context;
	struct proc *proc = side->process && side->process->watched ?
		proc_find(source, side->process->serial) : NULL;

	if (!proc)
		return;
	if (side->kind == PM_SIDE_MMAP)
		mapped_add(source, proc, side);
	else if (side->kind == PM_SIDE_COMM && (proc->told || side->tid != side->pid))
		tell_name(source, proc, side);
	else if (side->kind == PM_SIDE_TASK && side->end && side->tid != side->pid &&
		 (proc->told || proc->named) && proc->state != PROC_RESOLVING)
		tell_end(source, NOTE_THREAD_ENDED, side->pid, side->tid);
}

static void on_lost(void *context, uint32_t cpu, uint64_t count)
{
	struct source *source = context;

	source->counts.lost += count;
	report_event(&source->service->report, "lost", "source", source->config->name, "#cpu",
		     (int64_t)cpu, "#records", (int64_t)count, NULL);
	(void)send_note(source, &(struct note){
		.kind = NOTE_LOST, .time = source_now(source), .cpu = cpu, .values = { count } });
}

const struct pm_sampler_listener source_listener = {
	.size = sizeof(source_listener), .sample = on_sample, .side = on_side,
	.process = on_process, .lost = on_lost,
};
