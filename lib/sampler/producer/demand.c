/* SPDX-License-Identifier: MIT */
/* PerfEventConfig, read field by field, and the configuration that stands for it. */
#define _GNU_SOURCE
#include "demand.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../pm_sys.h"
#include "../../wire/field.h"
#include "../../wire/json_writer.h"
#include "cpu_id.h"
#include "event_text.h"

#define FREQUENCY 100		/* where none is asked for */
#define KEEP_MS 1000		/* how long packets stay in the sampler at most */
#define PATTERN 512

enum { CONFIG_BUFFER = 2, CONFIG_PERF = 111 };
enum perf_config {
	PERF_ALL_CPUS = 1, PERF_OLD_FREQUENCY = 2, PERF_RING_PAGES = 3, PERF_OLD_PID = 4,
	PERF_OLD_CMDLINE = 5, PERF_OLD_NO_PID = 6, PERF_OLD_NO_CMDLINE = 7, PERF_READ_MS = 8,
	PERF_TIMEOUT_MS = 9, PERF_CLEAR_MS = 10, PERF_OLD_MORE = 11, PERF_OLD_KERNEL = 12,
	PERF_MEMORY_KB = 13, PERF_TIMEBASE = 15, PERF_CALLSTACK = 16, PERF_QUEUE_KB = 17,
	PERF_INSTALLED_BY = 18, PERF_FOLLOWER = 19, PERF_CPU = 20, PERF_IGNORE_FAILURE = 21,
	PERF_CPUID = 22,
};
enum { CALLSTACK_SCOPE = 1, CALLSTACK_KERNEL = 2, CALLSTACK_USER = 3 };
enum { SCOPE_PID = 1, SCOPE_CMDLINE = 2, SCOPE_NO_PID = 3, SCOPE_NO_CMDLINE = 4, SCOPE_MORE = 5,
       SCOPE_SHARDS = 6 };
enum { USER_SKIP = 1, USER_FRAMES = 3 };

struct listed {
	char *text[2 * DEMAND_LISTED];
	size_t count;
};

/* What was read. Numbers are 0 where nothing was told. */
struct wish {
	struct event_wish event, followers[DEMAND_FOLLOWERS];
	size_t follower_count;
	struct listed scope, cpu_ids;
	uint16_t cpu[DEMAND_LISTED];
	size_t cpu_count;
	char cpus[DEMAND_LISTED * 6];	/* which they are, in the end */
	bool has_perf, stacks, kernel, only_pids;
	uint64_t user, more, shards, ring_pages, read_ms, timeout_ms, memory_kb, queue_kb;
	uint64_t old_frequency;
	bool old;
};

struct reading {
	struct wish wish;
	struct demand *ret;
	char *error;
	size_t room;
};

__attribute__((format(printf, 2, 3)))
static int fail(struct reading *reading, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	(void)vsnprintf(reading->error, reading->room, format, list);
	va_end(list);
	return -EINVAL;
}

static void leave_out(struct reading *reading, const char *what)
{
	char *text = reading->ret->left_out;
	const size_t used = strlen(text), size = sizeof(reading->ret->left_out);

	if (!strstr(text, what))
		(void)snprintf(text + used, size - used, "%s%s", used ? ", " : "", what);
}

/* ------------------------------------------------------------------------------------- reading */

