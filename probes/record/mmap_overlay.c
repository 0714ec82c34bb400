/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does MMAP2 of a file on an overlay file system name the file that was opened, or the backing
 * file? Containers run on overlayfs, where device and inode of the backing file cannot be looked
 * up.
 * Observed: in a mount namespace of its own the test mounts an overlay and maps a file from it.
 * Right since v6.18 and stable trees near 6.12.55, by changelog.
 */
#include "probe.h"
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

PROBE(TITLE("mappings from an overlay file system")
      SINCE("4.14")
      NEEDS("root")
      POINT(name, "MMAP2 of a file on an overlay names the path that was opened")
      FACT(identity, enum, "-", "inode that MMAP2 carries: user (what fstat says), backing, other"))

static const char *const dirs[] = { "/tmp/low", "/tmp/up", "/tmp/work", "/tmp/top" };

static void must_overlay(void)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("perfmodes", "/tmp", "tmpfs", 0, "mode=0700"))
		say_blocked("no private mount: %s", pm_errno_name(errno));
	for (unsigned int i = 0; i < 4; i++)
		ASSERT_EQ(0, mkdir(dirs[i], 0700));
	if (mount("perfmodes", "/tmp/top", "overlay", 0,
		  "lowerdir=/tmp/low,upperdir=/tmp/up,workdir=/tmp/work"))
		say_absent("no overlay file system (%s)", pm_errno_name(errno));
}

TEST(name)
{
	struct perf_event_attr attr = attr_sideband(), without;
	struct stat top, up;
	struct pm_record record;
	struct sampler sampler;
	void *area;
	int fd;

	require(REQUIRE_ROOT);
	must_overlay();
	attr.mmap = 1;
	without = attr;
	attr.mmap2 = 1;
	sampler = ask_run_sampler(&attr, &without, 0, -1, 4, "mmap2");
	fd = open("/tmp/top/file", O_RDWR | O_CREAT, 0700);
	ASSERT_EQ(0, ftruncate(fd, probe_env()->page_size));
	area = mmap(NULL, probe_env()->page_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	ASSERT_NE(MAP_FAILED, area);
	ASSERT_EQ(0, fstat(fd, &top));
	ASSERT_EQ(0, stat("/tmp/up/file", &up));
	do
		if (!find_record(&sampler, PERF_RECORD_MMAP2, &record))
			say_broken("no MMAP2 of a file on an overlay");
	while (record.mmap.addr != (uintptr_t)area);
	fact_str("identity", "%s", record.mmap.ino == top.st_ino &&
				record.mmap.min == minor(top.st_dev) ? "user" :
			   record.mmap.ino == up.st_ino && record.mmap.min == minor(up.st_dev)
				? "backing" : "other");
	if (strcmp(record.mmap.filename, "/tmp/top/file"))
		say_broken("filename=%.100s want=/tmp/top/file", record.mmap.filename);
}

PROBE_MAIN
