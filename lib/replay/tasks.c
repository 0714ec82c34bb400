/* SPDX-License-Identifier: MIT */
/* See tasks.h. */
#define _GNU_SOURCE
#include "tasks.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../pm_sys.h"

#define PATIENCE_MS 10000

struct order { uint32_t spin_us, exec; };

volatile uint64_t watched[2] __attribute__((aligned(16)));

void __attribute__((noinline)) watched_call(void)
{
	__asm__ volatile("" ::: "memory");
}

/* ------------------------------------------------------------------------------------- the work */

static void cause_faults(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = WORK_FAULTS * page;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *code;

	if (memory == MAP_FAILED)
		return;
	(void)madvise(memory, size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < WORK_FAULTS; i++)
		((volatile char *)memory)[i * page] = 1;
	(void)munmap(memory, size);
	code = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code != MAP_FAILED)
		(void)munmap(code, page);
}

static void cause_switches(void)
{
	const struct timespec little = { 0, 200000 };

	for (int i = 0; i < WORK_SWITCHES; i++)
		(void)nanosleep(&little, NULL);
}

static void cause_calls(void)
{
	for (int i = 0; i < WORK_CALLS; i++) {
		(void)syscall(__NR_getppid);
		(void)close(-1);
		watched[0] = watched[0] + 1;
		watched[1] = watched[1] + 1;
		watched_call();
	}
}

/* A thread of a process may call it: nothing but what is safe behind fork(2) follows. */
static void cause_child(void)
{
	const pid_t child = fork();

	if (child == 0)
		_exit(0);
	if (child > 0)
		(void)waitpid(child, NULL, 0);
}

/* To another CPU and back. */
static void cause_migration(void)
{
	cpu_set_t before, one;
	const int now = sched_getcpu();

	if (now < 0 || sched_getaffinity(0, sizeof(before), &before) != 0)
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (cpu != now && CPU_ISSET(cpu, &before)) {
			CPU_ZERO(&one);
			CPU_SET(cpu, &one);
			(void)sched_setaffinity(0, sizeof(one), &one);
			CPU_ZERO(&one);
			CPU_SET(now, &one);
			(void)sched_setaffinity(0, sizeof(one), &one);
			break;
		}
	(void)sched_setaffinity(0, sizeof(before), &before);
}

static void spin(unsigned int us)
{
	uint64_t now = 0, end;
	volatile uint64_t sum = 0;

	(void)pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &now);
	for (end = now + us * 1000ull; now < end; (void)pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &now))
		for (unsigned int i = 0; i < 50000; i++)	/* a timer finds it in user mode */
			sum += i & 3 ? i : sum;
}

static void work(unsigned int spin_us)
{
	cause_faults();
	cause_switches();
	cause_calls();
	cause_child();
	cause_migration();
	(void)prctl(PR_SET_NAME, "replay");
	spin(spin_us);
	cause_switches();		/* what is pending is delivered */
}

bool work_here(unsigned int spin_us, int cpu)
{
	cpu_set_t before, one;
	bool done = true;

	if (cpu < 0) {
		work(spin_us);
		return true;
	}
	if (cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof(before), &before) != 0)
		return false;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	done = sched_setaffinity(0, sizeof(one), &one) == 0;
	if (done)
		work(spin_us);
	(void)sched_setaffinity(0, sizeof(before), &before);
	return done;
}

/* ------------------------------------------------------------------------------------ the tasks */

/* A breakpoint or an event with sigtrap interrupts: that is what was asked for. */
static void on_trap(int number)
{
	(void)number;
}

static void execute(int orders, int answers)
{
	char from[12], to[12];
	char *words[] = { (char *)"replay", (char *)"--work", from, to, NULL };

	snprintf(from, sizeof(from), "%d", orders);
	snprintf(to, sizeof(to), "%d", answers);
	(void)fcntl(orders, F_SETFD, 0);
	(void)fcntl(answers, F_SETFD, 0);
	(void)execv("/proc/self/exe", words);
}

