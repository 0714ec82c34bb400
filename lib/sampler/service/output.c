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

#include "../../policy/spec/now.h"
#include "lines.h"
#include "picture.h"
#include "rotate.h"

#define PICTURE_BYTES ((uint64_t)64 << 20)	/* of different stacks in memory */

static int open_pprof(struct output *output, const struct source_config *source)
{
	struct pm_pprof_opts opts = {
		.size = sizeof(opts), .type = source->label,
		.unit = events_are_clock(source->event) ? "nanoseconds" : "count",
		.period = (uint64_t)source->period, .time = pm_now_by(CLOCK_REALTIME),
	};

	return pm_pprof_open(output->fd, &opts, &output->pprof);
}

static int open_picture(struct output *output)
{
	struct pm_folded_opts opts = { .size = sizeof(opts), .memory = PICTURE_BYTES };

	output->lines = lines_file();
	return output->lines < 0 ? output->lines :
		pm_folded_open(output->lines, &opts, &output->folded);
}

static int open_one(struct outputs *outputs, struct output *output)
{
	const struct source_config *source =
		&outputs->config->sources[output->config->source_at];

	output->fd = rotate_open(output->config->path);
	if (output->fd < 0)
		return output->fd;
	if (output->config->format == FORMAT_FOLDED)
		return pm_folded_open(output->fd, NULL, &output->folded);
	if (output->config->format == FORMAT_SVG || output->config->format == FORMAT_TOP)
		return open_picture(output);
	if (output->config->format == FORMAT_PPROF)
		return open_pprof(output, source);
	return trace_open(outputs, output);
}

int outputs_open(struct outputs *outputs, const struct config *config, struct pm_symbols *symbols,
		 char *error, size_t size)
{
	*outputs = (struct outputs){ .config = config, .symbols = symbols };
	known_init(&outputs->known, (size_t)config->processes);
	outputs->names = malloc(TRACE_NAMES_BYTES);
	outputs->frames = calloc(TRACE_FRAMES, sizeof(*outputs->frames));
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
		err = open_one(outputs, &outputs->list[i]);
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
			err = trace_add(outputs, output, note, unwinder, stack);
		booked(outputs, output, err, true);
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

static int make_whole(const struct outputs *outputs, const struct output *output,
		      uint64_t duration, bool mark)
{
	int err, kept;

	if (output->pprof)
		return pm_pprof_flush(output->pprof, duration);
	if (output->perfetto)
		return trace_flush(output, mark);
	err = pm_folded_flush(output->folded);
	return err < 0 || output->lines < 0 ? err :
		keep_picture(outputs, output, duration, &kept);
}

static int close_one(const struct outputs *outputs, struct output *output, uint64_t duration);

/* What was written so far is whole, in a file beside the new one. */
static int begin_anew(struct outputs *outputs, struct output *output, uint64_t duration)
{
	int err;

	if (!rotate_can(output->config->path))
		return 0;
	err = close_one(outputs, output, duration);
	if (err == 0)
		err = rotate_path(output->config->path, outputs->config->former);
	return err < 0 ? err : open_one(outputs, output);
}

void outputs_note(struct outputs *outputs, const struct note *note)
{
	const bool of_all = note->kind == NOTE_KEEP || note->kind == NOTE_ROTATE;

	if (note->kind >= NOTE_PROCESS && note->kind <= NOTE_THREAD_ENDED) {
		known_take(&outputs->known, note);
		return;
	}
	for (size_t i = 0; i < outputs->count; i++) {
		struct output *output = &outputs->list[i];
		int err = 0;

		if ((!output->perfetto && !of_all) ||
		    output->config->source_at != note->source)
			continue;
		if (output->error == 0 && note->kind == NOTE_KEEP)
			err = make_whole(outputs, output, note->values[0],
					 note->values[1] != 0);
		else if (output->error == 0 && note->kind == NOTE_ROTATE)
			err = begin_anew(outputs, output, note->values[0]);
		else if (output->error == 0)
			err = trace_note(outputs, output, note);
		if (output->error == 0 && err == 0 && of_all)
			output->whole = output->written;
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
	known_free(&outputs->known);
}
