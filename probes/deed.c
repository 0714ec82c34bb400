/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What probes do so that the kernel has something to count. See deed.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "deed.h"

/* --------------------------------------------------------------------------------- opening */

static struct perf_event_attr attr_excluding(uint32_t type, uint64_t config, bool exclude)
{
	return (struct perf_event_attr){
		.type = type,
		.size = sizeof(struct perf_event_attr),
		.config = config,
		.disabled = 1,
		.exclude_kernel = exclude,
		.exclude_hv = exclude,
	};
}

/* A PMU that counts whatever runs says EINVAL to the wish to leave something out. */
static bool core_can_exclude(void)
{
	static int answer = -1;
	struct perf_event_attr attr;

	if (answer < 0) {
		attr = attr_excluding(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, true);
		answer = answer_to(&attr) != -EINVAL;
	}
	return answer;
}

struct perf_event_attr attr_of(uint32_t type, uint64_t config)
{
	const bool core = type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE ||
			  type == PERF_TYPE_RAW;

	return attr_excluding(type, config, !core || core_can_exclude());
}

struct perf_event_attr attr_software(uint64_t config)
{
	return attr_of(PERF_TYPE_SOFTWARE, config);
}

struct perf_event_attr attr_counter(bool inherit)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.disabled = 0;
	attr.inherit = inherit;
	return attr;
}

struct perf_event_attr attr_faults(uint64_t sample_type)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.sample_period = 1;
	attr.sample_type = sample_type;
	return attr;
}

struct perf_event_attr attr_hardware(void)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	int fd = pm_open(&attr, 0, -1, -1, 0);

	if (fd < 0)
		attr.config = PERF_COUNT_HW_INSTRUCTIONS;
	else
		close(fd);
	return attr;
}

struct perf_event_attr attr_sideband(void)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_DUMMY);
	int fd = pm_open(&attr, 0, -1, -1, 0);

	if (fd == -ENOENT || fd == -EINVAL)	/* before v3.12: any counter carries side-band */
		attr.config = PERF_COUNT_SW_CPU_MIGRATIONS;
	if (fd >= 0)
		close(fd);
	return attr;
}

struct perf_event_attr attr_access(uint32_t bp_type, const volatile void *address, uint64_t length)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_BREAKPOINT, 0);

	attr.bp_type = bp_type;
	attr.bp_addr = (uintptr_t)address;
	attr.bp_len = length;
	return attr;
}

/*
 * The length is a word on x86, the kernel's word and not the program's; on arm the instruction's,
 * which the lowest bit of the address tells. The rest takes a word.
 */
struct perf_event_attr attr_call(void (*function)(void))
{
	uintptr_t address = (uintptr_t)function;
	struct perf_event_attr attr;
	int fd;

#ifdef __arm__
	attr = attr_access(HW_BREAKPOINT_X, (void *)(address & ~1ul), address & 1 ? 2 : 4);
#else
	attr = attr_access(HW_BREAKPOINT_X, (void *)address, sizeof(long));
#endif
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd == -EINVAL && attr.bp_len == 4)
		attr.bp_len = 8;
	if (fd >= 0)
		close(fd);
	return attr;
}

int answer_to(const struct perf_event_attr *attr)
{
	int fd = pm_open(attr, 0, -1, -1, 0);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* --------------------------------------------------------------------------------- driving */

/*
 * Transparent huge pages would make one fault out of 512, so they are refused; MADV_NOHUGEPAGE
 * fails harmlessly where the kernel has none. The first write to a page is one minor fault then.
 */
int cause_faults(unsigned int count)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	volatile char *area;

	area = mmap(NULL, count * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED)
		return -errno;
	madvise((void *)area, count * page, MADV_NOHUGEPAGE);
	for (unsigned int i = 0; i < count; i++)
		area[i * page] = 1;
	munmap((void *)area, count * page);
	return 0;
}

volatile char *map_fresh(int fd, unsigned int pages)
{
	const size_t size = pages * (size_t)sysconf(_SC_PAGESIZE);
	const int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	void *area = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (area == MAP_FAILED)
		return NULL;
	madvise(area, size, MADV_NOHUGEPAGE);
	madvise(area, size, MADV_RANDOM);
	return area;
}

void touch_pages(volatile char *area, unsigned int pages)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (volatile char *at = area; at && at < area + pages * page; at += page)
		*at = 1;
}

uint64_t now_ns(void)
{
	uint64_t now = 0;

	pm_clock_ns(CLOCK_MONOTONIC, &now);
	return now;
}

void spin_ns(uint64_t ns)
{
	const uint64_t end = now_ns() + ns;

	while (now_ns() < end)
		;
}

int spin_two_ms(void *unused)
{
	(void)unused;
	spin_ns(2000000);
	return 0;
}

int wake_and_spin(void *unused)
{
	poll(NULL, 0, 1);
	return spin_two_ms(unused);
}

/* glibc's cpu_set_t ends at 1024 CPUs; one large set serves every machine known. */
struct cpu_mask {
	unsigned long words[8192 / (8 * sizeof(unsigned long))];
};

static bool in_mask(const struct cpu_mask *mask, unsigned int cpu)
{
	const unsigned int bits = 8 * sizeof(unsigned long);

	return mask->words[cpu / bits] >> (cpu % bits) & 1;
}

/* The affinity at start-up, so that move_to_nth_cpu() still knows the way back. */
static const struct cpu_mask *first_affinity(void)
{
	static struct cpu_mask mask;
	static bool filled;

	if (!filled) {
		if (sched_getaffinity(0, sizeof(mask), (cpu_set_t *)&mask) < 0)
			mask.words[0] = 1;
		filled = true;
	}
	return &mask;
}

