/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cgroups for probes. See cgroup.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attrs.h"
#include "cgroup.h"
#include "internal.h"
#include "open.h"
#include "privilege.h"
#include "say.h"
#include "task.h"
#include "workload.h"

int cgroup_open(const char *path, int cpu, int leader)
{
	struct perf_event_attr attr = attr_counter(false);
	int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;

	if (directory < 0)
		return -errno;
	fd = pm_open(&attr, directory, cpu, leader, PERF_FLAG_PID_CGROUP);
	close(directory);
	return fd;
}

/*
 * The root cgroup of the hierarchy where perf takes part. Returns 0, or how perf or open(2)
 * refused; -ENOENT: none is mounted at a usual place; -ENODEV: perf takes part in none that is.
 */
static int cgroup_root(int cpu, char *buf, size_t size)
{
	static const char *const roots[] = {
		"/sys/fs/cgroup/perf_event", "/sys/fs/cgroup/perf_event,cpu", "/sys/fs/cgroup",
		"/sys/fs/cgroup/unified", "/dev/cg2_bpf",
	};
	int error = -ENOENT;

	for (size_t i = 0; i < sizeof(roots) / sizeof(*roots); i++) {
		int fd = cgroup_open(roots[i], cpu, -1);

		if (fd >= 0) {
			close(fd);
			snprintf(buf, size, "%s", roots[i]);
			return 0;
		}
		/* No cgroup file system, or one where perf takes no part. */
		if (fd != -ENOENT && fd != -EBADF && fd != -EINVAL)
			error = fd;
		else if (fd != -ENOENT && error == -ENOENT)
			error = -ENODEV;
	}
	return error;
}

/* A process that outlives the test and removes what is left when the test has ended somehow. */
static int start_guard(const struct cgroups *cgroups)
{
	int pipes[2];
	char token;
	pid_t guard;

	if (pipe(pipes) < 0)
		return -errno;
	guard = fork_guard();
	if (guard < 0)
		return guard;
	if (guard == 0) {
		close(pipes[1]);
		while (read(pipes[0], &token, 1) > 0)
			;
		cgroups_remove(cgroups);
		_exit(0);
	}
	close(pipes[0]);
	return fcntl(pipes[1], F_SETFD, FD_CLOEXEC) < 0 ? -errno : 0;
}

int cgroups_make(const char *root, struct cgroups *ret)
{
	int error;

	snprintf(ret->top, sizeof(ret->top), "%.60s/perfmodes.%d", root, getpid());
	snprintf(ret->below, sizeof(ret->below), "%s/below", ret->top);
	snprintf(ret->beside, sizeof(ret->beside), "%s.beside", ret->top);
	error = start_guard(ret);
	if (error)
		return error;
	return mkdir(ret->top, 0755) < 0 || mkdir(ret->below, 0755) < 0 ||
	       mkdir(ret->beside, 0755) < 0 ? -errno : 0;
}

void cgroups_remove(const struct cgroups *cgroups)
{
	const uint64_t end = now_ns() + 1000000000;

	rmdir(cgroups->beside);
	while (rmdir(cgroups->below) < 0 && errno == EBUSY && now_ns() < end)
		poll(NULL, 0, 1);
	rmdir(cgroups->beside);
	rmdir(cgroups->top);
}

int cgroup_move(const char *path, pid_t task)
{
	char file[160], text[16];

	snprintf(file, sizeof(file), "%.130s/cgroup.procs", path);
	snprintf(text, sizeof(text), "%d", task);
	return write_file(file, text);
}

void must_cgroup_root(int cpu, char *path, size_t size)
{
	const struct perf_event_attr attr = attr_counter(false);
	int error;

	close(must_open(&attr, -1, cpu, -1, 0));
	error = cgroup_root(cpu, path, size);
	if (error == -ENOENT)
		say_absent("no cgroup file system is mounted at a usual place");
	if (error == -ENODEV)
		say_absent("no cgroup here takes part in perf (CONFIG_CGROUP_PERF)");
	if (error == -EACCES || error == -EPERM)
		say_blocked("cgroup event: %s", pm_errno_name(error));
	if (error)
		say_unknown("cgroup event: %s", pm_errno_name(error));
}

void must_make_cgroups(int cpu, struct cgroups *ret)
{
	char root[96];
	int answer;

	must_cgroup_root(cpu, root, sizeof(root));
	answer = cgroups_make(root, ret);
	if (answer < 0)
		say_blocked("a cgroup cannot be made: %s", pm_errno_name(answer));
	answer = cgroup_open(ret->top, cpu, -1);
	/* Seen on 4.14.67, in cgroups of version 2. */
	if (answer == -ENOENT)
		say_absent("a new cgroup does not take part in perf (ENOENT), while the root does");
	if (answer < 0)
		say_unknown("an event on a new cgroup: %s", pm_errno_name(answer));
	close(answer);
}
