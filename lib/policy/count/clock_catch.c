/* SPDX-License-Identifier: MIT */
/* Reads instants of perf's clock: from the user page, or from samples of page faults. */
#define _GNU_SOURCE
#include "clock_map.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../diagnosis/diag.h"
#include "../plan/modify.h"
#include "../profile/deny.h"
#include "trial.h"

/* Page faults in user mode, because perf_event_paranoid=2 lets a program observe no others. */
static const struct pm_event_spec faults = {
	.size = sizeof(faults), .type = PERF_TYPE_SOFTWARE,
	.config = PERF_COUNT_SW_PAGE_FAULTS_MIN, .flags = PM_SPEC_USER_ONLY,
};

#define FAULT_SAMPLE (PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU)

static struct perf_event_attr faults_attr(void)
{
	struct perf_event_attr attr = {
		.type = faults.type, .config = faults.config, .exclude_kernel = 1,
		.exclude_hv = 1, .sample_period = 1, .sample_id_all = 1,
		.sample_type = FAULT_SAMPLE,
	};

	return attr;
}

/* --------------------------------------------------------------------------- a fault of our own */

struct fault_sampler {
	int fd;
	struct pm_ring ring;
	volatile char *area;
	size_t page;
};

static void close_sampler(struct fault_sampler *sampler)
{
	if (sampler->area != NULL)
		(void)munmap((void *)(uintptr_t)sampler->area, sampler->page);
	pm_ring_close(&sampler->ring);
	if (sampler->fd >= 0)
		close(sampler->fd);
}

