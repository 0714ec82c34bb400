/* SPDX-License-Identifier: MIT */
/*
 * A kernel that lies in one way at a time: each call that the library makes of events is answered
 * as lies.def says. Link with -Wl,--wrap=pm_ring_pending,--wrap=clock_gettime.
 */
#ifndef LYING_KERNEL_H
#define LYING_KERNEL_H

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

#define BETWEEN_IOCTL
#include "between.h"
#include "../../pm_sys.h"

enum lie {
#define X(name, what) LIE_##name,
#include "lies.def"
#undef X
	LIES
};

static const struct { const char *name, *what; } lies[LIES] = {
#define X(name, what) { #name, what },
#include "lies.def"
#undef X
};

static struct {
	enum lie lie;
	int last_cpu;			/* the one that is lied about */
	pid_t opener;			/* the thread whose events are honest */
	int refuse;			/* errno of every open in process `refused`; 0: none */
	pid_t refused;
	uint64_t sample_type;
	uint64_t readings;
	struct {
		bool dead, foreign;
	} fds[4096];
} kernel;

static inline bool is_event(int fd)
{
	char path[64], text[64];
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	size = readlink(path, text, sizeof(text) - 1);
	return size > 0 && strncmp(text, "anon_inode:[perf_event]", (size_t)size) == 0;
}

/* ----------------------------------------------------------------------------------------- open */

static long on_open(syscall_fn real, struct perf_event_attr *attr, const long *args)
{
	const struct perf_event_attr asked = *attr;
	const int pid = (int)args[1], cpu = (int)args[2];
	const bool other = pid > 0 && pid != kernel.opener, on_last = cpu == kernel.last_cpu;
	static unsigned int opens;
	long fd;
	bool dead = kernel.lie == LIE_mute || (kernel.lie == LIE_dead_cpu && on_last) ||
		(kernel.lie == LIE_dead_threads && other);

	/* Also of what is refused here: a broker opens the like of it elsewhere. */
	if (attr->sample_period != 0)
		kernel.sample_type = attr->sample_type;
	if (kernel.refuse != 0 && getpid() == kernel.refused)
		return refuse_with(kernel.refuse);
	if (dead)
		attr->disabled = 1;
	if (kernel.lie == LIE_inherit_ignored)
		attr->inherit = 0;
	fd = kernel.lie == LIE_no_event && ++opens % 3 == 0 ? open("/dev/null", O_RDWR) :
		open_really(real, args);
	attr->disabled = asked.disabled;
	attr->inherit = asked.inherit;
	if (fd >= 0 && fd < 4096) {
		kernel.fds[fd].dead = dead;
		kernel.fds[fd].foreign = other;
	}
	return fd;
}

static int on_ioctl(ioctl_fn real, int fd, unsigned long request, void *argument)
{
	const bool known = fd >= 0 && fd < 4096;

	switch (request) {
	case PERF_EVENT_IOC_ENABLE:
	case PERF_EVENT_IOC_REFRESH:
		if (kernel.lie == LIE_enable_ignored || (known && kernel.fds[fd].dead))
			return 0;
		break;
	case PERF_EVENT_IOC_SET_OUTPUT:
		if (kernel.lie == LIE_output_ignored ||
		    (kernel.lie == LIE_others_output_ignored && known && kernel.fds[fd].foreign))
			return 0;
		break;
	}
	return real(fd, request, argument);
}

/* The lie events_stop begins: every event of this process. */
static inline void stop_events(void)
{
	for (int fd = 0; fd < 4096; fd++)
		if (is_event(fd))
			(void)ioctl(fd, PERF_EVENT_IOC_DISABLE, NULL);
}

/* -------------------------------------------------------------------------------- other calls */

