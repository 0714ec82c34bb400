/* SPDX-License-Identifier: MIT */
/* Where a program went: the branches before a sample, and traces in an AUX area. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "doctor.h"
#include "observe.h"

#define WORK_NS 20000000
#define AUX_PAGES 16

static bool has_branch(const struct pm_record *record)
{
	const struct perf_branch_entry *branches = record->sample.branches;

	return record->type == PERF_RECORD_SAMPLE && record->sample.branch_nr > 0 &&
		branches->from != 0;
}

int go_branch_stack(const struct attempt *attempt, struct pm_refusal *refusal, char *how)
{
	static const struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES,
		.sample_period = 1000000, .disabled = 1, .exclude_kernel = 1, .exclude_hv = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_BRANCH_STACK,
		.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY,
	};
	static const struct observation see = {
		.attr = &attr, .cpu = -1, .reach = PM_REACH_OWN,
		.event = "cycles:u with branch stacks", .is_it = has_branch, .ns = WORK_NS,
	};

	(void)attempt;
	(void)how;
	return doctor_observe(&see, refusal);
}

/* Those that trace a task, by their names in sysfs. */
static int is_trace_unit(const char *name, void *context)
{
	static const char *const known[] = { "intel_pt", "intel_bts", "arm_spe_", "cs_etm",
					     "hisi_ptt", "arm_trbe", "perfmodes_trace" };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strncmp(name, known[i], strlen(known[i])) == 0) {
			snprintf(context, 64, "%s", name);
			return 1;
		}
	return 0;
}

static int refuse_unit(struct pm_refusal *refusal)
{
	refusal->error = ENOENT;
	refusal->cause = PM_CAUSE_NO_EVENT;
	snprintf(refusal->call, sizeof(refusal->call), "readdir(/sys/bus/event_source/devices)");
	if (access("/sys/bus/event_source/devices", F_OK) != 0) {
		snprintf(refusal->gate, sizeof(refusal->gate), "/sys is hidden here, and tells "
			 "which trace units there are");
		snprintf(refusal->change, sizeof(refusal->change), "as root: mount -t sysfs sysfs "
			 "/sys");
		return -ENOENT;
	}
	snprintf(refusal->gate, sizeof(refusal->gate), "no trace unit in "
		 "/sys/bus/event_source/devices (intel_pt, arm_spe, cs_etm)");
	snprintf(refusal->change, sizeof(refusal->change), "another machine, or one whose firmware "
		 "and hypervisor leave it to Linux");
	return -ENOENT;
}

/* The area lies behind the ring, and moves on by itself while the task works. */
static int trace(int fd, struct pm_ring *ring, struct pm_refusal *refusal)
{
	const size_t size = AUX_PAGES * (size_t)sysconf(_SC_PAGESIZE);
	volatile struct perf_event_mmap_page *page = ring->base;
	bool moved;
	void *area;

	page->aux_offset = ring->map_size;
	page->aux_size = size;
	area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)ring->map_size);
	if (area == MAP_FAILED) {
		const int err = errno;

		snprintf(refusal->call, sizeof(refusal->call), "mmap(AUX area of %zu kB)",
			 size / 1024);
		pm_refusal_of_map(1, size, err, refusal);
		return -err;
	}
	(void)pm_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	doctor_work(3000000);
	(void)pm_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	moved = page->aux_head != 0;
	(void)munmap(area, size);
	return moved ? 0 : doctor_silence(refusal, "the AUX area");
}

int go_aux(const struct attempt *attempt, struct pm_refusal *refusal, char *how)
{
	struct perf_event_attr attr = {
		.sample_type = PERF_SAMPLE_TID, .sample_period = 1, .sample_id_all = 1,
		.disabled = 1, .exclude_kernel = 1, .exclude_hv = 1,
	};
	struct pm_ring ring;
	char name[64];
	int fd, err;

	(void)attempt;
	if (pm_pmu_each(is_trace_unit, name) != 1)
		return refuse_unit(refusal);
	attr.type = (uint32_t)pm_pmu_type(name);
	fd = doctor_open(&attr, 0, -1, PM_REACH_OWN, name, refusal);
	if (fd < 0)
		return fd;
	err = doctor_map(fd, 1, 8, refusal, &ring);
	if (err == 0) {
		err = trace(fd, &ring, refusal);
		pm_ring_close(&ring);
	}
	close(fd);
	if (err == 0)
		snprintf(how, HOW_SIZE, "%s", name);
	return err;
}
