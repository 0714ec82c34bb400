/* SPDX-License-Identifier: MIT */
/* Packets about processes, threads, samples, and what is missing. */
#include "perfetto.h"

#include <errno.h>
#include <string.h>

#include "../../policy/spec/spec.h"
#include "fields.h"

/* Arguments stand in /proc/PID/cmdline one by one; here blanks are between them. */
static void put_arguments(struct packet *packet, const char *cmdline)
{
	size_t size = strcspn(cmdline, " ");

	packet_text(packet, PROCESS_CMDLINE, cmdline, size);
	while (cmdline[size] != '\0') {
		cmdline += size + 1;
		size = strcspn(cmdline, " ");
		if (size > 0)
			packet_text(packet, PROCESS_CMDLINE, cmdline, size);
	}
}

int pm_perfetto_process(struct pm_perfetto *trace, int pid, int parent, int64_t uid,
			const char *cmdline)
{
	struct packet *packet = &trace->packet;
	size_t mark = packet_start(trace);
	size_t tree = packet_begin(packet, PACKET_PROCESS_TREE);
	size_t process = packet_begin(packet, TREE_PROCESS);

	packet_number(packet, PROCESS_PID, (uint64_t)pid);
	packet_number(packet, PROCESS_PARENT, (uint64_t)parent);
	put_arguments(packet, cmdline);
	if (uid >= 0)
		packet_number(packet, PROCESS_UID, (uint64_t)uid);
	packet_end(packet, process);
	packet_end(packet, tree);
	return packet_finish(trace, mark);
}

/* Each ends with a 0 byte; the last one may lack it. */
static void put_each(struct packet *packet, const char *at, size_t left)
{
	size_t size;

	for (; left > 0; at += size, left -= size) {
		size = strnlen(at, left);
		packet_raw(packet, PROCESS_CMDLINE, at, size);
		size += size < left;
	}
}

static void put_who(struct packet *packet, const struct pm_perfetto_who *who)
{
	packet_number(packet, PROCESS_PID, (uint64_t)who->pid);
	packet_number(packet, PROCESS_PARENT, (uint64_t)who->parent);
	put_each(packet, who->arguments, who->arguments_size);
	if (who->arguments_size == 0 && who->comm) {
		packet_text(packet, PROCESS_CMDLINE, who->comm, strlen(who->comm));
		packet_number(packet, PROCESS_IS_COMM, 1);
	}
	if (who->uid >= 0)
		packet_number(packet, PROCESS_UID, (uint64_t)who->uid);
	for (size_t i = 0; i < who->inner_count; i++)
		packet_number(packet, PROCESS_INNER_PID, who->inner_pids[i]);
	if (who->started != 0)
		packet_number(packet, PROCESS_STARTED, who->started);
	if (who->kernel != 0)
		packet_number(packet, PROCESS_IS_KERNEL, who->kernel - 1);
}

int pm_perfetto_tell(struct pm_perfetto *trace, const struct pm_perfetto_who *given)
{
	struct packet *packet = &trace->packet;
	struct pm_perfetto_who who;
	size_t mark, tree, process;

	if (!pm_take(&who, sizeof(who), given, offsetof(struct pm_perfetto_who, arguments)) ||
	    who.kernel > 2)
		return -EINVAL;
	mark = packet_start(trace);
	tree = packet_begin(packet, PACKET_PROCESS_TREE);
	process = packet_begin(packet, TREE_PROCESS);
	put_who(packet, &who);
	packet_end(packet, process);
	packet_end(packet, tree);
	return packet_finish(trace, mark);
}

int pm_perfetto_thread(struct pm_perfetto *trace, int pid, int tid, const char *name)
{
	struct packet *packet = &trace->packet;
	size_t mark = packet_start(trace);
	size_t tree = packet_begin(packet, PACKET_PROCESS_TREE);
	size_t thread = packet_begin(packet, TREE_THREAD);

	packet_number(packet, THREAD_TID, (uint64_t)tid);
	packet_text(packet, THREAD_NAME, name, strlen(name));
	packet_number(packet, THREAD_PID, (uint64_t)pid);
	packet_end(packet, thread);
	packet_end(packet, tree);
	return packet_finish(trace, mark);
}

