/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Samples between two readings of a clock. Included behind probe.h.
 */
#ifndef STAMPS_H
#define STAMPS_H

static inline uint64_t read_clock(int clock)
{
	uint64_t now;
	int error = pm_clock_ns(clock, &now);

	if (error)
		say_unknown("clock %d cannot be read: %s", clock, pm_errno_name(error));
	return now;
}

/* Page faults of a running sampler, each stamped between two readings of a clock. */
static inline void stamp_faults(struct sampler *sampler, int clock,
				struct pm_clock_bracket *brackets, int count)
{
	struct pm_record record;

	/* The first reading of a clock may cause page faults of its own. */
	brackets[0].before = read_clock(clock);
	ASSERT_EQ(0, cause_faults(1));
	for (int i = 0; i < count; i++) {
		while (find_record(sampler, PERF_RECORD_SAMPLE, &record))
			;
		brackets[i].before = read_clock(clock);
		ASSERT_EQ(0, cause_faults(1));
		brackets[i].after = read_clock(clock);
		if (!find_record(sampler, PERF_RECORD_SAMPLE, &record))
			say_broken("no sample of page fault %d", i);
		brackets[i].at = record.sample.sid.time;
	}
}

#endif
