/* SPDX-License-Identifier: MIT */
/* Folded stacks, pprof, Perfetto, flame graphs and tables of functions from the same stacks. */
#define _GNU_SOURCE
#include "output.h"
#include "events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../../pm_sys.h"
#include "lines.h"
#include "picture.h"
#include "rotate.h"

#define FRAMES 8192
#define PICTURE_BYTES ((uint64_t)64 << 20)	/* of different stacks in memory */
#define NAMES_BYTES (1u << 20)	/* of one stack; later frames have no names then */

static int open_pprof(struct output *output, const struct source_config *source)
{
	struct pm_pprof_opts opts = {
		.size = sizeof(opts), .type = source->label,
		.unit = events_are_clock(source->event) ? "nanoseconds" : "count",
		.period = (uint64_t)source->period,
	};

	(void)pm_clock_ns(CLOCK_REALTIME, &opts.time);
	return pm_pprof_open(output->fd, &opts, &output->pprof);
}

static int open_perfetto(struct output *output, const struct source_config *source)
{
	struct pm_perfetto_opts opts = {
		.size = sizeof(opts), .fd = output->fd, .event = source->label,
		.period = (uint64_t)source->period, .frequency = (uint64_t)source->frequency,
		.poll_ms = (uint32_t)source->poll_ms, .shard = (uint32_t)source->shard,
		.shards = (uint32_t)source->shards,
		.followers = (const char *const *)source->followers,
		.follower_count = source->follower_count,
	};

	return pm_perfetto_open(&opts, &output->perfetto);
}

/* A standard stream is not opened anew: that would cut off a file that it is. */
static int open_path(const char *path)
{
	if (strcmp(path, "/dev/stdout") == 0)
		return fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (strcmp(path, "/dev/stderr") == 0)
		return fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0644);
}

static int open_picture(struct output *output)
{
	struct pm_folded_opts opts = { .size = sizeof(opts), .memory = PICTURE_BYTES };

	output->lines = lines_file();
	return output->lines < 0 ? output->lines :
		pm_folded_open(output->lines, &opts, &output->folded);
}

static int open_one(struct output *output, const struct config *config)
{
	const struct source_config *source = &config->sources[output->config->source_at];

	output->fd = open_path(output->config->path);
	if (output->fd < 0)
		return -errno;
	if (output->config->format == FORMAT_FOLDED)
		return pm_folded_open(output->fd, NULL, &output->folded);
	if (output->config->format == FORMAT_SVG || output->config->format == FORMAT_TOP)
		return open_picture(output);
	if (output->config->format == FORMAT_PPROF)
		return open_pprof(output, source);
	return open_perfetto(output, source);
}

int outputs_open(struct outputs *outputs, const struct config *config, struct pm_symbols *symbols,
		 char *error, size_t size)
{
	*outputs = (struct outputs){ .config = config, .symbols = symbols };
	outputs->names = malloc(NAMES_BYTES);
	outputs->frames = calloc(FRAMES, sizeof(*outputs->frames));
	for (size_t i = 0; i < OUTPUTS; i++)
		outputs->list[i].fd = outputs->list[i].lines = -1;
	if (!outputs->names || !outputs->frames) {
		(void)snprintf(error, size, "no memory");
		return -ENOMEM;
	}
	for (size_t i = 0; i < config->output_count; i++) {
		int err;

		outputs->list[i].config = &config->outputs[i];
		outputs->count = i + 1;
		err = open_one(&outputs->list[i], config);
		if (err < 0) {
			(void)snprintf(error, size, "output %s: %s", config->outputs[i].path,
				       strerror(-err));
			return err;
		}
	}
	return 0;
}

static void booked(struct outputs *outputs, struct output *output, int err, bool is_sample)
{
	if (err < 0 && output->error == 0) {
		output->error = err;
		(void)atomic_fetch_add(&outputs->failed, 1);
	}
	if (!is_sample)
		return;
	if (output->error == 0)
		output->written++;
	else
		output->unwritten++;
}

/* ------------------------------------------------------------------------------------ Perfetto */

static const char *keep(struct outputs *outputs, size_t *used, const char *text)
{
	size_t size = text ? strlen(text) + 1 : 0;
	char *copy = outputs->names + *used;

	if (size == 0 || size > NAMES_BYTES - *used)
		return NULL;
	memcpy(copy, text, size);
	*used += size;
	return copy;
}

