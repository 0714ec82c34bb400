/* SPDX-License-Identifier: MIT */
/* Reading /proc/PID. Everything goes through one descriptor of that folder, which stays with the
 * process it was opened for, also when the pid is given to another. */
#include "proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FLAG_KTHREAD 0x00200000	/* PF_KTHREAD in the ninth field of stat, proc_pid_stat(5) */
#define STARTED 22		/* the field, counted from 1 */

/* ------------------------------------------------------------------------------------- parsing */

static bool take_number(const char **at, uint64_t *ret)
{
	char *end;

	while (**at == ' ')
		(*at)++;
	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*ret = strtoull(*at, &end, 10);
	*at = end;
	return errno == 0;
}

/* Some fields are signed, and none of these matters here. */
static bool skip_fields(const char **at, int count)
{
	for (int i = 0; i < count; i++) {
		while (**at == ' ')
			(*at)++;
		if (**at == '\0')
			return false;
		*at += strcspn(*at, " ");
	}
	return true;
}

static void take_comm(const char *from, size_t length, char *ret)
{
	if (length > 15)
		length = 15;
	memcpy(ret, from, length);
	ret[length] = '\0';
}

int pm_proc_parse_stat(const char *text, struct proc_stat *ret)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')'), *at = text;
	struct proc_stat stat = { .state = '?' };
	uint64_t pid, parent, flags;

	if (open == NULL || close == NULL || close < open || !take_number(&at, &pid))
		return -EBADMSG;
	take_comm(open + 1, (size_t)(close - open - 1), stat.comm);
	at = close + 1;
	if (at[0] != ' ' || at[1] == '\0')
		return -EBADMSG;
	stat.state = at[1];
	at += 2;
	/* Behind the parent (4) come group, session, terminal and its group: then the flags (9). */
	if (!take_number(&at, &parent) || !skip_fields(&at, 4) || !take_number(&at, &flags) ||
	    !skip_fields(&at, STARTED - 10) || !take_number(&at, &stat.started) ||
	    pid > INT32_MAX || parent > INT32_MAX)
		return -EBADMSG;
	stat.pid = (uint32_t)pid;
	stat.parent = (uint32_t)parent;
	stat.kernel = flags & FLAG_KTHREAD;
	*ret = stat;
	return 0;
}

int pm_proc_parse_uid(const char *text, uint32_t *ret)
{
	const char *at = strncmp(text, "Uid:", 4) == 0 ? text : strstr(text, "\nUid:");
	uint64_t uid;

	if (at == NULL)
		return -EBADMSG;
	at = strchr(at, ':') + 1;
	at += strspn(at, "\t ");
	if (!take_number(&at, &uid) || uid > UINT32_MAX)
		return -EBADMSG;
	*ret = (uint32_t)uid;
	return 0;
}

size_t pm_proc_parse_inner(const char *text, uint32_t *ret, size_t room)
{
	const char *at = strstr(text, "\nNSpid:");
	size_t count = 0;
	uint64_t pid;

	if (at == NULL)
		return 0;
	at += strlen("\nNSpid:");
	for (size_t i = 0; count < room; i++) {
		at += strspn(at, "\t ");
		if (!take_number(&at, &pid) || pid > INT32_MAX)
			break;
		if (i > 0)
			ret[count++] = (uint32_t)pid;
	}
	return count;
}

/* Whether the list of controllers, "cpu,cpuacct", has perf_event. */
static bool has_perf(const char *list, size_t length)
{
	static const char name[] = "perf_event";

	for (const char *at = list, *end = list + length; at < end;) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		const size_t word = (size_t)((comma ? comma : end) - at);

		if (word == strlen(name) && memcmp(at, name, word) == 0)
			return true;
		at += word + 1;
	}
	return false;
}

