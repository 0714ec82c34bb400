/* SPDX-License-Identifier: MIT */
/* See filter.h. */
#define _GNU_SOURCE
#include "filter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "../pm_sys.h"

bool doctor_deadly;
struct traps doctor_traps = { .call = -1 };

/* A filter looks at the number of a call before the kernel looks at its arguments. */
static void open_event(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = PERF_ATTR_SIZE_VER0 };

	(void)pm_open_raw(&attr, 0, -1, -1, 0);
}

static _Noreturn void call_once(void (*call)(void), bool unprepared, int reached)
{
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);	/* no core file */
	if (unprepared)
		(void)signal(SIGSYS, SIG_DFL);
	if (write(reached, "", 1) == 1)
		call();
	_exit(0);
}

bool doctor_ends(void (*call)(void), bool unprepared)
{
	int status = 0, line[2];
	bool ended;
	char byte;
	pid_t pid;

	if (pipe2(line, O_CLOEXEC) < 0)
		return false;
	pid = fork();
	if (pid == 0)
		call_once(call, unprepared, line[1]);
	close(line[1]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	/* Else it was another call that ended the child. */
	ended = read(line[0], &byte, 1) == 1 && WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
	close(line[0]);
	return ended;
}

void doctor_ask_filter(bool unprepared)
{
	doctor_deadly = doctor_ends(open_event, unprepared);
}

/* Have the trapped call return EPERM. Returns false where it is not known how. */
static bool answer(ucontext_t *context)
{
#if defined(__x86_64__)
	context->uc_mcontext.gregs[REG_RAX] = -EPERM;
#elif defined(__i386__)
	context->uc_mcontext.gregs[REG_EAX] = -EPERM;
#elif defined(__aarch64__)
	context->uc_mcontext.regs[0] = (unsigned long long)-EPERM;
#elif defined(__arm__)
	context->uc_mcontext.arm_r0 = (unsigned long)-EPERM;
#elif defined(__riscv)
	context->uc_mcontext.__gregs[10] = (unsigned long)-EPERM;
#else
	(void)context;
	return false;
#endif
	return true;
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
	if (doctor_traps.count++ == 0)
		doctor_traps.call = info->si_syscall;
	if (!answer(context)) {
		(void)sigaction(signal, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
		(void)raise(signal);
	}
}

void doctor_answer_traps(void)
{
	struct sigaction trap = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER };

	(void)sigaction(SIGSYS, &trap, NULL);
}