/* What the compiler put into the function, innermost first, are frames of their own. */
static size_t name_inlined(struct outputs *outputs, struct pm_unwinder *unwinder, uint64_t address,
			   unsigned int how, struct pm_perfetto_frame *frames, size_t room,
			   size_t *used)
{
	struct pm_line lines[64] = { { .size = sizeof(lines[0]) } };
	const int count = pm_symbols_lines(outputs->symbols, unwinder, address, how, lines, 64);
	size_t named = 0;

	for (; (int)named < count - 1 && named < room; named++)
		frames[named] = (struct pm_perfetto_frame){
			.size = sizeof(*frames), .address = address,
			.function = keep(outputs, used, lines[named].name),
		};
	return named;
}

/* Names live until the next one is looked up: they are copied. */
static size_t name_frames(struct outputs *outputs, struct pm_unwinder *unwinder,
			  const struct pm_stack *stack)
{
	size_t count = 0, used = 0;

	for (size_t i = 0; i < stack->count && count < FRAMES; i++) {
		struct pm_perfetto_frame *frames = &outputs->frames[count], *frame;
		struct pm_symbol symbol = { .size = sizeof(symbol) };
		const int err = pm_symbols_find(outputs->symbols, unwinder, stack->addresses[i],
						stack->frames[i], &symbol);

		if (err == 0)
			count += name_inlined(outputs, unwinder, stack->addresses[i],
					      stack->frames[i], frames, FRAMES - 1 - count, &used);
		frame = &outputs->frames[count++];
		*frame = (struct pm_perfetto_frame){ .size = sizeof(*frame),
						     .address = stack->addresses[i] };
		if (err < 0)
			continue;
		frame->function = keep(outputs, &used, symbol.name);
		frame->module = keep(outputs, &used, symbol.module);
		if (symbol.file_address != 0)
			frame->address = symbol.file_address;
		for (; frames < frame; frames++) {
			frames->module = frame->module;
			frames->address = frame->address;
		}
	}
	return count;
}

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

static int add_perfetto(struct outputs *outputs, struct pm_perfetto *perfetto,
			const struct note *note, struct pm_unwinder *unwinder,
			const struct pm_stack *stack)
{
	struct pm_perfetto_sample sample = {
		.size = sizeof(sample), .time = note->time, .cpu = note->cpu, .pid = note->pid,
		.tid = note->tid, .mode = note->mode, .skip = note->skip,
	};

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
	return pm_perfetto_add(perfetto, &sample);
}

/* ----------------------------------------------------------------------------------- all kinds */

void outputs_stack(struct outputs *outputs, const struct note *note, struct pm_unwinder *unwinder,
		   const struct pm_stack *stack)
{
	for (size_t i = 0; i < outputs->count; i++) {
		struct output *output = &outputs->list[i];
		int err = 0;

		if (output->config->source_at != note->source)
			continue;
		if (output->error == 0 && output->folded)
			err = pm_folded_add(output->folded, note->comm, outputs->symbols, unwinder,
					    stack);
		else if (output->error == 0 && output->pprof)
			err = pm_pprof_add(output->pprof, note->comm, outputs->symbols, unwinder,
					   stack);
		else if (output->error == 0)
			err = add_perfetto(outputs, output->perfetto, note, unwinder, stack);
		booked(outputs, output, err, true);
	}
}

static int tell_perfetto(struct outputs *outputs, struct pm_perfetto *perfetto,
			 const struct note *note)
{
	switch (note->kind) {
	case NOTE_PROCESS:
		return pm_perfetto_process(perfetto, (int)note->pid, note->parent, note->uid,
					   note->text ? note->text : note->comm);
	case NOTE_THREAD:
		return pm_perfetto_thread(perfetto, (int)note->pid, (int)note->tid, note->comm);
	case NOTE_LOST:
		return pm_perfetto_lost(perfetto, note->time, note->cpu, note->values[0]);
	case NOTE_GUARDRAIL:
		return pm_perfetto_guardrail(perfetto, note->time);
	case NOTE_COUNTS:
		return add_perfetto(outputs, perfetto, note, NULL, NULL);
	default:
		return pm_perfetto_flush(perfetto);
	}
}

/* From all stacks that came. */
static int draw(const struct outputs *outputs, const struct output *output, uint64_t duration,
		int fd)
{
	const struct source_config *source =
		&outputs->config->sources[output->config->source_at];
	const struct picture picture = {
		.event = source->label, .nanoseconds = events_are_clock(source->event),
		.duration = duration,
		.samples = output->written,
	};
	struct lines lines;
	int err = lines_read(output->lines, &lines);

	if (err == 0)
		err = output->config->format == FORMAT_SVG ?
			flame_graph_write(fd, &lines, &picture) :
			top_functions_write(fd, &lines);
	lines_free(&lines);
	return err;
}

