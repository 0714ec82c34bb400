/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lies about what small text files of the kernel say: settings, PMUs in sysfs, tracepoints.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "event.h"
#include "lies.h"

ssize_t __real_readlink(const char *path, char *target, size_t size);

#define SETTING "/proc/sys/kernel/perf_event_"

/*
 * A file by the beginning and the end of its path, and how it is made false: p, m and h as in
 * fields.def for a number; x the last character is missing, c the last CPU of a list, f the bits of
 * a format are one further, s and w the sign or the size of each field of a tracepoint is another.
 */
static const struct text {
	const char *begin, *end;
	int lie;
	char way;
} texts[] = {
	{ "/sys/devices/", "/type", LIE_text_pmu_type, 'p' },
	{ "/sys/devices/", "/cpumask", LIE_text_pmu_cpus, 'c' },
	{ "/sys/devices/", "/cpus", LIE_text_pmu_cpus, 'c' },
	{ "/sys/devices/", "/format/", LIE_text_pmu_format, 'f' },
	{ "/sys/kernel/", "/id", LIE_text_tracepoint_id, 'p' },
	{ "/sys/kernel/", "/format", LIE_text_field_sign, 's' },
	{ "/sys/kernel/", "/format", LIE_text_field_size, 'w' },
	{ SETTING, "_max_sample_rate", LIE_text_sample_rate, 'h' },
	{ SETTING, "_mlock_kb", LIE_text_mlock, 'h' },
	{ SETTING, "_mlock_kb", LIE_text_mlock_double, 'd' },
	{ SETTING, "_max_stack", LIE_text_max_stack, 'p' },
	{ SETTING, "_max_contexts_per_stack", LIE_text_max_contexts, 'p' },
	{ SETTING, "_paranoid", LIE_text_paranoid_more, 'p' },
	{ SETTING, "_paranoid", LIE_text_paranoid_less, 'm' },
	{ SETTING, "", LIE_text_cut, 'x' },
	{ "/sys/devices/system/cpu/", "/online", LIE_text_online, 'c' },
};

static bool is_one(const struct text *text, const char *path)
{
	const size_t length = strlen(path), end = strlen(text->end);

	if (strncmp(path, text->begin, strlen(text->begin)))
		return false;
	if (end && text->end[end - 1] == '/')
		return strstr(path, text->end);
	return length >= end && !strcmp(path + length - end, text->end);
}

static void change_each(char *at, const char *name, const char *from, const char *to)
{
	while ((at = strstr(at, name))) {
		char *digit = at += strlen(name);
		const char *found = strchr(from, *digit);

		if (found && *digit && (digit[1] == ';' || digit[1] == '\n'))
			*digit = to[found - from];
	}
}

/* "config:0-7" becomes "config:1-8". */
static void change_bits(char *text, size_t room)
{
	char made[256] = "", *at = strchr(text, ':');

	if (!at)
		return;
	snprintf(made, sizeof(made), "%.*s", (int)(++at - text), text);
	while (*at) {
		const size_t used = strlen(made);
		const bool number = *at >= '0' && *at <= '9';

		if (number)
			snprintf(made + used, sizeof(made) - used, "%ld", strtol(at, &at, 10) + 1);
		else
			snprintf(made + used, sizeof(made) - used, "%c", *at++);
	}
	if (strlen(made) <= room)
		strcpy(text, made);
}

static void change_text(char *text, size_t room, char way)
{
	char *end = text + strcspn(text, "\n"), *last;
	long long value = strtoll(text, NULL, 10);

	switch (way) {
	case 'p': value++; break;
	case 'm': value--; break;
	case 'h': value /= 2; break;
	case 'd': value *= 2; break;
	case 'x':
		if (end > text)
			memmove(end - 1, end, strlen(end) + 1);
		return;
	case 'c':
		last = strrchr(text, '-') ? strrchr(text, '-') : strrchr(text, ',');
		if (last)
			memmove(last, end, strlen(end) + 1);
		return;
	case 'f': change_bits(text, room); return;
	case 's': change_each(text, "signed:", "01", "10"); return;
	case 'w': change_each(text, "size:", "48", "84"); return;
	}
	if ((size_t)snprintf(NULL, 0, "%lld\n", value) <= room)
		sprintf(text, "%lld\n", value);
}

ssize_t lies_in_text(int fd, void *buffer, size_t room, ssize_t size)
{
	static char text[65536];
	char link[32], path[256] = "";

	if (size <= 0 || room >= sizeof(text))
		return size;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (__real_readlink(link, path, sizeof(path) - 1) <= 0 ||
	    (strncmp(path, "/sys/", 5) && strncmp(path, "/proc/sys/", 10)))
		return size;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		if (!is_one(&texts[i], path) || !lie(texts[i].lie))
			continue;
		memcpy(text, buffer, (size_t)size);
		text[size] = '\0';
		change_text(text, room, texts[i].way);
		size = (ssize_t)strlen(text);
		memcpy(buffer, text, (size_t)size);
	}
	return size;
}
