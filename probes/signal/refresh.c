/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does IOC_REFRESH let through exactly as many samples as asked for? The last of them is told
 * apart by POLL_HUP and disables the event, so a handler decides when to go on.
 * Observed with page faults, one at a time, never with timers: those hang some kernels.
 */
#include "probe.h"
#include "signals.h"

PROBE(TITLE("a limited number of samples")
      SINCE("2.6.31")
      POINT(limit_is_exact, "after REFRESH(3) exactly three faults are sampled")
      POINT(last_is_hup, "after REFRESH(3) the signals of the first samples are POLL_IN, the last "
	    "is POLL_HUP")
      POINT(adds_up, "REFRESH(2) twice lets four samples through")
      POINT(starts_again, "REFRESH after the end of a limit lets samples through again")
      POINT(enable_has_no_limit, "ENABLE after the end of a limit lets all samples through")
      POINT(zero_has_no_limit, "REFRESH(0) enables an event without a limit")
      POINT(member, "REFRESH of a sampling sibling limits that sibling alone")
      FACT(negative_samples, int, "samples", "samples of 11 faults after REFRESH(-1); -1: refused"))

static struct sampler sampling(void)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);

	return must_sampler(&attr, 0, -1, 1);
}

/* Samples among so many faults after a REFRESH. */
static int refreshed(struct sampler *sampler, int limit, int faults)
{
	int found = cause_faults(1);

	must_ioctl(sampler->fd, PERF_EVENT_IOC_REFRESH, limit);
	found = found ?: cause_faults(faults);
	if (found)
		say_unknown("page faults could not be caused: %s", pm_errno_name(found));
	found = count_records(&sampler->ring, PERF_RECORD_SAMPLE);
	return found;
}

TEST(limit_is_exact)
{
	struct sampler sampler = sampling();
	int found = refreshed(&sampler, 3, 10);
	uint64_t counted = must_count(sampler.fd);

	if (found != 3 || counted != 3)
		say_broken("samples=%d count=%" PRIu64 " want=3 of 10 faults", found, counted);
}

TEST(last_is_hup)
{
	struct sampler sampler = sampling();
	siginfo_t info = { 0 };
	int codes[3] = { 0 };

	must_get_signals(sampler.fd, SIGRTMIN + 3, pm_gettid());
	ASSERT_EQ(0, cause_faults(1));
	must_ioctl(sampler.fd, PERF_EVENT_IOC_REFRESH, 3);
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, cause_faults(1));
		if (!take_signal(SIGRTMIN + 3, 1000, &info))
			say_broken("no signal of sample %d", i);
		codes[i] = info.si_code;
	}
	if (codes[0] != POLL_IN || codes[1] != POLL_IN || codes[2] != POLL_HUP)
		say_broken("si_code=%d,%d,%d want=%d,%d,%d", codes[0], codes[1], codes[2], POLL_IN,
			   POLL_IN, POLL_HUP);
}

TEST(adds_up)
{
	struct sampler sampler = sampling();
	int found;

	ASSERT_EQ(0, cause_faults(1));
	must_ioctl(sampler.fd, PERF_EVENT_IOC_REFRESH, 2);
	found = refreshed(&sampler, 2, 10);
	if (found != 4)
		say_broken("samples=%d want=4 after REFRESH(2) twice", found);
}

TEST(starts_again)
{
	struct sampler sampler = sampling();
	int first = refreshed(&sampler, 1, 5);
	int second = refreshed(&sampler, 7, 10);
	uint64_t counted = must_count(sampler.fd);

	if (first != 1 || second != 7 || counted != 8)
		say_broken("samples=%d,%d want=1,7 counted=%" PRIu64 " want=8", first, second,
			   counted);
	/* More than the ring holds: what is lost is a sample as well. */
	refreshed(&sampler, 700, 710);
	if (must_count(sampler.fd) != 708)
		say_broken("counted=%" PRIu64 " want=708 after REFRESH(700)",
			   must_count(sampler.fd));
}

/* Samples among 7 faults after ENABLE. `counted` is what the event counted of them. */
static int enabled(struct sampler *sampler, uint64_t *counted)
{
	ASSERT_EQ(0, cause_faults(1));
	*counted = must_count(sampler->fd);
	must_ioctl(sampler->fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(7));
	*counted = must_count(sampler->fd) - *counted;
	return count_records(&sampler->ring, PERF_RECORD_SAMPLE);
}

/*
 * The end of a limit stops the event by an interrupt that the CPU sends itself. On a machine that
 * hardly runs that interrupt may come after ENABLE, and stop the event anew: so ask again then.
 */
TEST(enable_has_no_limit)
{
	struct sampler sampler = sampling(), twin = sampling();
	int found = refreshed(&sampler, 1, 5), again = 0;
	uint64_t counted = 0, beside;

	for (int tries = 0; tries < 3 && !counted; tries++) {
		again = enabled(&sampler, &counted);
		if (!counted)
			poll(NULL, 0, 50);
	}
	if (found == 1 && again == 7)
		return;
	if (enabled(&twin, &beside) != 7)
		say_unknown("a twin that never had a limit has no 7 samples either");
	say_broken("samples=%d want=1 after REFRESH(1), %d want=7 after ENABLE, counted=%" PRIu64,
		   found, again, counted);
}

TEST(member)
{
	const struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	struct sampler sampler = { .fd = must_open(&attr, 0, -1, -1, 0) };
	const int leader = sampler.fd;
	uint64_t counted;
	int found;

	pm_format_of(&attr, &sampler.format);
	sampler.fd = must_open(&attr, 0, -1, leader, 0);
	must_map(sampler.fd, 1, &sampler.ring);
	must_ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	found = refreshed(&sampler, 5, 10);
	counted = must_count(leader);
	if (found != 5 || counted < 10)
		say_broken("samples of the member=%d want=5, leader=%" PRIu64 " want>=10", found,
			   counted);
}

TEST(zero_has_no_limit)
{
	struct sampler sampler = sampling(), other = sampling();
	int found = refreshed(&sampler, 0, 10);

	fact_int("negative_samples", pm_ioctl(other.fd, PERF_EVENT_IOC_REFRESH, -1) < 0 ? -1 :
		 refreshed(&other, 0, 10));
	if (found == 0) {
		must_samples(sampler.fd, &sampler.ring, 10, "ENABLE in place of REFRESH(0)");
		say_no("no sample of 10 faults after REFRESH(0), 10 after ENABLE");
	}
	if (found != 10)
		say_broken("samples=%d want=10 after REFRESH(0)", found);
}

PROBE_MAIN
