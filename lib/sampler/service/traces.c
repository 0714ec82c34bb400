/* SPDX-License-Identifier: MIT */
/* Perfetto's traces: who and what is sampled, stacks with their names, what is missing. */
#define _GNU_SOURCE
#include "output.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "events.h"

/* ------------------------------------------------------------------------------- beginning */

/* To a trace that has begun anew all are new, whose sample is being written before all. */
static void on_anew(void *context)
{
	struct output *output = context;
	struct outputs *all = output->all;
	const unsigned int number = (unsigned int)(output - all->list);

	known_forget(&all->known, number);
	if (all->note && all->note->pid != 0)
		(void)known_tell(&all->known, number, output->perfetto, all->note);
}

/* What an event is, and what it is called: a name that is asked for, or one that has no other. */
struct described {
	struct pm_event_spec specs[EVENTS];	/* of the event, then of its followers */
	const char *names[FOLLOWERS + 1];
	char plain[256];
	bool known;
};

/* Without modes behind it, which readers add. */
static const char *plain(const char *text, char *ret, size_t size)
{
	const char *slash = strrchr(text, '/'), *colon = strrchr(text, ':');
	const size_t length = slash ? (size_t)(slash - text) + 1 :
		colon ? (size_t)(colon - text) : strlen(text);

	if (length >= size)
		return text;
	memcpy(ret, text, length);
	ret[length] = '\0';
	return ret;
}

static bool has_other_name(const struct pm_event_spec *spec)
{
	return spec->type == PM_TYPE_HARDWARE || spec->type == PM_TYPE_SOFTWARE ||
		spec->type == PM_TYPE_TRACEPOINT;
}

static void describe(const struct source_config *source, struct described *ret)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct events events;
	size_t count;

	ret->known = events_read(source->event, &diag, &events) == 0 && events.leaders == 1;
	if (!ret->known)
		return;
	memcpy(ret->specs, events.specs, sizeof(ret->specs));
	if (strcmp(source->label, source->event) != 0)
		ret->names[0] = source->label;
	else if (events.count == 1 && !has_other_name(&events.specs[0]))
		ret->names[0] = plain(source->label, ret->plain, sizeof(ret->plain));
	ret->specs[0].name = source->event;
	ret->specs[0].filter = source->filter;
	for (size_t i = 1; i < events.count && i <= FOLLOWERS; i++)
		ret->names[i] = events.listed[i].name[0] ? source->followers[i - 1] : NULL;
	for (count = source->member_count; count < source->follower_count; count++) {
		struct pm_event_spec *spec = &ret->specs[count + 1];

		*spec = (struct pm_event_spec){ .size = sizeof(*spec) };
		if (pm_event_parse(source->followers[count], &diag, spec) < 0)
			ret->known = false;
		spec->name = source->followers[count];
	}
}

int trace_open(struct outputs *outputs, struct output *output)
{
	const struct source_config *source =
		&outputs->config->sources[output->config->source_at];
	struct described events = { .known = false };
	struct pm_perfetto_opts opts = {
		.size = sizeof(opts), .fd = output->fd, .event = source->label,
		.period = (uint64_t)source->period, .frequency = (uint64_t)source->frequency,
		.poll_ms = (uint32_t)source->poll_ms, .shard = (uint32_t)source->shard,
		.shards = (uint32_t)source->shards, .clock = 1 + config_clock(source),
		.followers = (const char *const *)source->followers,
		.follower_count = source->follower_count, .anew = on_anew, .context = output,
	};

	output->all = outputs;
	known_forget(&outputs->known, (unsigned int)(output - outputs->list));
	describe(source, &events);
	if (events.known) {
		opts.spec = events.specs;
		opts.follower_specs = events.specs + 1;
		opts.event = events.names[0];
		opts.followers = events.names + 1;
	}
	return pm_perfetto_open(&opts, &output->perfetto);
}

/* ---------------------------------------------------------------------------------- frames */

static void *keep_bytes(struct outputs *outputs, size_t *used, const void *bytes, size_t size)
{
	char *copy = outputs->names + *used;

	if (size == 0 || size > TRACE_NAMES_BYTES - *used)
		return NULL;
	memcpy(copy, bytes, size);
	*used += size;
	return copy;
}

static const char *keep(struct outputs *outputs, size_t *used, const char *text)
{
	return keep_bytes(outputs, used, text, text ? strlen(text) + 1 : 0);
}

/* Where a module is; frames of the kernel's modules are the kernel's, as readers expect. */
static void place(struct outputs *outputs, size_t *used, const struct pm_symbol *symbol,
		  unsigned int how, struct pm_perfetto_frame *frame)
{
	const bool kernel = how & PM_FRAME_KERNEL && !(how & PM_FRAME_GUEST);
	const uint64_t at = frame->address - (how & PM_FRAME_CALLER ? 1 : 0);

	frame->module = kernel ? "[kernel]" : keep(outputs, used, symbol->module);
	if (symbol->file_address == 0)
		return;
	frame->address = symbol->file_address;
	frame->build_id = keep_bytes(outputs, used, symbol->build_id, symbol->build_id_size);
	frame->build_id_size = frame->build_id ? symbol->build_id_size : 0;
	if (symbol->map_end == 0)
		return;
	frame->start = symbol->map_start;
	frame->end = symbol->map_end;
	frame->offset = symbol->map_offset;
	frame->bias = symbol->file_address - (at - symbol->map_start + symbol->map_offset);
}