int task_serve(int orders, int answers)
{
	struct order order;

	(void)signal(SIGTRAP, on_trap);
	while (read(orders, &order, sizeof(order)) == sizeof(order)) {
		char done = 'd';

		if (order.exec) {
			/* The order comes again, from this process to itself. */
			done = 'e';
			(void)write(answers, &done, 1);
			execute(orders, answers);
			done = 'f';
		} else {
			work(order.spin_us);
		}
		if (write(answers, &done, 1) != 1)
			break;
	}
	return 0;
}

struct line { int orders[2], answers[2]; };

static int make_line(struct line *ret)
{
	return pipe2(ret->orders, O_CLOEXEC) != 0 || pipe2(ret->answers, O_CLOEXEC) != 0 ?
		-errno : 0;
}

static void *serve_thread(void *context)
{
	const struct line *line = context;
	const pid_t tid = pm_gettid();

	(void)!write(line->answers[1], &tid, sizeof(tid));
	(void)task_serve(line->orders[0], line->answers[1]);
	return NULL;
}

static int start_thread(struct task *ret)
{
	static struct line line;
	pthread_t thread;
	int err = make_line(&line);

	if (err == 0)
		err = -pthread_create(&thread, NULL, serve_thread, &line);
	if (err != 0)
		return err;
	(void)pthread_detach(thread);
	ret->orders = line.orders[1];
	ret->answers = line.answers[0];
	return read(ret->answers, &ret->tid, sizeof(ret->tid)) == sizeof(ret->tid) ? 0 : -EIO;
}

static _Noreturn void become_task(const struct line *line)
{
	const pid_t tid = getpid();

	(void)close(line->orders[1]);
	(void)close(line->answers[0]);
	(void)!write(line->answers[1], &tid, sizeof(tid));
	(void)task_serve(line->orders[0], line->answers[1]);
	_exit(0);
}

/* `stray`: of a process that has ended, so that it is no child. It ends when its line is closed. */
static int start_process(struct task *ret, bool stray)
{
	struct line line;
	int err = make_line(&line);
	pid_t child;

	if (err != 0)
		return err;
	child = fork();
	if (child == 0 && (!stray || fork() == 0))
		become_task(&line);
	if (child == 0)
		_exit(0);
	(void)close(line.orders[0]);
	(void)close(line.answers[1]);
	if (child > 0 && stray)
		(void)waitpid(child, NULL, 0);
	ret->orders = line.orders[1];
	ret->answers = line.answers[0];
	return child > 0 && read(ret->answers, &ret->tid, sizeof(ret->tid)) == sizeof(ret->tid) ?
		0 : -EAGAIN;
}

int tasks_start(struct tasks *ret)
{
	int err;

	memset(ret, 0, sizeof(*ret));
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGTRAP, on_trap);
	err = start_process(&ret->child, false);
	if (err == 0)
		err = start_process(&ret->other, true);
	return err != 0 ? err : start_thread(&ret->thread);
}

static char answer_of(const struct task *task)
{
	struct pollfd line = { .fd = task->answers, .events = POLLIN };
	char answer = '\0';

	if (poll(&line, 1, PATIENCE_MS) > 0 && read(task->answers, &answer, 1) == 1)
		return answer;
	return '\0';
}

bool task_work(struct task *task, unsigned int spin_us, bool exec)
{
	const struct order first = { .exec = 1 }, order = { .spin_us = spin_us };

	if (task->died)
		return false;
	if (exec && write(task->orders, &first, sizeof(first)) == sizeof(first))
		(void)answer_of(task);
	if (write(task->orders, &order, sizeof(order)) == sizeof(order)) {
		char answer = answer_of(task);

		if (answer == 'f')	/* what it was to execute cannot be */
			answer = answer_of(task);
		if (answer == 'd')
			return true;
	}
	task->died = true;
	return false;
}

/* The stray is nobody's child: its end is seen by its line. It also holds the child's. */
void tasks_end(struct tasks *tasks)
{
	(void)close(tasks->other.orders);
	(void)answer_of(&tasks->other);
	(void)close(tasks->child.orders);
	(void)waitpid(tasks->child.tid, NULL, 0);
}
