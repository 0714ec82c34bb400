/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Steps that probes about records share: events that run as soon as they are open, the sample of
 * one page fault, stamps between two readings of a clock. A part of probe.h, which includes it.
 */
#ifndef SAMPLING_H
#define SAMPLING_H

/* must_watch() and ask_watch(), with the event enabled. */
#define must_run(attr, pid, cpu, pages) probe_must_run(_metadata, attr, pid, cpu, pages)
#define ask_run(with, without, pid, cpu, pages, what)                                          \
	probe_ask_run(_metadata, with, without, pid, cpu, pages, what)
/* The id of an event whose read_format is PERF_FORMAT_ID. */
#define must_id(fd) probe_must_id(_metadata, fd)
/* An event that was seen to count: only then does an errno of its ioctls say something. */
#define must_live(attr) probe_must_live(_metadata, attr)
/* Broken unless an ioctl answered with that errno (0: success); ENOTTY is a "no". */
#define hold_answer(answer, want, what) probe_hold_answer(_metadata, answer, want, what)
/* A page of this thread's own that nobody has touched. */
#define fresh_page() probe_fresh_page(_metadata)
/* Map a page of this program's own file, the one at page offset 1. */
#define map_program(flags, prot) probe_map_program(_metadata, flags, prot)
/* Enable a watch of page faults, cause one, disable it: the first sample. */
#define sample_fault(watch) probe_sample_fault(_metadata, watch)
/* Page faults of a running watch, each stamped between two readings of a clock. */
#define stamp_faults(watch, clock, brackets, count)                                            \
	probe_stamp_faults(_metadata, watch, clock, brackets, count)

static inline struct watch probe_must_run(struct __test_metadata *_metadata,
					  const struct perf_event_attr *attr, pid_t pid, int cpu,
					  size_t pages)
{
	struct watch watch = must_watch(attr, pid, cpu, pages);

	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	return watch;
}

static inline struct watch probe_ask_run(struct __test_metadata *_metadata,
					 const struct perf_event_attr *with,
					 const struct perf_event_attr *without, pid_t pid, int cpu,
					 size_t pages, const char *what)
{
	struct watch watch = ask_watch(with, without, pid, cpu, pages, what);

	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	return watch;
}

static inline uint64_t probe_must_id(struct __test_metadata *_metadata, int fd)
{
	return must_counts(fd, PERF_FORMAT_ID).member[0].id;
}

static inline int probe_must_live(struct __test_metadata *_metadata,
				  const struct perf_event_attr *attr)
{
	int fd = must_open(attr, 0, -1, -1, 0);

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(1));
	if (!must_count(fd))
		cannot_tell("ENABLE has no effect: no answer of ioctl can be believed");
	return fd;
}

static inline void probe_hold_answer(struct __test_metadata *_metadata, int answer, int want,
				     const char *what)
{
	if (answer == -ENOTTY && want != ENOTTY)
		say_no("%s: ENOTTY, while ENABLE works", what);
	if (answer != -want)
		broken("%s: %s want=%s", what, errno_name(answer), errno_name(want));
}

static inline char *probe_fresh_page(struct __test_metadata *_metadata)
{
	char *page = mmap(NULL, probe_env()->page_size, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, (void *)page);
	return page;
}

static inline void *probe_map_program(struct __test_metadata *_metadata, int flags, int prot)
{
	const size_t page = probe_env()->page_size;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *area = mmap(NULL, page, prot, flags, fd, page);

	if (fd < 0 || area == MAP_FAILED)
		cannot_tell("cannot map /proc/self/exe: %s", errno_name(errno));
	close(fd);
	return area;
}

static inline struct pm_sample probe_sample_fault(struct __test_metadata *_metadata,
						  struct watch *watch)
{
	struct pm_record record;

	must_ioctl(watch->fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(1));
	must_ioctl(watch->fd, PERF_EVENT_IOC_DISABLE, 0);
	if (!seek(watch, PERF_RECORD_SAMPLE, &record))
		broken("no sample of a page fault");
	return record.sample;
}

static inline void probe_stamp_faults(struct __test_metadata *_metadata, struct watch *watch,
				      int clock, struct pm_clock_bracket *brackets, int count)
{
	struct pm_record record;

	/* What the first reading of a clock faults in must not pass for the deed. */
	ASSERT_EQ(0, pm_clock_ns(clock, &brackets[0].before));
	ASSERT_EQ(0, cause_faults(1));
	for (int i = 0; i < count; i++) {
		while (seek(watch, PERF_RECORD_SAMPLE, &record))
			;
		ASSERT_EQ(0, pm_clock_ns(clock, &brackets[i].before));
		ASSERT_EQ(0, cause_faults(1));
		ASSERT_EQ(0, pm_clock_ns(clock, &brackets[i].after));
		if (!seek(watch, PERF_RECORD_SAMPLE, &record))
			broken("no sample of page fault %d", i);
		brackets[i].at = record.sample.sid.time;
	}
}

#endif
