/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events with a ring, in tests: watching, redirecting, waiting, signals. A part of probe.h, which
 * includes it; probes include probe.h alone.
 */
#ifndef WATCH_H
#define WATCH_H

/* An event with its ring and the format of its records, opened together. */
struct watch {
	int fd;
	struct pm_ring ring;
	struct pm_format format;
};

#define must_watch(attr, pid, cpu, pages) probe_must_watch(_metadata, attr, pid, cpu, pages)
#define ask_watch(with, without, pid, cpu, pages, what)                                        \
	probe_ask_watch(_metadata, with, without, pid, cpu, pages, what)
/* The next unread record of a type (0: any), or false. Broken when the ring does not parse. */
#define seek(watch, type, record) probe_seek(_metadata, watch, type, record)
/* How many unread samples are of that thread (0: drop all). Everything unread is dropped. */
#define drain_samples(watch, tid) probe_drain_samples(_metadata, watch, tid)
/* Broken unless that many page faults, sampled by `fd`, are as many samples in a ring. */
#define hold_samples(fd, ring, faults, what)                                                   \
	probe_hold_samples(_metadata, fd, ring, faults, BROKEN, what)
/* The same where it is a condition of the question: cannot tell unless they are. */
#define must_sample(fd, ring, faults, what)                                                    \
	probe_hold_samples(_metadata, fd, ring, faults, UNKNOWN, what)
/* How many samples of a worker (NULL: this thread) arrive while it causes page faults. */
#define samples_of_faults(watch, worker, faults)                                               \
	probe_samples_of_faults(_metadata, watch, worker, faults)

/* Two events of this thread: what the source writes goes into the target's ring. */
struct redirection {
	struct watch target;
	int source;
};

/* Open and redirect such a pair of one attr. */
#define must_redirect(attr) probe_must_redirect(_metadata, attr)
/* Open and redirect a pair of samplers of page faults, known to work. */
#define must_redirect_faults() probe_must_redirect_faults(_metadata)
/* Let an event signal a thread: ask_for_signals(), which the test needs. */
#define must_ask_for_signals(fd, number, tid)                                                  \
	probe_must_ask_for_signals(_metadata, fd, number, tid)
/* A thread that waits in poll(2), at most so many ms: waiter_start(), which the test needs. */
#define must_wait(waiter, fd, time_out_ms) probe_must_wait(_metadata, waiter, fd, time_out_ms)
/* Broken unless a waiter still sleeps when another one, woken by a later sample, has run. */
#define hold_asleep(waiter, when) probe_hold_asleep(_metadata, waiter, when)
/* Broken unless these revents tell POLLHUP; nothing at all is a "no": older kernels do not tell. */
#define hold_hang_up(revents, when) probe_hold_hang_up(_metadata, revents, when)

/* An attr for this thread of a trace unit, whose name goes into `name`; absent without one. */
#define must_trace(name) probe_must_trace(_metadata, name)
/* Map an AUX area behind a watch's ring; refused, while the ring is not, it is a "no". */
#define ask_aux(watch, pages, prot) probe_ask_aux(_metadata, watch, pages, prot)

/* A sampler of page faults each of which wakes the reader. */
static inline struct perf_event_attr attr_waking(void)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);

	attr.wakeup_events = 1;
	return attr;
}

/* ---------------------------------------------------- what the macros above are made of */

static inline struct watch probe_watch(struct __test_metadata *_metadata, int fd,
				       const struct perf_event_attr *attr, size_t pages)
{
	struct watch watch = { .fd = fd };

	pm_format_of(attr, &watch.format);
	probe_must_map(_metadata, fd, pages, &watch.ring);
	/* Touch the mapping now, or reading it would cause the very page faults to be counted. */
	pm_ring_release(&watch.ring);
	for (size_t at = 0; at < watch.ring.map_size; at += 4096)
		(void)*((volatile char *)watch.ring.base + at);
	return watch;
}

static inline struct watch probe_must_watch(struct __test_metadata *_metadata,
					    const struct perf_event_attr *attr, pid_t pid, int cpu,
					    size_t pages)
{
	return probe_watch(_metadata, probe_must_open(_metadata, attr, pid, cpu, -1, 0), attr,
			   pages);
}

static inline struct watch probe_ask_watch(struct __test_metadata *_metadata,
					   const struct perf_event_attr *with,
					   const struct perf_event_attr *without, pid_t pid,
					   int cpu, size_t pages, const char *what)
{
	return probe_watch(_metadata, probe_ask_open(_metadata, with, without, pid, cpu, what),
			   with, pages);
}

static inline bool probe_seek(struct __test_metadata *_metadata, struct watch *watch,
			      uint32_t type, struct pm_record *ret)
{
	int more;

	ret->type = ret->size = 0;
	while ((more = next_record(&watch->ring, &watch->format, ret)) == 1)
		if (!type || ret->type == type)
			return true;
	if (more < 0)
		broken("a record does not parse (%s): type %u size %u", errno_name(more),
		       ret->type, ret->size);
	pm_ring_release(&watch->ring);
	return false;
}

static inline int probe_drain_samples(struct __test_metadata *_metadata, struct watch *watch,
				      pid_t tid)
{
	struct pm_record record;
	int count = 0;

	while (probe_seek(_metadata, watch, PERF_RECORD_SAMPLE, &record))
		count += record.sample.sid.tid == (uint32_t)tid;
	return count;
}