/* Observes the calling thread. On failure nothing stays open. */
static int open_sampler(struct fault_sampler *sampler, struct pm_diag *diag)
{
	const struct perf_event_attr attr = faults_attr();
	void *area;
	int err;

	*sampler = (struct fault_sampler){ .page = (size_t)sysconf(_SC_PAGESIZE) };
	sampler->fd = pm_open(&attr, 0, -1, -1, 0);
	if (sampler->fd < 0) {
		(void)pm_diag_open(diag, &faults, -1, sampler->fd);
		return sampler->fd;
	}
	err = pm_ring_open(sampler->fd, 1, PROT_READ | PROT_WRITE, &sampler->ring);
	area = mmap(NULL, sampler->page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	if (area == MAP_FAILED)
		err = err < 0 ? err : -errno;
	else
		sampler->area = area;
	if (err < 0) {
		close_sampler(sampler);
		return pm_diag_say(diag, -err, PM_CAUSE_LOCKED_MEMORY, "mmap of a ring of one "
				   "page: %s", strerror(-err));
	}
	return 0;
}

/* Finds our own fault in the ring, if it was on that CPU (-1: any). Empties the ring. */
static bool take_stamp(struct fault_sampler *sampler, int cpu, uint64_t *ret)
{
	const struct pm_format format = { .sample_type = FAULT_SAMPLE, .sample_id_all = true };
	const struct perf_event_header *header;
	struct pm_record record;
	bool found = false;

	while (!found && pm_ring_next(&sampler->ring, &header) == 1)
		found = header->type == PERF_RECORD_SAMPLE &&
			pm_record_decode(header, &format, &record) == 0 &&
			record.sample.addr == (uintptr_t)sampler->area &&
			(cpu < 0 || record.sample.sid.cpu == (uint32_t)cpu);
	(void)pm_ring_skip_all(&sampler->ring);
	pm_ring_release(&sampler->ring);
	if (found)
		*ret = record.sample.sid.time;
	return found;
}

static bool read_clock(const void *context, uint64_t *ret)
{
	return pm_clock_ns(*(const int *)context, ret) == 0;
}

/* One fault between two readings of a clock. */
static bool catch_fault(struct fault_sampler *sampler, int cpu,
			bool (*now)(const void *context, uint64_t *ret), const void *context,
			struct pm_clock_bracket *ret)
{
	/* The page is given back, so that writing to it is a fault again. */
	if (madvise((void *)(uintptr_t)sampler->area, sampler->page, MADV_DONTNEED) != 0)
		return false;
	(void)pm_ring_skip_all(&sampler->ring);
	pm_ring_release(&sampler->ring);
	if (!now(context, &ret->before))
		return false;
	*sampler->area = 1;
	return now(context, &ret->after) && take_stamp(sampler, cpu, &ret->at);
}

/* ------------------------------------------------------------------------------- CPU by CPU */

struct tour {
	const struct pm_clock_map *map;
	struct clock_cpu *cpus;
	struct pm_diag *diag;
	int err;
};

static int catch_here(struct fault_sampler *sampler, int cpu, const struct tour *tour)
{
	struct pm_clock_bracket caught[CLOCK_ROUNDS];
	size_t count = 0;

	for (int i = 0; i < CLOCK_ROUNDS; i++)
		count += catch_fault(sampler, cpu, read_clock, &tour->map->wanted, &caught[count]);
	return pm_clock_learn(&tour->cpus[cpu], caught, count);
}

/* Runs as its own thread, so that no other affinity changes. CPUs that refuse it are left out. */
static void *visit_cpus(void *context)
{
	struct tour *tour = context;
	struct fault_sampler sampler;
	int result = -EAGAIN;

	tour->err = open_sampler(&sampler, tour->diag);
	if (tour->err < 0)
		return NULL;
	for (size_t cpu = 0; cpu < tour->map->cpu_count; cpu++) {
		size_t size = CPU_ALLOC_SIZE(tour->map->cpu_count);
		cpu_set_t *set = CPU_ALLOC(tour->map->cpu_count);
		int err = -ENOMEM;

		if (set != NULL) {
			CPU_ZERO_S(size, set);
			CPU_SET_S(cpu, size, set);
			err = sched_setaffinity(0, size, set);
			CPU_FREE(set);
		}
		if (err == 0)
			err = catch_here(&sampler, (int)cpu, tour);
		if (err > result)
			result = err;
	}
	close_sampler(&sampler);
	tour->err = result < 0 ?
		pm_diag_say(tour->diag, EAGAIN, PM_CAUSE_SILENCE, "no page fault was recorded on "
			    "any CPU") : result;
	return NULL;
}

static int catch_records(struct pm_clock_map *map, struct clock_cpu *cpus, struct pm_diag *diag)
{
	struct tour tour = { map, cpus, diag, 0 };
	pthread_t thread;
	int err = pthread_create(&thread, NULL, visit_cpus, &tour);

	if (err != 0)
		return pm_diag_say(diag, err, PM_CAUSE_UNKNOWN, "no thread to measure clocks: %s",
				   strerror(err));
	(void)pthread_join(thread, NULL);
	return tour.err;
}

/* ------------------------------------------------------------------------------- the user page */

struct page_clock {
	const struct perf_event_mmap_page *page;
	const struct pm_registers *registers;
};

/* Reads the page each time: the kernel changes the conversion with the CPU's frequency. */
static bool read_page(const void *context, uint64_t *ret)
{
	const struct page_clock *clock = context;
	struct pm_user_time time;
	uint64_t cycles;

	if (pm_user_time(clock->page, &time) < 0 || !clock->registers->cycles(&cycles))
		return false;
	*ret = pm_user_time_at(&time, cycles);
	return true;
}

static void try_cycles(void *context)
{
	const struct page_clock *clock = context;
	uint64_t unused;

	(void)clock->registers->cycles(&unused);
}

/*
 * A stamp has to lie between two conversions; some hypervisors get this wrong. And the instruction
 * may not trap, as it does after prctl(PR_SET_TSC).
 */
static int test_page(struct page_clock *clock)
{
	struct fault_sampler sampler;
	int err;

	if (clock->registers->cycles == NULL || !pm_trial(try_cycles, clock))
		return -ENOTSUP;
	err = open_sampler(&sampler, NULL);
	if (err < 0)
		return err;
	for (int i = 0; i < CLOCK_ROUNDS && err == 0; i++) {
		struct pm_clock_bracket caught;

		if (!catch_fault(&sampler, -1, read_page, clock, &caught))
			err = -EAGAIN;
		else if (caught.at < caught.before || caught.at > caught.after)
			err = -EPROTO;
	}
	close_sampler(&sampler);
	return err;
}

int pm_clock_open_page(struct pm_clock_map *map)
{
	const struct perf_event_attr attr = faults_attr();
	struct page_clock clock = { NULL, map->registers };
	int err;

	map->fd = pm_open(&attr, 0, -1, -1, 0);
	if (map->fd < 0)
		return map->fd;
	err = pm_ring_open(map->fd, 0, PROT_READ, &map->ring);
	if (err == 0) {
		clock.page = map->ring.base;
		err = test_page(&clock);
		if (err < 0)
			pm_ring_close(&map->ring);
	}
	if (err < 0) {
		close(map->fd);
		map->fd = -1;
	}
	return err;
}

/* --------------------------------------------------------------------------------- all sources */

/* Reads one clock between two readings of the other. */
static int catch_read(bool (*now)(const void *context, uint64_t *ret), const void *context,
		      int wanted, struct clock_cpu *cpu)
{
	struct pm_clock_bracket caught[CLOCK_ROUNDS];
	size_t count = 0;

	for (int i = 0; i < CLOCK_ROUNDS; i++) {
		struct pm_clock_bracket *one = &caught[count];

		count += pm_clock_ns(wanted, &one->before) == 0 && now(context, &one->at) &&
			pm_clock_ns(wanted, &one->after) == 0;
	}
	return pm_clock_learn(cpu, caught, count);
}

int pm_clock_catch(struct pm_clock_map *map, struct clock_cpu *cpus, struct pm_diag *diag)
{
	const struct page_clock clock = { map->ring.base, map->registers };
	int err;

	if (map->source == PM_CLOCK_RECORDS)
		return catch_records(map, cpus, diag);
	if (map->source == PM_CLOCK_PAGE)
		err = catch_read(read_page, &clock, map->wanted, cpus);
	else
		err = catch_read(read_clock, &map->records, map->wanted, cpus);
	if (err < 0)
		return pm_diag_say(diag, -err, PM_CAUSE_SILENCE, "the clock could not be read");
	return err;
}

/* ----------------------------------------------------------------------- which clock to ask for */

static int try_clock(const struct pm_event_spec *spec, int clock_id)
{
	struct perf_event_attr attr = pm_spec_attr(spec, false);

	attr.disabled = 1;
	attr.use_clockid = clock_id != PM_CLOCK_DEFAULT;
	attr.clockid = clock_id == PM_CLOCK_DEFAULT ? 0 : clock_id;
	return pm_open_try(&attr, spec->tid < 0 ? 0 : spec->tid, -1);
}

int pm_clock_choose(const struct pm_event_spec *spec, int wanted,
		    const struct pm_profile *profile, struct pm_diag *diag, int *ret)
{
	const int ladder[] = { wanted, CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW };
	int err = try_clock(spec, PM_CLOCK_DEFAULT);

	if (err < 0) {
		(void)pm_diag_open(diag, spec, -1, err);
		return err;
	}
	*ret = PM_CLOCK_DEFAULT;
	for (size_t i = 0; i < 3 && *ret == PM_CLOCK_DEFAULT; i++)
		if (ladder[i] >= 0 && !pm_denies(profile, pm_modify_clock_key(ladder[i])) &&
		    try_clock(spec, ladder[i]) == 0)
			*ret = ladder[i];
	return 0;
}
