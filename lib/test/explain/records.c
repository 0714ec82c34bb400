/* SPDX-License-Identifier: MIT */
/*
 * A program that records another as rr(1) does: its child sets a filter that wakes its tracer at
 * system calls, which is this process; it opens an event of the child, and prints how often it was
 * woken at which of the child's calls. Exits with 4, or with 5 where anything failed.
 *
 *   records [WORD]...
 *      pid      the filter wakes at getpid(2) alone       file   at openat(2) with O_CREAT alone
 *      prctl    it is set by prctl(2)                     late   and before the child is traced
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SEIZE 0x4206
#define GET_SYSCALL_INFO 0x420e
#define EVENT_SECCOMP 7
#define TRACESECCOMP (1 << EVENT_SECCOMP)
#define EXITKILL (1 << 20)

static int by_pid, by_file, by_prctl, late;

static void need(int right)
{
	if (!right)
		_exit(5);
}

static int open_event(pid_t pid)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS, .exclude_kernel = 1, .exclude_hv = 1 };

	return (int)syscall(__NR_perf_event_open, &attr, pid, -1, -1, 0);
}

#define LOAD(member) { BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, member) }
#define WAKE { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_TRACE }
#define ALLOW { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW }
#define UNLESS(number, over) { BPF_JMP | BPF_JEQ | BPF_K, 0, over, number }

static void set_filter(void)
{
	static struct sock_filter all[] = { WAKE };
	static struct sock_filter pid[] = { LOAD(nr), UNLESS(__NR_getpid, 1), WAKE, ALLOW };
	static struct sock_filter file[] = {
		LOAD(nr), UNLESS(__NR_openat, 3), LOAD(args[2]),
		{ BPF_JMP | BPF_JSET | BPF_K, 0, 1, O_CREAT }, WAKE, ALLOW,
	};
	struct sock_fprog program = { 1, all };

	if (by_pid)
		program = (struct sock_fprog){ 4, pid };
	if (by_file)
		program = (struct sock_fprog){ 6, file };
	need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	need((by_prctl ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) :
	      (int)syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)) == 0);
}

static void be_recorded(int ready, int go)
{
	char byte;

	if (late)
		set_filter();
	need(write(ready, "", 1) == 1 && read(go, &byte, 1) == 1);
	if (!late)
		set_filter();
	close(open_event(0));
	for (int i = 0; i < 5; i++)
		close((int)syscall(__NR_openat, AT_FDCWD, "/dev/null", O_RDWR | O_CREAT, 0600));
	for (int i = 0; i < 3; i++)
		(void)syscall(__NR_getpid);
	_exit(0);
}

struct info {
	uint8_t op, padding[3];
	uint32_t arch;
	uint64_t ip, sp, nr, rest[8];
};

static unsigned int woken[4];		/* at perf_event_open, close, openat, getpid */

static void note_call(pid_t child)
{
	static const int numbers[] = { __NR_perf_event_open, __NR_close, __NR_openat, __NR_getpid };
	struct info info = { .op = 0 };

	need(ptrace(GET_SYSCALL_INFO, child, (void *)sizeof(info), &info) > 0);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		woken[i] += info.nr == (uint64_t)numbers[i];
}

static void follow(pid_t child)
{
	int status;

	while (waitpid(child, &status, __WALL) == child && WIFSTOPPED(status)) {
		if (status >> 16 == EVENT_SECCOMP)
			note_call(child);
		need(ptrace(PTRACE_CONT, child, NULL, NULL) == 0);
	}
	need(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(int argc, char **argv)
{
	int ready[2], go[2];
	pid_t child;
	char byte;

	for (int i = 1; i < argc; i++) {
		by_pid |= strcmp(argv[i], "pid") == 0;
		by_file |= strcmp(argv[i], "file") == 0;
		by_prctl |= strcmp(argv[i], "prctl") == 0;
		late |= strcmp(argv[i], "late") == 0;
	}
	need(pipe(ready) == 0 && pipe(go) == 0);
	child = fork();
	if (child == 0)
		be_recorded(ready[1], go[0]);
	close(ready[1]);
	need(read(ready[0], &byte, 1) == 1);
	need(ptrace(SEIZE, child, NULL, (void *)(long)(TRACESECCOMP | EXITKILL)) == 0);
	need(open_event(child) >= 0 && write(go[1], "", 1) == 1);
	follow(child);
	printf("%u %u %u %u\n", woken[0], woken[1], woken[2], woken[3]);
	return 4;
}
