/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * In which order does the kernel check a call that is wrong in two ways?
 *
 * The order tells what a call without privilege can find out: it distinguishes a filter from perf,
 * and it lets an errno reveal a feature. Every test makes two mistakes whose errnos differ; the
 * answer is a fact. "Yes" is mainline's order since v6.1; "no" is merely another order.
 */
#include "probe.h"
#include "privilege.h"

#include <stdio.h>

#define NO_TASK 0x3fffffff
#define NO_CPU 1000000
#define NO_FD 1000000
#define NO_TYPE 0x7fffff00
#define NO_FLAG (1ul << 30)
#define BAD_POINTER ((struct perf_event_attr *)8)

/* The mistakes as C would assign them to a call; forbidden: the test gives up what it may do. */
#define BAD_PERIOD call.attr.freq = 1, call.attr.sample_freq = 1ull << 62
#define FORBIDDEN call.attr = forbidden()
#define FORBIDDEN_CPU call = on_forbidden_cpu()

/* name, first errno, from what, second errno, from what, the mistakes */
#define PAIRS(X)                                                                               \
	X(flags_before_pointer, EINVAL, "unknown flags", EFAULT, "a bad pointer",              \
	  (call.flags = NO_FLAG, call.where = BAD_POINTER))                                    \
	X(flags_before_size, EINVAL, "unknown flags", E2BIG, "a bad size",                     \
	  (call.flags = NO_FLAG, call.attr.size = 8))                                          \
	X(size_before_permission, E2BIG, "a bad size", EACCES, "a missing right",              \
	  (FORBIDDEN, call.attr.size = 8))                                                     \
	X(pointer_before_permission, EFAULT, "a bad pointer", EACCES, "a missing right",       \
	  (FORBIDDEN, call.where = BAD_POINTER))                                               \
	X(bits_before_permission, EINVAL, "a reserved bit", EACCES, "a missing right",         \
	  (FORBIDDEN, call.attr.read_format = 1ull << 63))                                     \
	X(permission_before_period, EACCES, "a missing right", EINVAL, "a bad period",         \
	  (FORBIDDEN, BAD_PERIOD))                                                             \
	X(permission_before_task, EACCES, "a missing right", ESRCH, "a task that is none",     \
	  (FORBIDDEN, call.pid = NO_TASK))                                                     \
	X(period_before_group, EINVAL, "a bad period", EBADF, "a bad group descriptor",        \
	  (BAD_PERIOD, call.group = NO_FD))                                                    \
	X(group_before_task, EBADF, "a bad group descriptor", ESRCH, "a task that is none",    \
	  (call.group = NO_FD, call.pid = NO_TASK))                                            \
	X(task_before_event, ESRCH, "a task that is none", ENOENT, "an unknown type",          \
	  (call.pid = NO_TASK, call.attr.type = NO_TYPE))                                      \
	X(cpu_before_event, EINVAL, "a CPU that is none", ENOENT, "an unknown type",           \
	  (call.cpu = NO_CPU, call.attr.type = NO_TYPE))                                       \
	X(event_before_cpu_right, ENOENT, "an unknown type", EACCES, "no right to a CPU",      \
	  (FORBIDDEN_CPU, call.attr.type = NO_TYPE))

#define DECLARE(name, first, from, second, second_from, make)                                  \
	POINT(name, from " (" #first ") is answered before " second_from " (" #second ")")     \
	FACT(name##_errno, string, "-", "errno of a call with both mistakes")
PROBE(TITLE("the order of checks")
      SINCE("2.6.31")
      PAIRS(DECLARE))

struct call {
	struct perf_event_attr attr, *where;
	pid_t pid;
	int cpu, group;
	unsigned long flags;
};

static struct perf_event_attr plain(void)
{
	struct perf_event_attr attr = must_open_plain();

	attr.size = PERF_ATTR_SIZE_VER0;
	return attr;
}

/* From here on the test has no capability; ends it where even so the call is let through. */
static void must_be_shut(const struct perf_event_attr *attr, pid_t pid, int cpu, const char *what)
{
	int answer;

	if (drop_to(0) < 0)
		say_unknown("capabilities cannot be dropped");
	answer = pm_open(attr, pid, cpu, -1, 0);
	if (answer >= 0)
		say_absent("at this level %s needs no capability", what);
	if (answer != -EACCES)
		say_unknown("%s: %s", what, pm_errno_name(answer));
}

static struct perf_event_attr forbidden(void)
{
	struct perf_event_attr attr = plain();

	attr.exclude_kernel = 0;
	must_be_shut(&attr, 0, -1, "counting the kernel");
	return attr;
}

static struct call on_forbidden_cpu(void)
{
	struct call call = { plain(), NULL, -1, 0, -1, 0 };

	must_be_shut(&call.attr, -1, 0, "an event on a whole CPU");
	must_open_plain();	/* at a level of 3 every event is refused, and not that CPU */
	return call;
}

static void judge(const char *name, struct call *call, int first, int second)
{
	int answer = pm_open_raw(call->where ? call->where : &call->attr, call->pid, call->cpu,
				 call->group, call->flags);
	char fact[64];

	snprintf(fact, sizeof(fact), "%s_errno", name);
	fact_str(fact, "%s", answer < 0 ? pm_errno_name(answer) : "accepted");
	if (answer >= 0)
		say_broken("a call that is wrong in two ways is accepted");
	if (answer == -second)
		say_no("%s is answered first, not %s", pm_errno_name(second), pm_errno_name(first));
	if (answer != -first)
		say_unknown("neither of both errnos: %s", pm_errno_name(answer));
}

#define ASK(name, first, from, second, second_from, make)                                      \
	TEST(name)                                                                             \
	{                                                                                      \
		struct call call = { plain(), NULL, 0, -1, -1, 0 };                            \
		make;                                                                          \
		judge(#name, &call, first, second);                                            \
	}
PAIRS(ASK)

PROBE_MAIN
