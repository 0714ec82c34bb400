/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events with a ring: records are counted and not looked into, but for the thread of a sample.
 */
#ifndef PERF_EVENTS_RINGS_H
#define PERF_EVENTS_RINGS_H

#include "workers.h"

struct ev_ring {
	void *base;
	size_t map_size, data_size;
	__u64 tail;
};

struct sampler {
	int fd;
	struct ev_ring ring;
};

static inline void must_map(int fd, size_t pages, struct ev_ring *ring)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	*ring = (struct ev_ring){ .map_size = (1 + pages) * page, .data_size = pages * page };
	ring->base = mmap(NULL, ring->map_size, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_POPULATE, fd, 0);
	if (ring->base == MAP_FAILED && errno == EPERM)
		say_blocked("mmap of a ring: RLIMIT_MEMLOCK");
	if (ring->base == MAP_FAILED)
		say_unknown("mmap of a ring: %s", ev_errno_name(errno));
}

static inline void ev_ring_close(struct ev_ring *ring)
{
	munmap(ring->base, ring->map_size);
}

static inline struct sampler must_sampler(const struct perf_event_attr *attr, pid_t pid, int cpu,
					  size_t pages)
{
	struct sampler sampler = { .fd = must_open(attr, pid, cpu, -1, 0) };

	must_map(sampler.fd, pages, &sampler.ring);
	return sampler;
}

/* Count the unread records of a type, 0 for any, of a thread's samples. All are read then. */
static inline int count_of(struct ev_ring *ring, __u32 type, pid_t tid)
{
	struct perf_event_mmap_page *page = ring->base;
	const __u64 head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	const char *data = (const char *)ring->base + (ring->map_size - ring->data_size);
	int count = 0;

	while (ring->tail < head) {
		const struct perf_event_header *header =
			(const void *)(data + (ring->tail & (ring->data_size - 1)));
		const __u64 body = (ring->tail + sizeof(*header)) & (ring->data_size - 1);
		const __u32 *ids = (const void *)(data + body);

		if (header->size < sizeof(*header))
			say_broken("a record of %u bytes", header->size);
		count += (!type || header->type == type) && (!tid || ids[1] == (__u32)tid);
		ring->tail += header->size;
	}
	__atomic_store_n(&page->data_tail, ring->tail, __ATOMIC_RELEASE);
	return count;
}

static inline int count_records(struct ev_ring *ring, __u32 type)
{
	return count_of(ring, type, 0);
}

/*
 * Samples of this thread, or a worker, that causes page faults; they have PERF_SAMPLE_TID. The way
 * there may fault on its own the first time, so a few too many are counted again.
 */
static inline int samples_of_faults(struct sampler *sampler, struct worker *worker,
				    unsigned int faults)
{
	const pid_t tid = worker ? worker->tid : ev_gettid();
	int found = 0;

	for (int again = 0; again < 3; again++) {
		must_succeed(worker ? worker_faults(worker, 1) : cause_faults(1));
		count_records(&sampler->ring, 0);
		must_succeed(worker ? worker_faults(worker, faults) : cause_faults(faults));
		found = count_of(&sampler->ring, PERF_RECORD_SAMPLE, tid);
		if (found <= (int)faults)
			break;
	}
	return found;
}

/* The kernel may take a page away meanwhile, whose next touch is a fault more: asked again then. */
static inline void expect_samples(int fd, struct ev_ring *ring, unsigned int faults,
				  const char *what)
{
	__u64 counted;
	int found;

	for (int again = 0; again < 2; again++) {
		counted = cause_enabled_faults(fd, faults);
		found = count_records(ring, PERF_RECORD_SAMPLE);
		if (counted == faults && found == (int)faults)
			return;
		if (counted < faults || found != (int)counted)
			break;
	}
	say_broken("%s: counted=%llu samples=%d want=%u", what, counted, found, faults);
}

static inline void must_samples(int fd, struct ev_ring *ring, unsigned int faults,
				const char *what)
{
	expect_samples(fd, ring, faults, what);
}

/* Two events of this thread: what the source writes goes into the target's ring. */
struct redirection {
	struct sampler target;
	int source;
};

static inline struct redirection must_redirect(const struct perf_event_attr *attr)
{
	struct redirection pair;

	pair.target = must_sampler(attr, 0, -1, 1);
	pair.source = must_open(attr, 0, -1, -1, 0);
	must_ioctl(pair.source, PERF_EVENT_IOC_SET_OUTPUT, pair.target.fd);
	return pair;
}

static inline struct redirection must_redirect_faults(void)
{
	const struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	struct redirection pair = must_redirect(&attr);

	must_samples(pair.source, &pair.target.ring, 5, "redirected");
	return pair;
}

#endif /* PERF_EVENTS_RINGS_H */
