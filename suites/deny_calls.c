/* SPDX-License-Identifier: MIT */
/*
 * deny_calls [--enosys] PROGRAM ARGUMENT... - run a program as container engines do by default:
 * system calls that reach beyond a container answer EPERM, and io_uring does not exist. With
 * --enosys as older engines and the sandboxes of desktops do: bpf(2), userfaultfd(2) and all that
 * is newer than their list does not exist, and everything else is allowed.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#define MOST 64

#define NEWER 424		/* calls from there on are of v5.1 and later, on all but Alpha */
#define OWN_OF_ARM 0xf0000	/* not those of ARM alone, which are as old as it */

struct denied {
	int call, error;
};

static const struct denied by_default[] = {
	{ SYS_perf_event_open, EPERM }, { SYS_bpf, EPERM }, { SYS_mount, EPERM },
	{ SYS_umount2, EPERM }, { SYS_pivot_root, EPERM }, { SYS_unshare, EPERM },
	{ SYS_setns, EPERM }, { SYS_syslog, EPERM }, { SYS_acct, EPERM },
	{ SYS_quotactl, EPERM }, { SYS_fanotify_init, EPERM }, { SYS_open_by_handle_at, EPERM },
	{ SYS_kcmp, EPERM }, { SYS_ptrace, EPERM }, { SYS_process_vm_readv, EPERM },
	{ SYS_process_vm_writev, EPERM }, { SYS_add_key, EPERM }, { SYS_keyctl, EPERM },
	{ SYS_request_key, EPERM }, { SYS_userfaultfd, EPERM }, { SYS_settimeofday, EPERM },
	{ SYS_clock_settime, EPERM }, { SYS_init_module, EPERM }, { SYS_finit_module, EPERM },
	{ SYS_delete_module, EPERM }, { SYS_kexec_load, EPERM }, { SYS_reboot, EPERM },
	{ SYS_swapon, EPERM }, { SYS_swapoff, EPERM },
	{ 425, ENOSYS }, { 426, ENOSYS }, { 427, ENOSYS },	/* io_uring (v5.1) */
	{ 438, EPERM },						/* pidfd_getfd (v5.6) */
	{ 0 }
};

static const struct denied unknown_calls[] = {
	{ SYS_bpf, ENOSYS }, { SYS_userfaultfd, ENOSYS }, { SYS_memfd_create, ENOSYS }, { 0 }
};

static int deny(const struct denied *denied, uint32_t newer_error)
{
	struct sock_filter code[5 + 2 * MOST] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	unsigned short length = 1;

	for (; denied->error; denied++) {
		const uint32_t answer = SECCOMP_RET_ERRNO | (uint32_t)denied->error;

		code[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							      (uint32_t)denied->call, 0, 1);
		code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, answer);
	}
	if (newer_error) {
		const struct sock_filter newer[] = {
			BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, OWN_OF_ARM, 2, 0),
			BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, NEWER, 0, 1),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | newer_error),
		};

		memcpy(code + length, newer, sizeof(newer));
		length += 3;
	}
	code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
		     &(struct sock_fprog){ .len = length, .filter = code });
}

int main(int argc, char **argv)
{
	const int enosys = argc > 1 && !strcmp(argv[1], "--enosys");
	char **program = argv + 1 + enosys;

	if (argc < 2 + enosys ||
	    deny(enosys ? unknown_calls : by_default, enosys ? ENOSYS : 0) < 0) {
		fprintf(stderr, "deny_calls: %s\n",
			argc < 2 + enosys ? "no program" : strerror(errno));
		return 2;
	}
	execvp(program[0], program);
	fprintf(stderr, "deny_calls: %s: %s\n", program[0], strerror(errno));
	return 2;
}
