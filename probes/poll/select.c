/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does select(2) see a wake-up of a ring? Old event loops know nothing else. As with poll it is
 * told once: a descriptor that is not drained is not readable again.
 * Observed with calls that do not wait.
 */
#include <sys/select.h>

#include "probe.h"
#include "waking.h"

PROBE(TITLE("select on a ring")
      SINCE("2.6.31")
      POINT(reports_once, "select reports a wake-up as readable, once"))

/* How many descriptors are readable now. */
static int ask(int fd)
{
	struct timeval none = { 0 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	return select(fd + 1, &set, NULL, NULL, &none);
}

TEST(reports_once)
{
	const struct perf_event_attr attr = attr_waking();
	struct sampler sampler;
	int ready[3];

	sampler = must_sampler(&attr, 0, -1, 1);
	ready[0] = ask(sampler.fd);
	cause_enabled_faults(sampler.fd, 3);
	ready[1] = ask(sampler.fd);
	ready[2] = ask(sampler.fd);
	if (ready[0] || ready[1] != 1 || ready[2])
		say_broken("select=%d idle, %d after samples, %d again, want 0,1,0", ready[0],
			   ready[1], ready[2]);
}

PROBE_MAIN
