/* SPDX-License-Identifier: MIT */
/* Patterns of tracepoints, by the folders of tracefs. */
#define _FILE_OFFSET_BITS 64	/* a 32-bit readdir(3) gives up on a large inode number */
#include "tracepoints.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../pm_sys.h"
#include "../diagnosis/diag.h"
#include "event.h"

struct names {
	char **list;
	size_t count;
};

struct pattern {
	char system[EVENT_NAME_MAX + 1], event[EVENT_NAME_MAX + 1];
	const char *behind;		/* terms and modifiers */
};

bool pm_tracepoints_is_pattern(const char *name)
{
	const size_t system = strcspn(name, ":/");
	const size_t event = name[system] == ':' ? strcspn(name + system + 1, ":/") : 0;

	return event > 0 && strcspn(name, "*?[") < system + 1 + event;
}

static void free_names(struct names *names)
{
	while (names->count > 0)
		free(names->list[--names->count]);
	free(names->list);
	names->list = NULL;
}

static int add_name(struct names *names, const char *name)
{
	char **more = realloc(names->list, (names->count + 1) * sizeof(*more));

	if (more == NULL)
		return -ENOMEM;
	names->list = more;
	more[names->count] = strdup(name);
	if (more[names->count] == NULL)
		return -ENOMEM;
	names->count++;
	return 0;
}

static int by_name(const void *one, const void *other)
{
	return strcmp(*(char *const *)one, *(char *const *)other);
}

/* Names in a folder that match. `ret` is to be freed in any case. */
static int list_folder(const char *path, const char *pattern, struct names *ret)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;
	const struct dirent *entry;
	DIR *folder;

	if (fd < 0)
		return errno == ENOTDIR ? -ENOENT : -errno;
	folder = fdopendir(fd);
	if (folder == NULL) {
		err = -errno;
		close(fd);
		return err;
	}
	while (err == 0 && (errno = 0, entry = readdir(folder)) != NULL)
		if (entry->d_name[0] != '.' && fnmatch(pattern, entry->d_name, 0) == 0)
			err = add_name(ret, entry->d_name);
	if (err == 0)
		err = -errno;
	closedir(folder);
	if (err == 0 && ret->count > 1)
		qsort(ret->list, ret->count, sizeof(*ret->list), by_name);
	return err;
}

/* Those of one system; returns how many, or what `each` said. */
static int each_of(const char *events, const char *system, const struct pattern *pattern,
		   int (*each)(const char *name, void *context), void *context)
{
	struct names names = { NULL, 0 };
	char path[PATH_MAX], name[2 * EVENT_NAME_MAX + 2];
	int err, found = 0;

	(void)snprintf(path, sizeof(path), "%s/%s", events, system);
	err = list_folder(path, pattern->event, &names);
	for (size_t i = 0; err == 0 && i < names.count; i++) {
		/* "enable" and "filter" are no events. */
		err = pm_tracepoint_id(system, names.list[i]);
		if (err < 0) {
			err = err == -EACCES ? err : 0;
			continue;
		}
		found++;
		(void)snprintf(name, sizeof(name), "%.255s:%.255s%s", system, names.list[i],
			       pattern->behind);
		err = each(name, context);
	}
	free_names(&names);
	return err == -ENOENT ? 0 : err < 0 ? err : found;
}

static void split(const char *text, struct pattern *ret)
{
	const size_t system = strcspn(text, ":");
	const char *event = text + system + 1;
	const size_t length = strcspn(event, ":/");

	memcpy(ret->system, text, system);
	memcpy(ret->event, event, length);
	ret->system[system] = ret->event[length] = '\0';
	ret->behind = event + length;
}

int pm_tracepoints_each(const char *text, struct pm_diag *diag,
			int (*each)(const char *name, void *context), void *context)
{
	struct names systems = { NULL, 0 };
	char events[PATH_MAX / 2];
	struct pattern pattern;
	int err = pm_tracefs_root(events, sizeof(events) - sizeof("/events")), found = 0;

	if (err == 0) {
		split(text, &pattern);
		strcat(events, "/events");
		err = list_folder(events, pattern.system, &systems);
	}
	for (size_t i = 0; err >= 0 && i < systems.count; i++) {
		err = each_of(events, systems.list[i], &pattern, each, context);
		found += err > 0 ? err : 0;
	}
	free_names(&systems);
	if (err == -EACCES || err == -EPERM)
		return pm_diag_say(diag, EACCES, PM_CAUSE_NO_EVENT, "event \"%.100s\": tracefs is "
				   "not readable here", text);
	if (err == -ENOENT || (err >= 0 && found == 0))
		return pm_diag_say(diag, ENOENT, PM_CAUSE_NO_EVENT, "event \"%.100s\": no "
				   "tracepoint here matches", text);
	return err < 0 ? err : 0;
}
