/* SPDX-License-Identifier: MIT */
/*
 * deny_calls PROGRAM ARGUMENT... - run a program as container engines do by default: system calls
 * that reach beyond a container answer EPERM, and io_uring does not exist.
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

static const struct {
	int call, error;
} denied[] = {
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
};

static int deny(void)
{
	struct sock_filter code[2 + 2 * MOST] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	unsigned short length = 1;

	for (size_t i = 0; i < sizeof(denied) / sizeof(*denied); i++) {
		const uint32_t answer = SECCOMP_RET_ERRNO | (uint32_t)denied[i].error;

		code[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							      (uint32_t)denied[i].call, 0, 1);
		code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, answer);
	}
	code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
		     &(struct sock_fprog){ .len = length, .filter = code });
}

int main(int argc, char **argv)
{
	if (argc < 2 || deny() < 0) {
		fprintf(stderr, "deny_calls: %s\n", argc < 2 ? "no program" : strerror(errno));
		return 2;
	}
	execvp(argv[1], argv + 1);
	fprintf(stderr, "deny_calls: %s: %s\n", argv[1], strerror(errno));
	return 2;
}
