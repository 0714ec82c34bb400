/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What probes do so that the kernel has something to count. See deed.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "deed.h"

/* --------------------------------------------------------------------------------- opening */

struct perf_event_attr attr_of(uint32_t type, uint64_t config)
{
	return (struct perf_event_attr){
		.type = type,
		.size = sizeof(struct perf_event_attr),
		.config = config,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
}

struct perf_event_attr attr_software(uint64_t config)
{
	return attr_of(PERF_TYPE_SOFTWARE, config);
}

struct perf_event_attr attr_faults(uint64_t sample_type)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.sample_period = 1;
	attr.sample_type = sample_type;
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

/* --------------------------------------------------------------------------------- driving */

/*
 * Transparent huge pages would make one fault out of 512, so they are refused; MADV_NOHUGEPAGE
 * fails harmlessly where the kernel has none. Reading maps the shared zero page: one minor fault
 * a page, whatever the allocator does.
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

int free_breakpoints(pid_t tid)
{
	static int watched;
	struct perf_event_attr attr = attr_of(PERF_TYPE_BREAKPOINT, 0);
	int fds[32], count = 0;

	attr.bp_type = HW_BREAKPOINT_W;
	attr.bp_addr = (uintptr_t)&watched;
	attr.bp_len = HW_BREAKPOINT_LEN_4;
	while (count < 32 && (fds[count] = pm_open(&attr, tid, -1, -1, 0)) >= 0)
		count++;
	for (int i = 0; i < count; i++)
		close(fds[i]);
	return count;
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

int drop_privileges(unsigned int uid)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };

	if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 ||
			       setresuid(uid, uid, uid) < 0))
		return -errno;
	if (syscall(SYS_capset, &header, none) < 0)
		return -errno;
	prctl(PR_SET_PDEATHSIG, SIGKILL);	/* changing ids has cleared it */
	return 0;
}