/* A file beside a regular one, which takes its place when it is whole; -1: there can be none. */
static int open_beside(const char *path, char *part, size_t size)
{
	struct stat stat;

	if (lstat(path, &stat) != 0 || !S_ISREG(stat.st_mode) ||
	    snprintf(part, size, "%s.part", path) >= (int)size)
		return -1;
	return open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY,
		    stat.st_mode & 0777);
}

/* Those that were killed, or whose disk was full, have the last one that was whole. */
static int keep_picture(const struct outputs *outputs, const struct output *output,
			uint64_t duration, int *ret_kept)
{
	char part[4096];
	int fd = open_beside(output->config->path, part, sizeof(part)), err;

	*ret_kept = fd >= 0;
	if (fd < 0)
		return 0;
	err = draw(outputs, output, duration, fd);
	if (close(fd) != 0 && err == 0)
		err = -errno;
	if (err == 0 && rename(part, output->config->path) != 0)
		err = -errno;
	if (err < 0)
		(void)unlink(part);
	return err;
}

static int write_picture(const struct outputs *outputs, const struct output *output,
			 uint64_t duration)
{
	int kept, err = keep_picture(outputs, output, duration, &kept);

	return kept ? err : draw(outputs, output, duration, output->fd);
}

static int make_whole(const struct outputs *outputs, const struct output *output, uint64_t duration)
{
	int err, kept;

	if (output->pprof)
		return pm_pprof_flush(output->pprof, duration);
	if (output->perfetto)
		return pm_perfetto_flush(output->perfetto);
	err = pm_folded_flush(output->folded);
	return err < 0 || output->lines < 0 ? err :
		keep_picture(outputs, output, duration, &kept);
}

static int close_one(const struct outputs *outputs, struct output *output, uint64_t duration);

/* What was written so far is whole, in a file beside the new one. */
static int begin_anew(const struct outputs *outputs, struct output *output, uint64_t duration)
{
	int err;

	if (!rotate_can(output->config->path))
		return 0;
	err = close_one(outputs, output, duration);
	if (err == 0)
		err = rotate_path(output->config->path, outputs->config->former);
	return err < 0 ? err : open_one(output, outputs->config);
}

void outputs_note(struct outputs *outputs, const struct note *note)
{
	const bool of_all = note->kind == NOTE_KEEP || note->kind == NOTE_ROTATE;

	for (size_t i = 0; i < outputs->count; i++) {
		struct output *output = &outputs->list[i];
		int err = 0;

		if ((!output->perfetto && !of_all) ||
		    output->config->source_at != note->source)
			continue;
		if (output->error == 0 && note->kind == NOTE_KEEP)
			err = make_whole(outputs, output, note->values[0]);
		else if (output->error == 0 && note->kind == NOTE_ROTATE)
			err = begin_anew(outputs, output, note->values[0]);
		else if (output->error == 0)
			err = tell_perfetto(outputs, output->perfetto, note);
		booked(outputs, output, err, note->kind == NOTE_COUNTS);
	}
}

/* The last bytes: a disk that is full is often noticed here only, by close(2) even. */
static int close_one(const struct outputs *outputs, struct output *output, uint64_t duration)
{
	int err = 0;

	if (output->folded)
		err = pm_folded_destroy(output->folded);
	if (output->lines >= 0) {
		if (output->folded && err == 0)
			err = write_picture(outputs, output, duration);
		close(output->lines);
		output->lines = -1;
	}
	if (output->pprof)
		err = pm_pprof_destroy(output->pprof, duration);
	if (output->perfetto)
		err = pm_perfetto_destroy(output->perfetto);
	output->folded = NULL;
	output->pprof = NULL;
	output->perfetto = NULL;
	if (output->fd >= 0 && close(output->fd) != 0 && err == 0)
		err = -errno;
	output->fd = -1;
	return err;
}

size_t outputs_close(struct outputs *outputs, uint64_t duration)
{
	for (size_t i = 0; i < outputs->count; i++)
		booked(outputs, &outputs->list[i],
		       close_one(outputs, &outputs->list[i], duration), false);
	return atomic_load(&outputs->failed);
}

void outputs_free(struct outputs *outputs)
{
	(void)outputs_close(outputs, 0);
	free(outputs->names);
	free(outputs->frames);
}
