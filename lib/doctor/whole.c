/* SPDX-License-Identifier: MIT */
/* Whether what is counted and recorded is whole: no counter shared, no record lost in silence. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "doctor.h"
#include "observe.h"

/* ---------------------------------------------------------------------------- a counter alone */

#define TIMES (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

/* It is in the way of hardware events on x86 and some others: it holds a counter of each CPU. */
static void blame_watchdog(struct pm_refusal *refusal)
{
	int64_t watchdog = 0;

	(void)pm_read_number("/proc/sys/kernel/nmi_watchdog", &watchdog);
	refusal->error = EBUSY;
	refusal->cause = PM_CAUSE_NO_EVENT;
	snprintf(refusal->call, sizeof(refusal->call), "instructions:u, pinned");
	snprintf(refusal->gate, sizeof(refusal->gate), "no counter of the CPU is left for it: "
		 "others hold them%s", watchdog > 0 ? ", one of them the NMI watchdog "
		 "(kernel.nmi_watchdog=1)" : "");
	snprintf(refusal->change, sizeof(refusal->change), "end other profilers, or ask for fewer "
		 "events at once%s", watchdog > 0 ? "; for all users of this machine, as root: "
		 "sysctl -w kernel.nmi_watchdog=0 until the next boot" : "");
}

/* Pinned: it has a counter all the time, or none at all. */
static int own_counter_here(const struct attempt *attempt, struct pm_refusal *refusal, char *how)
{
	static const struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_INSTRUCTIONS, .pinned = 1,
		.disabled = 1, .exclude_kernel = 1, .exclude_hv = 1, .read_format = TIMES,
	};
	struct pm_counts counts = { .nr = 0 };
	int fd = doctor_open(&attr, 0, -1, PM_REACH_OWN, "instructions:u", refusal), err;

	(void)attempt;
	(void)how;
	if (fd < 0)
		return fd;
	(void)pm_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	doctor_work(2000000);
	err = pm_read_counts(fd, TIMES, &counts);
	close(fd);
	if (err < 0 || counts.time_running == 0) {
		blame_watchdog(refusal);
		return -EBUSY;
	}
	return counts.member[0].value == 0 ? doctor_silence(refusal, "instructions:u") : 0;
}

int go_own_counter(const struct attempt *attempt, struct pm_refusal *refusal, char *how)
{
	return doctor_on_some_cpu(own_counter_here, attempt, refusal, how);
}

/* -------------------------------------------------------------------------------- lost records */

#define EXTRA 37	/* more faults than the ring has room for */

/* The same page again and again, while the event is enabled. */
static void cause_faults(int fd, volatile char *page, size_t count)
{
	const size_t size = (size_t)sysconf(_SC_PAGESIZE);

	(void)pm_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	while (count-- > 0) {
		*page = 1;
		(void)madvise((void *)(uintptr_t)page, size, MADV_DONTNEED);
	}
	(void)pm_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
}

/* What is in the ring now: samples, and those that are told to be lost. */
static uint64_t account_for(struct pm_ring *ring, const struct perf_event_attr *attr)
{
	const struct perf_event_header *header;
	struct pm_format format;
	struct pm_record record;
	uint64_t found = 0;

	pm_format_of(attr, &format);
	while (pm_ring_next(ring, &header) == 1)
		if (pm_record_decode(header, &format, &record) == 0)
			found += record.type == PERF_RECORD_LOST ? record.lost.lost :
				record.type == PERF_RECORD_SAMPLE;
	pm_ring_release(ring);
	return found;
}

/* More samples than fit, of 16 bytes each. What was lost is told with the next one. */
static int overfill(int fd, struct pm_ring *ring, const struct perf_event_attr *attr,
		    struct pm_refusal *refusal)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), room = ring->data_size / 16;
	char *area = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t count = 0, found;
	int err;

	if (area == MAP_FAILED)
		return -ENOMEM;
	cause_faults(fd, area, room + EXTRA);
	found = account_for(ring, attr);
	cause_faults(fd, area, 1);
	found += account_for(ring, attr);
	(void)munmap(area, page);
	err = pm_read_count(fd, &count);
	if (err < 0 || (count > room && found == count))
		return err;
	(void)doctor_silence(refusal, "page-faults:u with a ring that is too small");
	snprintf(refusal->gate, sizeof(refusal->gate), "of %" PRIu64 " samples %" PRIu64 " came or "
		 "were told to be lost", count, found);
	return -ENODATA;
}

int go_lost_records(const struct attempt *attempt, struct pm_refusal *refusal, char *how)
{
	static const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS, .disabled = 1,
		.sample_period = 1, .sample_type = PERF_SAMPLE_TID, .exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int fd = doctor_open(&attr, 0, -1, PM_REACH_OWN, "page-faults:u", refusal), err;
	struct pm_ring ring;

	(void)attempt;
	(void)how;
	if (fd < 0)
		return fd;
	err = doctor_map(fd, 1, 1, refusal, &ring);
	if (err == 0) {
		err = overfill(fd, &ring, &attr, refusal);
		pm_ring_close(&ring);
	}
	close(fd);
	return err;
}
