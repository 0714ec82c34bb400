/* SPDX-License-Identifier: MIT */
/*
 * Of the filters that a call meets the strongest answer alone is heard, and a notification is
 * stronger than SECCOMP_RET_TRACE. So who traces by such a filter, as rr(1) does, would miss the
 * calls that are looked at, and what it records of them would be wrong, without a word. The filter
 * cannot be taken from a process again; so the program ends before it sets one of that kind.
 */
#define _GNU_SOURCE
#include "explain.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach.h"

#define PASSES 3		/* over all processes, as one may start another meanwhile */
#define UP 256			/* generations */
#define MOST 16384		/* processes */

static bool descends(pid_t pid, pid_t from)
{
	for (int i = 0; i < UP && pid > 1; i++) {
		pid = parent_of(pid);
		if (pid == from)
			return true;
	}
	return false;
}

/* Does something to each, of those that were there before the first. */
static void signal_descendants(pid_t from, int number)
{
	static pid_t found[MOST];
	DIR *folder = opendir("/proc");
	const struct dirent *entry;
	size_t count = 0;

	if (folder == NULL)
		return;
	while (count < MOST && (entry = readdir(folder)) != NULL) {
		const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (isdigit((unsigned char)entry->d_name[0]) && descends(pid, from))
			found[count++] = pid;
	}
	(void)closedir(folder);
	for (size_t i = 0; i < count; i++)
		(void)kill(found[i], number);
}

/* Who stands still starts no more, and is still the parent of those whom it has started. */
static void end_all(pid_t program)
{
	(void)kill(program, SIGSTOP);
	for (int pass = 0; pass < PASSES; pass++)
		signal_descendants(program, SIGSTOP);
	signal_descendants(program, SIGKILL);
	(void)kill(program, SIGKILL);
}

void refuse(struct start *start, const struct call *call)
{
	struct thread thread = { .name = "it" }, tracer = { .name = "" };
	char of[80] = "a tracer";

	(void)thread_read(call->tid, &thread);
	if (thread.tracer > 0 && thread_read(thread.tracer, &tracer) == 0)
		snprintf(of, sizeof(of), "its tracer, %s", tracer.name);
	snprintf(start->refused_for, sizeof(start->refused_for), "%s was about to set a filter of "
		 "system calls that wakes %s (SECCOMP_RET_TRACE)", thread.name, of);
	start->refused = true;
	end_all(start->pid);
	/* It may have left its parents, to run on by itself. */
	if (thread.process > 0)
		(void)kill(thread.process, SIGKILL);
}

/* ------------------------------------------------------------------- who traces this program so */

/* SECCOMP_RET_TRACE is ENOSYS where nobody is who listens for it, and else the call is made. */
static _Noreturn void be_woken(void)
{
	struct sock_filter code[] = {
		{ BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr) },
		{ BPF_JMP | BPF_JEQ | BPF_K, 0, 1, __NR_getppid },
		{ BPF_RET | BPF_K, 0, 0, SECCOMP_RET_TRACE },
		{ BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW },
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		_exit(0);
	_exit(syscall(__NR_getppid) >= 0);
}

bool refuse_tracer(char *ret, size_t size)
{
	struct thread thread, tracer;
	int status = 0;
	pid_t child;

	if (thread_read(getpid(), &thread) < 0 || thread.tracer == 0)
		return false;
	child = fork();
	if (child == 0)
		be_woken();
	if (child < 0)
		return false;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status) == 0)
		return false;
	snprintf(ret, size, "%s", thread_read(thread.tracer, &tracer) == 0 ? tracer.name : "?");
	return true;
}