int wait_child(pid_t child)
{
	int status;

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

int gate_init(struct gate *gate)
{
	return pipe(gate->fds) < 0 ? -errno : 0;
}

void gate_open(struct gate *gate)
{
	ssize_t written = write(gate->fds[1], "", 1);

	(void)written;
}

void gate_wait(struct gate *gate)
{
	char token;

	while (read(gate->fds[0], &token, 1) < 0 && errno == EINTR)
		;
}

/* --------------------------------------------------------------------------------- workers */

#define WORKER_VARIABLE "PERFMODES_WORKER"

/* Exactly one of these is set; none of them ends the worker. */
struct order {
	int (*function)(void *);
	void *argument;
	unsigned int faults;
	char path[128];			/* of a program to execute, by value: not shared */
};

static bool receive(int fd, void *data, size_t size)
{
	struct pollfd entry = { .fd = fd, .events = POLLIN };

	return poll(&entry, 1, 5000) == 1 && read(fd, data, size) == (ssize_t)size;
}

static int await_answer(struct worker *worker)
{
	int answer;

	return receive(worker->answers[0], &answer, sizeof(answer)) ? answer : -ETIMEDOUT;
}

static int execute_as_worker(const char *path, int orders, int answers)
{
	char *const words[] = { (char *)"worker", NULL };
	char variable[64];
	char *const environment[] = { variable, NULL };

	snprintf(variable, sizeof(variable), WORKER_VARIABLE "=%d,%d", orders, answers);
	execve(path, words, environment);
	return -errno;
}

/* Everything a deed needs is touched before the worker says that it is ready. */
static void serve(int orders, int answers)
{
	int answer = (int)pm_gettid();
	struct order order;

	cause_faults(1);
	while (write(answers, &answer, sizeof(answer)) == sizeof(answer)) {
		while (read(orders, &order, sizeof(order)) < 0 && errno == EINTR)
			;
		if (order.function)
			answer = order.function(order.argument);
		else if (order.faults)
			answer = cause_faults(order.faults);
		else if (order.path[0])
			answer = execute_as_worker(order.path, orders, answers);
		else
			return;
	}
}

/* After worker_exec(): the new image serves before main() is reached. */
static void __attribute__((constructor)) serve_after_exec(void)
{
	const char *text = getenv(WORKER_VARIABLE);
	int orders, answers;

	if (!text || sscanf(text, "%d,%d", &orders, &answers) != 2)
		return;
	serve(orders, answers);
	_exit(0);
}

static void *serve_thread(void *worker)
{
	serve(((struct worker *)worker)->orders[0], ((struct worker *)worker)->answers[1]);
	return NULL;
}

static int serve_child(void *worker)
{
	serve_thread(worker);
	return 0;
}

int worker_prepare(struct worker *worker, enum worker_kind kind)
{
	worker->kind = kind;
	if (pipe(worker->orders) < 0)
		return -errno;
	return pipe(worker->answers) < 0 ? -errno : 0;
}

int worker_launch(void *argument)
{
	struct worker *worker = argument;
	pid_t child;
	int answer;

	if (worker->kind == WORKER_THREAD) {
		answer = pthread_create(&worker->thread, NULL, serve_thread, worker);
		if (answer)
			return -answer;
	} else {
		child = start_child(serve_child, worker);
		if (child < 0)
			return (int)child;
	}
	answer = await_answer(worker);
	if (answer < 0)
		return answer;
	worker->tid = answer;
	return worker_faults(worker, 1);
}

int worker_start(struct worker *worker, enum worker_kind kind)
{
	int error = worker_prepare(worker, kind);

	return error ? error : worker_launch(worker);
}

static int send_order(struct worker *worker, const struct order *order)
{
	return write(worker->orders[1], order, sizeof(*order)) == sizeof(*order) ? 0 : -EPIPE;
}

int worker_do(struct worker *worker, int (*function)(void *), void *argument)
{
	const struct order order = { .function = function, .argument = argument };
	int error = send_order(worker, &order);

	return error ? error : await_answer(worker);
}

int worker_faults(struct worker *worker, unsigned int faults)
{
	const struct order order = { .faults = faults };
	int error = send_order(worker, &order);

	return error ? error : await_answer(worker);
}

int worker_exec(struct worker *worker, const char *path)
{
	struct order order = { .faults = 0 };
	int answer;

	snprintf(order.path, sizeof(order.path), "%s", path ? path : "/proc/self/exe");
	answer = send_order(worker, &order);
	if (!answer)
		answer = await_answer(worker);
	if (answer < 0)
		return answer;
	worker->tid = answer;
	return worker_faults(worker, 1);
}

void worker_dismiss(struct worker *worker)
{
	const struct order end = { .faults = 0 };
	int error = send_order(worker, &end);

	(void)error;	/* it may be gone already */
}

/* A joined thread may still be on its way out; it is gone when it has no id any more. */
static int await_gone(pid_t tid)
{
	const struct timespec moment = { .tv_nsec = 50000 };

	for (int i = 0; i < 40000; i++) {
		if (syscall(SYS_tgkill, getpid(), tid, 0) < 0)
			return 0;
		nanosleep(&moment, NULL);
	}
	return -ETIMEDOUT;
}

int worker_stop(void *argument)
{
	struct worker *worker = argument;
	int error;

	if (!worker->tid)
		return 0;
	worker_dismiss(worker);
	if (worker->kind == WORKER_CHILD) {
		error = wait_child(worker->tid);
	} else {
		error = -pthread_join(worker->thread, NULL);
		if (!error)
			error = await_gone(worker->tid);
	}
	worker->tid = 0;
	for (int end = 0; end < 2; end++) {
		close(worker->orders[end]);
		close(worker->answers[end]);
	}
	return error;
}

/* ------------------------------------------------------------------------------ privilege */

int drop_to(uint64_t keep)
{
	struct {
		uint32_t version;
		int pid;
	} header = { 0x20080522, 0 };		/* the third version: two words of 32 bits each */
	struct {
		uint32_t effective, permitted, inheritable;
	} data[2] = { { keep, keep, 0 }, { keep >> 32, keep >> 32, 0 } };

	if (geteuid() == 0 && (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 ||
			       setresgid(65534, 65534, 65534) < 0 ||
			       setresuid(65534, 65534, 65534) < 0))
		return -errno;
	if (syscall(SYS_capset, &header, data) < 0)
		return -errno;
	return 0;
}

/* -------------------------------------------------------------------------- putting back */

static struct kept {
	const char *path;
	char value[64];
} kept[4];
static unsigned int kept_count;
static pid_t keeper, guard;
static int guard_pipe[2];

int write_file(const char *path, const char *text)
{
	const size_t length = strlen(text);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int error = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, length) != (ssize_t)length)
		error = errno ? -errno : -EIO;
	close(fd);
	return error;
}

