/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does the ring report a new control group, so that PERF_SAMPLE_CGROUP ids get a name?
 * Observed: in a mount namespace of its own the test makes a group and removes it again. The
 * record's id is compared with the directory's inode, the path with its name.
 * Linux 96aaab686505 ("perf/core: Add PERF_RECORD_CGROUP event") (v5.7)
 */
#include "probe.h"
#include "cgroup.h"
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>

PROBE(TITLE("new control groups in the ring")
      SINCE("5.7")
      COMMIT("96aaab686505")
      NEEDS("root")
      NEEDS("cgroup")
      POINT(created, "mkdir in a cgroup file system gives one CGROUP record")
      POINT(id_is_inode, "the record's id is the inode number of the group's directory")
      POINT(path, "the record's path ends in the group's name")
      POINT(needs_its_bit, "without attr.cgroup there is no record"))

FIXTURE(group)
{
	char path[128], name[64];
	struct stat directory;
	struct pm_record record;
	struct sampler sampler;
};

/* Whether perf's controller is attached to the hierarchy: events can be scoped to its groups. */
static bool perf_is_in(const char *path)
{
	struct perf_event_attr attr = attr_sideband();
	int group = open(path, O_RDONLY | O_CLOEXEC);
	int fd = pm_open(&attr, group, move_to_nth_cpu(0), -1, PERF_FLAG_PID_CGROUP);

	close(fd);
	close(group);
	return fd >= 0;
}

/*
 * Mount, for this test alone, the hierarchy whose groups perf knows: version 2, or 1. Never 1 where
 * perf is in 2: that would take its controller away from there.
 */
static int mount_groups(const char *where)
{
	static const char *const kinds[][2] = { { "cgroup2", NULL }, { "cgroup", "perf_event" } };
	int error = -ENODEV;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return -errno;
	for (unsigned int i = 0; i < 2; i++) {
		if (mount("perfmodes", where, kinds[i][0], 0, kinds[i][1])) {
			error = -errno;
		} else {
			if (perf_is_in(where))
				return 0;
			umount2(where, MNT_DETACH);
			error = -ENODEV;
		}
	}
	return error;
}

static void watch_groups(FIXTURE_DATA(group) * self, bool cgroup)
{
	struct perf_event_attr attr = attr_sideband(), without = attr;
	bool known;

	attr.cgroup = cgroup;
	attr.comm = without.comm = 1;
	self->sampler = ask_run_sampler(&attr, &without, 0, -1, 2, "cgroup");
	if (mkdir(self->path, 0700))
		say_blocked("mkdir of a group: %s", pm_errno_name(errno));
	ASSERT_EQ(0, stat(self->path, &self->directory));
	/* A root of version 2 that was never given a controller hands perf's down to no group. */
	known = perf_is_in(self->path);
	rmdir(self->path);
	if (!known)
		say_absent("perf's controller is in the root cgroup only, no other is delegated");
}

FIXTURE_SETUP(group)
{
	int error;

	require(REQUIRE_ROOT);
	error = mount_groups("/tmp");
	/* Every kernel has both calls: ENOSYS is a filter's word. */
	if (error == -EPERM || error == -EACCES || error == -ENOSYS)
		say_blocked("a private cgroup mount: %s", pm_errno_name(error));
	if (error)
		say_absent("no cgroup file system that perf is in (%s)", pm_errno_name(error));
	snprintf(self->name, sizeof(self->name), "perfmodes-%d", getpid());
	snprintf(self->path, sizeof(self->path), "/tmp/%s", self->name);
}

FIXTURE_TEARDOWN(group)
{
}

static void must_see(FIXTURE_DATA(group) * self)
{
	watch_groups(self, true);
	if (!find_record(&self->sampler, PERF_RECORD_CGROUP, &self->record))
		say_broken("no CGROUP record of a new group");
}

TEST_F(group, created)
{
	struct pm_record second;

	must_see(self);
	if (find_record(&self->sampler, PERF_RECORD_CGROUP, &second))
		say_broken("a second record of one new group");
}

TEST_F(group, id_is_inode)
{
	must_see(self);
	if (!cgroup_id_is(self->record.cgroup.id, self->directory.st_ino))
		say_broken("id=%" PRIu64 " inode=%ju", self->record.cgroup.id,
			   (uintmax_t)self->directory.st_ino);
}

TEST_F(group, path)
{
	const char *path;
	size_t skip;

	must_see(self);
	path = self->record.cgroup.path;
	skip = strlen(path) - strlen(self->name);
	if (path[0] != '/' || strlen(path) < strlen(self->name) || strcmp(path + skip, self->name))
		say_broken("path=%.120s want=/.../%s", path, self->name);
}

TEST_F(group, needs_its_bit)
{
	watch_groups(self, false);
	if (find_record(&self->sampler, PERF_RECORD_CGROUP, &self->record))
		say_broken("a CGROUP record although attr.cgroup is clear");
	prctl(PR_SET_NAME, "alive");
	if (!find_record(&self->sampler, PERF_RECORD_COMM, &self->record))
		say_broken("not even the COMM that attr.comm asks for came");
}

PROBE_MAIN
