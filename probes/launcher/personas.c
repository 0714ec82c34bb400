/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading the table of personas. What does not fit is refused, with its line; nothing is guessed,
 * because the privileges of probes depend on it. See personas.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "personas.h"
#include "regular.h"

#define PERSONAS_MAX 32
#define LINE_SIZE 256			/* with the line break and the final zero */
#define LEVELS 4			/* at most build/ARCH/falsify/launch */

static struct {
	struct persona rows[PERSONAS_MAX];
	int count;
} table;

/* By number: linux/capability.h, up to v5.9. */
static const char *const capabilities[] = {
	"chown", "dac_override", "dac_read_search", "fowner", "fsetid", "kill", "setgid", "setuid",
	"setpcap", "linux_immutable", "net_bind_service", "net_broadcast", "net_admin", "net_raw",
	"ipc_lock", "ipc_owner", "sys_module", "sys_rawio", "sys_chroot", "sys_ptrace", "sys_pacct",
	"sys_admin", "sys_boot", "sys_nice", "sys_resource", "sys_time", "sys_tty_config", "mknod",
	"lease", "audit_write", "audit_control", "setfcap", "mac_override", "mac_admin", "syslog",
	"wake_alarm", "block_suspend", "audit_read", "perfmon", "bpf", "checkpoint_restore",
};

static const char *take_name(const char *text, struct persona *ret)
{
	if (text[0] < 'a' || text[0] > 'z' || strlen(text) >= sizeof(ret->name) ||
	    text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_-")])
		return "not a name";
	if (personas_find(text))
		return "a second persona of this name";
	strcpy(ret->name, text);
	return NULL;
}

static const char *take_uid(const char *text, struct persona *ret)
{
	char *end;

	ret->uid = PERSONA_SAME_UID;
	if (!strcmp(text, "same"))
		return NULL;
	errno = 0;
	ret->uid = strtol(text, &end, 10);
	/* The last number means "no user" to the kernel. */
	return text[0] < '0' || text[0] > '9' || *end || errno || (uint64_t)ret->uid >= UINT32_MAX ?
		"not a uid" : NULL;
}

static int capability_of(const char *name, size_t size)
{
	for (size_t i = 0; i < sizeof(capabilities) / sizeof(*capabilities); i++)
		if (strlen(capabilities[i]) == size && !memcmp(capabilities[i], name, size))
			return (int)i;
	return -1;
}

static const char *take_capabilities(const char *text, struct persona *ret)
{
	ret->keeps_capabilities = !strcmp(text, "kept");
	/* A program that root executes gets all of them back; another user's own are not kept. */
	if (ret->keeps_capabilities != (ret->uid == 0 || ret->uid == PERSONA_SAME_UID))
		return "capabilities are kept with uid 0 and same, and only with these";
	if (ret->keeps_capabilities || !strcmp(text, "none"))
		return NULL;
	for (size_t size; ; text += size + 1) {
		size = strcspn(text, ",");
		if (capability_of(text, size) < 0)
			return "no such capability";
		ret->capabilities |= 1ull << capability_of(text, size);
		if (!text[size])
			return NULL;
	}
}

static const char *take_filter(const char *text, struct persona *ret)
{
	ret->refuses_perf = !strcmp(text, "perf_event_open");
	return ret->refuses_perf || !strcmp(text, "none") ? NULL : "no such filter";
}

/* One line of the table. Returns what is wrong with it, or NULL. */
static const char *take_line(char *line)
{
	static const char *(*const take[])(const char *, struct persona *) = {
		take_name, take_uid, take_capabilities, take_filter,
	};
	struct persona *row = &table.rows[table.count];
	char *rest = NULL, *field = strtok_r(line, " \t\n", &rest);
	const char *wrong = NULL;

	if (!field || *field == '#')
		return NULL;
	if (table.count == PERSONAS_MAX)
		return "too many personas";
	memset(row, 0, sizeof(*row));
	for (size_t i = 0; !wrong && i < sizeof(take) / sizeof(*take); i++) {
		wrong = field ? take[i](field, row) : "too few columns";
		field = strtok_r(NULL, " \t\n", &rest);
	}
	if (!wrong && !field)
		return "no meaning";
	table.count += !wrong;
	return wrong;
}

static int read_rows(const char *path, FILE *file)
{
	char line[LINE_SIZE];
	const char *wrong = NULL;
	int number = 0;

	while (!wrong && fgets(line, sizeof(line), file)) {
		number++;
		wrong = strchr(line, '\n') || feof(file) ? take_line(line) : "too long a line";
	}
	if (!wrong && !table.count)
		wrong = "no persona";
	if (!wrong && !ferror(file))
		return 0;
	fprintf(stderr, "launch: %s:%d: %s\n", path, number, wrong ? wrong : strerror(errno));
	return -EINVAL;
}

/* Where the table is when nobody says so. */
static bool look_above(char *path, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", path, size - 1);
	char *slash;

	path[length < 0 ? 0 : length] = '\0';
	for (int level = 0; level < LEVELS && (slash = strrchr(path, '/')); level++) {
		snprintf(slash, size - (slash - path), "/suites/personas.txt");
		if (level && access(path, R_OK) == 0)
			return true;
		*slash = '\0';
	}
	fputs("launch: no suites/personas.txt above this program (--personas FILE)\n", stderr);
	return false;
}

int personas_read(const char *path)
{
	char found[4096];
	FILE *file;
	int error;

	if (!path && !look_above(found, sizeof(found)))
		return -ENOENT;
	path = path ? path : found;
	file = regular_open(path);
	if (!file) {
		error = errno;
		fprintf(stderr, "launch: %s: %s\n", path, strerror(error));
		return -error;
	}
	table.count = 0;
	error = read_rows(path, file);
	fclose(file);
	return error;
}

const struct persona *personas_find(const char *name)
{
	for (int i = 0; i < table.count; i++)
		if (!strcmp(table.rows[i].name, name))
			return &table.rows[i];
	return NULL;
}

const struct persona *personas_require(const char *name)
{
	const struct persona *found = personas_find(name);

	if (found)
		return found;
	fprintf(stderr, "launch: no persona called '%s'; there are:", name);
	for (int i = 0; i < table.count; i++)
		fprintf(stderr, " %s", table.rows[i].name);
	fputc('\n', stderr);
	return NULL;
}
