/* SPDX-License-Identifier: MIT */
/*
 * A program that is explained: each word says what it does, in order. It prints the errno of each
 * open, 0 for success, and exits with 3.
 *
 *   TYPE:CONFIG[:WORD]...   opens an event of its own thread
 *      u         of user mode                    cpu       of CPU 0, whatever runs there
 *      none      of no mode: all are excluded
 *      sample    with a ring of 9 pages          bare      and without it
 *      freq=N    N samples a second              pages=N   of its ring, beside the first: 8 else
 *      each      a sample of each, in a ring of 2 pages, and lost ones are counted
 *      at        an address is set               old       by the first version of the attr
 *      phys      PHYS_ADDR                       member    of the group of the last other one
 *      there     on CPU 1 alone                  over      another file gets its descriptor at once
 *      wakeup=N  its reader is to be woken at so many samples
 *      mark=N    or beyond so many bytes         blind     its ring is mapped to be read alone
 *      pinned    always on a counter, or in error
 *      ask       it is enabled, asked for its id, read and mapped, and what becomes of each is
 *                printed, too
 *   times=N       the opens that follow are made N times    keep    and not closed
 *   threads=N     by so many threads, each so many times
 *   work          makes 64 page faults, or N times as many, and sleeps once
 *   poll          prints how many of the rings poll(2) says something of
 *   read          marks what is in the rings as read
 *   filter[:HOW]  from now on a filter answers EPERM to perf_event_open(2), or by trap, kill,
 *                 log, trace
 *   listener      from now on a thread of its own does; prints the errno of setting it up
 *   exec          the rest is done by a fresh program, in a child
 *   load          loads a program of BPF, 4000 instructions long, and prints the errno
 *   kprobe=NAME   opens a probe in a function of the kernel, and prints the errno
 *   wait          says so, until a byte can be read
 *   busy=N        so many threads wait, each in another way, until the end; a call of one that ends
 *                 in an error makes the program exit with 5
 *   alarm=N       opens a file N times, while a signal comes each millisecond whose handler does
 *                 not restart calls, and prints how often opening or closing it failed
 *   die           ends by SIGKILL
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static int times = 1, threads;
static int keep;
static const char *asked;

static struct perf_event_attr attr_of(const char *word)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .read_format = 3 };
	char *rest;

	attr.type = (unsigned int)strtoul(word, &rest, 0);
	attr.config = *rest == ':' ? strtoull(rest + 1, NULL, 0) : 0;
	attr.exclude_kernel = attr.exclude_hv = strstr(word, ":u") != NULL;
	if (strstr(word, ":none") != NULL)
		attr.exclude_user = attr.exclude_kernel = attr.exclude_hv = 1;
	if (strstr(word, ":sample") != NULL)
		attr.sample_period = 1000000;
	if (strstr(word, ":each") != NULL) {
		attr.sample_period = 1;
		attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
		attr.read_format |= 16;		/* PERF_FORMAT_LOST, v6.0 */
	}
	if (strstr(word, ":freq=") != NULL) {
		attr.freq = 1;
		attr.sample_freq = strtoull(strstr(word, ":freq=") + 6, NULL, 10);
	}
	if (strstr(word, ":phys") != NULL)
		attr.sample_type = PERF_SAMPLE_PHYS_ADDR;
	if (strstr(word, ":wakeup=") != NULL)
		attr.wakeup_events = (unsigned int)strtoul(strstr(word, ":wakeup=") + 8, NULL, 10);
	if (strstr(word, ":mark=") != NULL) {
		attr.watermark = 1;
		attr.wakeup_watermark = (unsigned int)strtoul(strstr(word, ":mark=") + 6, NULL, 10);
	}
	attr.pinned = strstr(word, ":pinned") != NULL;
	if (strstr(word, ":old") != NULL)
		attr.size = PERF_ATTR_SIZE_VER0;
	if (strstr(word, ":at") != NULL) {
		attr.bp_type = 2;
		attr.bp_addr = 0x123456789abc;
		attr.bp_len = 8;
	}
	return attr;
}

static size_t ring_of(const char *word)
{
	const char *pages = strstr(word, ":pages=");

	if (strstr(word, ":each") != NULL && pages == NULL)
		return 2 * 4096;
	return (1 + (pages != NULL ? strtoul(pages + 7, NULL, 10) : 8)) * 4096;
}

static void report(int failed)
{
	printf("%d\n", failed ? errno : 0);
}

static void ask(int fd)
{
	static uint64_t before;
	uint64_t id = 0, values[3] = { 0 };

	report(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) != 0);
	report(ioctl(fd, PERF_EVENT_IOC_ID, &id) != 0);
	printf("%d\n", id == before);
	before = id;
	report(read(fd, values, sizeof(values)) != sizeof(values));
	report(mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
}

