/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does perf_event_open answer when the whole machine has no file left?
 *
 * ENFILE is met on small devices under load. The limit of the machine is lowered to what is open
 * already, an event is opened as nobody (root is exempt), and the limit is put back at once, or
 * when the program ends, whatever ends it.
 */
#include "probe.h"
#include "privilege.h"

#define FILE_MAX "/proc/sys/fs/file-max"

PROBE(TITLE("no file left on the machine")
      SINCE("2.6.31")
      NEEDS("root")
      DISTURBS("the number of files that all unprivileged tasks may open")
      POINT(enfile, "ENFILE for nobody, and an event that is open counts on")
      POINT(root_exempt, "root still opens events")
      POINT(recovers, "when there are files again, nobody opens events again"))

static void __attribute__((constructor)) keep(void)
{
	restore_at_exit(FILE_MAX);
}

static char old_limit[32];

FIXTURE(files)
{
	struct perf_event_attr attr;
	int fd;
};

/* Nobody asks in a child, so that the test stays root and can put the limit back. */
static int as_nobody(void *attr)
{
	int fd;

	if (drop_to(0) < 0)
		return 0;
	fd = pm_open(attr, 0, -1, -1, 0);
	return fd < 0 ? -fd : 0;
}

FIXTURE_SETUP(files)
{
	require(REQUIRE_PERF | REQUIRE_ROOT);
	if (pm_read_text(FILE_MAX, old_limit, sizeof(old_limit)) <= 0)
		say_absent("no /proc/sys/fs/file-max");
	self->attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	self->fd = must_open(&self->attr, 0, -1, -1, 0);
	must_ioctl(self->fd, PERF_EVENT_IOC_ENABLE, 0);
	if (wait_child(start_child(as_nobody, &self->attr)) != 0)
		say_blocked("nobody may not open an event at this level");
	/* Not 1: the kernel looks closer only when its rough count, often 0, is there. */
	if (write_file(FILE_MAX, "0") < 0)
		say_blocked("/proc/sys/fs/file-max cannot be written");
}

FIXTURE_TEARDOWN(files)
{
	write_file(FILE_MAX, old_limit);
}

TEST_F(files, enfile)
{
	int error;

	expect_gain(self->fd, NULL, 8, 8);
	error = wait_child(start_child(as_nobody, &self->attr));
	write_file(FILE_MAX, old_limit);
	if (error != ENFILE)
		say_broken("errno=%s want=ENFILE", pm_errno_name(error));
}

TEST_F(files, root_exempt)
{
	int answer = pm_open(&self->attr, 0, -1, -1, 0);

	write_file(FILE_MAX, old_limit);
	if (answer < 0)
		say_broken("root: errno=%s", pm_errno_name(answer));
}

TEST_F(files, recovers)
{
	int shut = wait_child(start_child(as_nobody, &self->attr)), open;

	write_file(FILE_MAX, old_limit);
	open = wait_child(start_child(as_nobody, &self->attr));
	if (shut != ENFILE || open != 0)
		say_broken("first %s, then %s", pm_errno_name(shut), pm_errno_name(open));
}

PROBE_MAIN
