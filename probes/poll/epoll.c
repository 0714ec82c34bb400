/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does epoll tell of a ring that is not drained as long as it is not drained? For pipes and
 * sockets level-triggered epoll does; an event's readiness is taken by whoever polls first, so
 * here level and edge are the same, and an event loop that relies on the level hangs.
 * Observed with epoll_wait(2) that does not wait.
 */
#include <sys/epoll.h>

#include "probe.h"
#include "waking.h"

PROBE(TITLE("epoll on a ring")
      SINCE("2.6.31")
      POINT(level.reports_in, "level-triggered epoll reports EPOLLIN after a wake-up")
      POINT(edge.reports_in, "edge-triggered epoll reports EPOLLIN after a wake-up")
      POINT(level.tells_once, "level-triggered epoll does not report an undrained ring again")
      POINT(edge.tells_once, "edge-triggered epoll does not report an undrained ring again")
      POINT(level.unmapped_hangs_up, "level-triggered epoll reports EPOLLHUP without a ring")
      SINCE("3.18")
      POINT(edge.unmapped_hangs_up, "edge-triggered epoll reports EPOLLHUP without a ring")
      SINCE("3.18"))

FIXTURE(set)
{
	struct sampler sampler;
	int epoll;
};

FIXTURE_VARIANT(set)
{
	uint32_t mode;
};

FIXTURE_VARIANT_ADD(set, level)
{
	.mode = 0,
};

FIXTURE_VARIANT_ADD(set, edge)
{
	.mode = EPOLLET,
};

FIXTURE_SETUP(set)
{
	struct epoll_event event = { .events = EPOLLIN | variant->mode };
	const struct perf_event_attr attr = attr_waking();

	self->sampler = must_sampler(&attr, 0, -1, 1);
	self->epoll = epoll_create1(EPOLL_CLOEXEC);
	ASSERT_EQ(0, epoll_ctl(self->epoll, EPOLL_CTL_ADD, self->sampler.fd, &event));
}

FIXTURE_TEARDOWN(set)
{
	close(self->epoll);
}

/* What epoll reports within that time; 0 for nothing. */
static uint32_t ask(int epoll, int within_ms)
{
	struct epoll_event event = { 0 };

	return epoll_wait(epoll, &event, 1, within_ms) == 1 ? event.events : 0;
}

/* A sample is a wake-up at once, or with the next tick where the kernel cannot interrupt itself. */
static uint32_t ask_woken(int epoll)
{
	return ask(epoll, 100);
}

TEST_F(set, reports_in)
{
	uint32_t before = ask(self->epoll, 0), after;

	cause_enabled_faults(self->sampler.fd, 1);
	after = ask_woken(self->epoll);
	if (before || after != EPOLLIN)
		say_broken("events=%#x idle, %#x after a sample, want 0,%#x", before, after,
			   EPOLLIN);
}

TEST_F(set, tells_once)
{
	uint32_t first, second, third;

	cause_enabled_faults(self->sampler.fd, 3);
	first = ask_woken(self->epoll);
	second = ask(self->epoll, 0);
	cause_enabled_faults(self->sampler.fd, 1);
	third = ask_woken(self->epoll);
	if (first != EPOLLIN || second || third != EPOLLIN)
		say_broken("events=%#x, again %#x, after the next sample %#x, want 1,0,1", first,
			   second, third);
}

TEST_F(set, unmapped_hangs_up)
{
	uint32_t events;

	cause_enabled_faults(self->sampler.fd, 1);
	if (ask_woken(self->epoll) != EPOLLIN)
		say_broken("a mapped event reports nothing");
	pm_ring_close(&self->sampler.ring);
	if (variant->mode & EPOLLET) {
		struct epoll_event event = { .events = EPOLLIN | variant->mode };

		/* An edge is looked for when somebody is woken, or when the event is new here. */
		ASSERT_EQ(0, epoll_ctl(self->epoll, EPOLL_CTL_MOD, self->sampler.fd, &event));
	}
	events = ask(self->epoll, 0);
	if (!events)
		say_no("nothing is reported, as for a ring that is idle");
	if (!(events & EPOLLHUP))
		say_broken("events=%#x want=%#x", events, EPOLLHUP);
}

PROBE_MAIN
