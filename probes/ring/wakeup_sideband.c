/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When does a ring wake its reader if only side-band records (names, mappings, forks) arrive?
 * wakeup_events counts samples alone, so a leader that carries nothing else must use a watermark,
 * or its reader sleeps until half of the ring is full: a trap for profilers with a dummy leader.
 * Observed with changes of this thread's name, one COMM record each.
 */
#include <sys/prctl.h>

#include "probe.h"

PROBE(TITLE("wake-ups by side-band records")
      SINCE("2.6.31")
      POINT(default_is_half_ring, "without a threshold, side-band records give POLLIN once half "
	    "of the ring is written")
      POINT(events_do_not_count, "side-band records do not count for wakeup_events=1")
      POINT(watermark_counts, "wakeup_watermark=1 gives POLLIN with the first side-band record")
      FACT(default_bytes, int, "bytes", "written at the first POLLIN without a threshold"))

static struct sampler carrier(unsigned int watermark, unsigned int wakeup)
{
	struct perf_event_attr attr = attr_sideband();
	struct sampler sampler;

	attr.comm = 1;
	attr.watermark = watermark;
	attr.wakeup_events = wakeup;	/* shares its place with wakeup_watermark */
	sampler = must_sampler(&attr, 0, -1, 1);
	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	return sampler;
}

/* One COMM record. Returns its size. */
static uint64_t change_name(struct sampler *sampler)
{
	const uint64_t before = pm_ring_head(&sampler->ring);

	prctl(PR_SET_NAME, "perfmodes", 0, 0, 0);
	if (pm_ring_head(&sampler->ring) == before)
		say_broken("a change of name left no record, data_head=%" PRIu64, before);
	return pm_ring_head(&sampler->ring) - before;
}

TEST(default_is_half_ring)
{
	struct sampler sampler = carrier(0, 0);
	const uint64_t half = sampler.ring.data_size / 2;
	uint64_t record = 0;
	int ready = 0;

	while (!ready && pm_ring_head(&sampler.ring) < half + 2 * record) {
		record = change_name(&sampler);
		ready = poll_once(sampler.fd, POLLIN, 0);
	}
	fact_int("default_bytes", pm_ring_head(&sampler.ring));
	if (ready != POLLIN || pm_ring_head(&sampler.ring) < half)
		say_broken("revents=%#x after %" PRIu64 " bytes of %zu", ready,
			   pm_ring_head(&sampler.ring), sampler.ring.data_size);
}

TEST(events_do_not_count)
{
	struct sampler sampler = carrier(0, 1);
	int ready = 0;

	for (int i = 0; i < 5 && !ready; i++) {
		change_name(&sampler);
		ready = poll_once(sampler.fd, POLLIN, 0);
	}
	if (ready)
		say_broken("revents=%#x after %" PRIu64 " bytes of side-band", ready,
			   pm_ring_head(&sampler.ring));
}

TEST(watermark_counts)
{
	struct sampler sampler = carrier(1, 1);
	int ready = poll_once(sampler.fd, POLLIN, 0);

	if (ready)
		say_broken("ready before the first record: revents=%#x", ready);
	change_name(&sampler);
	ready = poll_once(sampler.fd, POLLIN, 0);
	if (ready != POLLIN)
		say_broken("revents=%#x after the first record, want POLLIN", ready);
}

PROBE_MAIN