static struct pollfd polled[16];
static struct perf_event_mmap_page *rings[16];
static int ring_count;

static void map_ring(int fd)
{
	const int way = PROT_READ | (strstr(asked, ":blind") != NULL ? 0 : PROT_WRITE);
	void *ring = mmap(NULL, ring_of(asked), way, MAP_SHARED, fd, 0);

	if (!keep || ring == MAP_FAILED || ring_count == 16)
		return;
	polled[ring_count] = (struct pollfd){ .fd = fd, .events = POLLIN };
	rings[ring_count++] = ring;
}

static void read_rings(void)
{
	for (int i = 0; i < ring_count; i++)
		__atomic_store_n(&rings[i]->data_tail,
				 __atomic_load_n(&rings[i]->data_head, __ATOMIC_ACQUIRE),
				 __ATOMIC_RELEASE);
}

static void *open_all(void *context)
{
	struct perf_event_attr attr = attr_of(asked);
	const int all = strstr(asked, ":cpu") != NULL, member = strstr(asked, ":member") != NULL;
	const int cpu = all ? 0 : strstr(asked, ":there") != NULL ? 1 : -1;
	static int last = -1;

	for (int i = 0; i < times; i++) {
		const int fd = (int)syscall(__NR_perf_event_open, &attr, all ? -1 : 0, cpu,
					    member ? last : -1, 0);

		if (threads == 0)
			printf("%d\n", fd < 0 ? errno : 0);
		if (fd >= 0 && strstr(asked, ":ask") != NULL)
			ask(fd);
		if (fd >= 0 && strstr(asked, ":over") != NULL)
			(void)dup2(STDOUT_FILENO, fd);
		last = fd >= 0 && !member ? fd : last;
		if (fd >= 0 && attr.sample_period != 0 && strstr(asked, ":bare") == NULL)
			map_ring(fd);
		if (fd >= 0 && !keep)
			close(fd);
	}
	return context;
}

static void open_in_threads(void)
{
	pthread_t *list = calloc((size_t)threads, sizeof(*list));

	for (int i = 0; i < threads; i++)
		if (pthread_create(&list[i], NULL, open_all, NULL) != 0)
			exit(4);
	for (int i = 0; i < threads; i++)
		pthread_join(list[i], NULL);
}

static void work(void)
{
	const size_t size = 64 * 4096 * (size_t)times;
	char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t at = 0; at < size; at += 4096)
		pages[at] = 1;
	usleep(1000);
}

static int install(unsigned int action, unsigned long flags)
{
	struct sock_filter code[] = {
		{ BPF_LD | BPF_W | BPF_ABS, 0, 0, 0 },
		{ BPF_JMP | BPF_JEQ | BPF_K, 0, 1, __NR_perf_event_open },
		{ BPF_RET | BPF_K, 0, 0, action },
		{ BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW },
	};
	struct sock_fprog program = { 4, code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		exit(4);
	return (int)syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static void set_filter(const char *word)
{
	if (install(strstr(word, ":trap") != NULL ? SECCOMP_RET_TRAP :
		    strstr(word, ":kill") != NULL ? SECCOMP_RET_KILL_PROCESS :
		    strstr(word, ":trace") != NULL ? SECCOMP_RET_TRACE :
		    strstr(word, ":log") != NULL ? SECCOMP_RET_LOG : SECCOMP_RET_ERRNO | EPERM,
		    0) != 0)
		exit(4);
	fflush(stdout);
}

static volatile int listener = -2;

static void *answer_all(void *context)
{
	struct { uint64_t id; char rest[72]; } got;
	struct { uint64_t id; int64_t value; int error; unsigned int flags; } answer;

	while (listener == -2)
		usleep(100);
	while (listener >= 0) {
		memset(&got, 0, sizeof(got));
		memset(&answer, 0, sizeof(answer));
		if (ioctl(listener, _IOC(_IOC_READ | _IOC_WRITE, '!', 0, 80), &got) != 0)
			continue;
		answer.id = got.id;
		answer.error = -EPERM;
		(void)ioctl(listener, _IOC(_IOC_READ | _IOC_WRITE, '!', 1, 24), &answer);
	}
	return context;
}

static void set_listener(void)
{
	pthread_t thread;
	int fd;

	if (pthread_create(&thread, NULL, answer_all, NULL) != 0)
		exit(4);
	fd = install(0x7fc00000, 8);		/* SECCOMP_RET_USER_NOTIF, NEW_LISTENER */
	printf("%d\n", fd < 0 ? errno : 0);
	listener = fd < 0 ? -1 : fd;
}

/* r0 = 0, again and again, then exit; the verifier looks for signals on its way. */
static void load(void)
{
	static struct bpf_insn code[4000];
	union bpf_attr attr = { .prog_type = BPF_PROG_TYPE_TRACEPOINT };
	int i;

	for (i = 0; i < 4000; i++)
		code[i] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K };
	code[3999].code = BPF_JMP | BPF_EXIT;
	attr.license = (uintptr_t)"GPL";
	attr.insns = (uintptr_t)code;
	attr.insn_cnt = 4000;
	i = syscall(__NR_bpf, BPF_PROG_LOAD, &attr, sizeof(attr)) < 0 ? errno : 0;
	printf("%d\n", i);
}

static void open_kprobe(const char *name)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .sample_period = 1, .disabled = 1 };
	FILE *file = fopen("/sys/bus/event_source/devices/kprobe/type", "r");

	if (file == NULL || fscanf(file, "%u", &attr.type) != 1)
		exit(4);
	fclose(file);
	attr.config1 = (uintptr_t)name;
	report(syscall(__NR_perf_event_open, &attr, -1, 0, -1, 0) < 0);
}

