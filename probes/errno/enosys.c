/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does an architecture answer that lacks a part of perf?
 *
 * ENOSYS from perf_event_open does not always mean that the system call is missing: it is also
 * the answer to PERF_SAMPLE_STACK_USER where user stacks cannot be dumped, and to
 * PERF_SAMPLE_REGS_USER it is EINVAL or ENOSYS where registers have no numbers. A program that
 * takes it for "no perf here" gives up too early.
 */
#include "probe.h"
#include "finding.h"

PROBE(TITLE("parts of perf that an architecture lacks")
      SINCE("3.7")
      POINT(stack_dump, "where user stacks cannot be dumped, asking for them is ENOSYS")
      POINT(registers, "where registers have no numbers, asking for them is ENOSYS")
      FACT(stack_dump_errno, string, "-", "answer to 64 bytes of user stack")
      FACT(registers_errno, string, "-", "answer to the first register"))

static void lacking(const struct perf_event_attr *attr, const char *fact, const char *what)
{
	struct perf_event_attr plain = attr_faults(0);
	struct finding finding;
	int answer;

	close(must_open(&plain, 0, -1, -1, 0));
	answer = pm_open(attr, 0, -1, -1, 0);
	fact_str(fact, "%s", answer < 0 ? pm_errno_name(answer) : "accepted");
	if (answer >= 0)
		say_absent("this architecture has %s", what);
	if (answer == -ENOSYS)
		return;
	classify_asked(-answer, what, attr, 0, -1, &finding);
	say(&finding);
}

TEST(stack_dump)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_STACK_USER);

	attr.sample_stack_user = 64;
	lacking(&attr, "stack_dump_errno", "dumps of user stacks");
}

TEST(registers)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_REGS_USER);

	attr.sample_regs_user = 1;
	lacking(&attr, "registers_errno", "numbers for registers");
}

PROBE_MAIN
