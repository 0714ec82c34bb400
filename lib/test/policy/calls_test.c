/* SPDX-License-Identifier: MIT */
/*
 * Each system call that the library makes refused by a filter, in each way that filters refuse: the
 * session delivers, counts, or says what it lacks, and why. It never dies, and is never silent.
 * Built without sanitizers, which make calls of their own. PM_CALL=name tells what came of one.
 */
#define _GNU_SOURCE
#include "../test.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "sessions.h"

#define FAULTS 200
#define BURN_NS 25000000
#define NOT_HERE 77
#define LANES 4
#define NUMBERS 1024
#ifndef __NR_rseq
#define __NR_rseq 334
#endif

static const struct call {
	const char *name;
	unsigned int number;
	bool refusable;
} calls[] = {
#define X(name, refusable) { #name, __NR_##name, refusable },
#include "calls.def"
#undef X
};

/* ------------------------------------------------------------------------------------- filters */

static void install(struct sock_filter *code, size_t count)
{
	const struct sock_fprog program = { (unsigned short)count, code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		_exit(NOT_HERE);
}

#define NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define GIVE(what) BPF_STMT(BPF_RET | BPF_K, (what))

static void refuse(unsigned int number, int error)
{
	struct sock_filter code[] = {
		NUMBER,
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		GIVE(SECCOMP_RET_ERRNO | (unsigned int)error),
		GIVE(SECCOMP_RET_ALLOW),
	};

	install(code, ARRAY_SIZE(code));
}

/* -------------------------------------------------------------- work that needs no system call */

static char *fresh;		/* pages that nobody has touched yet */
static size_t page_size;
static unsigned long turns;	/* of a loop that takes BURN_NS of CPU time */

static void turn(unsigned long count)
{
	for (volatile unsigned long i = 0; i < count; i++)
		;
}

static void touch_pages(size_t count)
{
	for (size_t i = 0; i < count; i++, fresh += page_size)
		*(volatile char *)fresh = 1;
}

static void make_ready(void)
{
	const size_t pages = 4096;
	uint64_t begin = 0, end = 0;

	page_size = (size_t)sysconf(_SC_PAGESIZE);
	fresh = mmap(NULL, pages * page_size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(fresh != MAP_FAILED);
	(void)madvise(fresh, pages * page_size, MADV_NOHUGEPAGE);
	(void)pm_clock_ns(CLOCK_PROCESS_CPUTIME_ID, &begin);
	turn(1000000);
	(void)pm_clock_ns(CLOCK_PROCESS_CPUTIME_ID, &end);
	turns = (unsigned long)(BURN_NS * 1000000ull / (end - begin + 1));
}

/* ------------------------------------------------------------------------------------ sessions */

static uint64_t told;

/* What was said in the end; shared, because write(2) may be refused. */
static struct said {
	char text[16][500];
	unsigned int count;
} *said;

static void __attribute__((format(printf, 1, 2))) say(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(said->text[said->count++ % 16], sizeof(said->text[0]), format, list);
	va_end(list);
}

static void on_sample(void *context, const struct pm_observed *sample)
{
	(void)context;
	told += sample->period;
}

static uint64_t findings(const struct pm_stats *stats)
{
	return stats->lost + stats->dropped + stats->silent_events + stats->silent_threads +
		stats->unproven_events + stats->unproven_threads + stats->unproven_rings +
		stats->full_rings + stats->incomplete_events + stats->foreign;
}

/* 0: it delivers or says why not; 1: silence. */
static int observe(const struct pm_event_spec *spec, unsigned int forbid)
{
	const struct pm_session_opts opts = { .size = sizeof(opts),
		.prove = PM_PROVE_ALWAYS, .forbid = forbid,
		.allow = PM_ALLOW_ALL | PM_ALLOW_ITIMER };
	const struct pm_listener listener = { .size = sizeof(listener), .sample = on_sample };
	struct pm_value before = { .size = sizeof(before) }, after = before;
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_stats stats = { .size = sizeof(stats) };
	struct pm_session *session;
	struct pm_plan *plan;
	int err = pm_plan_make(spec, 1, &opts, NULL, &diag, &plan), came;

	if (err < 0) {
		say("no plan: %s", diag.text);
		return strlen(diag.text) < 20;
	}
	session = pm_session_create(plan, &listener, NULL);
	came = session ? pm_session_attach(session, &diag) : -ENOMEM;
	if (came < 0) {
		say("not attached: %s", diag.text);
		return strlen(diag.text) < 20;
	}
	(void)pm_session_read(session, &before, 1);
	touch_pages(FAULTS);
	if (spec->config == PERF_COUNT_SW_TASK_CLOCK)
		turn(turns);
	(void)pm_session_fd(session);
	for (int i = 0; i < 3; i++)
		(void)pm_session_poll(session, 1);
	(void)pm_session_read(session, &after, 1);
	pm_session_detach(session);
	pm_session_stats(session, &stats);
	say("by %s: %llu told, %llu counted, %llu findings%s%s",
	    pm_strategy_name((enum pm_strategy)came), (unsigned long long)told,
	    (unsigned long long)(after.value - before.value),
	    (unsigned long long)findings(&stats), diag.text[0] ? "; " : "", diag.text);
	return told == 0 && after.value == before.value && findings(&stats) == 0;
}

/* A process of its own: a timer that could not be deleted ends with it, and so does its signal. */
static bool refusing;

static int observe_apart(const struct pm_event_spec *spec, unsigned int forbid)
{
	pid_t child = refusing ? fork() : -1;
	int status;

	if (child == 0)
		_exit(observe(spec, forbid));
	if (child < 0)		/* nothing is refused, or this call is */
		return observe(spec, forbid);
	assert_int_equal(waitpid(child, &status, 0), child);
	return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

/* By the way the plan would go, and by those that it goes where others are refused. */
static int observe_each(void)
{
	static const unsigned int ways[] = {
		0, ~(1u << PM_STRATEGY_PER_THREAD), ~(1u << PM_STRATEGY_SIGNALS),
		~(1u << PM_STRATEGY_COUNTERS), ~(1u << PM_STRATEGY_OWN_RINGS),
	};
	struct pm_event_spec plain = faults;
	int silent = 0;

	plain.want = 0;
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		told = 0;
		silent |= observe(i == 2 ? &plain : &faults, ways[i]) << i;
	}
	told = 0;
	silent |= observe_apart(&clock_of_all, ~(1u << PM_STRATEGY_TIMERS)) << 5;
	return silent | observe_apart(&clock_of_all, ~(1u << PM_STRATEGY_PROCESS_TIMER)) << 6;
}

/* What is not said by sessions: it returns, and an error has a reason. */
static int use_the_rest(void)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_event_spec spec = faults;
	struct pm_trace_event *event;
	struct pm_counters *counters;
	struct pm_clock_map *map;
	int silent = 0, err;

	spec.period = spec.want = spec.tid = 0;
	err = pm_counters_open(&spec, 1, 0, NULL, &diag, &counters);
	if (err >= 0) {
		(void)pm_counters_start(counters);
		pm_counters_destroy(counters);
	}
	silent |= err < 0 && strlen(diag.text) < 20;
	err = pm_trace_event_load("sched", "sched_switch", &diag, &event);
	if (err == 0)
		pm_trace_event_destroy(event);
	silent |= err < 0 && strlen(diag.text) < 20;
	err = pm_clock_map_make(PM_CLOCK_DEFAULT, CLOCK_MONOTONIC, NULL, &diag, &map);
	if (err >= 0)
		pm_clock_map_destroy(map);
	return silent | (err < 0 && strlen(diag.text) < 10);
}

/* ---------------------------------------------------------------------------- calls x answers */

/*
 * Where nothing attached, the reason names the errno, the call, or what did not come; or that
 * events are refused here whatever the call answers.
 */
static bool is_reasonable(const struct call *call, int error)
{
	const int refused_here = refusal_here();

	for (unsigned int i = 0; i < said->count; i++) {
		const char *text = said->text[i];

		if (refused_here != 0 && strstr(text, pm_errno_name(refused_here)) != NULL)
			continue;
		if (strncmp(text, "no", 2) == 0 && strstr(text, pm_errno_name(error)) == NULL &&
		    strstr(text, call->name) == NULL && strstr(text, "memory") == NULL &&
		    strstr(text, "all opened, but") == NULL)
			return false;
	}
	return true;
}

static bool is_wrong(const struct call *call, int error)
{
	pid_t child;
	int status;

	memset(said, 0, sizeof(*said));
	child = fork();
	if (child == 0) {
		(void)signal(SIGSYS, SIG_DFL);
		(void)signal(SIGSEGV, SIG_DFL);
		alarm(600);
		refusing = true;
		refuse(call->number, error);
		_exit(observe_each() | use_the_rest() << 7);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_HERE)
		skip();
	if (getenv("PM_CALL") == NULL && status == 0 && is_reasonable(call, error))
		return false;
	print_message("%s, %s: status %#x\n", call->name, pm_errno_name(error),
		      (unsigned int)status);
	for (unsigned int i = 0; i < said->count; i++)
		print_message("    %s\n", said->text[i]);
	return true;
}

/* On a busy machine a clock may give no sample, as no tick finds its thread running. */
static bool is_wrong_each_time(const struct call *call, int error)
{
	for (int i = 0; i < 20; i++)
		if (!is_wrong(call, error))
			return false;
	return true;
}

static unsigned int run_lane(unsigned int lane)
{
	static const int ways[] = { EPERM, ENOSYS, EACCES };
	const char *only = getenv("PM_CALL");
	unsigned int wrong = 0;

	for (unsigned int i = lane; i < ARRAY_SIZE(calls); i += LANES) {
		if (!calls[i].refusable || (only != NULL && strcmp(only, calls[i].name) != 0))
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(ways); k++)
			wrong += is_wrong_each_time(&calls[i], ways[k]);
	}
	return wrong;
}

