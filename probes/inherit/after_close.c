/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does an event still follow new threads when its descriptor is closed? A tracer that may keep few
 * descriptors open wants to map, close and go on. A mapping keeps the event alive on every kernel;
 * one that is redirected is destroyed with its descriptor, and since v4.5 so are the copies in
 * living threads, which kept it alive before.
 * Observed: samples by tid in the ring of the event, or of the event it is forwarded to.
 * Linux c6e5b73242d2 ("perf: Synchronously clean up child events") (v4.5)
 */
#include "probe.h"

PROBE(TITLE("inheritance after the descriptor is closed")
      SINCE("2.6.34")
      POINT(mapped.self, "closed but mapped, an inherit event still samples its own task")
      POINT(mapped.living, "closed but mapped, an inherit event still samples a thread that lives")
      POINT(mapped.new_with_living, "closed but mapped, an inherit event follows a new thread "
	    "while another lives")
      POINT(mapped.new_alone, "closed but mapped, an inherit event follows a new thread while no "
	    "other lives")
      POINT(mapped.new_child, "closed but mapped, an inherit event follows a forked child")
      POINT(redirected.self, "redirected and closed, an inherit event no longer samples its own "
	    "task")
      POINT(redirected.living, "redirected and closed, an inherit event no longer samples a "
	    "thread that lives")
      SINCE("4.5")
      COMMIT("c6e5b73242d2")
      POINT(redirected.new_with_living, "forwarded and closed: a new thread is not followed, "
      	    "although a copy was living")
      SINCE("4.5")
      COMMIT("c6e5b73242d2")
      POINT(redirected.new_alone, "redirected and closed, an inherit event does not follow a new "
	    "thread")
      POINT(redirected.new_child, "redirected and closed, an inherit event does not follow a "
	    "forked child"))

#define FAULTS 15

/* Where the samples arrive, and the event that makes them. */
FIXTURE(lives)
{
	struct sampler ring;
	struct worker living, newer;
	int source, want;
};

FIXTURE_VARIANT(lives)
{
	bool redirected;
};
FIXTURE_VARIANT_ADD(lives, mapped)
{
	.redirected = false,
};
FIXTURE_VARIANT_ADD(lives, redirected)
{
	.redirected = true,
};

FIXTURE_SETUP(lives)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);
	int cpu = move_to_nth_cpu(0);

	if (cpu < 0)
		say_unknown("no CPU to stay on");
	attr.inherit = 1;
	attr.disabled = variant->redirected;
	self->ring = must_sampler(&attr, 0, cpu, 8);
	self->source = self->ring.fd;
	self->want = variant->redirected ? 0 : FAULTS;
	if (!variant->redirected)
		return;
	attr.disabled = 0;
	self->source = must_open(&attr, 0, cpu, -1, 0);
	must_ioctl(self->source, PERF_EVENT_IOC_SET_OUTPUT, self->ring.fd);
}

FIXTURE_TEARDOWN(lives)
{
	worker_stop(&self->newer);
	worker_stop(&self->living);
}

static void close_source(FIXTURE_DATA(lives) * self)
{
	int before = samples_of_faults(&self->ring, NULL, FAULTS);

	if (before != FAULTS)
		say_unknown("samples before the close: %d want=%d", before, FAULTS);
	must_close(self->source);
}

/* Goes on although it should have stopped: what kernels before v4.5 do. */
static void judge(FIXTURE_DATA(lives) * self, struct worker *worker)
{
	int count = samples_of_faults(&self->ring, worker, FAULTS);

	if (!self->want && count == FAULTS)
		say_no("goes on after the close, as before v4.5: %d of %d samples", count, FAULTS);
	if (count != self->want)
		say_broken("samples=%d want=%d after the close", count, self->want);
}

TEST_F(lives, self)
{
	close_source(self);
	judge(self, NULL);
}

TEST_F(lives, living)
{
	must_start_worker(&self->living, WORKER_THREAD);
	ASSERT_EQ(FAULTS, samples_of_faults(&self->ring, &self->living, FAULTS));
	close_source(self);
	judge(self, &self->living);
}

TEST_F(lives, new_with_living)
{
	must_start_worker(&self->living, WORKER_THREAD);
	ASSERT_EQ(FAULTS, samples_of_faults(&self->ring, &self->living, FAULTS));
	close_source(self);
	must_start_worker(&self->newer, WORKER_THREAD);
	judge(self, &self->newer);
}

TEST_F(lives, new_alone)
{
	close_source(self);
	must_start_worker(&self->newer, WORKER_THREAD);
	judge(self, &self->newer);
}

TEST_F(lives, new_child)
{
	close_source(self);
	must_start_worker(&self->newer, WORKER_CHILD);
	judge(self, &self->newer);
}

PROBE_MAIN
