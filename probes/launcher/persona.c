/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Taking on a persona: user ids, capabilities, system call filters. See persona.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "../../lib/pm_sys.h"
#include "persona.h"

#ifndef PR_CAP_AMBIENT				/* v4.3 */
#define PR_CAP_AMBIENT 47
#define PR_CAP_AMBIENT_RAISE 2
#endif

static int complain(const char *what)
{
	const int error = errno;

	dprintf(STDERR_FILENO, "launch: %s: %s\n", what, strerror(error));
	return -error;
}

/* Keep the capabilities in `keep` (a bit mask), across execve(2) as well, and drop all others. */
static int set_capabilities(uint64_t keep)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	for (int half = 0; half < 2; half++) {
		data[half].effective = keep >> (32 * half);
		data[half].permitted = keep >> (32 * half);
		data[half].inheritable = keep >> (32 * half);
	}
	if (syscall(SYS_capset, &header, data) < 0)
		return complain("capset");
	for (int capability = 0; capability < 64; capability++)
		if (keep >> capability & 1 &&
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0) < 0)
			return complain("ambient capability");
	return 0;
}

/* Another user, if this process is root; with these capabilities in any case. */
static int become(uid_t uid, uint64_t keep)
{
	if (geteuid() == 0) {
		if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
			return complain("PR_SET_KEEPCAPS");
		if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 ||
		    setresuid(uid, uid, uid) < 0)
			return complain("cannot become another user");
	}
	return set_capabilities(keep);
}

/* ------------------------------------------------------------------------------- filtering */

static int install(const struct sock_filter *code, size_t length)
{
	const struct sock_fprog program = { .len = length, .filter = (struct sock_filter *)code };

	/* Root may filter without no_new_privs, which would itself be visible to the probe. */
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0)
		return 0;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		return complain("seccomp");
	return 0;
}

static int filter_perf(void)
{
	static const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return install(code, sizeof(code) / sizeof(*code));
}

/*
 * Many machines leave tracefs unmounted. Root may look at it in a mount namespace of its own, which
 * nobody else sees and which ends with the probe. Others keep what the machine has.
 */
void persona_see_tracefs(void)
{
	struct stat there;

	if (geteuid() != 0 || stat("/sys/kernel/tracing/events", &there) == 0 ||
	    stat("/sys/kernel/debug/tracing/events", &there) == 0 ||
	    stat("/sys/kernel/tracing", &there) < 0 || unshare(CLONE_NEWNS) < 0)
		return;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
		mount("tracefs", "/sys/kernel/tracing", "tracefs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		      NULL);
}

/*
 * The ids of tracepoints are in files that only root may read. A privileged helper may tell them to
 * an unprivileged program; whether the tracepoints then work is the kernel's answer.
 */
void persona_tell_tracepoints(void)
{
	static const char *const names[] = {
		"sched:sched_switch",	      "sched:sched_wakeup",
		"syscalls:sys_enter_close",   "syscalls:sys_enter_kill",
		"syscalls:sys_enter_getppid", "syscalls:sys_exit_getppid",
		"raw_syscalls:sys_enter",      "ftrace:function",
	};
	char list[512] = "";
	size_t used = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char system[32];
		const char *colon = strchr(names[i], ':');
		int id;

		snprintf(system, sizeof(system), "%.*s", (int)(colon - names[i]), names[i]);
		id = pm_tracepoint_id(system, colon + 1);
		if (id > 0)
			used += snprintf(list + used, sizeof(list) - used, "%s%s=%d",
					 used ? " " : "", names[i], id);
	}
	if (used)
		setenv("PERFMODES_TRACEPOINTS", list, 1);
}

int persona_assume(const struct persona *persona)
{
	int error = persona->refuses_perf ? filter_perf() : 0;

	if (error)
		return error;
	if (persona->uid == 0 && geteuid() != 0) {
		errno = EPERM;
		return complain("not root");
	}
	return persona->keeps_capabilities ? 0 : become(persona->uid, persona->capabilities);
}
