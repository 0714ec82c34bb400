/* SPDX-License-Identifier: MIT */
/* Where a thread is, and whether it has been elsewhere. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "topology.h"

#define TRIES 8

/* The 39th field of its stat(5) file; the second is a name that may hold anything, ')' too. */
static int cpu_of(pid_t tid)
{
	char path[64], text[1024], *at;
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	size = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (size <= 0)
		return -ESRCH;
	text[size] = '\0';
	at = strrchr(text, ')');
	for (int field = 2; at != NULL && field < 39; field++)
		at = strchr(at + 1, ' ');
	return at == NULL ? -EBADMSG : atoi(at + 1);
}

int pm_where_cpu(pid_t tid)
{
	return tid > 0 ? cpu_of(tid) : sched_getcpu();
}

static int cpu_now(const struct whereabouts *where)
{
	return where->tied >= 0 ? where->tied : pm_where_cpu(where->tid);
}

/* False: nobody counts them. */
static bool migrations(const struct whereabouts *where, uint64_t *ret)
{
	struct pm_value value = { .size = sizeof(value) };

	if (where->migrations == NULL || pm_counters_read(where->migrations, &value, 1) != 1)
		return false;
	*ret = value.value;
	return true;
}

void pm_where_begin(struct whereabouts *where, pid_t tid, int tied)
{
	const struct pm_event_spec spec = {
		.size = sizeof(spec), .type = PM_TYPE_SOFTWARE, .config = PM_SW_CPU_MIGRATIONS,
		.tid = tid, .flags = PM_SPEC_EXACT,
	};

	where->tid = tid;
	where->tied = tied;
	where->moved = true;
	if (tied >= 0 || where->migrations != NULL)
		return;
	/* In user mode there are none: whoever may not see the kernel's gets no answer at all. */
	if (pm_counters_open(&spec, 1, 0, NULL, NULL, &where->migrations) == 0)
		(void)pm_counters_start(where->migrations);
	where->moved = !migrations(where, &where->migrated);
}

void pm_where_end(struct whereabouts *where)
{
	pm_counters_destroy(where->migrations);
	where->migrations = NULL;
}

int pm_where_read(struct whereabouts *where, int (*read)(struct pm_topology *set, uint64_t *ret),
		  struct pm_topology *set, uint64_t *ret)
{
	uint64_t before = 0, after = 0;
	int cpu = -1, err;
	bool known = false, same;

	for (int i = 0; i < TRIES; i++) {
		int first = cpu_now(where);

		known = migrations(where, &before);
		err = first < 0 ? first : read(set, ret);
		if (err < 0)
			return err;
		cpu = cpu_now(where);
		known = known && migrations(where, &after);
		same = cpu == first && (!known || before == after);
		if (same || cpu < 0)
			break;
		known = false;
	}
	where->moved = where->tied < 0 && (!known || after != where->migrated);
	if (known)
		where->migrated = after;
	return cpu;
}
