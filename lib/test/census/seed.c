/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "seed.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../pm_sys.h"
#include "crowd.h"

#define PAGES 128
#define ROUNDS 3
#define ADDRESS_AT 24		/* in a sample: header, pid and tid, time, address */

static const struct perf_event_attr recipe = {
	.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS_MIN, .sample_period = 1,
	.size = PERF_ATTR_SIZE_VER3, .wakeup_events = 1, .disabled = 1, .mmap = 1, .mmap_data = 1,
	.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |
		PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_READ,
	.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
		PERF_FORMAT_ID,
};

static size_t ring_size(void)
{
	return (1 + PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}

static int open_thread(struct seed *seed, pid_t tid)
{
	for (unsigned int cpu = 0; cpu < seed->cpus; cpu++) {
		struct perf_event_attr attr = recipe;
		int fd;

		attr.inherit = 1;
		fd = pm_open_raw(&attr, tid, (int)cpu, -1, 0);
		if (fd == -ESRCH)
			return 0;
		if (fd < 0)
			return fd;
		if (seed->count == sizeof(seed->fds) / sizeof(seed->fds[0]))
			return -EMFILE;
		seed->cpu_of[seed->count] = (unsigned char)cpu;
		seed->fds[seed->count++] = fd;
		if (seed->leaders[cpu] == 0)
			seed->leaders[cpu] = fd;
	}
	return 0;
}

/* Until a listing has nobody who was not in the one before. */
static int open_threads(struct seed *seed)
{
	static char known[1 << 22];	/* by thread id */
	int fresh = 1, err = 0;

	memset(known, 0, sizeof(known));
	for (int round = 0; round < ROUNDS && fresh > 0 && err == 0; round++) {
		DIR *dir = opendir("/proc/self/task");
		const struct dirent *entry;

		fresh = 0;
		while (err == 0 && (entry = readdir(dir)) != NULL) {
			int tid = atoi(entry->d_name);

			if (tid <= 0 || tid >= 1 << 22 || known[tid])
				continue;
			known[tid] = 1;
			fresh++;
			err = open_thread(seed, tid);
		}
		closedir(dir);
	}
	return err;
}

static int connect_rings(struct seed *seed, const char **ret_refused)
{
	for (unsigned int cpu = 0; cpu < seed->cpus; cpu++) {
		seed->rings[cpu] = mmap(NULL, ring_size(), PROT_READ | PROT_WRITE, MAP_SHARED,
					seed->leaders[cpu], 0);
		if (seed->rings[cpu] == MAP_FAILED) {
			seed->rings[cpu] = NULL;
			*ret_refused = "mmap";
			return -errno;
		}
	}
	for (unsigned int i = 0; i < seed->count; i++) {
		int leader = seed->leaders[seed->cpu_of[i]], err = 0;

		if (seed->fds[i] != leader)
			err = pm_ioctl(seed->fds[i], PERF_EVENT_IOC_SET_OUTPUT,
				       (unsigned long)leader);
		if (err == 0)
			err = pm_ioctl(seed->fds[i], PERF_EVENT_IOC_ENABLE, 0);
		if (err < 0) {
			*ret_refused = "ioctl";
			return err;
		}
	}
	return 0;
}

int seed_attach(struct seed *seed, const char **ret_refused)
{
	int err, cpus = pm_cpus_online();

	memset(seed, 0, sizeof(*seed));
	seed->cpus = cpus > 0 && cpus <= 64 ? (unsigned int)cpus : 1;
	seed->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	*ret_refused = "perf_event_open";
	err = open_threads(seed);
	if (err == 0)
		err = connect_rings(seed, ret_refused);
	if (err < 0)
		seed_detach(seed);
	return err;
}

/* Its parser, but for the memory barriers it lacked. */
static void drain(void *base)
{
	const struct perf_event_header *header;
	struct pm_ring ring;

	if (pm_ring_borrow(base, ring_size(), &ring) < 0)
		return;
	while (pm_ring_next(&ring, &header) == 1) {
		uint64_t address;

		if (header->type != PERF_RECORD_SAMPLE)
			continue;
		memcpy(&address, (const char *)header + ADDRESS_AT, sizeof(address));
		crowd_tell(address);
	}
	pm_ring_release(&ring);
	pm_ring_close(&ring);
}

int seed_poll(struct seed *seed, int timeout_ms)
{
	struct pollfd polled[65] = { { .fd = seed->stop, .events = POLLIN } };
	int ready;

	for (unsigned int i = 0; i < seed->cpus; i++)
		polled[1 + i] = (struct pollfd){ .fd = seed->leaders[i], .events = POLLIN };
	ready = poll(polled, 1 + seed->cpus, timeout_ms);
	for (unsigned int i = 0; i < seed->cpus; i++)
		drain(seed->rings[i]);
	return ready;
}

void seed_detach(struct seed *seed)
{
	for (unsigned int i = 0; i < seed->cpus; i++)
		if (seed->rings[i] != NULL)
			munmap(seed->rings[i], ring_size());
	for (unsigned int i = 0; i < seed->count; i++)
		close(seed->fds[i]);
	close(seed->stop);
}

static void *end_when_told(void *context)
{
	int *pair = context;
	int tid = pm_gettid();
	char byte;

	if (write(pair[1], &tid, sizeof(tid)) == sizeof(tid))
		(void)!read(pair[2], &byte, 1);
	return NULL;
}

/* pair: two pipes, told by the thread and to it. The ring is there before the thread ends. */
static int open_and_end(int *pair, void **ret_ring)
{
	pthread_t thread;
	int tid, fd = -ESRCH;

	if (pthread_create(&thread, NULL, end_when_told, pair) != 0)
		return -EAGAIN;
	if (read(pair[0], &tid, sizeof(tid)) == sizeof(tid)) {
		struct perf_event_attr attr = recipe;

		attr.inherit = 1;
		fd = pm_open_raw(&attr, tid, 0, -1, 0);
		*ret_ring = mmap(NULL, ring_size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	}
	(void)!write(pair[3], "x", 1);
	pthread_join(thread, NULL);
	return fd;
}

int seed_spins(unsigned int tries)
{
	struct pollfd polled = { .events = POLLIN };
	int pair[4], at_once = 0;
	void *ring = MAP_FAILED;

	if (pipe(&pair[0]) != 0 || pipe(&pair[2]) != 0)
		return -errno;
	polled.fd = open_and_end(pair, &ring);
	for (int i = 0; i < 4; i++)
		close(pair[i]);
	if (polled.fd < 0)
		return polled.fd;
	if (ring == MAP_FAILED) {
		close(polled.fd);
		return -EPERM;
	}
	for (unsigned int i = 0; i < tries; i++) {
		at_once += poll(&polled, 1, 10) > 0;
		drain(ring);
	}
	munmap(ring, ring_size());
	close(polled.fd);
	return at_once;
}
