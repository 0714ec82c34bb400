/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * In which order does the kernel check a call that is wrong in two ways?
 *
 * Who knows the order can ask for one thing without a right to another: that is how a filter is
 * told from perf, and how a feature is probed by an errno. Every test makes two mistakes whose
 * errnos differ; the answer is a fact. Yes is the order of mainline since v6.1; the other of the
 * two is no more than another order.
 */
#include "probe.h"

#define ORDER(name, first, second)                                                             \
	POINT(name, first " is answered before " second)                                       \
	FACT(name##_errno, string, "-", "errno of a call with both mistakes")
PROBE(TITLE("the order of checks")
      SINCE("2.6.31")
      ORDER(flags_before_pointer, "unknown flags (EINVAL)", "a bad pointer (EFAULT)")
      ORDER(flags_before_size, "unknown flags (EINVAL)", "a bad size (E2BIG)")
      ORDER(size_before_permission, "a bad size (E2BIG)", "a missing right (EACCES)")
      ORDER(pointer_before_permission, "a bad pointer (EFAULT)", "a missing right (EACCES)")
      ORDER(bits_before_permission, "a reserved bit (EINVAL)", "a missing right (EACCES)")
      ORDER(permission_before_period, "a missing right (EACCES)", "a bad period (EINVAL)")
      ORDER(permission_before_task, "a missing right (EACCES)", "a task that is none (ESRCH)")
      ORDER(period_before_group, "a bad period (EINVAL)", "a bad group descriptor (EBADF)")
      ORDER(group_before_task, "a bad group descriptor (EBADF)", "a task that is none (ESRCH)")
      ORDER(task_before_event, "a task that is none (ESRCH)", "an unknown type (ENOENT)")
      ORDER(cpu_before_event, "a CPU that is none (EINVAL)", "an unknown type (ENOENT)")
      ORDER(event_before_cpu_right, "an unknown type (ENOENT)", "no right to a CPU (EACCES)"))

#define NO_TASK 0x3fffffff
#define NO_CPU 1000000
#define NO_FD 1000000
#define NO_TYPE 0x7fffff00
#define NO_FLAG (1ul << 30)

static struct perf_event_attr plain(struct __test_metadata *_metadata)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	close(must_open(&attr, 0, -1, -1, 0));
	attr.size = PERF_ATTR_SIZE_VER0;
	return attr;
}

/* The same, with something that an unprivileged task may not have: the test drops what it holds. */
static struct perf_event_attr forbidden(struct __test_metadata *_metadata)
{
	struct perf_event_attr attr = plain(_metadata), kernel = attr;
	int answer;

	if (drop_to(0) < 0)
		cannot_tell("capabilities cannot be dropped");
	kernel.exclude_kernel = 0;
	answer = pm_open(&kernel, 0, -1, -1, 0);
	if (answer >= 0)
		say_absent("at this level the kernel may be counted without a capability");
	if (answer != -EACCES)
		cannot_tell("counting the kernel: %s", errno_name(answer));
	return kernel;
}

static void judge(struct __test_metadata *_metadata, const char *name, int answer, int first,
		  int second)
{
	char fact[64];

	snprintf(fact, sizeof(fact), "%s_errno", name);
	fact_str(fact, "%s", answer < 0 ? errno_name(answer) : "accepted");
	if (answer >= 0)
		broken("a call that is wrong in two ways is accepted");
	if (answer == -second)
		say_no("%s is answered first, not %s", errno_name(second), errno_name(first));
	if (answer != -first)
		cannot_tell("neither of both errnos: %s", errno_name(answer));
}

#define JUDGE(name, answer, first, second) judge(_metadata, #name, answer, first, second)

TEST(flags_before_pointer)
{
	plain(_metadata);
	JUDGE(flags_before_pointer, pm_open_raw(NULL, 0, -1, -1, NO_FLAG), EINVAL, EFAULT);
}

TEST(flags_before_size)
{
	struct perf_event_attr attr = plain(_metadata);

	attr.size = 8;
	JUDGE(flags_before_size, pm_open_raw(&attr, 0, -1, -1, NO_FLAG), EINVAL, E2BIG);
}

TEST(size_before_permission)
{
	struct perf_event_attr attr = forbidden(_metadata);

	attr.size = 8;
	JUDGE(size_before_permission, pm_open_raw(&attr, 0, -1, -1, 0), E2BIG, EACCES);
}

TEST(pointer_before_permission)
{
	forbidden(_metadata);
	JUDGE(pointer_before_permission, pm_open_raw(NULL, 0, -1, -1, 0), EFAULT, EACCES);
}

TEST(bits_before_permission)
{
	struct perf_event_attr attr = forbidden(_metadata);

	attr.read_format = 1ull << 63;
	JUDGE(bits_before_permission, pm_open_raw(&attr, 0, -1, -1, 0), EINVAL, EACCES);
}

TEST(permission_before_period)
{
	struct perf_event_attr attr = forbidden(_metadata);

	attr.freq = 1;
	attr.sample_freq = 1ull << 62;
	JUDGE(permission_before_period, pm_open_raw(&attr, 0, -1, -1, 0), EACCES, EINVAL);
}

TEST(permission_before_task)
{
	struct perf_event_attr attr = forbidden(_metadata);

	JUDGE(permission_before_task, pm_open_raw(&attr, NO_TASK, -1, -1, 0), EACCES, ESRCH);
}

TEST(period_before_group)
{
	struct perf_event_attr attr = plain(_metadata);

	attr.freq = 1;
	attr.sample_freq = 1ull << 62;
	JUDGE(period_before_group, pm_open_raw(&attr, 0, -1, NO_FD, 0), EINVAL, EBADF);
}

TEST(group_before_task)
{
	struct perf_event_attr attr = plain(_metadata);

	JUDGE(group_before_task, pm_open_raw(&attr, NO_TASK, -1, NO_FD, 0), EBADF, ESRCH);
}

TEST(task_before_event)
{
	struct perf_event_attr attr = plain(_metadata);

	attr.type = NO_TYPE;
	JUDGE(task_before_event, pm_open_raw(&attr, NO_TASK, -1, -1, 0), ESRCH, ENOENT);
}

TEST(cpu_before_event)
{
	struct perf_event_attr attr = plain(_metadata);

	attr.type = NO_TYPE;
	JUDGE(cpu_before_event, pm_open_raw(&attr, 0, NO_CPU, -1, 0), EINVAL, ENOENT);
}

TEST(event_before_cpu_right)
{
	struct perf_event_attr attr = plain(_metadata);
	int answer;

	if (drop_to(0) < 0)
		cannot_tell("capabilities cannot be dropped");
	answer = pm_open_raw(&attr, -1, 0, -1, 0);
	if (answer != -EACCES)
		say_absent("at this level a CPU may be watched without a capability");
	attr.type = NO_TYPE;
	JUDGE(event_before_cpu_right, pm_open_raw(&attr, -1, 0, -1, 0), ENOENT, EACCES);
}

PROBE_MAIN
