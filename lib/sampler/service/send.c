/* SPDX-License-Identifier: MIT */
/* Into the worker's queue, and what comes out of it in the worker's thread. */
#define _GNU_SOURCE
#include "service.h"

#include <stdlib.h>

static int put(struct service *service, struct pm_unwinder *unwinder, struct note *note,
	       struct pm_stack_sample sample)
{
	sample.context = note;
	return pm_stack_worker_put(service->worker, unwinder, &sample);
}

void send_without(struct source *source, struct note *note, enum pm_perfetto_skip why,
		  const struct pm_stack_sample *sample)
{
	struct pm_stack_sample bare = *sample;

	/* What the kernel walked itself costs little, and stays. */
	bare.regs_abi = bare.regs_mask = 0;
	bare.regs = NULL;
	bare.stack = NULL;
	bare.stack_size = bare.stack_used = 0;
	if (why == PM_PERFETTO_SKIP_QUEUE || why == PM_PERFETTO_SKIP_SCOPE)
		bare.callchain_count = 0;
	if (why == PM_PERFETTO_SKIP_SCOPE)
		bare.ip = 0;
	note->skip = why;
	if (put(source->service, NULL, note, bare) == 0)
		return;
	source->counts.untold++;
	note_give(&source->service->notes, note);
}

void send_sample(struct source *source, struct pm_unwinder *unwinder, struct note *note,
		 const struct pm_stack_sample *sample)
{
	if (put(source->service, unwinder, note, *sample) == 0)
		return;
	source->counts.dropped++;
	send_without(source, note, PM_PERFETTO_SKIP_QUEUE, sample);
}

bool send_note(struct source *source, const struct note *told)
{
	struct service *service = source->service;
	struct note *note = note_take(&service->notes, told->kind);
	struct pm_stack_sample nothing = { .size = sizeof(nothing) };

	if (!note) {
		free(told->text);
		return false;
	}
	*note = *told;
	note->source = source->index;
	(void)atomic_fetch_add(&service->notes_queued, 1);
	if (put(service, NULL, note, nothing) == 0)
		return true;
	(void)atomic_fetch_sub(&service->notes_queued, 1);
	note_give(&service->notes, note);
	return false;
}

void on_stack(void *context, struct pm_unwinder *unwinder, const struct pm_stack *stack)
{
	struct service *service = context;
	struct note *note = stack->context;
	struct source *source = &service->sources[note->source];

	if (note->kind != NOTE_SAMPLE)
		(void)atomic_fetch_sub(&service->notes_queued, 1);
	if (note->kind == NOTE_BARRIER)
		atomic_store(&source->drained, true);
	if (atomic_load(&source->discard) && note->kind == NOTE_SAMPLE)
		(void)atomic_fetch_add(&source->discarded, 1);
	else if (note->kind == NOTE_SAMPLE)
		outputs_stack(&service->outputs, note, unwinder, stack);
	else
		outputs_note(&service->outputs, note);
	note_give(&service->notes, note);
}
