/* SPDX-License-Identifier: MIT */
/* Any bytes as files of /proc/PID, command lines and targets. The first byte says which. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../sampler/target/proc.h"
#include "../../sampler/target/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A terminated copy of exactly that size, so that a read behind its end is seen. */
static char *copy_of(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

static void read_stat(const char *text)
{
	struct proc_stat stat;
	uint32_t uid, inner[8];

	if (pm_proc_parse_stat(text, &stat) == 0 &&
	    (stat.pid > INT32_MAX || strlen(stat.comm) > 15))
		abort();
	if (pm_proc_parse_stat(text, &stat) > 0 || pm_proc_parse_uid(text, &uid) > 0 ||
	    pm_proc_parse_inner(text, inner, 8) > 8)
		abort();
}

static void read_cgroup(const char *text)
{
	char path[64];
	int length = pm_proc_parse_cgroup(text, path, sizeof(path));

	if (length >= 0 && (strlen(path) != (size_t)length || strchr(path, '\n')))
		abort();
}

static void join(char *text, size_t size)
{
	pm_proc_join(text, size);
	for (const char *at = text; *at != '\0'; at++)
		if ((unsigned char)*at < ' ' ||
		    ((unsigned char)*at == 0xc2 && (at[1] & 0xe0) == 0x80))
			abort();
}

/* A target and, behind the first line end, a command line; matching must not touch either. */
static void match(char *text)
{
	struct pm_target target = { .size = sizeof(target) };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct subject subject = { .pid = 42, .uid = 1000, .cmdline = "", .cgroup = "/a/b" };
	char *line = strchr(text, '\n');
	struct targets targets;

	if (line != NULL) {
		*line = '\0';
		subject.cmdline = line + 1;
	}
	/* What a regular expression costs is its author's choice, not the watched process's. */
	if (pm_target_parse(text, &diag, &target) < 0 || target.by == PM_BY_CMDLINE_REGEX)
		return;
	if (pm_targets_take(&target, 1, &diag, &targets) < 0)
		return;
	if (pm_targets_match(&targets, &subject) && pm_targets_exclude(&targets, &subject))
		abort();
	pm_targets_free(&targets);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (size == 0)
		return 0;
	text = copy_of(data + 1, size - 1);
	switch (data[0] % 4) {
	case 0:
		read_stat(text);
		break;
	case 1:
		read_cgroup(text);
		break;
	case 2:
		join(text, size - 1);
		break;
	default:
		match(text);
	}
	free(text);
	return 0;
}
