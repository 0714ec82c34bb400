/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whose work does a cgroup's event count? A container's event must see all that runs below and
 * nothing beside. Observed: exact page faults of one child that is moved between a temporary
 * cgroup, one below it and one beside it, pinned to the watched CPU; and what is said to events of
 * two cgroups in one group.
 * Linux e5d1367f17ba ("perf: Add cgroup support") (v2.6.39)
 */
#include "probe.h"
#include "cgroup.h"

PROBE(TITLE("the scope of a cgroup's event")
      SINCE("2.6.39")
      COMMIT("e5d1367f17ba")
      NEEDS("cgroup")
      DISTURBS("cgroups: makes three and removes them")
      POINT(member, "16 faults of a task in the cgroup are 16 counts")
      POINT(below, "16 faults of a task in a cgroup below are 16 counts")
      POINT(beside, "faults of a task in a cgroup beside are not counted")
      POINT(moved_out, "faults after the task was moved out are not counted")
      POINT(one_group, "events of two cgroups in one group are refused with EINVAL"))

FIXTURE(scope)
{
	struct cgroups cgroups;
	struct worker child;
	int cpu, fd;
};

FIXTURE_SETUP(scope)
{
	self->cpu = move_to_nth_cpu(0);
	must_start_worker(&self->child, WORKER_CHILD);
	ASSERT_EQ(self->cpu, worker_move(&self->child, 0));
	must_make_cgroups(self->cpu, &self->cgroups);
	self->fd = cgroup_open(self->cgroups.top, self->cpu, -1);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(scope)
{
	worker_stop(&self->child);
	cgroups_remove(&self->cgroups);
}

/* A cgroup with a cpuset gives a task that moves in all of its CPUs: back to the one it had. */
static void must_be_in(struct worker *child, const char *cgroup)
{
	int error = cgroup_move(cgroup, child->tid);

	if (error)
		say_blocked("a task cannot be moved into a cgroup: %s", pm_errno_name(error));
	ASSERT_EQ(move_to_nth_cpu(0), worker_move(child, 0));
}

TEST_F(scope, member)
{
	must_be_in(&self->child, self->cgroups.top);
	expect_gain(self->fd, &self->child, 16, 16);
}

TEST_F(scope, below)
{
	must_be_in(&self->child, self->cgroups.below);
	expect_gain(self->fd, &self->child, 16, 16);
}

TEST_F(scope, beside)
{
	must_be_in(&self->child, self->cgroups.beside);
	expect_gain(self->fd, &self->child, 16, 0);
}

TEST_F(scope, moved_out)
{
	must_be_in(&self->child, self->cgroups.top);
	expect_gain(self->fd, &self->child, 16, 16);
	must_be_in(&self->child, self->cgroups.beside);
	expect_gain(self->fd, &self->child, 16, 0);
}

TEST_F(scope, one_group)
{
	int fd = cgroup_open(self->cgroups.top, self->cpu, self->fd);

	if (fd < 0)
		say_unknown("two events of one cgroup: %s", pm_errno_name(fd));
	expect_refused(cgroup_open(self->cgroups.beside, self->cpu, self->fd), EINVAL, BROKEN,
		       "two cgroups in one group");
}

PROBE_MAIN
