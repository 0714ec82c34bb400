/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which kinds of access can a breakpoint count, and are they counted exactly? Breakpoints are the
 * only events that any process may have, that interrupt at a chosen instruction, and that need no
 * PMU. Observed: a known number of reads, writes and calls, for each kind that the kernel takes.
 * x86 has no breakpoint for reads alone, POWER none for execution.
 * Linux 24f1e32c60c4 ("hw-breakpoints: Rewrite the hw-breakpoints layer on top of perf events")
 * (v2.6.33)
 */
#include "probe.h"
#include "breakpoint.h"
#include "call.h"
#include "finding.h"

PROBE(TITLE("accesses that a breakpoint counts")
      SINCE("2.6.33")
      COMMIT("24f1e32c60c4")
      NEEDS("breakpoint")
      POINT(w.counts, "W: 7 writes and 5 reads are 7 counts")
      POINT(r.counts, "R: 7 writes and 5 reads are 5 counts")
      POINT(rw.counts, "RW: 7 writes and 5 reads are 12 counts")
      POINT(x.counts, "X: 9 calls are 9 counts")
      POINT(w.leaves_neighbours, "W: accesses beside the watched variable are not counted")
      POINT(r.leaves_neighbours, "R: accesses beside the watched variable are not counted")
      POINT(rw.leaves_neighbours, "RW: accesses beside the watched variable are not counted")
      POINT(x.leaves_neighbours, "X: calls of another function are not counted")
      FACT(kernel_writes, int, "counts", "what a write breakpoint with exclude_kernel counts when "
	    "read(2) fills its variable 4 times"))

static volatile int32_t cells[8] __attribute__((aligned(64)));
static volatile int32_t sink;
#define WATCHED 4
#define NEIGHBOUR 6

/* Two functions that no compiler folds into one another or into their callers. */
static void __attribute__((noinline)) watched_function(void)
{
	sink += 1;
	__asm__ volatile("" ::: "memory");
}

static void __attribute__((noinline)) other_function(void)
{
	sink += 2;
	__asm__ volatile("" ::: "memory");
}

static void access_cell(int index, int writes, int reads)
{
	for (int i = 0; i < writes; i++)
		cells[index] = i;
	for (int i = 0; i < reads; i++)
		sink = cells[index];
}

FIXTURE(access)
{
	int fd;
};

FIXTURE_VARIANT(access)
{
	uint32_t type;
	uint64_t want;
};

FIXTURE_VARIANT_ADD(access, w)
{
	.type = HW_BREAKPOINT_W, .want = 7,
};

FIXTURE_VARIANT_ADD(access, r)
{
	.type = HW_BREAKPOINT_R, .want = 5,
};

FIXTURE_VARIANT_ADD(access, rw)
{
	.type = HW_BREAKPOINT_RW, .want = 12,
};

FIXTURE_VARIANT_ADD(access, x)
{
	.type = HW_BREAKPOINT_X, .want = 9,
};

static struct perf_event_attr breakpoint(uint32_t type)
{
	if (type == HW_BREAKPOINT_X)
		return attr_call(watched_function);
	return attr_access(type, &cells[WATCHED], HW_BREAKPOINT_LEN_4);
}

FIXTURE_SETUP(access)
{
	struct perf_event_attr attr = breakpoint(variant->type);
	struct perf_event_attr writes = breakpoint(HW_BREAKPOINT_W);
	struct finding finding;

	self->fd = pm_open(&attr, 0, -1, -1, 0);
	if (self->fd < 0) {
		judge_pair_machine(&attr, &writes, "this kind of access", &finding);
		say(&finding);
	}
	must_ioctl(self->fd, PERF_EVENT_IOC_ENABLE, 0);
}

FIXTURE_TEARDOWN(access)
{
	close(self->fd);
}

TEST_F(access, counts)
{
	access_cell(WATCHED, 7, 5);
	for (int i = 0; i < 9; i++)
		watched_function();
	must_ioctl(self->fd, PERF_EVENT_IOC_DISABLE, 0);
	expect_count(self->fd, variant->want);
}

TEST_F(access, leaves_neighbours)
{
	uint64_t count, first;
	int pipes[2];

	access_cell(WATCHED, 1, 1);
	watched_function();
	first = must_count(self->fd);
	access_cell(NEIGHBOUR, 7, 5);
	access_cell(WATCHED - 2, 7, 5);
	for (int i = 0; i < 9; i++)
		other_function();
	count = must_count(self->fd) - first;
	if (!first || count)
		say_broken("watched=%" PRIu64 " want>=1, neighbours=%" PRIu64 " want=0", first,
			   count);
	if (variant->type != HW_BREAKPOINT_W || pipe(pipes) < 0)
		return;
	for (int i = 0; i < 4; i++)
		if (write(pipes[1], "word", 4) != 4 ||
		    read(pipes[0], (void *)&cells[WATCHED], 4) != 4)
			return;
	fact_int("kernel_writes", must_count(self->fd) - first);
}

PROBE_MAIN