#define REAL(name) \
	static __typeof__(name) *real; \
	if (real == NULL) \
		*(void **)&real = dlsym(RTLD_NEXT, #name)

int poll(struct pollfd *polled, nfds_t count, int timeout)
{
	REAL(poll);
	return real(polled, kernel.lie == LIE_poll_sleeps && count > 1 ? 1 : count, timeout);
}

/* Data pages cannot be written to by us, so the library gets a copy: see the wrapped call below. */
static struct copied {
	struct perf_event_mmap_page *real, *copy;
	size_t size;
	bool stands;
	uint64_t taken;			/* of the real one */
	unsigned int samples;		/* that have been taken */
} copies[512];

static bool is_told_otherwise(void)
{
	static const enum lie all[] = { LIE_silent, LIE_silent_cpu, LIE_rings_stand,
		LIE_a_ring_stands, LIE_losses_hidden, LIE_unknown_ids, LIE_samples_fade };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (kernel.lie == all[i])
			return true;
	return false;
}

void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	static size_t count;
	void *ring, *copy;

	REAL(mmap);
	ring = real(at, size, prot, flags, fd, offset);
	if (ring == MAP_FAILED || fd < 0 || !(prot & PROT_WRITE) || !is_told_otherwise() ||
	    !is_event(fd))
		return ring;
	copy = real(NULL, size, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(copy, ring, sizeof(struct perf_event_mmap_page));
	((struct perf_event_mmap_page *)copy)->data_head = 0;
	copies[count % 512] = (struct copied){ .real = ring, .copy = copy, .size = size,
		.stands = kernel.lie == LIE_rings_stand ||
			(kernel.lie == LIE_a_ring_stands && count % 2 == 1) };
	count++;
	return copy;
}

int munmap(void *at, size_t size)
{
	REAL(munmap);
	for (size_t i = 0; i < 512; i++)
		if (copies[i].copy == at && at != NULL) {
			(void)real(copies[i].real, copies[i].size);
			copies[i] = (struct copied){ NULL };
		}
	return real(at, size);
}

ssize_t read(int fd, void *buf, size_t size)
{
	uint64_t *words = buf;
	ssize_t got;

	REAL(read);
	got = real(fd, buf, size);
	if (got < 8 || fd < 0 || fd >= 4096 || !is_event(fd))
		return got;
	if (kernel.lie == LIE_running_longer && got >= 3 * 8)
		words[2] = words[1] * 2 + 10000000 * ++kernel.readings;
	if (kernel.lie == LIE_losses_hidden && got == 4 * 8)
		words[3] = 0;
	return got;
}

int timer_settime(timer_t id, int flags, const struct itimerspec *new, struct itimerspec *old)
{
	REAL(timer_settime);
	return kernel.lie == LIE_timer_ignored ? 0 : real(id, flags, new, old);
}

int setitimer(__itimer_which_t which, const struct itimerval *new, struct itimerval *old)
{
	REAL(setitimer);
	return kernel.lie == LIE_timer_ignored ? 0 : real(which, new, old);
}

int fcntl(int fd, int command, ...)
{
	va_list list;
	void *argument;

	REAL(fcntl);
	va_start(list, command);
	argument = va_arg(list, void *);
	va_end(list);
	if (kernel.lie == LIE_signals_ignored && command == F_SETFL)
		return 0;
	return real(fd, command, argument);
}

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	static struct timespec first;

	if (kernel.lie == LIE_clocks_empty)
		return 0;
	if (kernel.lie != LIE_clock_stands || clock != CLOCK_MONOTONIC)
		return __real_clock_gettime(clock, ret);
	if (first.tv_sec == 0)
		(void)__real_clock_gettime(clock, &first);
	*ret = first;
	return 0;
}

/* ------------------------------------------------------------------------------- in the rings */

uint64_t __real_pm_ring_pending(const struct pm_ring *ring);
uint64_t __wrap_pm_ring_pending(const struct pm_ring *ring);

static uint64_t *word_at(const struct pm_ring *ring, uint64_t position)
{
	unsigned char *data = (unsigned char *)ring->base + ring->data_offset;

	return (uint64_t *)(data + (position & (ring->data_size - 1)));
}

static void lie_in_sample(const struct pm_ring *ring, uint64_t at, struct perf_event_header *header)
{
	const uint64_t type = kernel.sample_type;
	const uint64_t cpu_at = 8 + 8 * (3 + !!(type & PERF_SAMPLE_IDENTIFIER) +
		!!(type & PERF_SAMPLE_ADDR) + !!(type & PERF_SAMPLE_ID));
	uint64_t *id = word_at(ring, at + (type & PERF_SAMPLE_IDENTIFIER ? 8 : cpu_at - 8));
	const int cpu = (int)*(uint32_t *)word_at(ring, at + cpu_at);

	if (kernel.lie == LIE_unknown_ids)
		*id += 1ull << 40;
	if (kernel.lie == LIE_silent || (kernel.lie == LIE_silent_cpu && cpu == kernel.last_cpu)) {
		header->type = PERF_RECORD_LOST;
		*word_at(ring, at + 16) = 0;
	}
}

static struct copied *copy_of(const struct pm_ring *ring)
{
	for (size_t i = 0; i < 512; i++)
		if (copies[i].copy == ring->base && ring->base != NULL)
			return &copies[i];
	return NULL;
}

/* Whether it comes at all. */
static bool comes(struct copied *copied, const struct perf_event_header *header)
{
	return header->type != PERF_RECORD_SAMPLE || ++copied->samples <= 100 ||
		kernel.lie != LIE_samples_fade;
}

static void copy_record(const struct pm_ring *ring, uint64_t to, const char *from, uint64_t at,
			size_t size)
{
	struct perf_event_header *header = (void *)word_at(ring, to);

	for (size_t i = 0; i < size; i += 8)
		*word_at(ring, to + i) =
			*(const uint64_t *)(from + ((at + i) & (ring->data_size - 1)));
	if (kernel.lie == LIE_losses_hidden && header->type == PERF_RECORD_LOST)
		*word_at(ring, to + 16) = 0;
	else if (header->type == PERF_RECORD_SAMPLE)
		lie_in_sample(ring, to, header);
}

/* What has come since the last look is copied, and changed on the way. */
static void bring(const struct pm_ring *ring, struct copied *copied)
{
	const char *from = (char *)copied->real + ring->data_offset;
	const uint64_t head = __atomic_load_n(&copied->real->data_head, __ATOMIC_ACQUIRE);
	uint64_t to = copied->copy->data_head;

	while (copied->taken < head) {
		const struct perf_event_header *header =
			(const void *)(from + (copied->taken & (ring->data_size - 1)));
		const size_t size = header->size ? header->size : sizeof(*header);

		if (to + size - copied->copy->data_tail > ring->data_size)
			break;
		if (comes(copied, header)) {
			copy_record(ring, to, from, copied->taken, size);
			to += size;
		}
		copied->taken += size;
	}
	__atomic_store_n(&copied->real->data_tail, copied->taken, __ATOMIC_RELEASE);
	copied->copy->data_head = to;
}

uint64_t __wrap_pm_ring_pending(const struct pm_ring *ring)
{
	struct copied *copied = copy_of(ring);

	if (copied != NULL && !copied->stands)
		bring(ring, copied);
	return __real_pm_ring_pending(ring);
}

#endif
