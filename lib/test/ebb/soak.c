/* SPDX-License-Identifier: MIT */
/*
 * Branches in four threads, two of each handler, beside a signal each millisecond, forks and execs:
 * each register is looked at between them, and each branch is accounted for.
 */
#define _GNU_SOURCE
#include "points.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../census/verdict.h"
#include "../../pm_sys.h"
#include "work.h"

#define THREADS 4
#define CHILD_BRANCHES 500

struct soaker {
	struct work work;
	pthread_t thread;
	uint64_t branches;
	int err;
	enum pm_ebb_state state;
	struct pm_diag diag;
};

static volatile uint64_t alarms;

static void on_alarm(int number)
{
	volatile double some = number;

	some = some / 3.0 + 1.0;
	alarms++;
}

static void *soak_thread(void *context)
{
	struct soaker *soaker = context;

	soaker->diag.size = sizeof(soaker->diag);
	soaker->err = work_start(&soaker->work, &soaker->diag);
	if (soaker->err < 0)
		return NULL;
	soaker->err = work_until(&soaker->work, soaker->branches);
	soaker->state = pm_ebb_state(soaker->work.ebb);
	work_end(&soaker->work);
	return NULL;
}

/* A process of its own, by fork or exec: exit status 0 when all is well. */
int soak_child(void)
{
	struct work work = { .flags = PM_EBB_VECTORS };
	struct pm_diag diag = { .size = sizeof(diag) };
	int err = work_start(&work, &diag);

	if (err == 0)
		err = work_until(&work, CHILD_BRANCHES);
	if (err < 0) {
		printf("# a child: %s %s\n", diag.text, work.what);
		return 1;
	}
	work_end(&work);
	return work.stats.branches >= CHILD_BRANCHES ? 0 : 1;
}

static int fork_one(bool execs)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		if (execs)
			execl("/proc/self/exe", "ebb", "--child", (char *)NULL);
		_exit(soak_child());
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && status == 0 ? 0 : -ECHILD;
}

static void beat(bool on)
{
	const struct itimerval each = { { 0, on ? 1000 : 0 }, { 0, on ? 1000 : 0 } };
	struct sigaction action = { .sa_flags = SA_RESTART };

	action.sa_handler = on ? on_alarm : SIG_IGN;
	(void)sigaction(SIGALRM, &action, NULL);
	(void)setitimer(ITIMER_REAL, &each, NULL);
}

static uint64_t judge(const struct soaker *soakers, unsigned int children, int child, uint64_t ns)
{
	struct pm_ebb_stats sum = { .size = sizeof(sum) };
	uint64_t callbacks = 0, quiet = 0, passes = 0, spurious = 0, stalls = 0, reserved = 0;
	const char *what = "";
	int err = child;

	for (int i = 0; i < THREADS; i++) {
		const struct work *work = &soakers[i].work;

		err = err ? err : soakers[i].err;
		if (what[0] == '\0')
			what = soakers[i].err == -EILSEQ ? work->what : soakers[i].diag.text;
		callbacks += work->callbacks;
		quiet += work->quiet;
		passes += work->passes;
		sum.branches += work->stats.branches;
		sum.overflows[0] += work->stats.overflows[0];
		sum.missed += work->stats.missed;
		spurious += work->stats.spurious;
		stalls += work->stalls;
		reserved += work->reserved;
	}
	if (err == 0 && (sum.branches != callbacks + spurious || sum.overflows[0] != callbacks))
		err = -EOVERFLOW;
	verdict("soak.registers_kept", err == 0 ? YES : BROKEN, "%llu branches in %d threads, %llu "
		"of them while all registers held patterns, %llu passes, %llu signals, %u "
		"children, %llu spurious, %llu between reservation and store, %llu forgotten "
		"by an emulator, %llu periods missed, %llu ms: %s %s",
		(unsigned long long)sum.branches, THREADS, (unsigned long long)quiet,
		(unsigned long long)passes, (unsigned long long)alarms, children,
		(unsigned long long)spurious, (unsigned long long)reserved,
		(unsigned long long)stalls, (unsigned long long)sum.missed,
		(unsigned long long)ns / 1000000, err ? pm_errno_name(-err) : "all well", what);
	return stalls;
}

/* A handler that keeps too little must be found out; in a child, which may not outlive it. */
static void ask_notices(void)
{
	struct work work = { .spoils = true };
	struct pm_diag diag = { .size = sizeof(diag) };
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(work_start(&work, &diag) < 0 ? 2 :
		      work_until(&work, CHILD_BRANCHES) == -EILSEQ ? 0 : 1);
	if (pid > 0)
		(void)waitpid(pid, &status, 0);
	verdict("soak.notices", WIFEXITED(status) && WEXITSTATUS(status) == 0 ? YES : BROKEN,
		"vectors that nobody kept: status %d (0 noticed, 1 not)", status);
}

uint64_t ask_soak(uint64_t branches)
{
	struct soaker *soakers = calloc(THREADS, sizeof(*soakers));
	const uint64_t begin = now_ns();
	unsigned int children = 0;
	uint64_t forgotten;
	int child = 0;

	if (soakers == NULL)
		return 0;
	ask_notices();
	beat(true);
	for (int i = 0; i < THREADS; i++) {
		soakers[i].work.flags = i & 1 ? PM_EBB_VECTORS : 0;
		soakers[i].branches = branches / THREADS;
		(void)pthread_create(&soakers[i].thread, NULL, soak_thread, &soakers[i]);
	}
	for (; children < 8 && child == 0; children++)
		child = fork_one(children & 1);
	for (int i = 0; i < THREADS; i++)
		(void)pthread_join(soakers[i].thread, NULL);
	beat(false);
	forgotten = judge(soakers, children, child, now_ns() - begin);
	free(soakers);
	return forgotten;
}
