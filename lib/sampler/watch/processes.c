/* SPDX-License-Identifier: MIT */
/* The table of processes: births, execs and ends. */
#include "processes.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LINGER_NS 50000000ull		/* records of an ended process may still come */
#define QUIET_NS 2000000000ull		/* whose end was not told: no record for so long */

static size_t slot_of(const struct processes *processes, uint32_t pid)
{
	return (size_t)(pid * 0x9e3779b1u >> 7) & (processes->room - 1);
}

int pm_processes_begin(struct processes *processes, size_t most)
{
	processes->room = 64;
	while (processes->room < most / 2 && processes->room < 32768)
		processes->room *= 2;
	processes->most = most;
	processes->slots = calloc(processes->room, sizeof(*processes->slots));
	return processes->slots ? 0 : -ENOMEM;
}

static void tell(struct processes *processes, struct process *process,
		 enum pm_process_change change, uint64_t time)
{
	if (processes->tell != NULL)
		processes->tell(processes->context, process, change, time);
}

/* ----------------------------------------------------------------------------- finding, adding */

static struct process *newest(const struct processes *processes, uint32_t pid)
{
	struct process *process = processes->slots[slot_of(processes, pid)];

	while (process != NULL && process->told.pid != pid)
		process = process->next;
	return process;
}

/* The process that had the pid at that time; NULL: not known. */
static struct process *process_at(const struct processes *processes, uint32_t pid, uint64_t time)
{
	struct process *process = newest(processes, pid);

	while (process != NULL && (process->told.pid != pid || process->told.begin > time))
		process = process->next;
	return process;
}

/* NULL beyond the limit, or without memory. */
static struct process *add(struct processes *processes, uint32_t pid, uint64_t begin)
{
	struct process **slot = &processes->slots[slot_of(processes, pid)], *process;

	process = processes->count < processes->most ? calloc(1, sizeof(*process)) : NULL;
	if (process == NULL) {
		processes->unwatched++;
		return NULL;
	}
	process->told = (struct pm_process){
		.size = sizeof(process->told), .serial = ++processes->serials, .pid = pid,
		.begin = begin, .uid = UINT32_MAX, .pidfd = -1, .cmdline = "",
		.arguments = "",
	};
	process->next = *slot;
	process->seen_at = begin;
	*slot = process;
	processes->count++;
	return process;
}

static void drop(struct processes *processes, struct process *process)
{
	struct process **at = &processes->slots[slot_of(processes, process->told.pid)];

	while (*at != process)
		at = &(*at)->next;
	*at = process->next;
	if (process->told.pidfd >= 0) {
		close(process->told.pidfd);
		processes->pidfds--;
	}
	processes->watched -= process->told.watched;
	processes->count--;
	free(process->cmdline);
	free(process->arguments);
	free(process->cgroup);
	free(process);
}

/* ------------------------------------------------------------------------------------- threads */

/* Whether a thread was seen as one of that process, and of the program that it is now. */
static bool is_of(const struct thread_mark *mark, const struct process *process)
{
	return mark->listed && mark->owner == process->told.serial &&
		mark->round == process->told.execs;
}

static void add_thread(struct processes *processes, struct process *process, uint32_t tid)
{
	struct thread_mark *mark = tid != 0 ?
		pm_threads_mark(&processes->tids, (pid_t)tid, true) : NULL;

	if (mark == NULL || is_of(mark, process))
		return;
	mark->listed = true;
	mark->owner = process->told.serial;
	mark->round = process->told.execs;
	process->threads++;
}

/* Its end was told. */
static void drop_thread(struct processes *processes, struct process *process, uint32_t tid)
{
	const struct thread_mark *mark = pm_threads_mark(&processes->tids, (pid_t)tid, false);

	if (mark != NULL && is_of(mark, process) && process->threads > 0)
		process->threads--;
	pm_threads_forget(&processes->tids, (pid_t)tid);
}

struct listing {
	struct processes *processes;
	struct process *process;
	uint64_t now;
};

static int list_thread(uint32_t tid, void *context)
{
	const struct listing *listing = context;

	add_thread(listing->processes, listing->process, tid);
	return 0;
}

static void list_threads(struct processes *processes, struct process *process)
{
	struct listing listing = { .processes = processes, .process = process };
	char folder[48];

	snprintf(folder, sizeof(folder), "/proc/%u/task", process->told.pid);
	process->counted = !process->told.gone &&
		pm_proc_each(folder, list_thread, &listing) == 0;
}

/* ------------------------------------------------------------------------------ births and ends */

static struct process *meet(struct processes *processes, uint32_t pid, uint64_t time)
{
	struct process *process = add(processes, pid, 0);

	if (process == NULL)
		return NULL;
	process->seen_at = time;
	(void)pm_process_look(processes, process, NULL, time);
	list_threads(processes, process);
	pm_targets_bind(&processes->rules.targets, pid, process->told.serial);
	pm_process_judge(processes, process, false);
	tell(processes, process, PM_PROCESS_FOUND, time);
	return process;
}

struct process *pm_processes_find(struct processes *processes, uint32_t pid, uint64_t time)
{
	struct process *process = process_at(processes, pid, time);

	return process != NULL ? process : meet(processes, pid, time);
}

static int list_process(uint32_t pid, void *context)
{
	const struct listing *listing = context;

	if (newest(listing->processes, pid) == NULL)
		(void)meet(listing->processes, pid, listing->now);
	return 0;
}

/* A parent comes before its children as a rule, but not after pids have wrapped: once more. */
static void watch_descendants(struct processes *processes)
{
	bool more = processes->rules.children;

	while (more) {
		more = false;
		for_each_process(at, processes) {
			const struct process *parent = newest(processes, at->told.parent);

			if (at->told.watched || at->inherits || parent == NULL ||
			    !parent->told.watched)
				continue;
			pm_process_judge(processes, at, true);
			more |= at->told.watched;
		}
	}
}

