/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whose accesses does a breakpoint count? Debug registers travel with a thread. Without inherit a
 * write by another thread goes unseen, which makes a watchpoint lie about a shared variable.
 * Observed: exact writes of this thread, of one that was there before, of one that came after, and
 * of a forked child, with and without inherit.
 */
#include "probe.h"
#include "breakpoint.h"

PROBE(TITLE("breakpoints and threads")
      SINCE("2.6.33")
      NEEDS("breakpoint")
      POINT(own.opener, "without inherit: the attached thread's 5 writes are 5 counts")
      POINT(inherit.opener, "with inherit: the attached thread's 5 writes are 5 counts")
      POINT(own.earlier_thread, "without inherit: a thread that was there before is not counted")
      POINT(inherit.earlier_thread, "with inherit: a thread that was there before is not counted")
      POINT(own.later_thread, "without inherit: a thread that came later is not counted")
      POINT(inherit.later_thread, "with inherit: 7 writes of a thread that came later are counted")
      POINT(own.child, "without inherit: a forked child is not counted")
      POINT(inherit.child, "with inherit: 7 writes of a forked child are counted"))

static volatile int32_t cell __attribute__((aligned(8)));

static int write_cell(void *times)
{
	for (int i = 0; i < (int)(intptr_t)times; i++)
		cell = i;
	return 0;
}

FIXTURE(threads)
{
	struct worker earlier;
	int fd;
};

FIXTURE_VARIANT(threads)
{
	bool inherit;
};

FIXTURE_VARIANT_ADD(threads, own)
{
	.inherit = false,
};

FIXTURE_VARIANT_ADD(threads, inherit)
{
	.inherit = true,
};

FIXTURE_SETUP(threads)
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, &cell, 4);

	must_start_worker(&self->earlier, WORKER_THREAD);
	attr.disabled = 0;
	attr.inherit = variant->inherit;
	self->fd = must_open(&attr, 0, -1, -1, 0);
}

FIXTURE_TEARDOWN(threads)
{
	close(self->fd);
	worker_stop(&self->earlier);
}

TEST_F(threads, opener)
{
	write_cell((void *)5);
	expect_count(self->fd, 5);
}

TEST_F(threads, earlier_thread)
{
	write_cell((void *)5);
	ASSERT_EQ(0, worker_do(&self->earlier, write_cell, (void *)7));
	expect_count(self->fd, 5);
}

static void later(int fd, enum worker_kind kind, bool inherit)
{
	struct worker worker;

	must_start_worker(&worker, kind);
	write_cell((void *)5);
	ASSERT_EQ(0, worker_do(&worker, write_cell, (void *)7));
	expect_count(fd, inherit ? 12 : 5);
	worker_stop(&worker);
	expect_count(fd, inherit ? 12 : 5);	/* what has ended stays counted */
}

TEST_F(threads, later_thread)
{
	later(self->fd, WORKER_THREAD, variant->inherit);
}

TEST_F(threads, child)
{
	later(self->fd, WORKER_CHILD, variant->inherit);
}

PROBE_MAIN
