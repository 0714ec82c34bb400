/* SPDX-License-Identifier: MIT */
/* The table of wishes. */
#include "doctor.h"

#include "../perfmodes_ebb.h"

#define SPEC(...) \
	.spec = { .size = sizeof(struct pm_event_spec), .tid = PM_ALL_THREADS, __VA_ARGS__ }
#define CPU_CLOCK .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK
#define TASK_CLOCK .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK
#define INSTRUCTIONS .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_INSTRUCTIONS
#define FAULTS .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS
#define SWITCHES .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CONTEXT_SWITCHES

const struct wish doctor_wishes[] = {
	{ "own-time", "sample my threads by CPU time", {
		{ .what = "cpu-clock samples", .go = go_session,
		  SPEC(CPU_CLOCK, .frequency = 1000) },
		{ .what = "fewer samples a second", .go = go_session,
		  SPEC(CPU_CLOCK, .frequency = 1000), .fewer = true },
		{ .what = "samples of user mode", .go = go_session,
		  SPEC(CPU_CLOCK, .frequency = 1000), .allow = PM_ALLOW_USER_ONLY },
		{ .what = "samples in another way", .go = go_session,
		  SPEC(CPU_CLOCK, .frequency = 1000), .allow = PM_ALLOW_ALL },
		{ .what = "getrusage(2): a sum", .go = go_rusage, .sums = true },
	} },
	{ "own-instructions", "count my instructions", {
		{ .what = "instructions", .go = go_session, SPEC(INSTRUCTIONS) },
		{ .what = "instructions of user mode", .go = go_session, SPEC(INSTRUCTIONS),
		  .allow = PM_ALLOW_USER_ONLY },
		{ .what = "CPU time (task-clock)", .go = go_session, SPEC(TASK_CLOCK),
		  .allow = PM_ALLOW_ALL },
		{ .what = "CPU time (getrusage(2))", .go = go_rusage, .sums = true },
	} },
	{ "own-faults", "sample my page faults with addresses", {
		{ .what = "page-faults samples", .go = go_session,
		  SPEC(FAULTS, .period = 1, .want = PM_WANT_ADDRESS) },
		{ .what = "page faults of user mode", .go = go_session,
		  SPEC(FAULTS, .period = 1, .want = PM_WANT_ADDRESS), .allow = PM_ALLOW_USER_ONLY },
		{ .what = "a count", .go = go_session, SPEC(FAULTS), .allow = PM_ALLOW_ALL },
		{ .what = "a count (getrusage(2))", .go = go_rusage, .sums = true },
	} },
	{ "own-switches", "count my context switches", {
		{ .what = "context-switches", .go = go_session, SPEC(SWITCHES) },
		{ .what = "records of context switches", .go = go_switch_records },
		{ .what = "getrusage(2)", .go = go_rusage, .sums = true },
	} },
	{ "kernel-chains", "call chains that include the kernel", {
		{ .what = "call chains with kernel addresses", .go = go_kernel_chain,
		  .kernel = true },
		{ .what = "call chains of user mode", .go = go_kernel_chain },
		{ .what = "samples in another way", .go = go_session,
		  SPEC(CPU_CLOCK, .frequency = 1000, .want = PM_WANT_CALLCHAIN),
		  .allow = PM_ALLOW_ALL },
	} },
	{ "other-process", "watch another process", {
		{ .what = "task-clock of it", .go = go_process, .kernel = true },
		{ .what = "task-clock of its user mode", .go = go_process },
		{ .what = "/proc/PID/stat: a sum of CPU time", .go = go_process_stat,
		  .sums = true },
	} },
	{ "system", "watch the whole system", {
		{ .what = "cpu-clock samples of a CPU", .go = go_system, .kernel = true },
		{ .what = "each process by itself", .go = go_process },
		{ .what = "/proc/stat: sums of CPU time", .go = go_system_stat, .sums = true },
	} },
	{ "tracepoints", "tracepoints of my threads, with their data", {
		{ .what = "sched:sched_switch samples", .go = go_tracepoint, .kernel = true,
		  .behind = behind_tracefs },
		{ .what = "records of context switches, no other tracepoint",
		  .go = go_switch_records },
		{ .what = "getrusage(2): a count of switches", .go = go_rusage, .sums = true },
	} },
	{ "rdpmc", "read counters without system calls", {
		{ .what = "rdpmc", .go = go_rdpmc },
		{ .what = "read(2) of instructions", .go = go_read, SPEC(INSTRUCTIONS) },
		{ .what = "read(2) of task-clock", .go = go_read, SPEC(TASK_CLOCK) },
		{ .what = "CPU time (getrusage(2))", .go = go_rusage, .sums = true },
	} },
	{ "rings", "rings of 1 MiB per CPU, for many records", {
		{ .what = "1 MiB a CPU", .go = go_rings, .kernel = true },
		{ .what = "smaller rings", .go = go_rings },
	} },
	{ "own-counter", "hardware counts that share their counter with nobody", {
		{ .what = "a counter of its own", .go = go_own_counter },
		{ .what = "read(2) of instructions", .go = go_read, SPEC(INSTRUCTIONS) },
		{ .what = "read(2) of task-clock", .go = go_read, SPEC(TASK_CLOCK) },
		{ .what = "CPU time (getrusage(2))", .go = go_rusage, .sums = true },
	} },
	{ "lost-records", "to be told of each record that was lost", {
		{ .what = "lost records are told", .go = go_lost_records },
		{ .what = "a count (getrusage(2))", .go = go_rusage, .sums = true },
	} },
	{ "kprobes", "watch a function of the kernel", {
		{ .what = "a kprobe", .go = go_kprobe, .kernel = true },
		{ .what = "records of context switches", .go = go_switch_records },
		{ .what = "getrusage(2)", .go = go_rusage, .sums = true },
	} },
	{ "uprobes", "watch a function of a program", {
		{ .what = "a uprobe", .go = go_uprobe, .kernel = true },
		{ .what = "call chains of user mode", .go = go_kernel_chain },
		{ .what = "samples in another way", .go = go_session,
		  SPEC(CPU_CLOCK, .frequency = 1000, .want = PM_WANT_CALLCHAIN),
		  .allow = PM_ALLOW_ALL },
	} },
	{ "bpf", "run a BPF program at each sample", {
		{ .what = "a BPF program on page faults", .go = go_bpf, .behind = behind_event },
		{ .what = "samples read by the program itself", .go = go_session,
		  SPEC(FAULTS, .period = 1, .want = PM_WANT_ADDRESS), .allow = PM_ALLOW_USER_ONLY },
		{ .what = "a count (getrusage(2))", .go = go_rusage, .sums = true },
	} },
	{ "branch-stacks", "the last branches at each sample (LBR, BRBE)", {
		{ .what = "branch stacks", .go = go_branch_stack },
		{ .what = "call chains of user mode", .go = go_kernel_chain },
		{ .what = "samples in another way", .go = go_session,
		  SPEC(CPU_CLOCK, .frequency = 1000, .want = PM_WANT_CALLCHAIN),
		  .allow = PM_ALLOW_ALL },
	} },
	{ "aux", "a trace of every branch (Intel PT, CoreSight) or SPE samples", {
		{ .what = "an AUX area", .go = go_aux },
		{ .what = "call chains of user mode", .go = go_kernel_chain },
		{ .what = "samples in another way", .go = go_session,
		  SPEC(CPU_CLOCK, .frequency = 1000, .want = PM_WANT_CALLCHAIN),
		  .allow = PM_ALLOW_ALL },
	} },
#ifdef PM_HAS_EBB
	{ "own-branches", "sample my threads without the kernel", {
		{ .what = "event-based branches", .go = go_branches },
		{ .what = "samples by the kernel", .go = go_session,
		  SPEC(CPU_CLOCK, .frequency = 1000), .allow = PM_ALLOW_ALL },
		{ .what = "getrusage(2): a sum", .go = go_rusage, .sums = true },
	} },
#endif
};

const size_t doctor_wish_count = sizeof(doctor_wishes) / sizeof(doctor_wishes[0]);
