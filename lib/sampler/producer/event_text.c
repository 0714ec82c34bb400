/* SPDX-License-Identifier: MIT */
/* A counter by its number, a tracepoint, or the kernel's numbers, with modes and a name behind. */
#define _GNU_SOURCE
#include "event_text.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES "/sys/bus/event_source/devices"

/* Of a timebase; a follower has the same under other numbers. */
enum timebase { BASE_PERIOD = 1, BASE_FREQUENCY = 2, BASE_TRACEPOINT = 3, BASE_COUNTER = 4,
		BASE_RAW = 5, BASE_POLL_MS = 6, BASE_NAME = 10, BASE_CLOCK = 11,
		BASE_MODIFIER = 12 };
static const enum timebase of_follower[] = { 0, BASE_COUNTER, BASE_TRACEPOINT, BASE_RAW, BASE_NAME,
					     BASE_MODIFIER };
enum { TRACEPOINT_NAME = 1, TRACEPOINT_FILTER = 2 };
enum { RAW_TYPE = 1, RAW_CONFIG = 2, RAW_CONFIG1 = 3, RAW_CONFIG2 = 4, RAW_NO_USER = 5,
       RAW_NO_KERNEL = 6, RAW_NO_HYPERVISOR = 7 };
enum { MODE_USER = 1, MODE_KERNEL = 2, MODE_HYPERVISOR = 4, MODE_ALL = 7 };

/* PerfEvents.Counter. */
static const char *const counters[] = {
	NULL, "cpu-clock", "page-faults", "task-clock", "context-switches", "cpu-migrations",
	"minor-faults", "major-faults", "alignment-faults", "emulation-faults", "cpu-cycles",
	"instructions", "cache-references", "cache-misses", "branch-instructions", "branch-misses",
	"bus-cycles", "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles", "dummy",
};

