/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * See ticker.h.
 */
#include <errno.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "say.h"
#include "ticker.h"

void must_tick(struct ticker *ticker, unsigned int every_ms)
{
	const struct timespec time = { every_ms / 1000, every_ms % 1000 * 1000000l };
	const struct itimerspec both = { .it_interval = time, .it_value = time };

	ticker->ticks = 0;
	ticker->fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (ticker->fd < 0 || timerfd_settime(ticker->fd, 0, &both, NULL))
		say_unknown("a timer for comparison: %s", pm_errno_name(-errno));
}

unsigned int ticker_count(struct ticker *ticker)
{
	uint64_t expired;

	ticker->ticks += read(ticker->fd, &expired, sizeof(expired)) == sizeof(expired);
	return ticker->ticks;
}
