/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Complaints in the kernel's log. See kernel_log.h.
 *
 * A read of /dev/kmsg (v3.5) returns one record: "priority,sequence,microseconds,flags;message" and
 * lines of keys. The priority has the facility above its three low bits; what programs write to the
 * log has another than the kernel's own, 0.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernel_log.h"

#define RECORDS_MAX 20000
#define LINES_MAX 16
#define MESSAGE_MAX 400

enum class { FAULT, LATE, WHERE };

static const struct complaint {
	const char *kind;
	enum class class;
	const char *pattern;
} complaints[] = {
#define COMPLAINT(kind, class, pattern) { kind, class, pattern },
#include "complaints.def"
#undef COMPLAINT
};

static const struct complaint *find(const char *message)
{
	for (size_t i = 0; i < sizeof(complaints) / sizeof(*complaints); i++)
		if (fnmatch(complaints[i].pattern, message, 0) == 0)
			return &complaints[i];
	return NULL;
}

int kernel_log_open(void)
{
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (log < 0)
		return -errno;
	lseek(log, 0, SEEK_END);
	return log;
}

/* The message of a record's first line, made printable; NULL when it is not the kernel's. */
static const char *message_of(char *line, unsigned long long *sequence)
{
	char *message = strchr(line, ';');
	unsigned int priority;

	if (!message || sscanf(line, "%u,%llu,", &priority, sequence) != 2 || priority >> 3)
		return NULL;
	for (char *at = ++message; *at; at++)
		if (*at < ' ' || *at > '~')
			*at = '?';
	return message;
}

/* Write a line of the log if it is a complaint, or says where the one before was. */
static bool tell_line(char *line, int to, bool *where)
{
	unsigned long long sequence;
	const char *message = message_of(line, &sequence);
	const struct complaint *found = message ? find(message) : NULL;

	if (!found || (found->class == WHERE && !*where))
		return false;
	*where = found->class == FAULT;
	return dprintf(to, "#:kernel: %llu %s: %.*s\n", sequence, found->kind, MESSAGE_MAX,
		       message) > 0;
}

int kernel_log_tell(int log, int to)
{
	bool where = false;
	int lines = 0;

	if (log < 0)
		return -1;
	for (int records = 0; records < RECORDS_MAX && lines < LINES_MAX; records++) {
		char record[8192], *rest = record, *line;
		ssize_t got = read(log, record, sizeof(record) - 1);

		if (got < 0 && (errno == EPIPE || errno == EINTR))
			continue;	/* overwritten meanwhile: the next read has what is left */
		if (got <= 0)
			break;
		record[got] = '\0';
		while ((line = strsep(&rest, "\n")) && lines < LINES_MAX)
			lines += tell_line(line, to, &where);
	}
	return lines;
}