static size_t start_sample(struct pm_perfetto *trace, uint64_t time)
{
	packet_number(&trace->packet, PACKET_TIME, time);
	return packet_begin(&trace->packet, PACKET_PERF_SAMPLE);
}

static void put_sample(struct packet *packet, const struct pm_perfetto_sample *sample,
		       uint64_t stack)
{
	packet_number(packet, SAMPLE_CPU, sample->cpu);
	packet_number(packet, SAMPLE_PID, sample->pid);
	packet_number(packet, SAMPLE_TID, sample->tid);
	if (stack != 0)
		packet_number(packet, SAMPLE_STACK, stack);
	packet_number(packet, SAMPLE_MODE, sample->mode);
	if (sample->count != 0)
		packet_number(packet, SAMPLE_COUNT, sample->count);
	for (size_t i = 0; i < sample->follower_count && i < FOLLOWERS; i++)
		packet_number(packet, SAMPLE_FOLLOWER, sample->followers[i]);
	if (sample->unwind != PM_PERFETTO_WHOLE)
		packet_number(packet, SAMPLE_UNWIND_ERROR,
			      sample->unwind == PM_PERFETTO_UNKNOWN ? 0 : sample->unwind);
	if (sample->skip != PM_PERFETTO_SKIP_NONE)
		packet_number(packet, SAMPLE_SKIPPED, sample->skip);
}

/* One attempt: -ENOSPC when the table of what was written is full. */
static int add(struct pm_perfetto *trace, const struct pm_perfetto_sample *sample)
{
	size_t mark = packet_start(trace), inner;
	size_t count = sample->frame_count < FRAMES ? sample->frame_count : FRAMES;
	uint64_t stack = 0;
	int err = 0;

	if (count > 0)
		err = stack_intern(trace, sample->frames, count, &stack);
	if (err < 0)
		return err;
	inner = start_sample(trace, sample->time);
	put_sample(&trace->packet, sample, stack);
	packet_end(&trace->packet, inner);
	return packet_finish(trace, mark);
}

void trace_forget(struct pm_perfetto *trace)
{
	intern_clear(&trace->intern);
	trace->cleared = true;
	if (trace->opts.anew)
		trace->opts.anew(trace->opts.context);
}

int pm_perfetto_add(struct pm_perfetto *trace, const struct pm_perfetto_sample *given)
{
	struct pm_perfetto_sample sample;
	int err;

	if (!pm_take(&sample, sizeof(sample), given, offsetof(struct pm_perfetto_sample, count)))
		return -EINVAL;
	if (trace->sink.error != 0)
		return trace->sink.error;
	if (intern_is_full(&trace->intern))
		trace_forget(trace);
	err = add(trace, &sample);
	if (err != -ENOSPC || trace->sink.error != 0)
		return err;
	/* What was new in it has numbers and was not written: they begin anew. */
	trace_forget(trace);
	err = add(trace, &sample);
	if (err != -ENOSPC || trace->sink.error != 0)
		return err;
	/* A stack larger than the table: the sample goes without it. */
	trace_forget(trace);
	sample.frame_count = 0;
	sample.skip = PM_PERFETTO_SKIP_UNWIND;
	return add(trace, &sample);
}

int pm_perfetto_lost(struct pm_perfetto *trace, uint64_t time, uint32_t cpu, uint64_t count)
{
	size_t mark = packet_start(trace), inner;

	inner = start_sample(trace, time);
	packet_number(&trace->packet, SAMPLE_CPU, cpu);
	packet_number(&trace->packet, SAMPLE_LOST, count);
	packet_end(&trace->packet, inner);
	return packet_finish(trace, mark);
}

int pm_perfetto_guardrail(struct pm_perfetto *trace, uint64_t time)
{
	size_t mark = packet_start(trace), inner, event;

	inner = start_sample(trace, time);
	event = packet_begin(&trace->packet, SAMPLE_EVENT);
	packet_number(&trace->packet, EVENT_STOP_REASON, STOP_GUARDRAIL);
	packet_end(&trace->packet, event);
	packet_end(&trace->packet, inner);
	return packet_finish(trace, mark);
}
