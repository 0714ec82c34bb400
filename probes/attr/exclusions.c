/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which flags and fields exclude or demand one another, and does the kernel say so?
 *
 * A kernel that takes an impossible combination leaves a program waiting for something that
 * cannot happen. Every rule is asked with its legal twin first, so that a kernel that does not
 * know the feature is told from one that keeps the rule.
 */
#include "probe.h"
#include "attr_bits.h"

PROBE(TITLE("flags that exclude or demand one another")
      SINCE("2.6.31")
      POINT(inherit_thread_demands_inherit, "inherit_thread alone is EINVAL")
      SINCE("5.13")
      POINT(remove_excludes_enable_on_exec, "remove_on_exec with enable_on_exec is EINVAL")
      SINCE("5.13")
      POINT(sigtrap_demands_remove_on_exec, "sigtrap without remove_on_exec is EINVAL")
      SINCE("5.13")
      POINT(sigtrap_demands_task, "sigtrap on a whole CPU is EINVAL")
      SINCE("5.13")
      POINT(weight_excludes_weight_struct, "WEIGHT with WEIGHT_STRUCT is EINVAL")
      SINCE("5.12"))

TEST(inherit_thread_demands_inherit)
{
	struct perf_event_attr attr = attr_faults(0);

	attr.inherit = attr.inherit_thread = 1;
	ask_legal(&attr, "inherit_thread");
	attr.inherit = 0;
	expect_refused(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN,
		       "inherit_thread without inherit");
}

TEST(remove_excludes_enable_on_exec)
{
	struct perf_event_attr attr = attr_faults(0);

	attr.remove_on_exec = 1;
	ask_legal(&attr, "remove_on_exec");
	attr.enable_on_exec = 1;
	expect_refused(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN,
		       "remove_on_exec with enable_on_exec");
}

TEST(sigtrap_demands_remove_on_exec)
{
	struct perf_event_attr attr = attr_faults(0);

	attr.remove_on_exec = attr.sigtrap = 1;
	ask_legal(&attr, "sigtrap");
	attr.remove_on_exec = 0;
	expect_refused(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN,
		       "sigtrap without remove_on_exec");
}

TEST(sigtrap_demands_task)
{
	struct perf_event_attr attr = attr_faults(0), plain = attr;
	int cpu = move_to_nth_cpu(0);

	attr.remove_on_exec = attr.sigtrap = 1;
	ask_legal(&attr, "sigtrap");
	close(must_open(&plain, -1, cpu, -1, 0));
	expect_refused(pm_open(&attr, -1, cpu, -1, 0), EINVAL, BROKEN, "sigtrap on a whole CPU");
}

TEST(weight_excludes_weight_struct)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_WEIGHT_STRUCT);

	ask_legal(&attr, "PERF_SAMPLE_WEIGHT_STRUCT");
	attr.sample_type |= PERF_SAMPLE_WEIGHT;
	expect_refused(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN, "WEIGHT with WEIGHT_STRUCT");
}

PROBE_MAIN