int pm_proc_parse_cgroup(const char *text, char *buf, size_t size)
{
	const char *found = NULL;
	size_t length = 0;

	/* "4:cpu,cpuacct:/path", and a path may hold colons */
	for (const char *at = text; *at != '\0';) {
		const size_t line = strcspn(at, "\n");
		const char *list = memchr(at, ':', line);
		const char *path = list ? memchr(list + 1, ':', line - (size_t)(list + 1 - at)) :
			NULL;
		const bool second = strncmp(at, "0::", 3) == 0;

		if (path != NULL && (has_perf(list + 1, (size_t)(path - list - 1)) ||
				     (second && found == NULL))) {
			found = path + 1;
			length = line - (size_t)(found - at);
		}
		at += line + (at[line] == '\n');
	}
	if (found == NULL)
		return -ENOENT;
	if (length >= size)
		return -E2BIG;
	memcpy(buf, found, length);
	buf[length] = '\0';
	return (int)length;
}

void pm_proc_join(char *text, size_t length)
{
	while (length > 0 && text[length - 1] == '\0')
		length--;
	for (size_t i = 0; i < length; i++) {
		const unsigned char c = (unsigned char)text[i];

		if (c == '\0')
			text[i] = ' ';
		else if (c < ' ' || c == 0x7f)
			text[i] = '?';
		/* Terminals obey U+0080 to U+009F, too. */
		else if (c == 0xc2 && i + 1 < length && (text[i + 1] & 0xe0) == 0x80)
			text[i] = text[i + 1] = '?';
	}
	text[length] = '\0';
}

/* ------------------------------------------------------------------------------------- reading */

int pm_proc_read_at(int folder, const char *name, char *buf, size_t size)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t got = 1;

	buf[0] = '\0';
	if (fd < 0)
		return -errno;
	while (got > 0 && used < size - 1) {
		got = read(fd, buf + used, size - 1 - used);
		used += got > 0 ? (size_t)got : 0;
	}
	got = got < 0 ? -errno : 0;
	close(fd);
	buf[used] = '\0';
	return used > 0 || got == 0 ? (int)used : (int)got;
}

static int read_stat(int folder, const char *name, struct proc_stat *ret)
{
	char text[1024];
	int length = pm_proc_read_at(folder, name, text, sizeof(text));

	if (length < 0)
		return length == -ENOENT ? -ESRCH : length;
	return pm_proc_parse_stat(text, ret);
}

int pm_proc_stat_at(int folder, struct proc_stat *ret)
{
	return read_stat(folder, "stat", ret);
}

static int look_at(int folder, struct proc_look *ret)
{
	char text[4096];
	int length;

	if (pm_proc_stat_at(folder, &ret->stat) < 0)
		return -ESRCH;
	ret->uid = UINT32_MAX;
	ret->cgroup[0] = '\0';
	memset(ret->inner, 0, sizeof(ret->inner));
	if (pm_proc_read_at(folder, "status", text, sizeof(text)) > 0) {
		(void)pm_proc_parse_uid(text, &ret->uid);
		(void)pm_proc_parse_inner(text, ret->inner, 8);
	}
	if (pm_proc_read_at(folder, "cgroup", text, sizeof(text)) > 0)
		(void)pm_proc_parse_cgroup(text, ret->cgroup, sizeof(ret->cgroup));
	length = pm_proc_read_at(folder, "cmdline", ret->cmdline, sizeof(ret->cmdline));
	ret->arguments_size = length > 0 ? (size_t)length : 0;
	memcpy(ret->arguments, ret->cmdline, ret->arguments_size);
	pm_proc_join(ret->cmdline, ret->arguments_size);
	return 0;
}

int pm_proc_look(uint32_t pid, struct proc_look *ret)
{
	char path[32];
	int folder, err;

	snprintf(path, sizeof(path), "/proc/%u", pid);
	folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	err = look_at(folder, ret);
	close(folder);
	return err;
}

int pm_proc_look_stat(uint32_t pid, struct proc_stat *ret)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	return read_stat(AT_FDCWD, path, ret) < 0 ? -ESRCH : 0;
}

int pm_proc_each(const char *folder, int (*each)(uint32_t number, void *context), void *context)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	int err = 0;

	if (dir == NULL)
		return errno == ENOENT ? -ESRCH : -errno;
	while (err == 0 && (entry = readdir(dir)) != NULL) {
		char *end;
		unsigned long number = strtoul(entry->d_name, &end, 10);

		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && *end == '\0' &&
		    number <= INT32_MAX)
			err = each((uint32_t)number, context);
	}
	closedir(dir);
	return err;
}
