/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whose output does PAUSE_OUTPUT stop where several share a ring? A pause, whoever asks for it, is
 * a pause of the ring: a reader needs one call, and no event can be paused by itself.
 * Observed: paused through one event, written through the other.
 * Linux commit 86e7972f690c ("perf/ring_buffer: Introduce new ioctl options to pause and resume
 * the ring-buffer") (v4.7)
 */
#include "probe.h"
#include "redirection.h"

PROBE(TITLE("pausing a shared ring")
      SINCE("4.7")
      COMMIT("86e7972f690c")
      POINT(by_target, "PAUSE_OUTPUT on the target stops the source's records")
      POINT(by_source, "PAUSE_OUTPUT on the source stops the target's records"))

/* Pause through one event, write through the other. */
static void pause_through(struct sampler *target, int pauser, int writer)
{
	uint64_t counted;
	int found;

	must_samples(writer, &target->ring, 5, "before the pause");
	ask_ioctl(pauser, PERF_EVENT_IOC_PAUSE_OUTPUT, 1, "PAUSE_OUTPUT");
	counted = cause_enabled_faults(writer, 20);
	found = count_records(&target->ring, PERF_RECORD_SAMPLE);
	if (counted != 20 || found)
		say_broken("paused: counted=%" PRIu64 " records=%d, want=20,0", counted, found);
	must_ioctl(pauser, PERF_EVENT_IOC_PAUSE_OUTPUT, 0);
	expect_samples(writer, &target->ring, 20, "resumed");
}

TEST(by_target)
{
	const struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	struct redirection pair = must_redirect(&attr);

	pause_through(&pair.target, pair.target.fd, pair.source);
}

TEST(by_source)
{
	const struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	struct redirection pair = must_redirect(&attr);

	pause_through(&pair.target, pair.source, pair.target.fd);
}

PROBE_MAIN
