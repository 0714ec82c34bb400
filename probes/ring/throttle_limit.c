/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does the kernel say so when it holds back an event that samples too fast? THROTTLE and
 * UNTHROTTLE records bracket the gap, so that a profile does not mistake it for idleness.
 * The limit is lowered to 100 a second, one sample a tick, so that throttling is certain on any
 * machine, one that takes a millisecond for a sample included. Observed with the CPU clock at a
 * period of 20 us. The old limit is put back whatever happens.
 */
#include "probe.h"
#include "privilege.h"
#include "ticker.h"

#define LIMIT "/proc/sys/kernel/perf_event_max_sample_rate"
#define BUSY_NS 60000000ull
#define MOST_ROUNDS 30		/* a guest that hardly gets to run has few ticks in one of them */

PROBE(TITLE("throttling above a lowered limit of the sample rate")
      SINCE("2.6.31")
      NEEDS("root")
      DISTURBS("kernel.perf_event_max_sample_rate")
      POINT(throttled_and_released, "above the limit an event is throttled, and samples again "
	    "later")
      POINT(records_come_in_turn, "THROTTLE and UNTHROTTLE records alternate, THROTTLE first")
      POINT(records_carry_ids, "THROTTLE and UNTHROTTLE records carry the event's id")
      POINT(frequency_is_refused, "a frequency above the limit is refused with EINVAL"))

struct tally {
	uint64_t samples, throttles, unthrottles, turns_missed, wrong_ids;
};

static void __attribute__((constructor)) keep_limit(void)
{
	restore_at_exit(LIMIT);
}

static void lower_limit(void)
{
	int error;

	require(REQUIRE_PERF | REQUIRE_ROOT);
	error = write_file(LIMIT, "100");
	if (error)
		say_blocked("%s cannot be written: %s", LIMIT, pm_errno_name(error));
}

static void tally_records(struct sampler *sampler, uint64_t id, struct tally *tally)
{
	struct pm_record record;

	while (find_record(sampler, 0, &record)) {
		const bool starts = record.type == PERF_RECORD_THROTTLE;

		tally->samples += record.type == PERF_RECORD_SAMPLE;
		if (!starts && record.type != PERF_RECORD_UNTHROTTLE)
			continue;
		tally->turns_missed += starts == (tally->throttles > tally->unthrottles);
		tally->throttles += starts;
		tally->unthrottles += !starts;
		tally->wrong_ids += record.throttle.id != id;
	}
}

static struct tally sample_fast(void)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_CPU_CLOCK);
	struct tally tally = { 0 };
	const uint64_t begin = now_ns();
	struct pm_counts counts;
	struct sampler sampler;
	struct ticker ticker;

	attr.sample_period = 20000;
	attr.sample_type = PERF_SAMPLE_TID;
	attr.read_format = PERF_FORMAT_ID;
	sampler = must_sampler(&attr, 0, -1, 16);
	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	counts = must_counts(sampler.fd, attr.read_format);
	must_tick(&ticker, 10);
	for (int round = 0; round < MOST_ROUNDS && !tally.unthrottles; round++) {
		spin_ns(BUSY_NS);
		tally_records(&sampler, counts.member[0].id, &tally);
		ticker_count(&ticker);
	}
	if (!tally.unthrottles && ticker.ticks < 20)
		say_unknown("no UNTHROTTLE, but another timer interrupted %u times only",
			    ticker.ticks);
	/* The limit is one sample a tick, of which there are 1,000 a second at most. */
	if (!tally.throttles && tally.samples < (now_ns() - begin) / 1000000)
		say_unknown("%" PRIu64 " samples in %" PRIu64 " ms, which may be one a tick",
			    tally.samples, (now_ns() - begin) / 1000000);
	return tally;
}

FIXTURE(fast)
{
	struct tally tally;
};

FIXTURE_SETUP(fast)
{
	lower_limit();
	self->tally = sample_fast();
}

FIXTURE_TEARDOWN(fast)
{
}

TEST_F(fast, throttled_and_released)
{
	const struct tally *tally = &self->tally;

	if (!tally->samples || !tally->throttles || !tally->unthrottles)
		say_broken("samples=%" PRIu64 " throttles=%" PRIu64 " unthrottles=%" PRIu64,
			   tally->samples, tally->throttles, tally->unthrottles);
}

TEST_F(fast, records_come_in_turn)
{
	if (!self->tally.throttles || self->tally.turns_missed)
		say_broken("%" PRIu64 " records out of turn, of %" PRIu64 " throttles",
			   self->tally.turns_missed, self->tally.throttles);
}

TEST_F(fast, records_carry_ids)
{
	if (!self->tally.throttles || self->tally.wrong_ids)
		say_broken("%" PRIu64 " records with another id, of %" PRIu64 " throttles",
			   self->tally.wrong_ids, self->tally.throttles);
}

TEST(frequency_is_refused)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_CPU_CLOCK);

	lower_limit();
	attr.freq = 1;
	attr.sample_freq = 90;
	close(must_open(&attr, 0, -1, -1, 0));
	attr.sample_freq = 101;
	expect_refused(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN, "a frequency above the limit");
}

PROBE_MAIN
