/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lies about what read(2) gives that depend on the event, on who reads it and on reads before.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "change.h"
#include "event.h"
#include "lies.h"

ssize_t __real_read(int fd, void *buffer, size_t size);
int __real_clock_gettime(clockid_t clock, struct timespec *ret);

#define ENABLED PERF_FORMAT_TOTAL_TIME_ENABLED
#define RUNNING PERF_FORMAT_TOTAL_TIME_RUNNING

void lies_keep_times(struct event *event, int fd)
{
	uint64_t words[4 + 3 * PM_COUNTS_MAX];
	const ssize_t size = __real_read(fd, words, sizeof(words));
	struct pm_counts counts;

	if (size <= 0 ||
	    pm_counts_decode(words, (size_t)size, event->attr.read_format, &counts) < 0)
		return;
	event->enabled_at = counts.time_enabled;
	event->running_at = counts.time_running;
}

static void change_times(struct event *event, struct pm_counts *counts)
{
	const uint64_t format = event->attr.read_format;
	struct timespec now;

	if (event->enabled_at && format & ENABLED && lie(LIE_ioctl_reset_times)) {
		counts->time_enabled -= event->enabled_at;
		counts->time_running -= event->running_at;
	}
	if (format & ENABLED && lie(LIE_read_enabled_since_open)) {
		__real_clock_gettime(CLOCK_MONOTONIC, &now);
		counts->time_enabled = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec -
				       event->opened;
	}
	if (format & ENABLED && format & RUNNING && lie(LIE_read_runs_longer))
		counts->time_running = counts->time_enabled + 1;
	if (format & (ENABLED | RUNNING) && lie(LIE_read_rounded_times)) {
		counts->time_enabled -= counts->time_enabled % 1000;
		counts->time_running -= counts->time_running % 1000;
	}
	if (format & (ENABLED | RUNNING) && lie(LIE_read_times_101)) {
		counts->time_enabled += counts->time_enabled / 100;
		counts->time_running += counts->time_running / 100;
	}
	if (!(format & (ENABLED | RUNNING)) || !lie(LIE_read_times_frozen))
		return;
	if (!event->frozen[0] && !event->frozen[1]) {
		event->frozen[0] = counts->time_enabled;
		event->frozen[1] = counts->time_running;
	}
	counts->time_enabled = event->frozen[0];
	counts->time_running = event->frozen[1];
}

static void change_group(struct pm_counts *counts)
{
	if (lie(LIE_read_reversed))
		for (uint64_t i = 0, j = counts->nr - 1; i < j; i++, j--) {
			const __typeof__(counts->member[0]) kept = counts->member[i];

			counts->member[i] = counts->member[j];
			counts->member[j] = kept;
		}
	if (counts->nr > 2 && lie(LIE_read_third_zero))
		counts->member[2].value = 0;
	if (lie(LIE_read_leader_sums))
		for (uint64_t i = 1; i < counts->nr; i++)
			counts->member[0].value += counts->member[i].value;
}

void change_counts_of(struct event *event, struct pm_counts *counts)
{
	const bool here = event->opener == getpid();
	uint64_t *value = &counts->member[0].value;

	change_times(event, counts);
	if (counts->nr > 1)
		change_group(counts);
	if (event->attr.inherit && lie(LIE_read_inherit_twice))
		*value *= 2;
	if (*value && lie(LIE_read_seventh_less) && ++event->counted % 7 == 0)
		--*value;
	if (here && pm_gettid() != event->thread && lie(LIE_read_other_thread))
		*value = 0;
	if (event->task > 0 && kill(event->task, 0) < 0 && errno == ESRCH &&
	    lie(LIE_read_gone_zero))
		*value = 0;
}
