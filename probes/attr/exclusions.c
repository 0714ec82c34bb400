/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which flags and fields exclude or demand one another, and does the kernel say so?
 *
 * A kernel that takes an impossible combination leaves a program waiting for something that
 * cannot happen. Every rule is asked with its legal twin first, so that a kernel that does not
 * know the feature is told from one that keeps the rule.
 */
#include "probe.h"

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
      SINCE("5.12")
      POINT(pause_excludes_resume, "aux_pause with aux_resume is EINVAL")
      SINCE("6.13")
      POINT(aux_output_demands_pmu, "aux_output on a software event is EOPNOTSUPP")
      SINCE("5.4")
      POINT(aux_start_paused_demands_pmu, "aux_start_paused on a software event is EOPNOTSUPP")
      SINCE("6.13")
      POINT(period_sign, "a sample period with its top bit set is EINVAL")
      SINCE("3.15")
      POINT(stack_size_aligned, "a user stack size that is no multiple of 8 is EINVAL")
      SINCE("3.7")
      POINT(stack_size_bounded, "a user stack size of 65535 and more is EINVAL")
      SINCE("3.7")
      POINT(regs_known, "a register that does not exist, or none at all, is EINVAL")
      SINCE("3.7")
      POINT(clockid_known, "use_clockid with a clock that is none is EINVAL")
      SINCE("4.1"))

/* A bit of sample_regs_user for which the architecture has no register. */
#if defined(__x86_64__)
#define NO_REGISTER 12			/* ds: has a number, is not dumped in 64-bit mode */
#elif defined(__i386__)
#define NO_REGISTER 31
#else
#define NO_REGISTER 63
#endif

/* The legal twin must open: it has the feature that the rule is about. */
static void legal(struct __test_metadata *_metadata, const struct perf_event_attr *attr,
		  const char *what)
{
	struct perf_event_attr plain = attr_faults(0);

	close(ask_open(attr, &plain, 0, -1, what));
}

static void illegal(struct __test_metadata *_metadata, const struct perf_event_attr *attr,
		    int want, const char *what)
{
	hold_rule(pm_open(attr, 0, -1, -1, 0), want, BROKEN, what);
}

TEST(inherit_thread_demands_inherit)
{
	struct perf_event_attr attr = attr_faults(0);

	attr.inherit = attr.inherit_thread = 1;
	legal(_metadata, &attr, "inherit_thread");
	attr.inherit = 0;
	illegal(_metadata, &attr, EINVAL, "inherit_thread without inherit");
}

TEST(remove_excludes_enable_on_exec)
{
	struct perf_event_attr attr = attr_faults(0);

	attr.remove_on_exec = 1;
	legal(_metadata, &attr, "remove_on_exec");
	attr.enable_on_exec = 1;
	illegal(_metadata, &attr, EINVAL, "remove_on_exec with enable_on_exec");
}

TEST(sigtrap_demands_remove_on_exec)
{
	struct perf_event_attr attr = attr_faults(0);

	attr.remove_on_exec = attr.sigtrap = 1;
	legal(_metadata, &attr, "sigtrap");
	attr.remove_on_exec = 0;
	illegal(_metadata, &attr, EINVAL, "sigtrap without remove_on_exec");
}

TEST(sigtrap_demands_task)
{
	struct perf_event_attr attr = attr_faults(0);

	attr.remove_on_exec = attr.sigtrap = 1;
	legal(_metadata, &attr, "sigtrap");
	hold_rule(pm_open(&attr, -1, 0, -1, 0), EINVAL, BROKEN, "sigtrap on a whole CPU");
}

TEST(weight_excludes_weight_struct)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_WEIGHT_STRUCT);

	legal(_metadata, &attr, "PERF_SAMPLE_WEIGHT_STRUCT");
	attr.sample_type |= PERF_SAMPLE_WEIGHT;
	illegal(_metadata, &attr, EINVAL, "WEIGHT with WEIGHT_STRUCT");
}

/*
 * No software event has a legal twin for these. That the kernel knows the bits is seen from the
 * answer to another one: EOPNOTSUPP instead of EINVAL.
 */
static void ask_aux(struct __test_metadata *_metadata, const struct perf_event_attr *attr,
		    const char *what)
{
	struct perf_event_attr plain = attr_faults(0);
	struct finding finding;
	int fd;

	close(must_open(&plain, 0, -1, -1, 0));
	fd = pm_open(attr, 0, -1, -1, 0);
	if (fd == -EOPNOTSUPP)
		return;
	if (fd >= 0)
		broken("%s accepted on a software event", what);
	classify_asked(-fd, what, attr, 0, -1, &finding);
	speak(&finding);
}

TEST(aux_output_demands_pmu)
{
	struct perf_event_attr attr = attr_faults(0);

	attr.aux_output = 1;
	ask_aux(_metadata, &attr, "aux_output");
}

TEST(aux_start_paused_demands_pmu)
{
	struct perf_event_attr attr = attr_faults(0);

	attr.aux_start_paused = 1;
	ask_aux(_metadata, &attr, "aux_start_paused");
}

TEST(pause_excludes_resume)
{
	struct perf_event_attr attr = attr_faults(0);

	attr.aux_start_paused = 1;
	ask_aux(_metadata, &attr, "aux_action");
	attr.aux_start_paused = 0;
	attr.aux_pause = attr.aux_resume = 1;
	illegal(_metadata, &attr, EINVAL, "aux_pause with aux_resume");
}

TEST(period_sign)
{
	struct perf_event_attr attr = attr_faults(0);

	legal(_metadata, &attr, "a sample period");
	attr.sample_period = 1ull << 63;
	hold_rule(pm_open(&attr, 0, -1, -1, 0), EINVAL, NO, "a period of 2^63");
}

TEST(stack_size_aligned)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_STACK_USER);

	attr.sample_stack_user = 64;
	legal(_metadata, &attr, "PERF_SAMPLE_STACK_USER");
	attr.sample_stack_user = 68;
	illegal(_metadata, &attr, EINVAL, "68 bytes of stack");
}

TEST(stack_size_bounded)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_STACK_USER);

	attr.sample_stack_user = 65528 - 1024;
	legal(_metadata, &attr, "PERF_SAMPLE_STACK_USER");
	attr.sample_stack_user = 65536;
	illegal(_metadata, &attr, EINVAL, "65536 bytes of stack");
	attr.sample_stack_user = 0xfffffff8;
	illegal(_metadata, &attr, EINVAL, "4 GiB of stack");
}

TEST(regs_known)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_REGS_USER);

	attr.sample_regs_user = 1;
	legal(_metadata, &attr, "PERF_SAMPLE_REGS_USER");
	attr.sample_regs_user = 1ull << NO_REGISTER;
	illegal(_metadata, &attr, EINVAL, "a register that does not exist");
	attr.sample_regs_user = 0;
	illegal(_metadata, &attr, EINVAL, "no register at all");
}

TEST(clockid_known)
{
	struct perf_event_attr attr = attr_faults(0);

	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	legal(_metadata, &attr, "use_clockid");
	attr.clockid = 1000;
	illegal(_metadata, &attr, EINVAL, "clock 1000");
	attr.clockid = -1;
	illegal(_metadata, &attr, EINVAL, "clock -1");
}

PROBE_MAIN
