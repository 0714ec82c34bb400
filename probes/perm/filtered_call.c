/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can a program tell a filter in front of perf_event_open from perf itself?
 *
 * Containers and application sandboxes refuse the call with EPERM or ENOSYS, and a program that
 * takes this for the kernel's answer stores a wrong profile. Each test installs such a filter for
 * itself and asks again. Events that are open already go on counting: the filter does not see them.
 */
#include "probe.h"
#include "waiter.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

PROBE(TITLE("a system call filter in front of perf")
      SINCE("3.5")
      POINT(eperm.told_apart, "a filter that says EPERM is told from perf's own refusal")
      POINT(eacces.told_apart, "a filter that says EACCES is told from perf's own refusal")
      POINT(enosys.told_apart, "a filter that says ENOSYS is told from a kernel without perf")
      POINT(einval.told_apart, "a filter that says EINVAL is told from perf's own refusal")
      POINT(eperm.old_events_count, "an event opened before the filter came counts on")
      POINT(eacces.old_events_count, "an event opened before the filter came counts on")
      POINT(enosys.old_events_count, "an event opened before the filter came counts on")
      POINT(einval.old_events_count, "an event opened before the filter came counts on"))

FIXTURE(filter)
{
	int old_event;
};

FIXTURE_VARIANT(filter)
{
	int error;
};

FIXTURE_VARIANT_ADD(filter, eperm)
{
	.error = EPERM,
};

FIXTURE_VARIANT_ADD(filter, eacces)
{
	.error = EACCES,
};

FIXTURE_VARIANT_ADD(filter, enosys)
{
	.error = ENOSYS,
};

FIXTURE_VARIANT_ADD(filter, einval)
{
	.error = EINVAL,
};

static int put_filter(int error)
{
	const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(code) / sizeof(*code),
					    (struct sock_filter *)code };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 ? -errno : 0;
}

FIXTURE_SETUP(filter)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int error;

	self->old_event = must_open(&attr, 0, -1, -1, 0);
	must_ioctl(self->old_event, PERF_EVENT_IOC_ENABLE, 0);
	error = put_filter(variant->error);
	if (error)
		say_absent("no system call filters here (%s)", pm_errno_name(error));
	if (syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0) >= 0 || errno != variant->error)
		say_unknown("the filter does not filter: %s", pm_errno_name(errno));
}

FIXTURE_TEARDOWN(filter)
{
}

TEST_F(filter, told_apart)
{
	enum pm_perf_answer gate;
	struct pm_env behind;
	int error = 0;

	pm_env_read(&behind);
	gate = pm_perf_ask(&behind, &error);
	if (gate == PM_PERF_UNTOLD)
		say_blocked("neither perf_event_paranoid nor /proc/kallsyms is to be seen here, "
			    "which tell");
	if (gate != PM_PERF_FILTERED || error != variant->error)
		say_broken("gate=%d errno=%s want=%s by a filter", gate, pm_errno_name(error),
			   pm_errno_name(variant->error));
}

TEST_F(filter, old_events_count)
{
	expect_gain(self->old_event, NULL, 8, 8);
}

PROBE_MAIN