static volatile int over;

static void *be_busy(void *context)
{
	const long way = (long)context;
	struct timespec time = { 0, 20000000 };
	struct pollfd nothing = { -1, 0, 0 };

	while (!over) {
		int err = way % 4 == 0 ? nanosleep(&time, NULL) : way % 4 == 1 ?
			poll(&nothing, 1, 20) : way % 4 == 2 ? select(0, NULL, NULL, NULL,
			&(struct timeval){ 0, 20000 }) : getppid() < 0;

		if (err < 0)
			_exit(5);
	}
	return NULL;
}

static pthread_t busy[100];
static int busy_count;

static void start_busy(void)
{
	for (long i = 0; i < busy_count && i < 100; i++)
		if (pthread_create(&busy[i], NULL, be_busy, (void *)i) != 0)
			exit(4);
}

static void end_busy(void)
{
	over = 1;
	for (int i = 0; i < busy_count && i < 100; i++)
		pthread_join(busy[i], NULL);
}

static void ring(int number)
{
	(void)number;
}

static void open_under_alarms(int count)
{
	const struct sigaction action = { .sa_handler = ring };
	struct itimerval time = { { 0, 1000 }, { 0, 1000 } };
	int failed = 0;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &time, NULL);
	for (int i = 0; i < count; i++) {
		const int fd = open("/proc/self/comm", O_RDONLY);

		failed += fd < 0 || close(fd) != 0;
	}
	memset(&time, 0, sizeof(time));
	setitimer(ITIMER_REAL, &time, NULL);
	printf("%d\n", failed);
}

int main(int argc, char **argv)
{
	int count;

	for (int i = 1; i < argc; i++) {
		if (sscanf(argv[i], "times=%d", &times) == 1 ||
		    sscanf(argv[i], "threads=%d", &threads) == 1)
			continue;
		asked = argv[i];
		if (sscanf(argv[i], "busy=%d", &busy_count) == 1) {
			start_busy();
			continue;
		}
		if (sscanf(argv[i], "alarm=%d", &count) == 1)
			open_under_alarms(count);
		else if (strcmp(argv[i], "keep") == 0)
			keep = 1;
		else if (strcmp(argv[i], "work") == 0)
			work();
		else if (strcmp(argv[i], "poll") == 0)
			printf("%d\n", poll(polled, (nfds_t)ring_count, 0));
		else if (strcmp(argv[i], "read") == 0)
			read_rings();
		else if (strncmp(argv[i], "filter", 6) == 0)
			set_filter(argv[i]);
		else if (strcmp(argv[i], "listener") == 0)
			set_listener();
		else if (strcmp(argv[i], "load") == 0)
			load();
		else if (strncmp(argv[i], "kprobe=", 7) == 0)
			open_kprobe(argv[i] + 7);
		else if (strcmp(argv[i], "wait") == 0) {
			char byte;

			puts("waits");
			fflush(stdout);
			if (read(0, &byte, 1) != 1)
				exit(6);
		} else if (strcmp(argv[i], "die") == 0)
			raise(SIGKILL);
		else if (strcmp(argv[i], "exec") == 0) {
			fflush(stdout);
			argv[i] = argv[0];
			if (fork() == 0)
				execv("/proc/self/exe", argv + i);
			wait(NULL);
			return 3;
		} else if (threads > 0)
			open_in_threads();
		else
			open_all(NULL);
	}
	end_busy();
	return 3;
}
