/* SPDX-License-Identifier: MIT */
/*
 * Gates: who refused a call, with what setting, and what to change. One table for each kind of call
 * (gate_*.c, gate.c) explains refusals to the probes, the doctor and the library's diagnoses.
 *
 * A gate is a row: a test that says whether it stands in the way of a call, and the words for it.
 * The tests look at facts gathered before. They make no calls and decide by no version.
 */
#ifndef PM_GATE_H
#define PM_GATE_H

#include "pm_sys.h"

/* What a call reaches for, which decides what it takes. */
enum pm_reach {
	PM_REACH_OWN,		/* threads of this process */
	PM_REACH_OTHER,		/* a thread of another process */
	PM_REACH_CPU,		/* everything that runs on a CPU */
	PM_REACH_TRACE,		/* the data of a tracepoint */
};

enum pm_refused_call { PM_CALL_OPEN, PM_CALL_MAP, PM_CALL_TRACEFS, PM_CALL_OTHER };

enum pm_container {
	PM_NO_CONTAINER, PM_DOCKER, PM_PODMAN, PM_KUBERNETES, PM_NSPAWN, PM_LXC,
	PM_OTHER_CONTAINER
};

/* Where a call was made, as far as advice depends on it. */
struct pm_place {
	enum pm_container container;
	bool user_namespace;		/* not the first: capabilities do not count for perf */
	uint64_t caps_permitted, caps_bounding;
	char hypervisor[16];		/* "kvm", "wsl2", "" where none is seen */
	char vendor[32];		/* of the machine, as its firmware says: "Amazon EC2" */
	char snap[64];			/* the snap that confines this program, "" for none */
	char unit[96];			/* of systemd ("cron.service"), "" for none */
	uint64_t memlock_hard, nofile_hard;	/* UINT64_MAX: unlimited */
	int64_t file_max;		/* fs.file-max, -1 when unreadable */
	uint64_t rings_kb;		/* of other processes of this user, where looked for */
	int ring_holder;		/* one of these processes, 0 for none */
};
void pm_place_read(struct pm_place *ret);

/* A call that was refused, and what is known of where it was made. */
struct pm_refused {
	enum pm_refused_call call;
	int error;			/* a positive errno */
	const struct pm_env *env;
	const struct pm_place *place;	/* NULL: not known */
	/* OPEN: perf_event_open(2) */
	const struct perf_event_attr *attr;	/* NULL: not known */
	enum pm_reach reach;
	int cpu;
	bool cgroup;			/* a descriptor of a cgroup was to name the tasks */
	enum pm_perf_answer perf;	/* whether perf answers at all */
	int perf_errno;			/* what was said instead */
	int level;			/* of perf_event_paranoid in force; INT_MIN: not known */
	bool privileged;		/* a capability that counts for perf */
	bool needs_user_chains;		/* it opens with call chains of user mode alone */
	bool needs_both_accesses;	/* a breakpoint, which opens for both together */
	/* MAP: mmap(2) of rings */
	size_t rings, bytes;
	/* OTHER: any other system call */
	const char *name;		/* "bpf" */
	enum pm_enosys enosys;		/* where that is the error: who says so */
};

/* What a probe may conclude. */
enum pm_gate_verdict {
	PM_GATE_BLOCKED,		/* policy or a limit, which somebody can change */
	PM_GATE_ABSENT,			/* the machine or this kernel does not have it */
	PM_GATE_UNTOLD,			/* nothing is learned */
};

enum pm_gate_kind {
	PM_GATE_NOT_BUILT,
	PM_GATE_FILTER,
	PM_GATE_PARANOID,
	PM_GATE_LSM,
	PM_GATE_DESCRIPTORS,
	PM_GATE_LOCKED_MEMORY,
	PM_GATE_NO_EVENT,
	PM_GATE_UNSUPPORTED,
	PM_GATE_NO_TARGET,
	PM_GATE_UNKNOWN,
	PM_GATE_KINDS
};

struct pm_gate_words {
	char brief[400];		/* the reason of a verdict, with the errno */
	char gate[360];			/* who decided, with its setting */
	/* What to do about it, clauses with "; " between; "" when nothing helps. */
	char change[1000];
	int level;			/* of perf_event_paranoid that is needed; INT_MIN: none */
};

struct pm_gate {
	const char *name;
	enum pm_gate_kind kind;
	enum pm_gate_verdict verdict;
	bool (*stands)(const struct pm_refused *refused);
	void (*say)(const struct pm_refused *refused, struct pm_gate_words *ret);
};

#define PM_GATE_ROW(name, kind, verdict, test) \
	{ #name, PM_GATE_##kind, PM_GATE_##verdict, test, say_##name }
#define PM_GATE_END { .name = NULL }
#define PM_SAY(text, ...) snprintf(text, sizeof(text), __VA_ARGS__)

/* Of perf_event_open(2), in this order. The last row of all always stands. */
extern const struct pm_gate pm_gates_filter[], pm_gates_policy[], pm_gates_open[];

/* Whether the rings of a refused mmap(2) would fit, had nobody else locked any. */
bool pm_rings_fit(const struct pm_refused *refused);

/*
 * For needs_user_chains: asks for the same event of the calling thread, with the kernel's part of
 * call chains and without.
 */
bool pm_needs_user_chains(const struct perf_event_attr *attr);

/* The test of such a row. */
bool pm_gate_any(const struct pm_refused *refused);

/* The first gate that stands in the way of the call, and its words. */
const struct pm_gate *pm_gate_find(const struct pm_refused *refused, struct pm_gate_words *ret);

/* The highest level of perf_event_paranoid at which the open takes no capability. */
int pm_level_needed(const struct pm_refused *refused);

/* What an open with those arguments reaches for. */
enum pm_reach pm_reach_of(const struct perf_event_attr *attr, pid_t pid);

#endif
