/* SPDX-License-Identifier: MIT */
/*
 * Finds tracefs, and reads from it the ids and fields of tracepoints.
 */
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const tracefs_roots[] = {
	"/sys/kernel/tracing",		/* v4.1 */
	"/sys/kernel/debug/tracing",
};
#define TRACEFS_ROOTS (sizeof(tracefs_roots) / sizeof(tracefs_roots[0]))

/* The first answer of a root that says more than "not here" counts; lockdown says EPERM. */
static int firmer(int err, int other)
{
	if (err != -ENOENT)
		return err;
	return other == -EPERM ? -EACCES : other;
}

int pm_tracefs_root(char *buf, size_t size)
{
	int err = -ENOENT;

	for (size_t i = 0; i < TRACEFS_ROOTS; i++) {
		char path[64];
		int fd;

		snprintf(path, sizeof(path), "%s/events", tracefs_roots[i]);
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0) {
			err = firmer(err, -errno);
			continue;
		}
		close(fd);
		if (strlen(tracefs_roots[i]) >= size)
			return -ENAMETOOLONG;
		strcpy(buf, tracefs_roots[i]);
		return 0;
	}
	return err;
}

/* Both roots are asked even when one refuses: debugfs is often closed where tracefs is open. */
int pm_tracepoint_id(const char *system, const char *event)
{
	int ret = -ENOENT;

	if (!pm_is_component(system) || !pm_is_component(event))
		return -ENOENT;
	for (size_t i = 0; i < TRACEFS_ROOTS; i++) {
		char path[PATH_MAX];
		int64_t id;
		int n = snprintf(path, sizeof(path), "%s/events/%s/%s/id", tracefs_roots[i],
				 system, event);
		int err = (size_t)n < sizeof(path) ? pm_read_number(path, &id) : -ENAMETOOLONG;

		if (err == 0)
			return id < 0 || id > INT_MAX ? -ERANGE : (int)id;
		ret = firmer(ret, err);
	}
	return ret;
}

/* Is `name` the last word of a declaration such as "char comm[16]" or "__data_loc char[] name"? */
static bool declares(const char *declaration, size_t len, const char *name)
{
	size_t name_len = strlen(name);

	if (len > 0 && declaration[len - 1] == ']')
		while (len > 0 && declaration[--len] != '[')
			;
	if (name_len == 0 || len <= name_len)
		return false;
	if (memcmp(declaration + len - name_len, name, name_len) != 0)
		return false;
	return strchr(" *\t", declaration[len - name_len - 1]) != NULL;
}

/* The number behind `key` within one line. */
static bool line_number(const char *line, size_t len, const char *key, unsigned int *ret)
{
	size_t key_len = strlen(key);

	for (size_t i = 0; i + key_len < len; i++)
		if (memcmp(line + i, key, key_len) == 0) {
			const char *at = line + i + key_len;

			return pm_take_number(&at, ret) && at <= line + len;
		}
	return false;
}

/*
 * Lines of a format file look like this, with tabs between the parts; the oldest kernels leave
 * "signed" out:
 *	field:pid_t prev_pid;	offset:24;	size:4;	signed:1;
 */
int pm_tracepoint_field(const char *format_text, const char *name, struct pm_trace_field *ret)
{
	for (const char *line = format_text; *line != '\0';) {
		size_t len = strcspn(line, "\n");
		const char *at = line + strspn(line, " \t");
		size_t left = len - (size_t)(at - line);
		unsigned int offset, size, is_signed = 0;

		if (left > 6 && memcmp(at, "field:", 6) == 0 &&
		    declares(at + 6, strcspn(at + 6, ";\n"), name)) {
			if (!line_number(at, left, "offset:", &offset) ||
			    !line_number(at, left, "size:", &size))
				return -EINVAL;
			(void)line_number(at, left, "signed:", &is_signed);
			*ret = (struct pm_trace_field){ offset, size, is_signed == 1 };
			return 0;
		}
		line += len + (line[len] == '\n');
	}
	return -ENOENT;
}