static inline int probe_samples_of_faults(struct __test_metadata *_metadata, struct watch *watch,
					  struct worker *worker, unsigned int faults)
{
	int error = worker ? worker_faults(worker, 1) : cause_faults(1);

	probe_drain_samples(_metadata, watch, 0);
	if (!error)
		error = worker ? worker_faults(worker, faults) : cause_faults(faults);
	if (error)
		cannot_tell("page faults could not be caused: %s", errno_name(error));
	return probe_drain_samples(_metadata, watch, worker ? worker->tid : pm_gettid());
}

static inline void probe_hold_samples(struct __test_metadata *_metadata, int fd,
				      struct pm_ring *ring, unsigned int faults,
				      enum verdict otherwise, const char *what)
{
	const uint64_t counted = probe_sample_faults(_metadata, fd, faults);
	const int found = count_records(ring, PERF_RECORD_SAMPLE);

	if (counted != faults || found != (int)faults)
		probe_say(_metadata, otherwise, "%s: counted=%" PRIu64 " samples=%d want=%u", what,
			  counted, found, faults);
}

static inline struct redirection probe_must_redirect(struct __test_metadata *_metadata,
						     const struct perf_event_attr *attr)
{
	struct redirection pair;

	pair.target = probe_must_watch(_metadata, attr, 0, -1, 1);
	pair.source = probe_must_open(_metadata, attr, 0, -1, -1, 0);
	probe_must_ioctl(_metadata, pair.source, PERF_EVENT_IOC_SET_OUTPUT, pair.target.fd);
	return pair;
}

static inline struct redirection
probe_must_redirect_faults(struct __test_metadata *_metadata)
{
	const struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	struct redirection pair = probe_must_redirect(_metadata, &attr);

	must_sample(pair.source, &pair.target.ring, 5, "redirected");
	return pair;
}

static inline void probe_must_ask_for_signals(struct __test_metadata *_metadata, int fd,
					      int number, pid_t tid)
{
	int error = ask_for_signals(fd, number, tid);

	if (error)
		cannot_tell("F_SETOWN_EX, F_SETSIG or O_ASYNC: %s", errno_name(error));
}

static inline void probe_must_wait(struct __test_metadata *_metadata, struct waiter *waiter,
				   int fd, int time_out_ms)
{
	int error = waiter_start(waiter, fd, time_out_ms);

	if (error)
		cannot_tell("no waiting thread: %s", errno_name(error));
}

/* The witness needs no less time to wake than the waiter would, however busy the machine. */
static inline void probe_hold_asleep(struct __test_metadata *_metadata, struct waiter *waiter,
				     const char *when)
{
	const struct perf_event_attr attr = attr_waking();
	struct waiter witness;
	struct watch watch;
	int revents;

	watch = probe_must_watch(_metadata, &attr, 0, -1, 1);
	probe_must_wait(_metadata, &witness, watch.fd, 5000);
	probe_sample_faults(_metadata, watch.fd, 1);
	revents = waiter_woke(&witness, 2000);
	if (revents != POLLIN)
		cannot_tell("a sample does not wake a witness: revents=%#x", revents);
	revents = waiter_woke(waiter, 2);
	if (revents != -EAGAIN)
		broken("%s: woken with revents=%#x", when, revents);
	pm_ring_close(&watch.ring);
	close(watch.fd);
}

static inline void probe_hold_hang_up(struct __test_metadata *_metadata, int revents,
				      const char *when)
{
	if (!revents || revents == -EAGAIN)
		say_no("%s: nothing is reported", when);
	if (!(revents & POLLHUP))
		broken("%s: revents=%#x want=%#x", when, revents, POLLHUP);
}

/* Known names, because opening every PMU there is would meet many that are none of our business. */
static inline int is_trace_unit(const char *name, void *context)
{
	static const char *const names[] = { "intel_pt", "intel_bts", "arm_spe_", "cs_etm",
					     "hisi_ptt", "arm_trbe" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(name, names[i], strlen(names[i]))) {
			snprintf(context, 64, "%s", name);
			return 1;
		}
	return 0;
}

static inline struct perf_event_attr probe_must_trace(struct __test_metadata *_metadata,
						      char name[64])
{
	struct perf_event_attr attr;

	require(REQUIRE_PERF);
	if (pm_pmu_each(is_trace_unit, name) != 1)
		say_absent("no PMU with AUX data (intel_pt, intel_bts, arm_spe, cs_etm, hisi_ptt)");
	attr = attr_of(pm_pmu_type(name), 0);
	attr.sample_type = PERF_SAMPLE_TID;
	attr.sample_period = 1;
	attr.sample_id_all = 1;
	return attr;
}

static inline void probe_ask_aux(struct __test_metadata *_metadata, struct watch *watch,
				 size_t pages, int prot)
{
	volatile struct perf_event_mmap_page *page = watch->ring.base;
	const size_t size = pages * probe_env()->page_size;

	page->aux_offset = watch->ring.map_size;
	page->aux_size = size;
	if (mmap(NULL, size, prot, MAP_SHARED, watch->fd, watch->ring.map_size) != MAP_FAILED)
		return;
	if (errno == EINVAL)
		say_no("EINVAL for the AUX area of a trace unit");
	if (errno == EPERM)
		say_blocked("EPERM: no locked memory left for %zu pages", pages);
	cannot_tell("mmap of an AUX area: %s", errno_name(errno));
}

#endif