int count_cpus(void)
{
	int count = 0;

	for (unsigned int cpu = 0; cpu < 8192; cpu++)
		count += in_mask(first_affinity(), cpu);
	return count;
}

int move_to_nth_cpu(unsigned int nth)
{
	const unsigned int bits = 8 * sizeof(unsigned long);

	for (unsigned int cpu = 0; cpu < 8192; cpu++) {
		struct cpu_mask one = { { 0 } };

		if (!in_mask(first_affinity(), cpu) || nth-- > 0)
			continue;
		one.words[cpu / bits] = 1ul << (cpu % bits);
		return sched_setaffinity(0, sizeof(one), (cpu_set_t *)&one) < 0 ? -errno : (int)cpu;
	}
	return -ENODEV;
}

void touch_ring(struct pm_ring *ring)
{
	const volatile char *base = ring->base;

	for (size_t at = 0; at < ring->map_size; at += 4096)
		(void)base[at];
	if (ring->writable)
		pm_ring_release(ring);
}

void slots_fill(struct slots *slots, pid_t tid)
{
	slots->count = slots->error = 0;
	while (slots->count < SLOTS_MOST) {
		struct perf_event_attr attr =
			attr_access(HW_BREAKPOINT_W, &slots->words[slots->count], 4);
		int fd;

		attr.disabled = 0;
		fd = pm_open(&attr, tid, -1, -1, 0);
		if (fd < 0) {
			slots->error = -fd;
			return;
		}
		slots->fds[slots->count++] = fd;
	}
}

void slots_close(struct slots *slots)
{
	while (slots->count > 0)
		close(slots->fds[--slots->count]);
}

int free_breakpoints(pid_t tid)
{
	static struct slots slots;
	int count;

	slots_fill(&slots, tid);
	count = slots.count;
	slots_close(&slots);
	return count;
}

void write_bytes(volatile uint8_t *start, int from, int to)
{
	for (int i = from; i < to; i++)
		start[i] = i;
}

int modify_breakpoint(int fd, const struct perf_event_attr *attr)
{
	struct perf_event_attr sized = *attr;

	sized.size = pm_attr_size_needed(attr);
	return pm_ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, (unsigned long)&sized);
}

void close_nothing(int first, int count)
{
	for (int i = 0; i < count; i++)
		syscall(SYS_close, first + i);
}

uint64_t switches_so_far(void)
{
	struct rusage usage = { .ru_nvcsw = 0 };

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

uint64_t switch_away(unsigned int times)
{
	const uint64_t before = switches_so_far();

	for (int i = 0; i < 1000 && switches_so_far() < before + times; i++)
		poll(NULL, 0, 1);
	return switches_so_far() - before;
}

uint64_t file_offset(const volatile void *pointer)
{
	uintptr_t address = (uintptr_t)pointer;
	unsigned long from, to, offset;
	uint64_t found = 0;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %lx", &from, &to, &offset) == 3 &&
		    address >= from && address < to && strchr(line, '/'))
			found = address - from + offset;
	if (maps)
		fclose(maps);
	return found;
}

int poll_once(int fd, short events, int timeout_ms)
{
	struct pollfd entry = { .fd = fd, .events = events };
	int ready = poll(&entry, 1, timeout_ms);

	return ready < 0 ? -errno : entry.revents;
}

int ask_for_signals(int fd, int number, pid_t tid)
{
	struct f_owner_ex owner = { F_OWNER_TID, tid };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return fcntl(fd, F_SETOWN_EX, &owner) < 0 || fcntl(fd, F_SETSIG, number) < 0 ||
	       fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC) < 0 ? -errno : 0;
}

bool take_signal(int number, int within_ms, siginfo_t *ret)
{
	const struct timespec time = { within_ms / 1000, within_ms % 1000 * 1000000l };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	return sigtimedwait(&set, ret, &time) == number;
}

int in_thread(void *(*function)(void *), void *argument)
{
	pthread_t thread;
	int error = pthread_create(&thread, NULL, function, argument);

	return error ? -error : -pthread_join(thread, NULL);
}

pid_t start_child(int (*function)(void *), void *argument)
{
	const pid_t parent = getpid();
	pid_t child = fork();

	if (child < 0)
		return -errno;
	if (child > 0)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)	/* the test ended before the line above */
		_exit(125);
	_exit(function(argument));
}

pid_t start_child_inside(int (*function)(void *), void *argument)
{
	pid_t child;

	if (syscall(SYS_unshare, CLONE_NEWPID) < 0)
		return -errno;
	child = fork();
	if (child == 0) {	/* its parent's id is not known inside */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(function(argument));
	}
	return child < 0 ? -errno : child;
}

int wait_child(pid_t child)
{
	int status;

	if (child < 0)		/* was never started; to waitpid(2) it would be a group */
		return (int)child;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int count_records(struct pm_ring *ring, uint32_t type)
{
	const struct perf_event_header *header;
	int count = 0, more;

	while ((more = pm_ring_next(ring, &header)) == 1)
		count += header->type == type;
	pm_ring_release(ring);
	return more < 0 ? more : count;
}

int next_record(struct pm_ring *ring, const struct pm_format *format, struct pm_record *ret)
{
	const struct perf_event_header *header;
	int more = pm_ring_next(ring, &header);

	if (more != 1)
		return more;
	more = pm_record_decode(header, format, ret);
	return more == 0 || more == -ENOTSUP ? 1 : more;
}