struct reading {
	struct event_wish *ret;
	char plain[400], name[64];
	unsigned int modes;	/* 0: all */
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

/* All of a text, or nothing where it is too long or has other bytes than printable ones. */
static bool copy(const struct field *field, char *ret, size_t size)
{
	if (!field->bytes || field->size >= size)
		return false;
	for (size_t i = 0; i < field->size; i++)
		if (!isprint(field->bytes[i]))
			return false;
	memcpy(ret, field->bytes, field->size);
	ret[field->size] = '\0';
	return true;
}

static int take_counter(struct reading *reading, uint64_t counter)
{
	if (counter == 0 || counter >= sizeof(counters) / sizeof(counters[0]))
		return fail(reading, "counter %llu is not known", (unsigned long long)counter);
	(void)snprintf(reading->plain, sizeof(reading->plain), "%s", counters[counter]);
	return 0;
}

/* "sched/sched_switch" and "sched:sched_switch". */
static int take_tracepoint(struct reading *reading, struct fields fields)
{
	struct field field;
	char *slash;

	while (field_next(&fields, &field)) {
		if (field.number == TRACEPOINT_NAME &&
		    !copy(&field, reading->plain, sizeof(reading->plain)))
			return fail(reading, "the name of a tracepoint is GROUP:NAME");
		if (field.number == TRACEPOINT_FILTER &&
		    !copy(&field, reading->ret->filter, sizeof(reading->ret->filter)))
			return fail(reading, "a filter of over 511 bytes, or not in ASCII");
	}
	slash = strchr(reading->plain, '/');
	if (slash)
		*slash = ':';
	if (!strchr(reading->plain, ':') || strpbrk(reading->plain, "/,{} \"\\"))
		return fail(reading, "the name of a tracepoint is GROUP:NAME");
	return 0;
}

/* The PMU of that type; false: there is none in sysfs. */
static bool pmu_of(uint64_t type, char *ret, size_t size)
{
	DIR *folder = opendir(DEVICES);
	const struct dirent *entry;
	bool found = false;

	while (folder && !found && (entry = readdir(folder))) {
		char path[512];
		unsigned long long its;
		FILE *file;

		(void)snprintf(path, sizeof(path), DEVICES "/%s/type", entry->d_name);
		file = entry->d_name[0] == '.' ? NULL : fopen(path, "re");
		if (!file)
			continue;
		found = fscanf(file, "%llu", &its) == 1 && its == type;
		(void)fclose(file);
		if (found)
			(void)snprintf(ret, size, "%s", entry->d_name);
	}
	if (folder)
		(void)closedir(folder);
	return found;
}

static int take_raw(struct reading *reading, struct fields fields)
{
	uint64_t value[RAW_NO_HYPERVISOR + 1] = { 0 };
	char pmu[256];
	struct field field;

	while (field_next(&fields, &field))
		if (field.number <= RAW_NO_HYPERVISOR)
			value[field.number] = field.value;
	if (value[RAW_NO_USER] || value[RAW_NO_KERNEL] || value[RAW_NO_HYPERVISOR])
		reading->modes = MODE_ALL & ~((value[RAW_NO_USER] ? MODE_USER : 0u) |
					      (value[RAW_NO_KERNEL] ? MODE_KERNEL : 0u) |
					      (value[RAW_NO_HYPERVISOR] ? MODE_HYPERVISOR : 0u));
	if (!pmu_of(value[RAW_TYPE], pmu, sizeof(pmu)))
		return fail(reading, "no PMU here has type %llu, see " DEVICES,
			    (unsigned long long)value[RAW_TYPE]);
	(void)snprintf(reading->plain, sizeof(reading->plain),
		       "%s/config=0x%llx,config1=0x%llx,config2=0x%llx", pmu,
		       (unsigned long long)value[RAW_CONFIG],
		       (unsigned long long)value[RAW_CONFIG1],
		       (unsigned long long)value[RAW_CONFIG2]);
	return 0;
}

/* A name that could end the terms is left out: it changes nothing of what is sampled. */
static void take_name(struct reading *reading, const struct field *field)
{
	if (!copy(field, reading->name, sizeof(reading->name)) ||
	    strspn(reading->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		   "0123456789_.-") != strlen(reading->name))
		reading->name[0] = '\0';
}

static int take_mode(struct reading *reading, uint64_t mode)
{
	if (mode < 1 || mode > 3)
		return fail(reading, "a mode that is none of user, kernel and hypervisor");
	reading->modes |= 1u << (mode - 1);
	return 0;
}

/* Numbers, also packed into one field. */
static int take_modes(struct reading *reading, const struct field *field)
{
	uint64_t mode;
	int err = field->bytes ? 0 : take_mode(reading, field->value);

	for (size_t at = 0, size; at < field->size && err == 0; at += size) {
		size = field_varint(field->bytes + at, field->size - at, &mode);
		err = take_mode(reading, size == 0 ? 0 : mode);
	}
	return err;
}

static int take(struct reading *reading, enum timebase number, const struct field *field)
{
	switch (number) {
	case BASE_PERIOD: reading->ret->period = field->value; return 0;
	case BASE_FREQUENCY: reading->ret->frequency = field->value; return 0;
	case BASE_POLL_MS: reading->ret->poll_ms = field->value; return 0;
	case BASE_CLOCK: reading->ret->clock = field->value; return 0;
	case BASE_COUNTER: return take_counter(reading, field->value);
	case BASE_TRACEPOINT: return take_tracepoint(reading, field_message(field));
	case BASE_RAW: return take_raw(reading, field_message(field));
	case BASE_NAME: take_name(reading, field); return 0;
	case BASE_MODIFIER: return take_modes(reading, field);
	default: return 0;
	}
}

/* Terms, then modes: "cpu-clock/name=x/uk", "sched:sched_switch:u". */
static void make_text(struct reading *reading)
{
	const char *plain = reading->plain[0] ? reading->plain : "cpu-clock";
	const bool terms = strchr(plain, '/') != NULL || reading->name[0] != '\0';

	(void)snprintf(reading->ret->text, sizeof(reading->ret->text), "%s%s%s%s%s%s%s%s", plain,
		       reading->name[0] ? strchr(plain, '/') ? ",name=" : "/name=" : "",
		       reading->name, terms ? "/" : "",
		       !terms && reading->modes ? ":" : "",
		       reading->modes & MODE_USER ? "u" : "",
		       reading->modes & MODE_KERNEL ? "k" : "",
		       reading->modes & MODE_HYPERVISOR ? "h" : "");
}

int event_wish_read(struct fields fields, bool follower, struct event_wish *ret, char *error,
		    size_t room)
{
	struct reading reading = { .ret = ret, .error = error, .room = room };
	struct field field;
	int err = 0;

	*ret = (struct event_wish){ .period = 0 };
	while (err == 0 && field_next(&fields, &field)) {
		const size_t known = sizeof(of_follower) / sizeof(of_follower[0]);
		const enum timebase number = !follower ? (enum timebase)field.number :
			field.number < known ? of_follower[field.number] : 0;

		err = take(&reading, number, &field);
	}
	if (err == 0 && fields.at != fields.end)
		err = fail(&reading, "an event that is no message");
	if (err == 0)
		make_text(&reading);
	return err;
}