static int add(struct reading *reading, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static int add(struct reading *reading, const char *format, ...)
{
	struct listed *listed = &reading->wish.scope;
	va_list list;
	int length;

	if (listed->count == 2 * DEMAND_LISTED)
		return fail(reading, "more than %d processes are named", DEMAND_LISTED);
	va_start(list, format);
	length = vasprintf(&listed->text[listed->count], format, list);
	va_end(list);
	if (length < 0)
		return -ENOMEM;
	listed->count++;
	return 0;
}

/* An int32 is sent as 64 bits. */
static int take_pid(struct reading *reading, const struct field *field, bool exclude)
{
	const int64_t pid = (int64_t)field->value;

	if (pid < 1 || pid > INT32_MAX)
		return fail(reading, "process %lld cannot be", (long long)pid);
	return add(reading, "%spid:%lld", exclude ? "!" : "", (long long)pid);
}

/* A path is that of the program, whatever its arguments; else a name. */
static int take_cmdline(struct reading *reading, const struct field *field, bool exclude)
{
	const int size = (int)field->size;
	int err;

	if (!field->bytes || size == 0 || size >= PATTERN || memchr(field->bytes, 0, field->size))
		return fail(reading, "a command line has to have 1 to %d bytes", PATTERN - 1);
	if (!exclude)
		reading->wish.only_pids = false;
	err = add(reading, "%scmd:%.*s", exclude ? "!" : "", size, (const char *)field->bytes);
	if (err == 0 && field->bytes[0] == '/')
		err = add(reading, "%scmd:%.*s *", exclude ? "!" : "", size,
			  (const char *)field->bytes);
	return err;
}

static int take_scope(struct reading *reading, struct fields fields)
{
	struct field field;
	int err = 0;

	while (err == 0 && field_next(&fields, &field)) {
		switch (field.number) {
		case SCOPE_PID: err = take_pid(reading, &field, false); break;
		case SCOPE_CMDLINE: err = take_cmdline(reading, &field, false); break;
		case SCOPE_NO_PID: err = take_pid(reading, &field, true); break;
		case SCOPE_NO_CMDLINE: err = take_cmdline(reading, &field, true); break;
		case SCOPE_MORE: reading->wish.more = field.value; break;
		case SCOPE_SHARDS: reading->wish.shards = field.value; break;
		default: break;
		}
	}
	return err;
}

static int take_callstack(struct reading *reading, struct fields fields)
{
	struct field field;
	int err = 0;

	reading->wish.stacks = true;
	while (err == 0 && field_next(&fields, &field)) {
		if (field.number == CALLSTACK_SCOPE)
			err = take_scope(reading, field_message(&field));
		else if (field.number == CALLSTACK_KERNEL)
			reading->wish.kernel = field.value != 0;
		else if (field.number == CALLSTACK_USER)
			reading->wish.user = field.value;
	}
	return err;
}

static int take_cpu(struct reading *reading, uint64_t cpu)
{
	if (cpu > UINT16_MAX || reading->wish.cpu_count == DEMAND_LISTED)
		return fail(reading, "up to %d CPUs can be named, from 0 to 65535", DEMAND_LISTED);
	reading->wish.cpu[reading->wish.cpu_count++] = (uint16_t)cpu;
	return 0;
}

/* A list of numbers, also packed into one field. */
static int take_cpus(struct reading *reading, const struct field *field)
{
	const unsigned char *at = field->bytes;
	uint64_t cpu;
	int err = 0;

	if (!at)
		return take_cpu(reading, field->value);
	while (err == 0 && at < field->bytes + field->size) {
		const size_t size = field_varint(at, (size_t)(field->bytes + field->size - at),
						 &cpu);

		if (size == 0)
			return fail(reading, "a list of CPUs that is none");
		at += size;
		err = take_cpu(reading, cpu);
	}
	return err;
}

static int take_cpu_id(struct reading *reading, const struct field *field)
{
	struct listed *ids = &reading->wish.cpu_ids;
	bool is_id = field->bytes && field->size < CPU_ID && ids->count < DEMAND_LISTED;

	for (size_t i = 0; is_id && i < field->size; i++)
		is_id = isxdigit(field->bytes[i]);
	if (!is_id)
		return fail(reading, "up to %d cpuid of at most %d hexadecimal digits can be named",
			    DEMAND_LISTED, CPU_ID - 1);
	ids->text[ids->count] = strndup((const char *)field->bytes, field->size);
	return ids->text[ids->count++] ? 0 : -ENOMEM;
}

static int choose_by_id(struct reading *reading)
{
	struct wish *wish = &reading->wish;
	struct cpu_ids ids = { (const char *const *)wish->cpu_ids.text, wish->cpu_ids.count,
			       wish->cpu, wish->cpu_count, "" };
	FILE *cpuinfo = fopen("/proc/cpuinfo", "re");
	int count = cpuinfo ? cpu_ids_list(cpuinfo, &ids, wish->cpus, sizeof(wish->cpus)) : 0;

	if (cpuinfo)
		(void)fclose(cpuinfo);
	if (count < 0)
		return fail(reading, "too many CPUs, one here and one there, have that cpuid");
	if (count == 0 && ids.first[0] == '\0')
		return fail(reading, "/proc/cpuinfo tells no cpuid here, as Arm's does: name the "
			    "CPUs, target_cpu");
	if (count == 0)
		return fail(reading, "no CPU has cpuid \"%s\" here: one is %s", ids.begins[0],
			    ids.first);
	return 0;
}

/* Writes down the CPUs by number; none: all. */
static int choose_cpus(struct reading *reading)
{
	struct wish *wish = &reading->wish;

	if (wish->cpu_ids.count > 0)
		return choose_by_id(reading);
	for (size_t i = 0, used = 0; i < wish->cpu_count; i++)
		used += (size_t)snprintf(wish->cpus + used, sizeof(wish->cpus) - used, "%s%u",
					 i ? "," : "", wish->cpu[i]);
	return 0;
}

static int take_follower(struct reading *reading, const struct field *field)
{
	struct wish *wish = &reading->wish;

	if (wish->follower_count == DEMAND_FOLLOWERS)
		return fail(reading, "more than %d followers", DEMAND_FOLLOWERS);
	return event_wish_read(field_message(field), true, &wish->followers[wish->follower_count++],
			       reading->error, reading->room);
}

/* What was asked for before there were timebases; `all_cpus` was a must then. */
static int take_old(struct reading *reading, const struct field *field)
{
	if (field->number > PERF_OLD_KERNEL) {
		leave_out(reading, "a field that is not known here");
		return 0;
	}
	reading->wish.old = true;
	switch (field->number) {
	case PERF_OLD_FREQUENCY: reading->wish.old_frequency = field->value; return 0;
	case PERF_OLD_PID: return take_pid(reading, field, false);
	case PERF_OLD_CMDLINE: return take_cmdline(reading, field, false);
	case PERF_OLD_NO_PID: return take_pid(reading, field, true);
	case PERF_OLD_NO_CMDLINE: return take_cmdline(reading, field, true);
	case PERF_OLD_MORE: reading->wish.more = field->value; return 0;
	case PERF_OLD_KERNEL: reading->wish.kernel = field->value != 0; return 0;
	default: return 0;
	}
}

static int take_perf(struct reading *reading, const struct field *field)
{
	struct wish *wish = &reading->wish;

	switch (field->number) {
	case PERF_TIMEBASE:
		return event_wish_read(field_message(field), false, &wish->event, reading->error,
				       reading->room);
	case PERF_CALLSTACK: return take_callstack(reading, field_message(field));
	case PERF_FOLLOWER: return take_follower(reading, field);
	case PERF_CPU: return take_cpus(reading, field);
	case PERF_RING_PAGES: wish->ring_pages = field->value; return 0;
	case PERF_READ_MS: wish->read_ms = field->value; return 0;
	case PERF_TIMEOUT_MS: wish->timeout_ms = field->value; return 0;
	case PERF_MEMORY_KB: wish->memory_kb = field->value; return 0;
	case PERF_QUEUE_KB: wish->queue_kb = field->value; return 0;
	case PERF_CLEAR_MS: leave_out(reading, "unwind_state_clear_period_ms"); return 0;
	case PERF_INSTALLED_BY:
		return fail(reading, "target_installed_by is Android's alone, and not known here");
	case PERF_CPUID: return take_cpu_id(reading, field);
	case PERF_IGNORE_FAILURE: return 0;	/* it always is, as long as one CPU has the event */
	default: return take_old(reading, field);
	}
}

static int read_all(struct reading *reading, const unsigned char *bytes, size_t size)
{
	struct fields fields = { bytes, bytes + size }, inner;
	struct field field;
	int err = 0;

	reading->wish.only_pids = true;
	while (err == 0 && field_next(&fields, &field)) {
		if (field.number == CONFIG_BUFFER)
			reading->ret->buffer = field.value;
		if (field.number != CONFIG_PERF)
			continue;
		reading->wish.has_perf = true;
		inner = field_message(&field);
		while (err == 0 && field_next(&inner, &field))
			err = take_perf(reading, &field);
		if (err == 0 && inner.at != inner.end)
			err = fail(reading, "perf_event_config is no message");
	}
	if (err == 0 && !reading->wish.has_perf)
		err = fail(reading, "there is no perf_event_config: what is to be sampled?");
	if (err == 0 && reading->ret->buffer > UINT16_MAX)
		err = fail(reading, "buffer %llu cannot be",
			   (unsigned long long)reading->ret->buffer);
	return err == 0 ? choose_cpus(reading) : err;
}

/* ------------------------------------------------------------------------------------ as JSON */

/* Nothing for 0; JSON's reader bounds what is there. */
static void count(yajl_gen gen, const char *key, uint64_t value)
{
	if (value > 0)
		json_number(gen, key, value > INT64_MAX ? INT64_MAX : (long long)value);
}

static void texts(yajl_gen gen, const char *key, const struct listed *listed)
{
	json_list(gen, key);
	for (size_t i = 0; i < listed->count; i++)
		json_text(gen, listed->text[i]);
	(void)yajl_gen_array_close(gen);
}

static bool excludes_alone(const struct listed *listed)
{
	for (size_t i = 0; i < listed->count; i++)
		if (listed->text[i][0] != '!')
			return false;
	return true;
}

/*
 * Where processes are named by number alone they are watched by themselves: nobody else is
 * interrupted, and no privilege over the machine is needed. Else all are sampled, and those of
 * the scope have stacks.
 */
static void put_who(yajl_gen gen, const struct wish *wish)
{
	static const char any[] = "any";
	uint64_t now = 0;
	const struct listed all = { .text = { (char *)any }, .count = 1 };
	const bool named = wish->stacks && wish->only_pids && wish->more == 0 &&
		!excludes_alone(&wish->scope);

	texts(gen, "targets", named ? &wish->scope : &all);
	if (named) {
		json_flag(gen, "children", false);
	} else if (wish->stacks && wish->scope.count > 0) {
		texts(gen, "stack_targets", &wish->scope);
	}
	count(gen, "stack_programs", wish->more);
	if (wish->shards == 0)
		return;
	count(gen, "shards", wish->shards);
	(void)pm_clock_ns(CLOCK_MONOTONIC, &now);
	json_number(gen, "shard", (long long)(now / 1000 % wish->shards));
}

static void put_stacks(yajl_gen gen, const struct wish *wish)
{
	const bool stacks = wish->stacks && wish->event.poll_ms == 0;

	json_pair(gen, "stacks", !stacks || wish->user == USER_SKIP ? "none" :
		  wish->user == USER_FRAMES ? "frames" : "dwarf");
	if (stacks && wish->kernel)
		json_flag(gen, "kernel", true);
}

static void put_source(yajl_gen gen, const struct wish *wish)
{
	static const char *const clocks[] = { NULL, "realtime", "monotonic", "monotonic_raw",
					      "boottime" };
	const struct event_wish *event = &wish->event;

	(void)yajl_gen_map_open(gen);
	json_pair(gen, "name", "traced");
	json_pair(gen, "event", event->text[0] ? event->text : "cpu-clock");
	if (event->filter[0])
		json_pair(gen, "filter", event->filter);
	count(gen, "period", event->period);
	count(gen, "poll_ms", event->poll_ms);
	if (event->period == 0 && event->poll_ms == 0)
		count(gen, "frequency", event->frequency ? event->frequency :
		      wish->old_frequency ? wish->old_frequency : FREQUENCY);
	if (event->clock < sizeof(clocks) / sizeof(clocks[0]) && clocks[event->clock])
		json_pair(gen, "clock", clocks[event->clock]);
	if (wish->follower_count > 0) {
		json_list(gen, "followers");
		for (size_t i = 0; i < wish->follower_count; i++)
			json_text(gen, wish->followers[i].text);
		(void)yajl_gen_array_close(gen);
	}
	put_who(gen, wish);
	put_stacks(gen, wish);
	if (wish->cpus[0])
		json_pair(gen, "cpus", wish->cpus);
	count(gen, "ring_pages", wish->ring_pages);
	count(gen, "read_ms", wish->read_ms);
	(void)yajl_gen_map_close(gen);
}

/* Kilobytes of 1024, as far as a number goes. */
static uint64_t bytes_of(uint64_t kilobytes)
{
	return kilobytes > INT64_MAX / 1024 ? INT64_MAX : kilobytes * 1024;
}

static char *as_json(const struct wish *wish)
{
	yajl_gen gen = yajl_gen_alloc(NULL);

	if (!gen)
		return NULL;
	(void)yajl_gen_map_open(gen);
	json_list(gen, "sources");
	put_source(gen, wish);
	(void)yajl_gen_array_close(gen);
	json_list(gen, "outputs");
	(void)yajl_gen_map_open(gen);
	json_pair(gen, "format", "perfetto");
	json_pair(gen, "path", "/dev/stdout");
	(void)yajl_gen_map_close(gen);
	(void)yajl_gen_array_close(gen);
	count(gen, "keep_ms", KEEP_MS);
	count(gen, "queue_bytes", bytes_of(wish->queue_kb));
	count(gen, "memory_bytes", bytes_of(wish->memory_kb));
	count(gen, "timeout_ms", wish->timeout_ms);
	(void)yajl_gen_map_close(gen);
	return json_end(gen);
}

static void drop(struct listed *listed)
{
	for (size_t i = 0; i < listed->count; i++)
		free(listed->text[i]);
}

int demand_read(const unsigned char *bytes, size_t size, struct demand *ret, char *error,
		size_t room)
{
	struct reading *reading = calloc(1, sizeof(*reading));
	int err;

	*ret = (struct demand){ .buffer = 0 };
	error[0] = '\0';
	if (!reading)
		return -ENOMEM;
	reading->ret = ret;
	reading->error = error;
	reading->room = room;
	err = read_all(reading, bytes, size);
	if (reading->wish.old)		/* of then: stacks of all that is named */
		reading->wish.stacks = true;
	ret->json = err == 0 ? as_json(&reading->wish) : NULL;
	drop(&reading->wish.scope);
	drop(&reading->wish.cpu_ids);
	free(reading);
	return err == 0 && !ret->json ? -ENOMEM : err;
}
