/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What ends a redirection? A source that is closed is gone, for nothing else holds it; a target
 * may be closed while its ring is mapped; when that ring goes, its sources are cut off without
 * anybody being told, and count on: lost data that only looks like silence.
 * Observed by records in the target, counts and poll of the source.
 */
#include "probe.h"

PROBE(TITLE("the end of a redirection")
      SINCE("2.6.35")
      POINT(closed_source_stops, "a closed source writes no more; the target works on")
      POINT(closed_target_continues, "a target closed but mapped still receives")
      POINT(unmapped_target_cuts_off, "when the target's ring goes, the source counts on silently")
      POINT(cut_off_source_polls_hup, "then poll of the source reports POLLHUP")
      SINCE("3.18")
      POINT(cut_off_source_returns, "a source that was cut off can be redirected again")
      POINT(detach_stops_output, "SET_OUTPUT with a long -1 ends it; the source counts on")
      POINT(detached_source_polls_hup, "then poll of the source reports POLLHUP")
      SINCE("3.18"))

FIXTURE(pair)
{
	struct watch target;
	int source;
};

static struct perf_event_attr plain;

FIXTURE_SETUP(pair)
{
	plain = attr_faults(PERF_SAMPLE_IP);
	self->target = must_watch(&plain, 0, -1, 1);
	self->source = must_open(&plain, 0, -1, -1, 0);
	must_ioctl(self->source, PERF_EVENT_IOC_SET_OUTPUT, self->target.fd);
	if (sample_faults(self->source, 5) != 5 ||
	    count_records(&self->target.ring, PERF_RECORD_SAMPLE) != 5)
		broken("redirected, but 5 page faults are not 5 records in the target");
}

FIXTURE_TEARDOWN(pair)
{
	close(self->target.fd);
}

TEST_F(pair, closed_source_stops)
{
	int found[2];

	must_ioctl(self->source, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(5));
	must_close(self->source);
	found[0] = count_records(&self->target.ring, PERF_RECORD_SAMPLE);
	ASSERT_EQ(0, cause_faults(20));
	found[0] = count_records(&self->target.ring, PERF_RECORD_SAMPLE) + (found[0] < 5 ? 99 : 0);
	sample_faults(self->target.fd, 9);
	found[1] = count_records(&self->target.ring, PERF_RECORD_SAMPLE);
	if (found[0] || found[1] != 9)
		broken("records=%d of the closed source, %d of the target, want=0,9", found[0],
		       found[1]);
}

TEST_F(pair, closed_target_continues)
{
	int found;

	must_close(self->target.fd);
	sample_faults(self->source, 20);
	found = count_records(&self->target.ring, PERF_RECORD_SAMPLE);
	if (found != 20)
		broken("records=%d want=20 in the ring of a closed target", found);
}

TEST_F(pair, unmapped_target_cuts_off)
{
	uint64_t counted;
	uint64_t head;

	pm_ring_close(&self->target.ring);
	counted = sample_faults(self->source, 20);
	must_map(self->target.fd, 1, &self->target.ring);
	head = pm_ring_head(&self->target.ring);
	sample_faults(self->source, 20);
	if (counted != 20 || head || pm_ring_head(&self->target.ring))
		broken("counted=%" PRIu64 " want=20; a new ring has data_head=%" PRIu64
		       " then %" PRIu64 " want=0", counted, head,
		       pm_ring_head(&self->target.ring));
}

static void must_hang_up(struct __test_metadata *_metadata, int fd, int before)
{
	const int after = poll_once(fd, POLLIN, 0);

	if (!before && !after)
		say_no("poll tells no difference between a source that is idle and one cut off");
	if (before || after != POLLHUP)
		broken("revents=%#x redirected, %#x cut off, want 0 and POLLHUP", before, after);
}

TEST_F(pair, cut_off_source_polls_hup)
{
	const int before = poll_once(self->source, POLLIN, 0);

	pm_ring_close(&self->target.ring);
	must_hang_up(_metadata, self->source, before);
}

TEST_F(pair, cut_off_source_returns)
{
	int found;

	pm_ring_close(&self->target.ring);
	must_map(self->target.fd, 2, &self->target.ring);	/* of a size that shows it is new */
	hold_rule(pm_ioctl(self->source, PERF_EVENT_IOC_SET_OUTPUT, self->target.fd), 0, BROKEN,
		  "SET_OUTPUT of a source that was cut off");
	sample_faults(self->source, 20);
	found = count_records(&self->target.ring, PERF_RECORD_SAMPLE);
	if (found != 20)
		broken("records=%d want=20 after the second SET_OUTPUT", found);
}

TEST_F(pair, detach_stops_output)
{
	uint64_t counted;
	int found;

	hold_rule(pm_ioctl(self->source, PERF_EVENT_IOC_SET_OUTPUT, -1ul), 0, BROKEN,
		  "SET_OUTPUT with a long -1");
	counted = sample_faults(self->source, 20);
	found = count_records(&self->target.ring, PERF_RECORD_SAMPLE);
	if (counted != 20 || found)
		broken("counted=%" PRIu64 " want=20; records=%d want=0 in the target", counted,
		       found);
}

TEST_F(pair, detached_source_polls_hup)
{
	const int before = poll_once(self->source, POLLIN, 0);

	must_ioctl(self->source, PERF_EVENT_IOC_SET_OUTPUT, -1ul);
	must_hang_up(_metadata, self->source, before);
}

PROBE_MAIN