/* A frame, behind those that the compiler put into its function, innermost first. */
static size_t name_frame(struct outputs *outputs, struct pm_unwinder *unwinder, uint64_t address,
			 unsigned int how, struct pm_perfetto_frame *frames, size_t room,
			 size_t *used)
{
	struct pm_line lines[64] = { { .size = sizeof(lines[0]) } };
	struct pm_perfetto_frame whole = { .size = sizeof(whole), .address = address };
	struct pm_symbol symbol = { .size = sizeof(symbol) };
	size_t count = 1, last;
	int lined;

	if (pm_symbols_find(outputs->symbols, unwinder, address, how, &symbol) < 0) {
		frames[0] = whole;
		return 1;
	}
	place(outputs, used, &symbol, how, &whole);
	whole.function = keep(outputs, used, symbol.name);
	lined = pm_symbols_lines(outputs->symbols, unwinder, address, how, lines, 64);
	if (lined > 0)
		count = (size_t)lined < room ? (size_t)lined : room;
	for (size_t i = 0; i < count; i++) {
		frames[i] = whole;
		frames[i].source = lined > 0 ? keep(outputs, used, lines[i].file) : NULL;
		frames[i].line = lined > 0 ? lines[i].line : 0;
	}
	last = lined > 0 && (size_t)lined == count ? count - 1 : lined > 0 ? count : 0;
	for (size_t i = 0; i < last; i++)
		frames[i].function = keep(outputs, used, lines[i].name);
	return count;
}

/* Names live until the next one is looked up: they are copied. */
static size_t name_frames(struct outputs *outputs, struct pm_unwinder *unwinder,
			  const struct pm_stack *stack)
{
	size_t count = 0, used = 0;

	for (size_t i = 0; i < stack->count && count < TRACE_FRAMES; i++)
		count += name_frame(outputs, unwinder, stack->addresses[i], stack->frames[i],
				    &outputs->frames[count], TRACE_FRAMES - count, &used);
	return count;
}

/* --------------------------------------------------------------------------------- samples */

static enum pm_perfetto_unwind reason(enum pm_stack_end end)
{
	switch (end) {
	case PM_END_COMPLETE: case PM_END_UNTOLD: return PM_PERFETTO_WHOLE;
	case PM_END_COPY: case PM_END_MEMORY: return PM_PERFETTO_MEMORY;
	case PM_END_NO_MAPPING: return PM_PERFETTO_MAP;
	case PM_END_NO_INFO: return PM_PERFETTO_INFO;
	case PM_END_FRAMES: return PM_PERFETTO_FRAMES;
	case PM_END_REGISTERS: return PM_PERFETTO_UNSUPPORTED;
	default: return PM_PERFETTO_UNKNOWN;
	}
}

int trace_add(struct outputs *outputs, struct output *output, const struct note *note,
	      struct pm_unwinder *unwinder, const struct pm_stack *stack)
{
	struct pm_perfetto_sample sample = {
		.size = sizeof(sample), .time = note->time, .cpu = note->cpu, .pid = note->pid,
		.tid = note->tid, .mode = note->mode, .skip = note->skip,
	};
	int err = 0;

	if (note->value_count > 0) {
		sample.count = note->values[0];
		sample.followers = note->values + 1;
		sample.follower_count = note->value_count - 1;
	}
	if (stack && stack->count > 0) {
		sample.frames = outputs->frames;
		sample.frame_count = name_frames(outputs, unwinder, stack);
		if (note->skip == PM_PERFETTO_SKIP_NONE)
			sample.unwind = reason(stack->end);
	}
	outputs->note = note;
	if (note->pid != 0)
		err = known_tell(&outputs->known, (unsigned int)(output - outputs->list),
				 output->perfetto, note);
	if (err == 0)
		err = pm_perfetto_add(output->perfetto, &sample);
	outputs->note = NULL;
	return err;
}

int trace_flush(const struct output *output, bool mark)
{
	static const unsigned char empty[] = { 1 << 3 | 2, 0 };	/* Trace.packet */
	int err = pm_perfetto_flush(output->perfetto);
	ssize_t done;

	if (err < 0 || !mark || lseek(output->fd, 0, SEEK_CUR) >= 0)
		return err;
	do
		done = write(output->fd, empty, sizeof(empty));
	while (done < 0 && errno == EINTR);
	return done < 0 ? -errno : 0;
}

int trace_note(struct outputs *outputs, struct output *output, const struct note *note)
{
	switch (note->kind) {
	case NOTE_LOST:
		return pm_perfetto_lost(output->perfetto, note->time, note->cpu, note->values[0]);
	case NOTE_GUARDRAIL:
		return pm_perfetto_guardrail(output->perfetto, note->time);
	case NOTE_RATE:
		return pm_perfetto_rate(output->perfetto, note->values[0], note->values[1]);
	case NOTE_COUNTS:
		return trace_add(outputs, output, note, NULL, NULL);
	default:
		return pm_perfetto_flush(output->perfetto);
	}
}
