/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can the sampling period be changed while an event runs, and from when on?
 * Observed: page faults before and after; the samples are counted.
 * Linux bad7192b842c ("perf: Fix PERF_EVENT_IOC_PERIOD to force-reset the period") (v3.14)
 */
#include "probe.h"

#include <poll.h>

PROBE(TITLE("changing the period")
      SINCE("2.6.36")
      POINT(at_once, "from period 1000 to 1 the very next page fault is sampled")
      SINCE("3.14")
      COMMIT("bad7192b842c")
      POINT(lasts, "afterwards samples come with the new period, and the count goes on"))

static struct sampler watch_period(uint64_t period)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);

	attr.sample_period = period;
	return must_run_sampler(&attr, 0, -1, 4);
}

static int set_period(int fd, uint64_t period)
{
	return pm_ioctl(fd, PERF_EVENT_IOC_PERIOD, (uintptr_t)&period);
}

/*
 * The samples that have come. An event with many in a tick is held back until the next one, and
 * counts nothing then (v6.17 and later): the kernel of a late emulator finds a dozen too many.
 */
static int come(struct sampler *sampler)
{
	struct pm_record record;
	int samples = 0;

	while (find_record(sampler, 0, &record)) {
		if (record.type == PERF_RECORD_THROTTLE)
			say_unknown("throttled after %d samples", samples);
		samples += record.type == PERF_RECORD_SAMPLE;
	}
	return samples;
}

/* The samples of some page faults, with what the event counts meanwhile: a machine may add some. */
static int samples_of(struct sampler *sampler, unsigned int faults, uint64_t *ret_counted)
{
	const uint64_t before = must_count(sampler->fd);

	ASSERT_EQ(0, cause_faults(faults));
	must_ioctl(sampler->fd, PERF_EVENT_IOC_DISABLE, 0);
	*ret_counted = must_count(sampler->fd) - before;
	return come(sampler);
}

TEST(at_once)
{
	struct sampler sampler = watch_period(1000);
	uint64_t counted;
	int early, late;

	ASSERT_EQ(0, cause_faults(5));
	early = come(&sampler);
	ASSERT_EQ(0, set_period(sampler.fd, 1));
	late = samples_of(&sampler, 5, &counted);
	if (early || counted < 5 || late != (int)counted)
		say_broken("samples before=%d after=%d of %" PRIu64 " faults, want 0 and all",
			   early, late, counted);
}

/* So no tick gets more than two samples. */
#define PATIENT_MS 25

static void cause_slowly(unsigned int faults, unsigned int at_once)
{
	for (unsigned int i = 0; i < faults; i += at_once) {
		poll(NULL, 0, PATIENT_MS);
		ASSERT_EQ(0, cause_faults(at_once));
	}
}

TEST(lasts)
{
	struct sampler sampler = watch_period(1);
	uint64_t before, counted;
	int seen;

	cause_slowly(10, 2);
	ASSERT_EQ(0, set_period(sampler.fd, 10));
	cause_slowly(20, 20);		/* the period under way may end as the old one */
	before = must_count(sampler.fd);
	(void)come(&sampler);
	cause_slowly(100, 20);
	must_ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	counted = must_count(sampler.fd) - before;
	seen = come(&sampler);
	if (counted < 100 || seen < (int)counted / 10 || seen > (int)counted / 10 + 1)
		say_broken("samples=%d of %" PRIu64 " faults, want one of ten", seen, counted);
	if (before + counted < 130)
		say_broken("count=%" PRIu64 " of 130 faults: PERIOD has set it back",
			   before + counted);
}

PROBE_MAIN
