/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Words about counting: what an event reads, what it gains while the test or a worker causes page
 * faults, and the workers that do. A part of probe.h, which includes it.
 */
#ifndef COUNTING_H
#define COUNTING_H

/* The value of a counter without read_format. */
#define must_count(fd) probe_must_count(_metadata, fd)
/* Broken unless such a counter reads exactly that. */
#define hold_count(fd, want) probe_hold_count(_metadata, fd, want)
/* All counters of an event or group; broken when they are not laid out by its read_format. */
#define must_counts(fd, read_format) probe_must_counts(_metadata, fd, read_format)
/* How much a counter gains while a worker (NULL: this thread) causes page faults. They cause one
 * before, so that whatever the way there costs is not in the gain. */
#define gain_of_faults(fd, worker, faults) probe_gain_of_faults(_metadata, fd, worker, faults)
/* Broken unless a counter gains exactly that much while a worker (or this thread) faults. */
#define hold_gain(fd, worker, faults, gain) probe_hold_gain(_metadata, fd, worker, faults, gain)
/* Broken unless a sibling with that attr joins a leader, is started by it and counts page faults.
 * Returns the sibling. */
#define hold_join(attr, leader) probe_hold_join(_metadata, attr, leader)
/* Enable an event, cause page faults, disable it. */
#define fault_enabled(fd, faults) probe_fault_enabled(_metadata, fd, faults)
/* The same, of an event without read_format. Returns how many of them it counted. */
#define sample_faults(fd, faults) probe_sample_faults(_metadata, fd, faults)
/* A worker the test needs. */
#define must_start(worker, kind) probe_must_start(_metadata, worker, kind)
/* Run a thread that causes page faults from its start to its end. Returns its tid. */
#define must_run_thread(faults) probe_must_run_thread(_metadata, faults)
/* Let a worker, a child, execute this program anew; it goes on as a worker. */
#define must_exec(worker) probe_must_exec(_metadata, worker)
/* Let a worker (NULL: this thread) run until time_enabled shows: a scheduler clock may tick every
 * 10 ms only. Returns what the event then reads; its read_format has both times. */
#define run_until_timed(fd, worker) probe_run_until_timed(_metadata, fd, worker)

/* ---------------------------------------------------- what the macros above are made of */

static inline uint64_t probe_must_count(struct __test_metadata *_metadata, int fd)
{
	uint64_t value = 0;
	int error = pm_read_count(fd, &value);

	if (error)
		cannot_tell("read of a counter: %s", errno_name(error));
	return value;
}

static inline void probe_hold_count(struct __test_metadata *_metadata, int fd, uint64_t want)
{
	const uint64_t count = probe_must_count(_metadata, fd);

	if (count != want)
		broken("counted=%" PRIu64 " want=%" PRIu64, count, want);
}

static inline struct pm_counts probe_must_counts(struct __test_metadata *_metadata, int fd,
						 uint64_t read_format)
{
	struct pm_counts counts = { .nr = 0 };
	int error = pm_read_counts(fd, read_format, &counts);

	if (error == -EBADMSG)
		broken("read of %#" PRIx64 ": not laid out by it", read_format);
	if (error)
		cannot_tell("read of %#" PRIx64 ": %s", read_format, errno_name(error));
	return counts;
}

static inline uint64_t probe_gain_of_faults(struct __test_metadata *_metadata, int fd,
					    struct worker *worker, unsigned int faults)
{
	uint64_t before;
	int error = worker ? worker_faults(worker, 1) : cause_faults(1);

	before = must_count(fd);
	if (!error)
		error = worker ? worker_faults(worker, faults) : cause_faults(faults);
	if (error)
		cannot_tell("page faults could not be caused: %s", errno_name(error));
	return must_count(fd) - before;
}

static inline void probe_hold_gain(struct __test_metadata *_metadata, int fd,
				   struct worker *worker, unsigned int faults, uint64_t want)
{
	const uint64_t gain = probe_gain_of_faults(_metadata, fd, worker, faults);

	if (gain != want)
		broken("gained=%" PRIu64 " want=%" PRIu64 " of %u faults", gain, want, faults);
}

static inline int probe_hold_join(struct __test_metadata *_metadata, struct perf_event_attr attr,
				  int leader)
{
	int sibling;

	attr.disabled = 0;
	sibling = probe_must_open(_metadata, &attr, 0, -1, leader, 0);
	probe_must_ioctl(_metadata, leader, PERF_EVENT_IOC_ENABLE, 0);
	probe_hold_gain(_metadata, sibling, NULL, 3, 3);
	return sibling;
}

static inline void probe_fault_enabled(struct __test_metadata *_metadata, int fd,
				       unsigned int faults)
{
	int error = cause_faults(1);

	probe_must_ioctl(_metadata, fd, PERF_EVENT_IOC_ENABLE, 0);
	if (!error)
		error = cause_faults(faults);
	probe_must_ioctl(_metadata, fd, PERF_EVENT_IOC_DISABLE, 0);
	if (error)
		cannot_tell("page faults could not be caused: %s", errno_name(error));
}

static inline uint64_t probe_sample_faults(struct __test_metadata *_metadata, int fd,
					   unsigned int faults)
{
	const uint64_t before = probe_must_count(_metadata, fd);

	probe_fault_enabled(_metadata, fd, faults);
	return probe_must_count(_metadata, fd) - before;
}

static inline void probe_must_start(struct __test_metadata *_metadata, struct worker *worker,
				    enum worker_kind kind)
{
	int error = worker_start(worker, kind);

	if (error)
		cannot_tell("no %s: %s", kind == WORKER_THREAD ? "thread" : "child",
			    errno_name(error));
}

static inline pid_t probe_must_run_thread(struct __test_metadata *_metadata, unsigned int faults)
{
	struct worker worker;
	pid_t tid;
	int error;

	probe_must_start(_metadata, &worker, WORKER_THREAD);
	tid = worker.tid;
	error = worker_faults(&worker, faults) ?: worker_stop(&worker);
	if (error)
		cannot_tell("a thread that faults and ends: %s", errno_name(error));
	return tid;
}

static inline void probe_must_exec(struct __test_metadata *_metadata, struct worker *worker)
{
	int error = worker_exec(worker, NULL);

	if (error)
		cannot_tell("the child could not execute this program: %s", errno_name(error));
}

static inline struct pm_counts probe_run_until_timed(struct __test_metadata *_metadata, int fd,
						     struct worker *worker)
{
	const uint64_t format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	struct pm_counts counts = { .nr = 0 };

	for (int tries = 0; tries < 50 && !counts.time_enabled; tries++) {
		if (worker)
			worker_do(worker, wake_and_spin, NULL);
		else
			wake_and_spin(NULL);
		counts = probe_must_counts(_metadata, fd, format);
	}
	return counts;
}

#endif
