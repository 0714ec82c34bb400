/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Giving up privileges, and files that are put back. See privilege.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/capability.h>

#include "../../lib/pm_sys.h"
#include "attrs.h"
#include "internal.h"
#include "privilege.h"
#include "say.h"
#include "task.h"
#include "verdict.h"
#include "workload.h"

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

struct asked {
	const struct perf_event_attr *attr;
	pid_t pid;
	int cpu;
};

#define ACCEPTED 200
#define NOT_EVEN_ITSELF 201

static int open_stripped(void *argument)
{
	const struct perf_event_attr faults = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	const struct asked *asked = argument;
	int fd;

	if (drop_privileges(65531) || pm_open(&faults, 0, -1, -1, 0) < 0)
		return NOT_EVEN_ITSELF;
	fd = pm_open(asked->attr, asked->pid, asked->cpu, -1, 0);
	return fd < 0 ? -fd : ACCEPTED;
}

/* How the kernel answers an open by a child without any privilege. 0 when it accepts, -errno, or
 * 1 when such a task may not even count its own page faults. */
static int open_unprivileged(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	struct asked asked = { attr, pid, cpu };
	int status = wait_child(start_child(open_stripped, &asked));

	if (status == ACCEPTED || status == NOT_EVEN_ITSELF)
		return status == NOT_EVEN_ITSELF;
	return status < 0 ? status : -status;
}

/* --------------------------------------------------------------------------------- gates */

const struct level_rule level_rules[] = {
	[GATE_EVENT] = { "an event of one's own", 2, EACCES },
	[GATE_KERNEL] = { "an event that counts the kernel", 1, EACCES },
	[GATE_CPU] = { "an event on a whole CPU", 0, EACCES },
	[GATE_PAYLOAD] = { "the payload of a tracepoint", -1, EPERM },
	[GATE_MLOCK] = { "a ring beyond the budget", -1, EPERM },
};

/* The budget is that of possible CPUs at most, so a CPU coming online does not matter. */
size_t pages_beyond_budget(void)
{
	const struct pm_env *env = probe_env();
	size_t pages = 1;

	while (pages * env->page_size <= (uint64_t)env->mlock_kb * 1024 * env->cpus_possible)
		pages *= 2;
	return pages;
}

/* The event is of use. */
static int count_through(int fd)
{
	uint64_t count = 0;
	int error = pm_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);

	if (error || cause_faults(4) || pm_read_count(fd, &count))
		return -EIO;
	return count < 4 ? -EIO : 0;
}

/* Beyond the budget there is a ring, and the event writes to it. */
static int map_beyond_budget(int fd)
{
	const struct perf_event_header *header;
	int error, samples = 0;
	struct pm_ring ring;

	setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){ 0, 0 });
	error = pm_ring_open(fd, pages_beyond_budget(), PROT_READ | PROT_WRITE, &ring);
	if (error)
		return error;
	error = count_through(fd);
	while (!error && pm_ring_next(&ring, &header) == 1)
		samples += header->type == PERF_RECORD_SAMPLE;
	pm_ring_close(&ring);
	return error ? error : samples < 4 ? -EIO : 0;
}

int try_gate(enum level_gate gate, int tracepoint)
{
	struct perf_event_attr attr = attr_faults(0);
	const bool cpu_wide = gate == GATE_CPU;
	int fd, error;

	if (gate == GATE_KERNEL)
		attr.exclude_kernel = 0;
	if (gate == GATE_PAYLOAD) {
		attr.type = PERF_TYPE_TRACEPOINT;
		attr.config = tracepoint;
		attr.sample_type = PERF_SAMPLE_RAW;
	}
	fd = pm_open(&attr, cpu_wide ? -1 : 0, cpu_wide ? move_to_nth_cpu(0) : -1, -1, 0);
	if (fd < 0)
		return fd;
	error = gate == GATE_MLOCK ? map_beyond_budget(fd) :
		gate == GATE_PAYLOAD ? 0 : count_through(fd);
	close(fd);
	return error;
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

/* There may be none: what is not above 0 means many to kill(2). */
static void dismiss_guard(void)
{
	if (guard <= 0)
		return;
	kill(guard, SIGKILL);
	waitpid(guard, NULL, 0);
	close(guard_pipe[1]);
	guard = 0;
}

static void put_back_at_exit(void)
{
	if (getpid() != keeper)
		return;
	put_back();
	dismiss_guard();
}

static void put_back_on_signal(int number)
{
	if (getpid() == keeper)
		put_back();
	_exit(128 + number);
}

pid_t fork_guard(void)
{
	sigset_t term, before;
	pid_t child;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, &before);
	child = fork();
	if (child == 0)
		setsid();
	else
		sigprocmask(SIG_SETMASK, &before, NULL);
	return child < 0 ? -errno : child;
}

/* The guard sleeps until the last writer of its pipe is gone: the program and all its tests. */
static void start_guard(void)
{
	char token;

	if (pipe(guard_pipe) < 0)
		return;
	guard = fork_guard();
	if (guard != 0) {
		close(guard_pipe[0]);
		if (guard < 0)
			close(guard_pipe[1]);
		else
			fcntl(guard_pipe[1], F_SETFD, FD_CLOEXEC);
		return;
	}
	close(guard_pipe[1]);
	close(STDOUT_FILENO);
	while (read(guard_pipe[0], &token, 1) < 0)
		;
	put_back();
	_exit(0);
}

void restore_at_exit(const char *path)
{
	struct kept *entry = &kept[kept_count];

	if (!getenv("PERFMODES_MAY_DISTURB") || kept_count == sizeof(kept) / sizeof(*kept) ||
	    access(path, W_OK) < 0 ||
	    pm_read_text(path, entry->value, sizeof(entry->value)) <= 0)
		return;
	entry->path = path;
	kept_count++;
	if (keeper) {			/* the guard knows only what came before it: a new one */
		dismiss_guard();
	} else {
		keeper = getpid();
		atexit(put_back_at_exit);
		signal(SIGTERM, put_back_on_signal);
		signal(SIGINT, put_back_on_signal);
	}
	start_guard();
}

int ask_unprivileged(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	int answer = open_unprivileged(attr, pid, cpu);

	require(REQUIRE_PERF);
	if (answer > 0)
		say_blocked("without privilege there are no events at all (perf_event_paranoid=%d)",
			    probe_env()->paranoid);
	return answer;
}
