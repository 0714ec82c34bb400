/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does an event still follow new threads when its descriptor is closed? A tracer that may keep
 * few descriptors open wants to map, close and go on. A mapping keeps the event alive on every
 * kernel; an event without a mapping of its own goes with its descriptor, and since v4.5 takes
 * the copies in living threads with it (before, they kept it alive).
 * Observed: samples by tid in the ring of the event, or of the event it is forwarded to; for an
 * event that writes nowhere, the breakpoint it occupied.
 * Linux c6e5b73242d2 ("perf: Synchronously clean up child events") (v4.5)
 */
#include "probe.h"

PROBE(TITLE("inheritance after the descriptor is closed")
      SINCE("2.6.34")
      POINT(mapped.self, "closed but mapped: the task's own samples go on")
      POINT(mapped.living, "closed but mapped: a living copy goes on")
      POINT(mapped.new_with_living, "closed but mapped: a new thread is followed")
      POINT(mapped.new_alone, "closed but mapped, with no copy living: a new thread is followed")
      POINT(mapped.new_child, "closed but mapped: a forked child is followed")
      POINT(redirected.self, "forwarded and closed: nothing of the task itself any more")
      POINT(redirected.living, "forwarded and closed: the copy in a living thread stops")
      SINCE("4.5")
      COMMIT("c6e5b73242d2")
      POINT(redirected.new_with_living, "forwarded and closed: a new thread is not followed, "
	    "although a copy was living")
      SINCE("4.5")
      COMMIT("c6e5b73242d2")
      POINT(redirected.new_alone, "forwarded and closed: a new thread is not followed")
      POINT(redirected.new_child, "forwarded and closed: a forked child is not followed")
      POINT(unmapped_alone, "not mapped and closed: the event is destroyed")
      NEEDS("breakpoint")
      POINT(unmapped_living, "not mapped and closed: the copy in a living thread is destroyed")
      SINCE("4.5")
      COMMIT("c6e5b73242d2")
      NEEDS("breakpoint"))

#define FAULTS 15

/* Where the samples arrive, and the event that makes them. */
FIXTURE(lives)
{
	struct watch ring;
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
		cannot_tell("no CPU to stay on");
	attr.inherit = 1;
	attr.disabled = variant->redirected;
	self->ring = must_watch(&attr, 0, cpu, 8);
	touch_ring(&self->ring.ring);
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

/* Samples of a task (NULL: this one) that causes faults now. */
static int samples_of(struct __test_metadata *_metadata, FIXTURE_DATA(lives) *self,
		      struct worker *worker)
{
	const uint32_t tid = worker ? worker->tid : pm_gettid();
	struct pm_record record;
	int count = 0;

	ASSERT_EQ(0, cause_faults(1));
	while (seek(&self->ring, PERF_RECORD_SAMPLE, &record))
		;
	ASSERT_EQ(0, worker ? worker_faults(worker, FAULTS) : cause_faults(FAULTS));
	while (seek(&self->ring, PERF_RECORD_SAMPLE, &record))
		count += record.sample.sid.tid == tid;
	return count;
}

static void close_source(struct __test_metadata *_metadata, FIXTURE_DATA(lives) *self)
{
	int before = samples_of(_metadata, self, NULL);

	if (before != FAULTS)
		cannot_tell("samples before the close: %d want=%d", before, FAULTS);
	ASSERT_EQ(0, close(self->source));
	ASSERT_EQ(-1, fcntl(self->source, F_GETFD));
}

/* Goes on although it should have stopped: what kernels before v4.5 do. */
static void judge(struct __test_metadata *_metadata, FIXTURE_DATA(lives) *self, int count)
{
	if (count == self->want)
		return;
	if (!self->want && count == FAULTS)
		say_no("goes on after the close, as before v4.5: %d of %d samples", count, FAULTS);
	broken("samples=%d want=%d after the close", count, self->want);
}

TEST_F(lives, self)
{
	close_source(_metadata, self);
	judge(_metadata, self, samples_of(_metadata, self, NULL));
}

TEST_F(lives, living)
{
	must_start(&self->living, WORKER_THREAD);
	ASSERT_EQ(FAULTS, samples_of(_metadata, self, &self->living));
	close_source(_metadata, self);
	judge(_metadata, self, samples_of(_metadata, self, &self->living));
}

TEST_F(lives, new_with_living)
{
	must_start(&self->living, WORKER_THREAD);
	ASSERT_EQ(FAULTS, samples_of(_metadata, self, &self->living));
	close_source(_metadata, self);
	must_start(&self->newer, WORKER_THREAD);
	judge(_metadata, self, samples_of(_metadata, self, &self->newer));
}

TEST_F(lives, new_alone)
{
	close_source(_metadata, self);
	must_start(&self->newer, WORKER_THREAD);
	judge(_metadata, self, samples_of(_metadata, self, &self->newer));
}

TEST_F(lives, new_child)
{
	close_source(_metadata, self);
	must_start(&self->newer, WORKER_CHILD);
	judge(_metadata, self, samples_of(_metadata, self, &self->newer));
}

/* ------------------------------------------------------------------------------- unmapped */

static volatile int watched;

static int open_breakpoint(struct __test_metadata *_metadata)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_BREAKPOINT, 0);

	require(REQUIRE_PERF | REQUIRE_BREAKPOINT);
	attr.bp_type = HW_BREAKPOINT_W;
	attr.bp_addr = (uintptr_t)&watched;
	attr.bp_len = HW_BREAKPOINT_LEN_4;
	attr.inherit = 1;
	return must_open(&attr, 0, -1, -1, 0);
}

static void want_released(struct __test_metadata *_metadata, int fd, pid_t tid, int free)
{
	int before = free_breakpoints(tid), after;

	if (free < 1 || before != free - 1)
		cannot_tell("breakpoints: %d free, %d with one taken", free, before);
	close(fd);
	after = free_breakpoints(tid);
	if (after == before)
		say_no("the breakpoint stays taken after the close");
	if (after != free)
		broken("breakpoints: %d free before, %d after", free, after);
}

TEST(unmapped_alone)
{
	int free = free_breakpoints(0);

	want_released(_metadata, open_breakpoint(_metadata), 0, free);
}

TEST(unmapped_living)
{
	int free = free_breakpoints(0), fd = open_breakpoint(_metadata);
	struct worker worker;

	must_start(&worker, WORKER_THREAD);
	want_released(_metadata, fd, worker.tid, free);
}

PROBE_MAIN
