/* SPDX-License-Identifier: MIT */
/* Numbers of system calls: of this machine, and of the 32-bit programs that it runs beside them. */
#include "explain.h"

#include <elf.h>
#include <linux/audit.h>
#include <sys/syscall.h>

#ifndef __NR_close_range
#define __NR_close_range 436
#endif
#ifndef __NR_bpf
#define __NR_bpf -1
#endif
#ifndef __NR_execveat
#define __NR_execveat -1
#endif
#ifndef __NR_seccomp
#define __NR_seccomp -1
#endif
#ifdef __NR_mmap2
#define NR_MMAP __NR_mmap2
#else
#define NR_MMAP __NR_mmap
#endif
#ifdef __NR_fcntl64
#define NR_FCNTL __NR_fcntl64
#else
#define NR_FCNTL __NR_fcntl
#endif

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#elif defined(__i386__)
#define NATIVE AUDIT_ARCH_I386
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#elif defined(__arm__)
#define NATIVE AUDIT_ARCH_ARM
#elif defined(__s390x__)
#define NATIVE AUDIT_ARCH_S390X
#elif defined(__riscv) && __riscv_xlen == 64
#define NATIVE (EM_RISCV | __AUDIT_ARCH_64BIT | __AUDIT_ARCH_LE)
#elif defined(__powerpc64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NATIVE (EM_PPC64 | __AUDIT_ARCH_64BIT | __AUDIT_ARCH_LE)
#else
#define NATIVE 0		/* matches nothing: plain ptrace, by the number alone */
#endif

/* Not on machines that came later: there the calls with a directory alone. */
#ifdef __NR_open
#define NR_OPEN __NR_open
#else
#define NR_OPEN -1
#endif
#ifdef __NR_access
#define NR_ACCESS __NR_access
#else
#define NR_ACCESS -1
#endif
#if defined(__NR_stat64)
#define NR_STAT __NR_stat64
#elif defined(__NR_stat)
#define NR_STAT __NR_stat
#else
#define NR_STAT -1
#endif
#if defined(__NR_newfstatat)
#define NR_STAT_AT __NR_newfstatat
#elif defined(__NR_fstatat64)
#define NR_STAT_AT __NR_fstatat64
#else
#define NR_STAT_AT -1
#endif
#ifdef __NR_statx
#define NR_STATX __NR_statx
#else
#define NR_STATX -1
#endif
#ifdef __NR_faccessat2
#define NR_ACCESS_AT2 __NR_faccessat2
#else
#define NR_ACCESS_AT2 439	/* v5.8 */
#endif

const struct numbers call_numbers[] = {
	{ NATIVE, {
		[CALL_OPEN] = __NR_perf_event_open, [CALL_IOCTL] = __NR_ioctl,
		[CALL_MMAP] = NR_MMAP, [CALL_CLOSE] = __NR_close,
		[CALL_CLOSE_RANGE] = __NR_close_range, [CALL_FCNTL] = NR_FCNTL,
		[CALL_PRCTL] = __NR_prctl, [CALL_BPF] = __NR_bpf, [CALL_EXEC] = __NR_execve,
		[CALL_EXEC_AT] = __NR_execveat, [CALL_EXIT_GROUP] = __NR_exit_group,
		[CALL_SECCOMP] = __NR_seccomp, [CALL_PTRACE] = __NR_ptrace,
		[CALL_FILE_OPEN] = NR_OPEN, [CALL_FILE_OPEN_AT] = __NR_openat,
		[CALL_FILE_ACCESS] = NR_ACCESS, [CALL_FILE_ACCESS_AT] = __NR_faccessat,
		[CALL_FILE_ACCESS_AT2] = NR_ACCESS_AT2, [CALL_FILE_STAT] = NR_STAT,
		[CALL_FILE_STAT_AT] = NR_STAT_AT, [CALL_FILE_STATX] = NR_STATX,
		[CALL_FILE_ENTER] = __NR_chdir } },
#if defined(__x86_64__)
	{ AUDIT_ARCH_I386, {		/* arch/x86/entry/syscalls/syscall_32.tbl */
		[CALL_OPEN] = 336, [CALL_IOCTL] = 54, [CALL_MMAP] = 192, [CALL_CLOSE] = 6,
		[CALL_CLOSE_RANGE] = 436, [CALL_FCNTL] = 221, [CALL_PRCTL] = 172, [CALL_BPF] = 357,
		[CALL_EXEC] = 11, [CALL_EXEC_AT] = 358, [CALL_EXIT_GROUP] = 252,
		[CALL_SECCOMP] = 354, [CALL_PTRACE] = 26, [CALL_FILE_OPEN] = 5,
		[CALL_FILE_OPEN_AT] = 295, [CALL_FILE_ACCESS] = 33, [CALL_FILE_ACCESS_AT] = 307,
		[CALL_FILE_ACCESS_AT2] = 439, [CALL_FILE_STAT] = 195, [CALL_FILE_STAT_AT] = 300,
		[CALL_FILE_STATX] = 383, [CALL_FILE_ENTER] = 12 } },
#elif defined(__aarch64__)
	{ AUDIT_ARCH_ARM, {		/* arch/arm/tools/syscall.tbl */
		[CALL_OPEN] = 364, [CALL_IOCTL] = 54, [CALL_MMAP] = 192, [CALL_CLOSE] = 6,
		[CALL_CLOSE_RANGE] = 436, [CALL_FCNTL] = 221, [CALL_PRCTL] = 172, [CALL_BPF] = 386,
		[CALL_EXEC] = 11, [CALL_EXEC_AT] = 387, [CALL_EXIT_GROUP] = 248,
		[CALL_SECCOMP] = 383, [CALL_PTRACE] = 26, [CALL_FILE_OPEN] = 5,
		[CALL_FILE_OPEN_AT] = 322, [CALL_FILE_ACCESS] = 33, [CALL_FILE_ACCESS_AT] = 334,
		[CALL_FILE_ACCESS_AT2] = 439, [CALL_FILE_STAT] = 195, [CALL_FILE_STAT_AT] = 327,
		[CALL_FILE_STATX] = 397, [CALL_FILE_ENTER] = 12 } },
#endif
};

const size_t call_number_count = sizeof(call_numbers) / sizeof(call_numbers[0]);

bool call_of(uint32_t arch, int nr, struct call *ret)
{
	for (size_t i = 0; i < call_number_count; i++) {
		if (call_numbers[i].arch != arch && call_numbers[i].arch != 0)
			continue;
		for (int at = 0; at < CALLS; at++)
			if (call_numbers[i].nr[at] == nr && nr >= 0) {
				ret->which = (enum which)at;
				ret->narrow = sizeof(long) == 4 || i > 0;
				return true;
			}
	}
	return false;
}