static void each_call_refused_in_each_way(void **state)
{
	unsigned int wrong = 0;
	pid_t lanes[LANES];
	int status;

	(void)state;
	for (unsigned int lane = 0; lane < LANES; lane++) {
		lanes[lane] = fork();
		if (lanes[lane] != 0)
			continue;
		said = mmap(NULL, sizeof(*said), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		make_ready();
		_exit((int)run_lane(lane));
	}
	for (unsigned int lane = 0; lane < LANES; lane++) {
		assert_int_equal(waitpid(lanes[lane], &status, 0), lanes[lane]);
		wrong += (unsigned int)status;
	}
	assert_int_equal(wrong, 0);
}

/* ------------------------------------------------------------------------------ the list itself */

static bool made[NUMBERS];

static bool is_listed(unsigned int number)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i].number == number)
			return true;
	return false;
}

static void note_call(pid_t tid)
{
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, (void *)sizeof(info), &info) > 0 &&
	    info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr < NUMBERS)
		made[info.entry.nr] = true;
}

/* Until the first one, which has made the others, has ended. */
static int watch_calls(pid_t child)
{
	int status;
	pid_t tid;

	while ((tid = waitpid(-1, &status, __WALL)) > 0) {
		long signal = 0;

		if (tid == child && !WIFSTOPPED(status))
			return status;
		if (!WIFSTOPPED(status))
			continue;
		if (WSTOPSIG(status) == (SIGTRAP | 0x80))
			note_call(tid);
		else if (WSTOPSIG(status) != SIGTRAP && WSTOPSIG(status) != SIGSTOP)
			signal = WSTOPSIG(status);
		(void)ptrace(PTRACE_SYSCALL, tid, NULL, (void *)signal);
	}
	return -1;
}

static void each_call_is_listed(void **state)
{
	unsigned int missing = 0, count = 0;
	pid_t child;
	int status;

	(void)state;
	said = mmap(NULL, sizeof(*said), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	make_ready();
	child = fork();
	if (child == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
			_exit(NOT_HERE);
		(void)raise(SIGSTOP);
		_exit(observe_each() | use_the_rest() << 7);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (!WIFSTOPPED(status))
		skip();
	assert_int_equal(ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)(PTRACE_O_TRACESYSGOOD |
			 PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL)), 0);
	(void)ptrace(PTRACE_SYSCALL, child, NULL, NULL);
	assert_int_equal(watch_calls(child), 0);
	for (unsigned int i = 0; i < NUMBERS; i++) {
		count += made[i];
		if (!made[i] || is_listed(i))
			continue;
		missing++;
		print_message("system call %u is not in calls.def\n", i);
	}
	print_message("%u calls of %zu in the list were made\n", count, ARRAY_SIZE(calls));
	assert_in_range(count, 30, NUMBERS);
	assert_int_equal(missing, 0);
	assert_false(is_listed(__NR_reboot));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_call_is_listed),
		cmocka_unit_test(each_call_refused_in_each_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
