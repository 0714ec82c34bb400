/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whose work does a cgroup's event count? A container's event must see all that runs below and
 * nothing beside. Observed: exact page faults of one child that is moved between a temporary
 * cgroup, one below it and one beside it, pinned to the watched CPU.
 * Linux e5d1367f17ba ("perf: Add cgroup support") (v2.6.39)
 */
#include "probe.h"
#include <stdio.h>
#include <sys/stat.h>

PROBE(TITLE("the scope of a cgroup's event")
      SINCE("2.6.39")
      COMMIT("e5d1367f17ba")
      NEEDS("cgroup")
      DISTURBS("cgroups: makes three and removes them")
      POINT(member, "16 faults of a task in the cgroup are 16 counts")
      POINT(below, "16 faults of a task in a cgroup below are 16 counts")
      POINT(beside, "faults of a task in a cgroup beside are not counted")
      POINT(moved_out, "faults after the task was moved out are not counted")
      POINT(one_group, "events of two cgroups in one group are refused with EINVAL")
      POINT(switches, "cgroup-switches counts at least 10 of 10 switches into another cgroup")
      SINCE("5.13")
      COMMIT("d0d1dd628527"))

#define PID_CGROUP (1ul << 2)

static char top[96], below[128], beside[128];

static void remove_all(void)
{
	const uint64_t end = now_ns() + 1000000000;

	rmdir(beside);
	while (rmdir(below) < 0 && errno == EBUSY && now_ns() < end)
		poll(NULL, 0, 1);
	rmdir(beside);
	rmdir(top);
}

/* A process that outlives the test and removes what is left when the test has ended somehow. */
static int start_guard(void)
{
	int pipes[2];
	char token;

	if (pipe(pipes) < 0)
		return -errno;
	if (fork() == 0) {
		setsid();
		close(pipes[1]);
		while (read(pipes[0], &token, 1) > 0)
			;
		remove_all();
		_exit(0);
	}
	close(pipes[0]);
	fcntl(pipes[1], F_SETFD, FD_CLOEXEC);
	return pipes[1];
}

FIXTURE(scope)
{
	struct worker child;
	int cpu, outside;
};

/* A hierarchy where perf takes part; the child leaves everything alone until it is moved. */
FIXTURE_SETUP(scope)
{
	static const char *const roots[] = { "/sys/fs/cgroup/perf_event", "/sys/fs/cgroup",
					     "/sys/fs/cgroup/unified" };
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int directory, fd = -ENOENT, i;

	self->cpu = move_to_nth_cpu(0);
	must_start(&self->child, WORKER_CHILD);
	close(must_open(&attr, -1, self->cpu, -1, 0));
	for (i = 0; i < 3 && fd < 0; i++) {
		directory = open(roots[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (directory >= 0)
			fd = pm_open(&attr, directory, self->cpu, -1, PID_CGROUP);
	}
	if (fd < 0)
		say_absent("no cgroup file system that takes part in perf");
	snprintf(top, sizeof(top), "%s/perfmodes.%d", roots[i - 1], getpid());
	snprintf(below, sizeof(below), "%s/below", top);
	snprintf(beside, sizeof(beside), "%s.beside", top);
	self->outside = start_guard();
	if (mkdir(top, 0755) < 0 || mkdir(below, 0755) < 0 || mkdir(beside, 0755) < 0)
		say_blocked("a cgroup cannot be made: %s", errno_name(errno));
}

FIXTURE_TEARDOWN(scope)
{
	worker_stop(&self->child);
	remove_all();
}

static void move(struct __test_metadata *_metadata, pid_t task, const char *cgroup)
{
	char path[160], text[16];
	int error;

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	snprintf(text, sizeof(text), "%d", task);
	error = write_file(path, text);
	if (error)
		say_blocked("a task cannot be moved into a cgroup: %s", errno_name(error));
}

static int pin_first(void *unused)
{
	(void)unused;
	return move_to_nth_cpu(0);
}

static int open_cgroup(const char *cgroup, int cpu, int leader)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int directory = open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	attr.disabled = 0;
	return directory < 0 ? -errno : pm_open(&attr, directory, cpu, leader, PID_CGROUP);
}

/* What the top cgroup's event counts of 16 faults of the child in another cgroup. */
static uint64_t count_in(struct __test_metadata *_metadata, struct worker *child, int cpu,
			 const char *cgroup)
{
	int fd;

	ASSERT_LE(0, worker_do(child, pin_first, NULL));
	move(_metadata, child->tid, cgroup);
	fd = open_cgroup(top, cpu, -1);
	ASSERT_LE(0, fd);
	return gain_of_faults(fd, child, 16);
}

static void want(struct __test_metadata *_metadata, uint64_t got, uint64_t wanted)
{
	if (got != wanted)
		broken("counted=%" PRIu64 " want=%" PRIu64, got, wanted);
}

TEST_F(scope, member)
{
	want(_metadata, count_in(_metadata, &self->child, self->cpu, top), 16);
}

TEST_F(scope, below)
{
	want(_metadata, count_in(_metadata, &self->child, self->cpu, below), 16);
}

TEST_F(scope, beside)
{
	want(_metadata, count_in(_metadata, &self->child, self->cpu, beside), 0);
}

TEST_F(scope, moved_out)
{
	int fd = open_cgroup(top, self->cpu, -1);
	uint64_t inside;

	ASSERT_LE(0, fd);
	inside = count_in(_metadata, &self->child, self->cpu, top);
	move(_metadata, self->child.tid, beside);
	if (inside != 16)
		broken("inside=%" PRIu64 " want=16", inside);
	want(_metadata, gain_of_faults(fd, &self->child, 16), 0);
}

TEST_F(scope, one_group)
{
	int leader = open_cgroup(top, self->cpu, -1);

	ASSERT_LE(0, leader);
	close(open_cgroup(top, self->cpu, leader));
	hold_rule(open_cgroup(beside, self->cpu, leader), EINVAL, BROKEN, "two cgroups in one group");
}

static int nothing(void *unused)
{
	(void)unused;
	return 0;
}

TEST_F(scope, switches)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_CGROUP_SWITCHES), control;
	uint64_t count;
	int fd;

	attr.exclude_kernel = attr.disabled = 0;
	control = attr;
	control.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
	ASSERT_LE(0, worker_do(&self->child, pin_first, NULL));
	move(_metadata, self->child.tid, top);
	fd = ask_open(&attr, &control, -1, self->cpu, "cgroup-switches event");
	for (int i = 0; i < 10; i++)
		ASSERT_EQ(0, worker_do(&self->child, nothing, NULL));
	count = must_count(fd);
	if (count < 10)
		broken("counted=%" PRIu64 " want>=10", count);
}

PROBE_MAIN
