/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do security modules let an open event be used?
 *
 * Since v5.5 there are hooks for open, read, ioctl and mmap, so an event may open and then be
 * refused a read. A program must know which of the four was refused.
 */
#include "probe.h"

PROBE(TITLE("security modules in front of perf")
      SINCE("2.6.31")
      FACT(modules, string, "-", "active security modules, as the kernel lists them")
      POINT(readable, "an event that was opened can be read")
      POINT(controllable, "an event that was opened can be controlled by ioctl")
      POINT(mappable, "an event that was opened can be mapped")
      POINT(selinux, "SELinux lets this task have events: open, cpu, kernel, read, write")
      SINCE("5.5")
      COMMIT("da97e18458fb"))

/* What a refusal after the open means: only a security module stands there. */
static void refused(int error, const char *what)
{
	if (error == -EACCES || error == -EPERM)
		say_blocked("%s after a successful open: %s (modules: %s)", pm_errno_name(error),
			    what, probe_env()->lsm[0] ? probe_env()->lsm : "unknown");
	if (error < 0)
		say_broken("%s after a successful open: errno=%s", what, pm_errno_name(error));
}

static int own(void)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);

	return must_open(&attr, 0, -1, -1, 0);
}

TEST(readable)
{
	uint64_t value;

	fact_str("modules", "%s", probe_env()->lsm[0] ? probe_env()->lsm : "unknown");
	refused(pm_read_count(own(), &value), "read");
}

TEST(controllable)
{
	int fd = own();

	refused(pm_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), "ioctl");
	expect_gain(fd, NULL, 4, 4);
}

TEST(mappable)
{
	struct pm_ring ring;

	refused(pm_ring_open(own(), 1, PROT_READ | PROT_WRITE, &ring), "mmap");
	if (((volatile struct perf_event_mmap_page *)ring.base)->data_tail != 0)
		say_broken("a fresh ring has a tail");
}

TEST(selinux)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	uint64_t value;
	int answer;

	own();
	if (!strstr(probe_env()->lsm, "selinux") && access("/sys/fs/selinux/enforce", F_OK) < 0)
		say_absent("no SELinux");
	if (access("/sys/fs/selinux/class", F_OK) < 0)
		say_blocked("the classes of the policy are not to be seen here");
	if (access("/sys/fs/selinux/class/perf_event", F_OK) < 0)
		say_no("the policy knows no class perf_event");
	answer = must_open(&attr, 0, -1, -1, 0);
	refused(pm_read_count(answer, &value), "read");
	refused(pm_ioctl(answer, PERF_EVENT_IOC_RESET, 0), "write");
}

PROBE_MAIN
