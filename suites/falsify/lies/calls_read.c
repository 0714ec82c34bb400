/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lies about read(2) and mmap(2) of events.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "change.h"
#include "event.h"
#include "lies.h"

ssize_t __real_read(int fd, void *buffer, size_t size);
ssize_t __wrap_read(int fd, void *buffer, size_t size);
void *__real_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
int __real_ioctl(int fd, int request, ...);
int __real_poll(struct pollfd *fds, nfds_t count, int timeout);

/* ----------------------------------------------------------------------------------- read */

static size_t put(const struct pm_counts *counts, uint64_t read_format, uint64_t *words)
{
	const bool group = read_format & PERF_FORMAT_GROUP;
	size_t at = 0;

	if (group)
		words[at++] = counts->nr;
	else
		words[at++] = counts->member[0].value;
	if (read_format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		words[at++] = counts->time_enabled;
	if (read_format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		words[at++] = counts->time_running;
	for (uint64_t i = 0; i < counts->nr && i < PM_COUNTS_MAX; i++) {
		if (group)
			words[at++] = counts->member[i].value;
		if (read_format & PERF_FORMAT_ID)
			words[at++] = counts->member[i].id;
		if (read_format & PERF_FORMAT_LOST)
			words[at++] = counts->member[i].lost;
	}
	return 8 * at;
}

static bool has_hung_up(int fd)
{
	struct pollfd one = { .fd = fd };

	return __real_poll(&one, 1, 0) == 1 && one.revents & POLLHUP;
}

static uint64_t change_value(struct event *event, int fd, uint64_t value)
{
	if (lie(LIE_read_backward) && ++event->reads % 2 == 0)
		value /= 3;
	if (lie(LIE_read_rounded))
		value &= ~3ull;
	if (lie(LIE_read_saturates) && value > 255)
		value = 255;
	if (lie(LIE_read_cut))
		value &= 0xffff;
	if (lie(LIE_read_cut_27))
		value &= 0x7ffffff;
	if (lie(LIE_read_cut_32))
		value &= 0xffffffff;
	if (lie(LIE_read_first_zero) && !event->reads++)
		value = 0;
	if (event->attr.sample_period && lie(LIE_read_lives_on) && has_hung_up(fd))
		value += ++event->reads;
	return value;
}

static ssize_t change_read(struct event *event, int fd, void *buffer, size_t room, ssize_t size)
{
	uint64_t words[4 + 3 * PM_COUNTS_MAX];
	struct pm_counts counts;

	if (size <= 0 || size % 8 ||
	    pm_counts_decode(buffer, (size_t)size, event->attr.read_format, &counts) != size ||
	    counts.nr > PM_COUNTS_MAX || counts.dropped)
		return size;
	change_counts(&counts, event->attr.read_format);
	change_counts_of(event, &counts);
	if (event->number >= 8 && counts.nr == 1 && lie(LIE_read_eighth_starves))
		counts.time_running = counts.member[0].value = 0;
	counts.member[0].value = change_value(event, fd, counts.member[0].value);
	size = (ssize_t)put(&counts, event->attr.read_format, words);
	if (lie(LIE_read_longer))
		words[size / 8] = 0, size += 8;
	if (lie(LIE_read_shorter))
		size -= 8;
	if (size > (ssize_t)room)
		size = (ssize_t)room;
	memcpy(buffer, words, (size_t)size);
	return size;
}

/* What was given before, for a kernel that answers one read too late. */
static void make_stale(struct event *event, void *buffer, ssize_t size)
{
	unsigned char now[sizeof(event->last)];

	if (size <= 0 || size > (ssize_t)sizeof(now))
		return;
	memcpy(now, buffer, (size_t)size);
	if (event->last_size == size)
		memcpy(buffer, event->last, (size_t)size);
	memcpy(event->last, now, (size_t)size);
	event->last_size = size;
}

ssize_t __wrap_read(int fd, void *buffer, size_t size)
{
	struct event *event = event_of(fd);
	const int first = event_first(), last = event_last();
	ssize_t got;

	if (!event)
		return lies_in_text(fd, buffer, size, __real_read(fd, buffer, size));
	if (lie(LIE_read_end_of_file))
		return 0;
	if (first >= 0 && first != fd && lie(LIE_read_of_first))
		fd = first;
	if (last >= 0 && last != fd && lie(LIE_read_of_last))
		fd = last;
	got = __real_read(fd, buffer, size);
	lies_in_page(event);
	event->ended |= got == 0;
	if (event->opener != getpid() && lie(LIE_read_not_by_child))
		return 0;
	if (event->ended && lie(LIE_read_stays_at_end))
		return 0;
	if (got == 0 && lie(LIE_read_no_end_of_file)) {
		memset(buffer, 0, size < 8 ? size : 8);
		return 8;
	}
	if (got < 0 && errno == ENOSPC && lie(LIE_read_small_buffer))
		return (ssize_t)size;
	if (got < 0 && errno == ENOSPC && lie(LIE_read_spills)) {
		memset(buffer, 1, size);
		errno = ENOSPC;
	}
	if (lie(LIE_read_stale))
		make_stale(event, buffer, got);
	if (lie(LIE_read_resets))
		__real_ioctl(fd, (int)PERF_EVENT_IOC_RESET, 0);
	return change_read(event, fd, buffer, size, got);
}

/* ----------------------------------------------------------------------------------- mmap */

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	static int first = -1;
	struct event *event = flags & MAP_ANONYMOUS ? NULL : event_of(fd);
	void *area;

	if (!event)
		return __real_mmap(at, size, protection, flags, fd, offset);
	if (size > 5 * 4096 && !lies_have_capability() && lie(LIE_mmap_large_shut)) {
		errno = EPERM;
		return MAP_FAILED;
	}
	if (!(protection & PROT_WRITE) && lie(LIE_mmap_writable))
		protection |= PROT_WRITE;
	if (event_of(first) && first != fd && lie(LIE_mmap_of_first))
		fd = first;
	area = __real_mmap(at, size, protection, flags, fd, offset);
	if (area == MAP_FAILED && errno == EINVAL && flags & MAP_PRIVATE && lie(LIE_mmap_private))
		return __real_mmap(at, size, protection, MAP_SHARED, fd, offset);
	if (area == MAP_FAILED && errno == EINVAL && flags & MAP_SHARED &&
	    lie(offset ? LIE_mmap_any_offset : LIE_mmap_any_size))
		return __real_mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
				   0);
	if (area == MAP_FAILED && ((errno == EPERM && lie(LIE_mmap_budget)) ||
				   (errno == ENODEV && lie(LIE_mmap_gone))))
		return __real_mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
				   0);
	if (area == MAP_FAILED) {
		if (lie(LIE_mmap_eperm))
			errno = errno == EPERM ? EINVAL : EPERM;
		return area;
	}
	if (first < 0)
		first = fd;
	if (protection & PROT_WRITE && offset == 0)
		lies_map_page(event, area);
	if (lie(LIE_mmap_dead)) {
		munmap(area, size);
		area = __real_mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
				   0);
	}
	return area;
}