int pm_processes_list(struct processes *processes, uint64_t now)
{
	struct listing listing = { .processes = processes, .now = now };
	int err = pm_proc_each("/proc", list_process, &listing);

	if (err == 0)
		watch_descendants(processes);
	return err;
}

static void begin_ending(struct processes *processes, struct process *process, uint64_t time)
{
	if (process->ending)
		return;
	process->ending = true;
	process->told.end = time;
	if (processes->last_ending != NULL)
		processes->last_ending->behind = process;
	else
		processes->first_ending = process;
	processes->last_ending = process;
}

static void refresh(struct processes *processes, struct process *process, uint64_t now)
{
	struct proc_stat stat;

	process->threads = 0;
	if (pm_process_same_now(processes, process, now, &stat))
		list_threads(processes, process);
	else
		begin_ending(processes, process, now);
}

int pm_processes_refresh(struct processes *processes, uint64_t now)
{
	pm_threads_free(&processes->tids);
	for_each_process(at, processes) {
		refresh(processes, at, now);
		if (!at->ending)
			tell(processes, at, PM_PROCESS_FOUND, now);
	}
	return pm_processes_list(processes, now);
}

/* It was found in /proc before its birth was read, which is the same process then. */
static bool is_known_birth(const struct process *process, uint64_t time)
{
	return process != NULL && !process->ending && process->told.begin == 0 &&
		process->looked_at >= time;
}

static void bear(struct processes *processes, uint32_t pid, uint32_t ppid, uint64_t time)
{
	const struct process *parent = pm_processes_find(processes, ppid, time);
	struct process *before = newest(processes, pid), *process;
	struct proc_stat stat;

	/* Two events may tell of one birth. */
	if (before != NULL && before->told.begin == time)
		return;
	if (is_known_birth(before, time)) {
		before->told.begin = time;
		before->told.parent = ppid;
		return;
	}
	if (before != NULL) {
		processes->reused++;
		begin_ending(processes, before, time);
	}
	process = add(processes, pid, time);
	if (process == NULL)
		return;
	process->told.parent = ppid;
	process->counted = true;
	if (parent != NULL) {
		pm_process_take_after(process, parent);
		process->root = parent->root;
	}
	if (pm_process_same_now(processes, process, time, &stat))
		process->told.started = stat.started;
	add_thread(processes, process, pid);
	pm_process_judge(processes, process, parent != NULL && processes->rules.children &&
			 parent->told.watched);
	tell(processes, process, PM_PROCESS_BORN, time);
}

void pm_processes_birth(struct processes *processes, uint32_t pid, uint32_t tid, uint32_t parent,
			uint64_t time)
{
	struct process *process;

	if (pid != parent) {
		bear(processes, pid, parent, time);
		return;
	}
	process = pm_processes_find(processes, pid, time);
	if (process == NULL)
		return;
	process->seen_at = time;
	add_thread(processes, process, tid);
}

void pm_processes_exec(struct processes *processes, uint32_t pid, const char *comm, uint64_t time)
{
	struct process *process = pm_processes_find(processes, pid, time);

	if (process == NULL || process->named_at == time)
		return;
	process->named_at = time;
	/* All other threads have ended; the one left has the process's number. */
	process->told.execs++;
	process->seen_at = time;
	process->threads = 0;
	process->counted = true;
	add_thread(processes, process, pid);
	processes->execs++;
	if (!pm_process_look(processes, process, comm, time))
		pm_process_name_only(process, comm);
	pm_process_judge(processes, process, process->inherits);
	tell(processes, process, PM_PROCESS_EXEC, time);
}

void pm_processes_name(struct processes *processes, uint32_t pid, const char *comm, uint64_t time)
{
	struct process *process = pm_processes_find(processes, pid, time);

	if (process != NULL)
		snprintf(process->told.comm, sizeof(process->told.comm), "%s", comm);
}

void pm_processes_end(struct processes *processes, uint32_t pid, uint32_t tid, uint64_t time)
{
	struct process *process = process_at(processes, pid, time);

	if (process == NULL)
		return;
	process->seen_at = time;
	drop_thread(processes, process, tid);
	if (process->counted ? process->threads == 0 : tid == pid)
		begin_ending(processes, process, time);
}

/* --------------------------------------------------------------------------------- letting go */

void pm_processes_settle(struct processes *processes, uint64_t time)
{
	struct process *process;

	while ((process = processes->first_ending) != NULL) {
		if (time != UINT64_MAX && process->told.end + LINGER_NS > time)
			return;
		processes->first_ending = process->behind;
		if (process->behind == NULL)
			processes->last_ending = NULL;
		tell(processes, process, PM_PROCESS_ENDED, process->told.end);
		drop(processes, process);
	}
}

static bool is_gone(const struct process *process)
{
	struct pollfd polled = { .fd = process->told.pidfd, .events = POLLIN };

	if (process->told.pidfd >= 0)
		return poll(&polled, 1, 0) > 0;
	return kill((pid_t)process->told.pid, 0) != 0 && errno == ESRCH;
}

void pm_processes_sweep(struct processes *processes, uint64_t now)
{
	for_each_process(at, processes)
		if (!at->ending && at->seen_at + QUIET_NS < now && is_gone(at))
			begin_ending(processes, at, now);
}

void pm_processes_free(struct processes *processes)
{
	for (size_t i = 0; i < processes->room && processes->slots != NULL; i++)
		while (processes->slots[i] != NULL)
			drop(processes, processes->slots[i]);
	free(processes->slots);
	processes->slots = NULL;
	pm_threads_free(&processes->tids);
	pm_targets_free(&processes->rules.targets);
}
