/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which single capability allows what perf_event_paranoid refuses?
 *
 * CAP_PERFMON was made so that profilers need not be root; CAP_SYS_ADMIN must go on working; and
 * a capability inside a user namespace must not count, or every container could watch its host.
 * Asked with a flag that needs the capability at every level (namespaces) and, where the level
 * refuses them, with an event on a whole CPU and one that counts the kernel.
 */
#include "probe.h"
#include "privilege.h"

#ifndef CLONE_NEWUSER
#define CLONE_NEWUSER 0x10000000
#endif

PROBE(TITLE("the capabilities of perf events")
      SINCE("2.6.31")
      POINT(perfmon.namespaces, "CAP_PERFMON alone opens attr.namespaces")
      SINCE("5.8")
      POINT(perfmon.cpu_wide, "CAP_PERFMON alone opens an event on a whole CPU")
      SINCE("5.8")
      POINT(perfmon.kernel, "CAP_PERFMON alone opens an event that counts the kernel")
      SINCE("5.8")
      POINT(sys_admin.namespaces, "CAP_SYS_ADMIN alone opens attr.namespaces")
      SINCE("4.12")
      POINT(sys_admin.cpu_wide, "CAP_SYS_ADMIN alone opens an event on a whole CPU")
      POINT(sys_admin.kernel, "CAP_SYS_ADMIN alone opens an event that counts the kernel")
      POINT(userns.namespaces, "capabilities in a user namespace do not open attr.namespaces")
      SINCE("4.12")
      POINT(userns.cpu_wide, "capabilities in a user namespace do not open a whole CPU")
      SINCE("3.8")
      POINT(userns.kernel, "capabilities in a user namespace do not open the kernel")
      SINCE("3.8"))

FIXTURE(cap)
{
	int unused;
};

FIXTURE_VARIANT(cap)
{
	enum pm_cap keep;
	bool user_namespace;
};

FIXTURE_VARIANT_ADD(cap, perfmon)
{
	.keep = PM_CAP_PERFMON,
};

FIXTURE_VARIANT_ADD(cap, sys_admin)
{
	.keep = PM_CAP_SYS_ADMIN,
};

FIXTURE_VARIANT_ADD(cap, userns)
{
	.user_namespace = true,
};

static bool holds(enum pm_cap cap)
{
	struct pm_env env;

	pm_env_read(&env);
	return pm_env_has_cap(&env, cap);
}

FIXTURE_SETUP(cap)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	const struct pm_env *env = probe_env();

	close(must_open(&attr, 0, -1, -1, 0));
	if (variant->user_namespace) {
		if (unshare(CLONE_NEWUSER) < 0)
			say_blocked("%s: no user namespace to be had", pm_errno_name(errno));
		if (!holds(PM_CAP_SYS_ADMIN))
			say_unknown("a new user namespace without capabilities");
		return;
	}
	if (env->cap_last >= 0 && (int)variant->keep > env->cap_last)
		say_no("capability %d: the highest known here is %d", variant->keep,
		       env->cap_last);
	if (pm_in_user_namespace())
		say_blocked("capabilities of a user namespace do not count");
	if (!pm_env_has_cap(env, variant->keep))
		say_blocked("needs to hold capability %d", variant->keep);
	if (drop_to(1ull << variant->keep) < 0 || !holds(variant->keep))
		say_unknown("all other capabilities cannot be dropped");
	/* Debian's level 3 shuts every event to CAP_PERFMON alone: nothing more can be asked. */
	close(must_open(&attr, 0, -1, -1, 0));
}

FIXTURE_TEARDOWN(cap)
{
}

/* Whether the level shuts this to a task without any capability, seen by doing it. */
static bool shut(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	pid_t child = fork();
	int fd;

	if (child == 0) {
		drop_to(0);
		fd = pm_open(attr, pid, cpu, -1, 0);
		_exit(fd == -EACCES ? 1 : 0);
	}
	return wait_child(child) == 1;
}

static void ask_gate(bool open, const struct perf_event_attr *attr, pid_t pid, int cpu,
		     const char *what)
{
	int answer = pm_open(attr, pid, cpu, -1, 0);

	if (answer == -EINVAL)
		say_no("EINVAL with %s, ok without", what);
	if (!shut(attr, pid, cpu))
		say_absent("%s needs no capability at level %d", what, probe_env()->paranoid);
	if (open && answer == -EACCES)
		say_no("EACCES for %s with the capability, as without it", what);
	if (open && answer < 0)
		say_unknown("%s: %s", what, pm_errno_name(answer));
	if (!open) {
		expect_refused(answer, EACCES, BROKEN, what);
		return;
	}
	must_ioctl(answer, PERF_EVENT_IOC_ENABLE, 0);
	if (gain_of_faults(answer, NULL, 4) < 4)
		say_broken("%s opened, but counts no faults", what);
}

TEST_F(cap, namespaces)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.namespaces = 1;
	ask_gate(!variant->user_namespace, &attr, 0, -1, "attr.namespaces");
}

TEST_F(cap, cpu_wide)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	ask_gate(!variant->user_namespace, &attr, -1, move_to_nth_cpu(0),
		 "an event on a whole CPU");
}

TEST_F(cap, kernel)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.exclude_kernel = 0;
	ask_gate(!variant->user_namespace, &attr, 0, -1, "an event that counts the kernel");
}

PROBE_MAIN
