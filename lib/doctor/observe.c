/* SPDX-License-Identifier: MIT */
/* Opens one event and looks for one kind of record; maps rings as large as possible. */
#define _GNU_SOURCE
#include "observe.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 5
#define PAGES 64
#define RING_BYTES (1u << 20)

/* ------------------------------------------------------------------------------ something to do */

static void fault(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *area = mmap(NULL, 16 * page, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED)
		return;
	for (size_t i = 0; i < 16; i++)
		((volatile char *)area)[i * page] = 1;
	(void)munmap(area, 16 * page);
}

void doctor_work(uint64_t ns)
{
	const struct timespec moment = { 0, 100000 };
	uint64_t begin = 0, now = 0, turns = ns / 50000 + 10;	/* a clock may stand still */
	volatile unsigned int work;
	char text[64];

	(void)pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &begin);
	do {
		for (work = 0; work < 200000; work++)
			;
		for (int i = 0; i < 50; i++)
			(void)pm_read_text("/proc/self/stat", text, sizeof(text));
		fault();
		nanosleep(&moment, NULL);
		(void)pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &now);
	} while (--turns > 0 && now - begin < ns);
}

/* --------------------------------------------------------------------------------- open and map */

int doctor_open(const struct perf_event_attr *attr, pid_t pid, int cpu, enum pm_reach reach,
		const char *event, struct pm_refusal *refusal)
{
	const struct pm_event_spec spec = {
		.size = sizeof(spec), .type = attr->type, .config = attr->config, .tid = pid,
		.frequency = attr->freq ? attr->sample_freq : 0,
		.flags = attr->exclude_kernel ? PM_SPEC_USER_ONLY : 0,
	};
	int fd = pm_open(attr, pid, cpu, -1, 0);

	if (fd >= 0 && !pm_is_event(fd)) {
		/* To read another file could take for ever. */
		close(fd);
		fd = -EPROTO;
	}
	if (fd >= 0)
		return fd;
	snprintf(refusal->call, sizeof(refusal->call), "perf_event_open(%s, pid %d, cpu %d)", event,
		 (int)pid, cpu);
	pm_refusal_of_open(&spec, reach, cpu, -fd, refusal);
	return fd;
}

int doctor_map(int fd, size_t rings, size_t pages, struct pm_refusal *refusal, struct pm_ring *ret)
{
	int err = pm_ring_open(fd, pages, PROT_READ | PROT_WRITE, ret);
	size_t bytes = (pages + 1) * (size_t)sysconf(_SC_PAGESIZE);

	if (err == 0)
		return 0;
	snprintf(refusal->call, sizeof(refusal->call), "mmap(ring of %zu kB)", bytes / 1024);
	pm_refusal_of_map(rings, bytes, -err, refusal);
	return err;
}

int doctor_silence(struct pm_refusal *refusal, const char *what)
{
	refusal->error = ENODATA;
	refusal->cause = PM_CAUSE_SILENCE;
	snprintf(refusal->call, sizeof(refusal->call), "%s", what);
	snprintf(refusal->gate, sizeof(refusal->gate), "every call was accepted, and nothing came");
	refusal->change[0] = '\0';
	return -ENODATA;
}

/* Up to this many are tried. */
#define CPUS 256

int doctor_on_some_cpu(attempt_fn *go, const struct attempt *attempt, struct pm_refusal *refusal,
		       char *how)
{
	int err = go(attempt, refusal, how);
	cpu_set_t allowed, one;
	struct pm_refusal other = { .gate = "" };

	if ((err != -ENODATA && err != -EBUSY) ||
	    sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return err;
	for (int cpu = 0; cpu < CPUS && err < 0; cpu++) {
		if (!CPU_ISSET(cpu, &allowed))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (sched_setaffinity(0, sizeof(one), &one) == 0 && go(attempt, &other, how) == 0)
			err = 0;
		if (err == 0)
			snprintf(how, HOW_SIZE, "on CPU %d, and not where this thread ran before: "
				 "cores may be of several kinds, each with events of its own", cpu);
	}
	(void)sched_setaffinity(0, sizeof(allowed), &allowed);
	return err;
}

static bool came(struct pm_ring *ring, const struct observation *see)
{
	const struct perf_event_header *header;
	struct pm_format format;
	struct pm_record record;

	pm_format_of(see->attr, &format);
	while (pm_ring_next(ring, &header) == 1)
		if (pm_record_decode(header, &format, &record) == 0 && see->is_it(&record))
			return true;
	return false;
}

int doctor_observe(const struct observation *see, struct pm_refusal *refusal)
{
	int fd = doctor_open(see->attr, see->pid, see->cpu, see->reach, see->event, refusal), err;
	struct pm_ring ring;

	if (fd < 0)
		return fd;
	err = doctor_map(fd, 1, PAGES, refusal, &ring);
	if (err == 0) {
		err = -ENODATA;
		/* A busy or emulated machine may give the work no time at first. */
		for (int round = 0; round < ROUNDS && err < 0; round++) {
			(void)pm_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
			doctor_work(see->ns << round);
			(void)pm_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
			err = came(&ring, see) ? 0 : -ENODATA;
		}
		if (err < 0)
			err = doctor_silence(refusal, see->event);
		pm_ring_close(&ring);
	}
	close(fd);
	return err;
}

/* ---------------------------------------------------------------------------------------- rings */

struct rings {
	struct pm_ring *list;
	size_t count, room, pages;
	struct pm_refusal *refusal;
	int err;
};

/*
 * The ring keeps its event alive, so the descriptor need not stay. Any event would do; dummy ones
 * came with v3.12.
 */
static void add_ring(unsigned int cpu, void *context)
{
	static const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK,
		.exclude_kernel = 1, .exclude_hv = 1, .disabled = 1,
	};
	struct rings *rings = context;
	int fd;

	if (rings->err < 0 || rings->count == rings->room)
		return;
	fd = doctor_open(&attr, 0, (int)cpu, PM_REACH_OWN, "task-clock:u", rings->refusal);
	rings->err = fd < 0 ? fd :
		doctor_map(fd, rings->room, rings->pages, rings->refusal,
			   &rings->list[rings->count]);
	if (fd >= 0)
		close(fd);
	if (rings->err == 0)
		rings->count++;
}

static int map_rings(struct rings *rings)
{
	char cpus[4096];

	rings->err = 0;
	rings->count = 0;
	if (pm_read_text("/sys/devices/system/cpu/online", cpus, sizeof(cpus)) < 0)
		add_ring(0, rings);
	else
		(void)pm_cpulist_each(cpus, add_ring, rings);
	for (size_t i = 0; i < rings->count; i++)
		pm_ring_close(&rings->list[i]);
	return rings->err;
}

int go_rings(const struct attempt *attempt, struct pm_refusal *refusal, char *how)
{
	int cpus = pm_cpus_online();
	struct rings rings = {
		.room = cpus > 0 ? (size_t)cpus : 1, .refusal = refusal,
		.pages = RING_BYTES / (size_t)sysconf(_SC_PAGESIZE),
	};
	int err;

	rings.list = calloc(rings.room, sizeof(*rings.list));
	if (rings.list == NULL)
		return -ENOMEM;
	err = map_rings(&rings);
	while (!attempt->kernel && err == -EPERM && rings.pages > 1) {
		rings.pages /= 2;
		err = map_rings(&rings);
	}
	if (err == 0 && !attempt->kernel)
		snprintf(how, HOW_SIZE, "%zu kB a CPU",
			 rings.pages * (size_t)sysconf(_SC_PAGESIZE) / 1024);
	free(rings.list);
	return err;
}
