/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is a watcher cut off when its target executes a program that the target may not read? Counters
 * and samples would give away what such a program does; many set-user-id programs are unreadable.
 * Observed: a child executes a copy of this program, readable or not; its faults are counted or
 * not. Root's child becomes nobody first, because root may read everything.
 */
#include "probe.h"
#include "fork_exec.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>

PROBE(TITLE("execve of a program the target may not read")
      SINCE("2.6.31")
      POINT(readable, "an event counts on when its target executes a program that it may read")
      POINT(unreadable, "a program that the target may execute but not read is not counted")
      POINT(hangs_up, "poll reports POLLHUP when the target executes an unreadable program")
      POINT(value_kept, "what was counted before an unreadable program ran stays readable"))

#define FAULTS 14

static int become_nobody(void *unused)
{
	(void)unused;
	if (geteuid() == 0 && setresuid(65534, 65534, 65534) < 0)
		return -errno;
	prctl(PR_SET_PDEATHSIG, SIGKILL);	/* changing ids has cleared it */
	return 0;
}

static int copy_to(int to)
{
	char buffer[65536];
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), error = 0;
	ssize_t got;

	if (from < 0)
		return -errno;
	while (!error && (got = read(from, buffer, sizeof(buffer))) > 0)
		if (write(to, buffer, got) != got)
			error = -ENOSPC;
	close(from);
	return error;
}

/* A copy of this program with that mode, in the first folder that takes it. */
static int make_copy(mode_t mode, char *path, size_t size)
{
	static const char *const folders[] = { "/tmp", "/dev/shm", "/var/tmp",
					       "/data/local/tmp", "." };
	int fd, error = -ENOENT;

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		snprintf(path, size, "%s/perfmodes.XXXXXX", folders[i]);
		fd = mkstemp(path);
		if (fd < 0)
			continue;
		error = copy_to(fd) ?: fchmod(fd, mode);
		close(fd);
		if (!error && (access(path, X_OK) == 0 || errno != EACCES))
			return 0;
		unlink(path);
	}
	return error ?: -EACCES;
}

FIXTURE(exec)
{
	struct worker child;
	struct sampler sampler;
	uint64_t before;
};

FIXTURE_SETUP(exec)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);

	attr.disabled = 0;
	must_start_worker(&self->child, WORKER_CHILD);
	self->sampler = must_sampler(&attr, self->child.tid, -1, 4);
	if (worker_do(&self->child, become_nobody, NULL))
		say_unknown("the child could not become nobody");
	self->before = gain_of_faults(self->sampler.fd, &self->child, FAULTS);
}

FIXTURE_TEARDOWN(exec)
{
	worker_stop(&self->child);
}

static void exec_copy(struct worker *child, mode_t mode)
{
	char path[64];
	int error = make_copy(mode, path, sizeof(path));

	if (error)
		say_absent("no folder for a program to execute: %s", pm_errno_name(error));
	error = worker_exec(child, path);
	unlink(path);
	if (error)
		say_absent("a copy of this program could not be executed: %s",
			   pm_errno_name(error));
}

TEST_F(exec, readable)
{
	uint64_t gain;

	exec_copy(&self->child, 0755);
	gain = gain_of_faults(self->sampler.fd, &self->child, FAULTS);
	if (gain != FAULTS)
		say_broken("gained=%" PRIu64 " want=%d", gain, FAULTS);
}

TEST_F(exec, unreadable)
{
	uint64_t gain;

	if (self->before != FAULTS)
		say_unknown("counted=%" PRIu64 " want=%d before", self->before, FAULTS);
	exec_copy(&self->child, 0111);
	gain = gain_of_faults(self->sampler.fd, &self->child, FAULTS);
	if (gain)
		say_broken("gained=%" PRIu64 " in a program that may not be read", gain);
}

TEST_F(exec, hangs_up)
{
	int before = poll_once(self->sampler.fd, POLLIN, 0), after;

	exec_copy(&self->child, 0111);
	after = poll_once(self->sampler.fd, POLLIN, 1000);
	if (before >= 0 && !(before & POLLHUP) && !after)
		say_no("no POLLHUP within a second of the execve");
	if (before & POLLHUP || !(after & POLLHUP))
		say_broken("revents before=%#x after=%#x want POLLHUP", before, after);
}

TEST_F(exec, value_kept)
{
	uint64_t before = must_count(self->sampler.fd), after;

	exec_copy(&self->child, 0111);
	after = must_count(self->sampler.fd);
	if (before < FAULTS || after < before)
		say_broken("before=%" PRIu64 " after=%" PRIu64, before, after);
}

PROBE_MAIN
