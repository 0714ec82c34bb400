/* SPDX-License-Identifier: MIT */
/*
 * Records streams of the running kernel for captured_test.c, with what this program itself knows
 * must be in them:
 *
 *	cc -std=gnu11 -I.. capture.c ../sys.c ../ring.c -o capture
 *	./capture samples >data/samples-<kernel>-<arch>.inc
 *	./capture sideband >data/sideband-<kernel>-<arch>.inc
 *
 * The lines are C strings, so that the test includes them and needs no path at run time.
 * Wants root for physical addresses. Prints no address of the kernel.
 */
#define _GNU_SOURCE
#include "../pm_sys.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FAULTS 12

static void die(const char *what, int err)
{
	fprintf(stderr, "capture: %s: %s\n", what, strerror(-err));
	exit(1);
}

static void print_head(const struct perf_event_attr *attr)
{
	const uint16_t one = 1;
	struct utsname names;

	uname(&names);
	printf("/* %s %.4s, written by capture.c */\n", names.machine, names.release);
	printf("\"little_endian=%d\\n\"\n", *(const unsigned char *)&one);
	printf("\"sample_type=%#" PRIx64 "\\n\"\n", attr->sample_type);
	printf("\"read_format=%#" PRIx64 "\\n\"\n", attr->read_format);
	printf("\"sample_regs_user=%#" PRIx64 "\\n\"\n", attr->sample_regs_user);
	printf("\"sample_regs_intr=%#" PRIx64 "\\n\"\n", attr->sample_regs_intr);
	printf("\"sample_id_all=%d\\n\"\n", attr->sample_id_all);
	printf("\"pid=%d\\n\"\n\"tid=%d\\n\"\n", getpid(), pm_gettid());
}

static void print_id(const char *key, int fd)
{
	uint64_t id;
	int err = pm_ioctl(fd, PERF_EVENT_IOC_ID, (unsigned long)&id);

	if (err < 0)
		die("PERF_EVENT_IOC_ID", err);
	printf("\"%s=%" PRIu64 "\\n\"\n", key, id);
}

static void print_now(const char *key)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	printf("\"%s=%" PRIu64 "\\n\"\n", key,
	       (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
}

static void print_records(struct pm_ring *ring)
{
	const struct perf_event_header *record;

	while (pm_ring_next(ring, &record) == 1) {
		printf("\"record=");
		for (size_t i = 0; i < record->size; i++)
			printf("%02x", ((const unsigned char *)record)[i]);
		printf("\\n\"\n");
	}
}

static int open_or_die(const struct perf_event_attr *attr, int group)
{
	int fd = pm_open(attr, 0, -1, group, 0);

	if (fd < 0)
		die("perf_event_open", fd);
	return fd;
}

static void capture_samples(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1,
		.sample_type = (PERF_SAMPLE_MAX - 1) & ~(uint64_t)(PERF_SAMPLE_BRANCH_STACK |
			       PERF_SAMPLE_AUX | PERF_SAMPLE_WEIGHT_STRUCT),
		.read_format = PERF_FORMAT_MAX - 1,
		.sample_regs_user = 0x1ff,
		.sample_regs_intr = 0x100,
		.sample_stack_user = 64,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_callchain_kernel = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	const struct perf_event_attr sibling = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.read_format = PERF_FORMAT_MAX - 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.exclude_kernel = 1,
	};
	int leader = open_or_die(&attr, -1), member = open_or_die(&sibling, leader);
	volatile unsigned char *pages = mmap(NULL, FAULTS * 4096, PROT_READ | PROT_WRITE,
					     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct pm_ring ring;
	int err = pm_ring_open(leader, 4, PROT_READ | PROT_WRITE, &ring);

	if (err < 0)
		die("mmap", err);
	madvise((void *)pages, FAULTS * 4096, MADV_NOHUGEPAGE);
	print_head(&attr);
	print_id("id", leader);
	print_id("member", member);
	print_now("begin");
	pm_ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < FAULTS; i++)
		pages[i * 4096 + i * 8] = 1;
	pm_ioctl(leader, PERF_EVENT_IOC_DISABLE, 0);
	print_now("end");
	for (int i = 0; i < FAULTS; i++)
		printf("\"addr=%p\\n\"\n", (void *)(pages + i * 4096 + i * 8));
	print_records(&ring);
}

static void capture_sideband(void)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
			       PERF_SAMPLE_CPU | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_IDENTIFIER,
		.mmap = 1, .mmap2 = 1, .comm = 1, .task = 1, .context_switch = 1,
		.exclude_kernel = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	const struct timespec moment = { 0, 2000000 };
	int fd, file = open("/bin/true", O_RDONLY | O_CLOEXEC), err;
	struct pm_ring ring;
	pid_t child;
	void *map;

	fd = open_or_die(&attr, -1);
	err = pm_ring_open(fd, 4, PROT_READ | PROT_WRITE, &ring);
	if (err < 0)
		die("mmap", err);
	print_head(&attr);
	print_id("id", fd);
	fflush(stdout);
	print_now("begin");
	prctl(PR_SET_NAME, "captured-name");
	map = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 4096);
	child = fork();
	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
	nanosleep(&moment, NULL);
	print_now("end");
	printf("\"map=%p\\n\"\n\"child=%d\\n\"\n", map, child);
	print_records(&ring);
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "samples") == 0)
		capture_samples();
	else if (argc == 2 && strcmp(argv[1], "sideband") == 0)
		capture_sideband();
	else
		return 2;
	return 0;
}
