/* SPDX-License-Identifier: MIT */
/*
 * Whether anything happens. Nobody tells of a new thread in time, nor of samples in a ring without
 * a descriptor; but they take CPU time of this process. What its polling threads take themselves is
 * left out: sessions would keep each other awake.
 */
#include "quiet.h"

#include <time.h>

#include "../spec/now.h"
#include "engine.h"
#include "wait.h"

#define QUIET_NS 500000000	/* without anything, before it is taken to stay so */
#define OTHERS_NS 20000		/* between two looks; less may be the way to the clocks */

static int64_t of_pollers;	/* ns; atomic: that polling threads of this process have run */

/*
 * What this thread has run since it looked last is added to that; a forked child begins anew. A
 * clock that is refused or stands still tells nothing: then others may have run. Between two clocks
 * this thread may be interrupted, for milliseconds where a hypervisor takes the CPU; they differ by
 * that much.
 */
static bool others_ran(struct quiet *quiet)
{
	static __thread uint64_t last;
	const int64_t least = quiet->others + quiet->error + OTHERS_NS;
	uint64_t all = 0, before = 0, self = 0;
	bool stands;

	if (pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &before) < 0 ||
	    pm_clock_ns(CLOCK_PROCESS_CPUTIME_ID, &all) < 0 ||
	    pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &self) < 0)
		return true;
	stands = self == last;
	quiet->error = (int64_t)(self - before);
	if (last != 0 && self > last)
		(void)__atomic_fetch_add(&of_pollers, (int64_t)(self - last), __ATOMIC_RELAXED);
	last = self;
	quiet->others = (int64_t)all - __atomic_load_n(&of_pollers, __ATOMIC_RELAXED);
	return stands || quiet->others > least + quiet->error;
}

void pm_quiet_look(struct pm_session *session, int count)
{
	struct quiet *quiet = &session->quiet;
	const bool ran = pm_wait_is_timed(session) && others_ran(quiet);

	if (ran || count > 0 || quiet->active_at == 0)
		quiet->active_at = pm_now();
}

bool pm_quiet_is(const struct pm_session *session)
{
	uint64_t now = 0;

	return session->quiet.active_at != 0 && pm_clock_ns(CLOCK_MONOTONIC, &now) == 0 &&
		now > session->quiet.active_at + QUIET_NS;
}
