/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When does poll report that a watched task has ended? For an inherited event only when the target
 * and every task that inherited it are gone; a reader that closes earlier loses their records.
 * Observed: poll of a mapped event on a thread that has started another one, while the first and
 * then the second ends; and the same without inherit.
 * Linux 179033b3e064 ("perf: Add PERF_EVENT_STATE_EXIT state for events with exited task") (v3.18)
 */
#include "probe.h"
#include "fork_exec.h"
#include "waiter.h"

PROBE(TITLE("POLLHUP at the end of tasks")
      SINCE("3.18")
      COMMIT("179033b3e064")
      POINT(plain.at_end, "POLLHUP once the target of an event without inherit has ended")
      POINT(plain.wakes, "a poll that waits returns when the target of such an event ends")
      POINT(inherit.at_end, "POLLHUP once target and inheriting task have ended, not in between")
      POINT(inherit.wakes, "a poll that waits returns when the last of these tasks has ended")
      POINT(plain.not_before, "no POLLHUP while the target lives, though it comes at its end")
      POINT(inherit.not_before, "no POLLHUP while both tasks live, though it comes at their end"))

FIXTURE(hang_up)
{
	struct worker target, inherited;
	struct sampler sampler;
};

FIXTURE_VARIANT(hang_up)
{
	bool inherit;
};
FIXTURE_VARIANT_ADD(hang_up, plain)
{
	.inherit = false,
};
FIXTURE_VARIANT_ADD(hang_up, inherit)
{
	.inherit = true,
};

FIXTURE_SETUP(hang_up)
{
	const struct perf_event_attr plain = attr_sideband();
	struct perf_event_attr attr = plain;
	int cpu = move_to_nth_cpu(0);

	if (cpu < 0)
		say_unknown("no CPU to stay on");
	if (worker_prepare(&self->inherited, WORKER_THREAD))
		say_unknown("no pipes");
	must_start_worker(&self->target, WORKER_THREAD);
	attr.inherit = variant->inherit;
	attr.disabled = 0;
	self->sampler = must_sampler(&attr, self->target.tid, cpu, 1);
	if (variant->inherit && worker_do(&self->target, worker_launch, &self->inherited))
		say_unknown("no second thread");
}

FIXTURE_TEARDOWN(hang_up)
{
	worker_stop(&self->inherited);
	worker_stop(&self->target);
}

static int hung_up(struct sampler *sampler, int timeout_ms)
{
	int revents = poll_once(sampler->fd, POLLIN, timeout_ms);

	return revents < 0 ? revents : !!(revents & POLLHUP);
}

TEST_F(hang_up, not_before)
{
	int early = hung_up(&self->sampler, 20), late;

	if (early)
		say_broken("POLLHUP while the target lives");
	ASSERT_EQ(0, worker_stop(&self->target));
	ASSERT_EQ(0, worker_stop(&self->inherited));
	late = hung_up(&self->sampler, 1000);	/* the control: it can come */
	if (!late)
		say_no("no POLLHUP within a second of the end either");
}

TEST_F(hang_up, at_end)
{
	int early;

	ASSERT_EQ(0, worker_stop(&self->target));
	early = hung_up(&self->sampler, variant->inherit ? 20 : 0);
	if (variant->inherit && early)
		say_broken("POLLHUP although a thread that inherited the event lives");
	ASSERT_EQ(0, worker_stop(&self->inherited));
	if (!hung_up(&self->sampler, 0))
		say_no("no POLLHUP although every task of the event has ended");
}

TEST_F(hang_up, wakes)
{
	struct waiter waiter;
	int woke;

	ASSERT_EQ(0, waiter_start(&waiter, self->sampler.fd, -1));
	ASSERT_EQ(0, worker_stop(&self->target));
	ASSERT_EQ(0, worker_stop(&self->inherited));
	woke = waiter_woke(&waiter, 1000);
	if (woke >= 0 && woke & POLLHUP)
		return;
	if (woke >= 0)
		say_broken("poll returned revents=%#x want POLLHUP", woke);
	if (hung_up(&self->sampler, 0))
		say_broken("poll slept a second past the end, although POLLHUP is there");
	say_no("no POLLHUP within a second, neither waiting nor asked for after it");
}

PROBE_MAIN
