/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is a wake-up by watermark also a signal? A sample signals by itself; a side-band record does so
 * only where the kernel passes the ring's wake-up on, which it learned around v6.9.
 * Observed with changes of this thread's name and a blocked real-time signal. Poll shows that
 * the wake-up itself took place, and the signal of a sample that came later shows that the
 * interrupt which sends signals has been taken.
 */
#include <sys/prctl.h>

#include "probe.h"
#include "signals.h"

PROBE(TITLE("signals of side-band records at a watermark")
      SINCE("6.9")
      POINT(watermark_signals, "a side-band record that passes the watermark sends a signal")
      POINT(code_is_in, "the signal of a watermark has si_code POLL_IN and the descriptor in si_fd")
      POINT(below_it_does_not, "a side-band record that stays below the watermark sends no signal")
      SINCE("2.6.31"))

static struct sampler carrier(unsigned int watermark)
{
	struct perf_event_attr attr = attr_sideband();
	struct sampler sampler;

	attr.comm = 1;
	attr.sample_period = 1;
	attr.watermark = 1;
	attr.wakeup_watermark = watermark;
	sampler = must_sampler(&attr, 0, -1, 1);
	must_get_signals(sampler.fd, SIGRTMIN + 3, pm_gettid());
	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	return sampler;
}

/* One COMM record; the signal that follows it, if any. */
static bool name_and_take(struct sampler *sampler, siginfo_t *info, int within_ms)
{
	memset(info, 0, sizeof(*info));
	ASSERT_EQ(0, prctl(PR_SET_NAME, "perfmodes", 0, 0, 0));
	if (!pm_ring_pending(&sampler->ring))
		say_broken("a change of name left no record");
	return take_signal(SIGRTMIN + 3, within_ms, info);
}

/* A sample of another event signals, after all that was to signal before it. */
static void must_signal_sample(void)
{
	const struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	const int fd = must_open(&attr, 0, -1, -1, 0);

	must_get_signals(fd, SIGRTMIN + 4, pm_gettid());
	cause_enabled_faults(fd, 1);
	if (!take_signal(SIGRTMIN + 4, 1000, NULL))
		say_unknown("a sample does not signal either");
	close(fd);
}

/* With a watermark of one byte: the poll flag proves the wake-up that should have signalled. */
static int signalled(siginfo_t *info)
{
	struct sampler sampler = carrier(1);
	bool taken = name_and_take(&sampler, info, 50);
	int revents = poll_once(sampler.fd, POLLIN, 0);

	if (!taken) {
		must_signal_sample();
		taken = take_signal(SIGRTMIN + 3, 0, info);
	}
	if (revents != POLLIN)
		say_broken("no wake-up at all: revents=%#x signal=%d", revents, taken);
	if (!taken)
		say_no("the wake-up is seen by poll, but it is no signal");
	return sampler.fd;
}

TEST(watermark_signals)
{
	siginfo_t info;

	signalled(&info);
}

TEST(code_is_in)
{
	siginfo_t info;
	int fd = signalled(&info);

	if (info.si_code != POLL_IN || info.si_fd != fd)
		say_broken("si_code=%d si_fd=%d want=%d,%d", info.si_code, info.si_fd, POLL_IN, fd);
}

TEST(below_it_does_not)
{
	struct sampler sampler = carrier(2000);
	siginfo_t info;

	if (!name_and_take(&sampler, &info, 20)) {
		must_signal_sample();
		if (!take_signal(SIGRTMIN + 3, 0, NULL))
			return;
	}
	say_broken("a signal after %" PRIu64 " of 2000 bytes", pm_ring_pending(&sampler.ring));
}

PROBE_MAIN
