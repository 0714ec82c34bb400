/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which BPF programs does SET_BPF refuse? A wrong one would read what its event does not have.
 * Observed: each wrong program beside a right one, which an event of the same kind takes.
 * Linux 2541517c32be ("tracing, perf: Implement BPF programs attached to kprobes") (v4.1)
 */
#include "probe.h"
#include "bpf.h"

PROBE(TITLE("BPF programs that an event refuses")
      SINCE("4.7")
      NEEDS("bpf tracefs")
      POINT(socket_filter, "a socket filter on a tracepoint is EINVAL")
      POINT(other_kind, "a program for events on a tracepoint is EINVAL")
      SINCE("4.9")
      POINT(no_program, "a descriptor of a map is EINVAL")
      POINT(beyond_record, "a program that reads behind the tracepoint's fields is EACCES")
      POINT(second, "a second program on the same event is EEXIST")
      FACT(two_on_tracepoint, bool, "-", "another event of that tracepoint takes it")
      FACT(twice_on_tracepoint, bool, "-", "two events of a tracepoint take the same program"))

HOLD_CLOSE_TRACEPOINT

/* An event that takes a counting program: it was put on one like it. */
static int must_willing(void)
{
	int willing = must_close_event();

	must_attach(willing, must_counter(), 1);
	must_close(willing);		/* before v4.15 a tracepoint had one program */
	return must_close_event();
}

static void expect_program_refused(int program, int want)
{
	expect_answer(pm_ioctl(must_willing(), PERF_EVENT_IOC_SET_BPF, program), want, "SET_BPF");
}

TEST(socket_filter)
{
	expect_program_refused(must_load_empty(BPF_PROG_TYPE_SOCKET_FILTER), EINVAL);
}

TEST(other_kind)
{
	const struct bpf_insn code[] = { INSN(0xb7, 0, 0, 0, 0), INSN(0x95, 0, 0, 0, 0) };
	int program = bpf_load(BPF_PROG_TYPE_PERF_EVENT, code, 2);

	if (program == -EINVAL && must_willing() >= 0)
		say_no("no BPF programs of type event: EINVAL, while those for tracepoints load");
	expect_program_refused(bpf_needed(program, "BPF_PROG_LOAD"), EINVAL);
}

TEST(no_program)
{
	expect_program_refused(must_counter(), EINVAL);
}

/* close(2) has one argument, and the record at its entry ends with it. */
TEST(beyond_record)
{
	const struct bpf_insn code[] = {
		INSN(0x79, 0, 1, 512, 0),	/* r0 = the eight bytes at 512 */
		INSN(0x95, 0, 0, 0, 0),
	};
	int program;

	must_close(must_willing());	/* says no where there are no programs for tracepoints */
	program = bpf_load(BPF_PROG_TYPE_TRACEPOINT, code, 2);
	expect_program_refused(bpf_needed(program, "BPF_PROG_LOAD"), EACCES);
}

TEST(second)
{
	int fd = must_close_event(), map = must_counter();
	int program = must_attach(fd, map, 1);

	fact_bool("twice_on_tracepoint",
		  pm_ioctl(must_close_event(), PERF_EVENT_IOC_SET_BPF, program) == 0);
	program = load_counting(BPF_PROG_TYPE_TRACEPOINT, map, own_numbers(), 1);
	expect_answer(pm_ioctl(fd, PERF_EVENT_IOC_SET_BPF, program), EEXIST, "a second SET_BPF");
	fact_bool("two_on_tracepoint",
		  pm_ioctl(must_close_event(), PERF_EVENT_IOC_SET_BPF, program) == 0);
}

PROBE_MAIN
