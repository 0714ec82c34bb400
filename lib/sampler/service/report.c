/* SPDX-License-Identifier: MIT */
/* JSON through yajl's generator, which escapes what comes from others' processes. */
#define _GNU_SOURCE
#include "report.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../pm_sys.h"
#include "../../policy/spec/now.h"
#include "../../wire/json_writer.h"
#include "rotate.h"

int report_open(struct report *report, const char *path)
{
	int fd;

	report->file = NULL;
	report->error = 0;
	report->begin = pm_now();
	if (!path)
		return 0;
	fd = rotate_open(path);
	if (fd < 0)
		return fd;
	report->file = fdopen(fd, "w");
	if (report->file)
		return 0;
	(void)close(fd);
	return -ENOMEM;
}

void report_rotate(struct report *report, const char *path, int64_t former)
{
	int err;

	if (!report->file || !rotate_can(path))
		return;
	err = rotate_path(path, former);
	if (err == 0 && !freopen(path, "we", report->file)) {
		err = -errno;
		report->file = NULL;
	}
	if (err < 0 && report->error == 0)
		report->error = err;
}

static void write_line(struct report *report, yajl_gen gen)
{
	const unsigned char *bytes;
	size_t size;

	if (yajl_gen_get_buf(gen, &bytes, &size) != yajl_gen_status_ok)
		return;
	if ((fwrite(bytes, 1, size, report->file) != size || fputc('\n', report->file) == EOF ||
	     fflush(report->file) != 0) && report->error == 0)
		report->error = -errno;
}

void report_event(struct report *report, const char *event, ...)
{
	yajl_gen gen = report->file ? yajl_gen_alloc(NULL) : NULL;
	const char *key;
	va_list list;

	if (!gen)
		return;
	(void)yajl_gen_config(gen, yajl_gen_validate_utf8, 1);
	(void)yajl_gen_map_open(gen);
	json_number(gen, "time", (long long)(pm_now() - report->begin));
	json_pair(gen, "event", event);
	va_start(list, event);
	while ((key = va_arg(list, const char *)) != NULL) {
		if (key[0] == '#')
			json_number(gen, key + 1, va_arg(list, int64_t));
		else
			json_pair(gen, key, va_arg(list, const char *));
	}
	va_end(list);
	(void)yajl_gen_map_close(gen);
	write_line(report, gen);
	yajl_gen_free(gen);
}

void report_process(struct report *report, const char *source, int pid, const char *comm,
		    const char *state, int error)
{
	report_event(report, "process", "source", source, "#pid", (int64_t)pid, "comm", comm,
		     "state", state, "error", error ? pm_errno_name(error) : "", NULL);
}

int report_close(struct report *report)
{
	if (report->file && fclose(report->file) != 0 && report->error == 0)
		report->error = -errno;
	report->file = NULL;
	return report->error;
}