/* Also a signal handler's work: system calls and nothing else. */
static void put_back(void)
{
	for (unsigned int i = 0; i < kept_count; i++)
		write_file(kept[i].path, kept[i].value);
}

static void put_back_at_exit(void)
{
	if (getpid() != keeper)
		return;
	put_back();
	kill(guard, SIGKILL);
	waitpid(guard, NULL, 0);
}

static void put_back_on_signal(int number)
{
	if (getpid() == keeper)
		put_back();
	_exit(128 + number);
}

/* The guard sleeps until the last writer of its pipe is gone: the program and all its tests. */
static void start_guard(void)
{
	char token;

	if (pipe(guard_pipe) < 0)
		return;
	guard = fork();
	if (guard != 0) {
		fcntl(guard_pipe[1], F_SETFD, FD_CLOEXEC);
		close(guard_pipe[0]);
		return;
	}
	setsid();
	signal(SIGTERM, SIG_IGN);
	close(guard_pipe[1]);
	close(STDOUT_FILENO);
	while (read(guard_pipe[0], &token, 1) < 0)
		;
	put_back();
	_exit(0);
}

void keep_file(const char *path)
{
	struct kept *entry = &kept[kept_count];

	if (!getenv("PERFMODES_MAY_DISTURB") || kept_count == sizeof(kept) / sizeof(*kept) ||
	    access(path, W_OK) < 0 ||
	    pm_read_text(path, entry->value, sizeof(entry->value)) <= 0)
		return;
	entry->path = path;
	kept_count++;
	if (keeper) {			/* the guard knows only what came before it: a new one */
		kill(guard, SIGKILL);
		waitpid(guard, NULL, 0);
		close(guard_pipe[1]);
	} else {
		keeper = getpid();
		atexit(put_back_at_exit);
		signal(SIGTERM, put_back_on_signal);
		signal(SIGINT, put_back_on_signal);
	}
	start_guard();
}

/* --------------------------------------------------------------------------------- waiters */

static void *wait_in_poll(void *argument)
{
	struct waiter *waiter = argument;
	ssize_t written;
	int revents;

	waiter->tid = pm_gettid();
	revents = poll_once(waiter->fd, POLLIN, waiter->time_out_ms);
	written = write(waiter->woken[1], &revents, sizeof(revents));
	(void)written;
	return NULL;
}

/* The letter of /proc/<pid>/task/<tid>/stat: 'S' for a thread that sleeps; 0 when unreadable. */
static char state_of(pid_t tid)
{
	char path[64], text[128], *bracket;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	if (pm_read_text(path, text, sizeof(text)) <= 0 && !text[0])
		return 0;
	bracket = strrchr(text, ')');
	return bracket && bracket[1] ? bracket[2] : 0;
}

int waiter_start(struct waiter *waiter, int fd, int time_out_ms)
{
	const uint64_t end = now_ns() + 5000000000ull;
	int error;

	*waiter = (struct waiter){ .fd = fd, .time_out_ms = time_out_ms };
	if (pipe(waiter->woken) < 0)
		return -errno;
	error = pthread_create(&waiter->thread, NULL, wait_in_poll, waiter);
	if (error)
		return -error;
	while (!waiter->tid || state_of(waiter->tid) != 'S') {
		if (poll_once(waiter->woken[0], POLLIN, 0) == POLLIN)
			return 0;
		if (now_ns() > end)
			return -ETIMEDOUT;
		sched_yield();
	}
	return 0;
}

int waiter_woke(struct waiter *waiter, int within_ms)
{
	int revents;

	if (poll_once(waiter->woken[0], POLLIN, within_ms) != POLLIN ||
	    read(waiter->woken[0], &revents, sizeof(revents)) != sizeof(revents))
		return -EAGAIN;
	return revents;
}
