/* SPDX-License-Identifier: MIT */
/*
 * See load.h. To see the result of a call its thread is interrupted, which ends the verifier; so
 * what a load got is not looked at. The least program of the same type is loaded afterwards.
 */
#define _GNU_SOURCE
#include "load.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../doctor/flow.h"
#include "reason.h"
#include "tell.h"

#ifndef __NR_bpf
#define __NR_bpf -1
#endif
#define PROG_LOAD 5		/* of bpf(2): other commands are probes of features, too */
#define LINK_CREATE 28
#define TYPES 64
#define SOCKET_FILTER 1		/* which needs no capability where that is allowed */
#define CAP_SYS_ADMIN 21
#define CAP_PERFMON 38		/* v5.8, as CAP_BPF */
#define CAP_BPF 39
#define INDENT 9

static uint64_t types;		/* a bit each */
static struct place loader;

static uint32_t word_at(const struct call *call, unsigned int offset)
{
	uint32_t word;

	return memory_read(call->tid, call->args[1] + offset, &word, sizeof(word)) ==
		sizeof(word) ? word : UINT32_MAX;
}

bool load_call(const struct call *call)
{
	const uint32_t word = call->args[0] == PROG_LOAD ? word_at(call, 0) : 0;

	if (call->args[0] == PROG_LOAD && word < TYPES) {
		if (types == 0)
			place_of(call->tid, &loader);
		types |= (uint64_t)1 << word;
	}
	/* Without a target it is asked whether the kernel has links at all, as libbpf does. */
	return call->args[0] == LINK_CREATE && word_at(call, 4) != UINT32_MAX;
}

/* r0 = 0; exit */
static int load(uint32_t type)
{
	static const uint64_t code[] = { 0x00000000000000b7, 0x0000000000000095 };
	static const uint64_t big[] = { 0xb700000000000000, 0x9500000000000000 };
	struct { uint32_t type, count; uint64_t code, license; uint64_t rest[3]; } attr = {
		.type = type, .count = 2, .license = (uint64_t)(uintptr_t)"GPL",
		.code = (uint64_t)(uintptr_t)(__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? big : code),
	};
	const long fd = syscall(__NR_bpf, PROG_LOAD, &attr, sizeof(attr));

	return fd < 0 ? errno : close((int)fd);
}

/* Other errors are of the types, of which some take more than this. */
static int load_all(void)
{
	const struct rlimit endless = { RLIM_INFINITY, RLIM_INFINITY };

	(void)setrlimit(RLIMIT_MEMLOCK, &endless);	/* counted before v5.11 */
	if (!become_caller(&loader))
		return 0;
	for (uint32_t type = 0; type < TYPES; type++)
		if ((types >> type & 1) && load(type) == EPERM)
			return EPERM;
	return 0;
}

int load_refused(void)
{
	int status = 0;
	pid_t child;

	if (types == 0 || !loader.known)
		return 0;
	(void)fflush(NULL);
	child = fork();
	if (child == 0)
		_exit(load_all());
	return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ?
		WEXITSTATUS(status) : 0;
}

static bool has(int capability)
{
	return loader.caps_effective >> capability & 1;
}

void load_tell(int error)
{
	const bool tracing = (types & ~((uint64_t)1 << SOCKET_FILTER)) != 0;
	const bool bpf = has(CAP_BPF) || has(CAP_SYS_ADMIN);
	const bool perfmon = !tracing || has(CAP_PERFMON) || has(CAP_SYS_ADMIN);

	if (bpf && perfmon) {
		note("bpf(2) loads no program for it here (%s), and capabilities are not what it "
		     "lacks: a filter of system calls, lockdown or a security module",
		     pm_errno_name(error));
		return;
	}
	note("it loads programs of BPF, which bpf(2) refuses uid %u (%s): it has no %s%s%s",
	     loader.uid[1], pm_errno_name(error), bpf ? "" : "CAP_BPF",
	     bpf || perfmon ? "" : " and no ", perfmon ? "" : "CAP_PERFMON");
	flow_changes("  change", "run it as root; or setcap cap_bpf,cap_perfmon+ep PROGRAM, which "
		     "takes Linux 5.8 and leaves files that only root may read closed", INDENT);
}
