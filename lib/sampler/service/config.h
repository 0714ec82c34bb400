/* SPDX-License-Identifier: MIT */
/* The configuration file: JSON, in which comments are allowed. */
#ifndef SERVICE_CONFIG_H
#define SERVICE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOURCES 8
#define OUTPUTS 64
#define TARGETS 64
#define FOLLOWERS 8

enum source_clock { SOURCE_MONOTONIC, SOURCE_MONOTONIC_RAW, SOURCE_BOOTTIME, SOURCE_REALTIME };
enum stacks { STACKS_NONE, STACKS_FRAMES, STACKS_DWARF };
enum format { FORMAT_FOLDED, FORMAT_PPROF, FORMAT_PERFETTO, FORMAT_SVG, FORMAT_TOP };

struct source_config {
	char *name, *event, *cpus;
	char *filter;		/* of a tracepoint's fields */
	char *label;		/* what texts call the event: its term "name", or all of it */
	char *followers[FOLLOWERS], *targets[TARGETS];
	size_t follower_count, target_count;
	char *stack_targets[TARGETS];	/* whose samples have stacks; none: all that are watched */
	size_t stack_target_count;
	int64_t stack_programs;	/* and so many programs besides, as they come */
	enum source_clock clock;	/* stamps samples */
	size_t member_count;	/* of followers, the first: others of an event that is a group */
	int64_t period, frequency, poll_ms;	/* exactly one is not 0 */
	int64_t shard, shards, first;
	int64_t ring_pages, stack_bytes;
	int64_t read_ms;	/* how often rings are read */
	int64_t turn_records, turn_us;	/* caps of one turn */
	int64_t start_ms, stop_ms;	/* after the beginning; stop 0: at the end */
	enum stacks stacks;
	bool kernel, children, abrupt;
};

struct output_config {
	char *path;		/* /dev/stdout and /dev/stderr are what this process has as these */
	char *source;		/* the name of one; NULL: the first */
	size_t source_at;
	enum format format;
};

struct config {
	struct source_config sources[SOURCES];
	size_t source_count;
	struct output_config outputs[OUTPUTS];
	size_t output_count;
	char *socket, *report, *broker;
	int64_t keep_ms;	/* outputs are made whole so often; 0: at the end alone */
	int64_t rotate_ms;	/* files are finished and begun anew so often; 0: by SIGHUP alone */
	int64_t former;		/* so many of them are kept */
	int64_t duration_ms;	/* 0: until a signal */
	int64_t signal, timeout_ms, processes, unwinders;
	int64_t queue_records, queue_bytes;
	int64_t memory_bytes, cpu_percent, window_ms;	/* guardrails; 0: none */
	bool debuginfod;	/* the servers of $DEBUGINFOD_URLS are asked for symbols */
	bool inlined;		/* functions that the compiler put into others, by DWARF */
};

/*
 * Reads a file. Returns 0, or -errno with a sentence in `error`; config_free in either case. The
 * text is bounded to 1 MiB; a key that is not known is an error.
 */
int config_read(const char *path, struct config *ret, char *error, size_t size);
int config_parse(const char *text, struct config *ret, char *error, size_t size);
void config_free(struct config *config);

/* The clockid_t of its clock. */
int config_clock(const struct source_config *source);

/* Whether all targets are some. 0, or -errno with a sentence. */
int config_judge_targets(const struct source_config *source, char *error, size_t size);

/* Rings for the source's rate, or -EINVAL with a sentence: meaning.c. */
int config_size_rings(struct source_config *source, char *error, size_t size);

#endif
