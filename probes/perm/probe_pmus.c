/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who may plant probes and watch kernel addresses: kprobe, uprobe, kernel breakpoint, function
 * trace?
 *
 * Each of these lets a task look into the kernel or into programs of others, so each has a gate
 * besides the level. The gates come before the request is looked at, so nothing is ever planted:
 * all requests here are impossible ones.
 */
#include "probe.h"

PROBE(TITLE("the gates of dynamic probes")
      SINCE("2.6.33")
      POINT(kprobe, "a kernel probe without capabilities is EACCES")
      SINCE("4.17")
      NEEDS("kprobe")
      POINT(uprobe, "a user probe without capabilities is EACCES")
      SINCE("4.17")
      NEEDS("uprobe")
      FACT(uprobe_with_perfmon, enum, "-", "errno of an impossible user probe, CAP_PERFMON alone")
      POINT(kernel_breakpoint_excluded, "a kernel address with exclude_kernel is EINVAL")
      NEEDS("breakpoint")
      POINT(kernel_breakpoint, "a kernel address without capabilities is EACCES or EPERM")
      NEEDS("breakpoint")
      FACT(kernel_breakpoint_errno, enum, "-", "which of the two")
      POINT(function, "the function tracepoint without capabilities is EPERM")
      SINCE("3.13")
      NEEDS("tracefs")
      POINT(function_user_chain, "the function tracepoint with user call chains is EINVAL")
      SINCE("3.13")
      NEEDS("tracefs"))

static void own(struct __test_metadata *_metadata)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	close(must_open(&attr, 0, -1, -1, 0));
}

static int must_have(struct __test_metadata *_metadata, const char *pmu)
{
	int type = pm_pmu_type(pmu);

	own(_metadata);
	if (type < 0)
		say_absent("no PMU named %s", pmu);
	return type;
}

/* The probe's name is a null pointer: a request that nobody can get. */
static int plant(int type)
{
	struct perf_event_attr attr = attr_of(type, 0);

	return pm_open(&attr, 0, -1, -1, 0);
}

TEST(kprobe)
{
	int type = must_have(_metadata, "kprobe");

	ASSERT_EQ(0, drop_to(0));
	hold_rule(plant(type), EACCES, BROKEN, "a kernel probe");
}

TEST(uprobe)
{
	int type = must_have(_metadata, "uprobe");

	if (pm_env_has_cap(probe_env(), PM_CAP_PERFMON)) {
		ASSERT_EQ(0, drop_to(1ull << PM_CAP_PERFMON));
		fact_str("uprobe_with_perfmon", "%s", errno_name(plant(type)));
	}
	ASSERT_EQ(0, drop_to(0));
	hold_rule(plant(type), EACCES, BROKEN, "a user probe");
}

static struct perf_event_attr kernel_watch(void)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_BREAKPOINT, 0);

	attr.bp_type = HW_BREAKPOINT_W;
	attr.bp_addr = ~4095ull;	/* the last page belongs to no program */
	attr.bp_len = HW_BREAKPOINT_LEN_4;
	return attr;
}

static void user_watch(struct __test_metadata *_metadata)
{
	static uint64_t watched;
	struct perf_event_attr attr = kernel_watch();

	attr.bp_addr = (uintptr_t)&watched;
	close(must_open(&attr, 0, -1, -1, 0));
}

TEST(kernel_breakpoint_excluded)
{
	struct perf_event_attr attr = kernel_watch();

	require(REQUIRE_BREAKPOINT);
	user_watch(_metadata);
	hold_rule(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN, "a kernel address");
}

TEST(kernel_breakpoint)
{
	struct perf_event_attr attr = kernel_watch();
	int answer;

	require(REQUIRE_BREAKPOINT);
	user_watch(_metadata);
	attr.exclude_kernel = 0;
	ASSERT_EQ(0, drop_to(0));
	answer = pm_open(&attr, 0, -1, -1, 0);
	if (answer >= 0)
		broken("a kernel address watched without capabilities");
	if (answer != -EACCES && answer != -EPERM)
		broken("errno=%s want=EACCES or EPERM", errno_name(answer));
	fact_str("kernel_breakpoint_errno", "%s", errno_name(answer));
}

static struct perf_event_attr function_event(struct __test_metadata *_metadata)
{
	struct perf_event_attr attr;
	int id;

	own(_metadata);
	require(REQUIRE_TRACEFS);
	id = pm_tracepoint_id("ftrace", "function");
	if (id < 0)
		say_absent("no tracepoint ftrace:function");
	attr = attr_of(PERF_TYPE_TRACEPOINT, id);
	attr.sample_period = 1;
	attr.exclude_callchain_user = 1;
	return attr;
}

TEST(function)
{
	struct perf_event_attr attr = function_event(_metadata);

	if (probe_env()->paranoid < 0)
		say_absent("at this level tracepoints need no capability");
	ASSERT_EQ(0, drop_to(0));
	attr.sample_type = PERF_SAMPLE_IP;
	hold_rule(pm_open(&attr, 0, -1, -1, 0), EPERM, BROKEN, "the function tracepoint");
}

TEST(function_user_chain)
{
	struct perf_event_attr attr = function_event(_metadata);

	require(REQUIRE_PERFMON);
	attr.exclude_callchain_user = 0;
	attr.sample_type = PERF_SAMPLE_CALLCHAIN;
	hold_rule(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN, "user call chains of functions");
}

PROBE_MAIN
