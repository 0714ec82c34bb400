/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does a BPF program run at each hit of a tracepoint it is put on by SET_BPF, and does its answer
 * count? Filters of perf and whole tracers are built on it. Observed: a program that counts in a
 * map, for 23 calls of close(2) with numbers that nobody else closes.
 * The program belongs to the tracepoint: it runs for other tasks as well, whatever the event's
 * scope, and while the event is disabled. That is by design, so these are facts.
 * Linux 98b5c2c65c29 ("perf, bpf: allow bpf programs attach to tracepoints") (v4.7)
 */
#include "probe.h"
#include "bpf.h"
#include "tracepoint.h"

PROBE(TITLE("a BPF program on a tracepoint")
      SINCE("4.7")
      COMMIT("98b5c2c65c29")
      NEEDS("bpf tracefs")
      POINT(runs, "a program runs once for each of 23 hits and sees the call's argument")
      POINT(lets_pass, "with a program that returns 1 the event counts the 23 hits as well")
      POINT(holds_back, "with a program that returns 0 the event counts none of 23 hits")
      POINT(gone_with_event, "a program runs no more once its event is closed, though it is loaded")
      FACT(other_tasks, int, "hits", "hits the program ran for, of 5 of a child")
      FACT(while_disabled, int, "hits", "hits it ran for, of 5 while disabled"))

HOLD_CLOSE_TRACEPOINT

static void run(int answer, uint64_t *ret_ran, uint64_t *ret_counted)
{
	int fd = must_close_event(), map = must_counter();

	must_attach(fd, map, answer);
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	cause_closes(own_numbers(), 23);
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	*ret_ran = counter_read(map);
	*ret_counted = must_count(fd);
}

TEST(runs)
{
	uint64_t ran, counted;

	run(1, &ran, &counted);
	if (ran != 23)
		say_broken("ran=%" PRIu64 " want=23", ran);
}

TEST(lets_pass)
{
	uint64_t ran, counted;

	run(1, &ran, &counted);
	if (counted != 23)
		say_broken("counted=%" PRIu64 " want=23, ran=%" PRIu64, counted, ran);
}

TEST(holds_back)
{
	uint64_t ran, counted;

	run(0, &ran, &counted);
	if (counted || ran != 23)
		say_broken("counted=%" PRIu64 " want=0, ran=%" PRIu64 " want=23", counted, ran);
}

/* Not the parent's numbers, which are made of its process id: those of its first. */
static int close_five(void *first)
{
	cause_closes(*(int *)first, 5);
	return 0;
}

TEST(gone_with_event)
{
	int fd = must_close_event(), map = must_counter(), first = own_numbers();
	uint64_t disabled, children, closed;

	must_attach(fd, map, 1);
	cause_closes(first, 5);
	disabled = counter_read(map);
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, wait_child(start_child(close_five, &first)));
	children = counter_read(map) - disabled;
	fact_int("while_disabled", disabled);
	fact_int("other_tasks", children);
	cause_closes(first, 5);
	if (counter_read(map) != disabled + children + 5)
		say_broken("it did not run before the event was closed");
	must_close(fd);
	cause_closes(first, 5);
	closed = counter_read(map) - disabled - children - 5;
	if (closed)
		say_broken("ran=%" PRIu64 " of 5 hits after the event was closed", closed);
}

PROBE_MAIN
