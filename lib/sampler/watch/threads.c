/* SPDX-License-Identifier: MIT */
/*
 * Threads are created while the events of a process are opened, and may have inherited those that
 * their creators had by then. So opening starts over until no thread appeared meanwhile. When that
 * never comes, late threads get events of their own, and what they report twice is told apart by
 * the ids of the events, as sessions do it (lib/policy/engine/threads.h).
 */
#include "threads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../../policy/diagnosis/diag.h"
#include "negotiate.h"
#include "prove.h"
#include "rings.h"

#define ATTEMPTS 8	/* from scratch */
#define LISTINGS 16	/* of the last attempt */

/* ---------------------------------------------------------------------------------------- rings */

/* An event that counts nothing, of this thread: it lends its ring to all others of the CPU. */
static int keep_ring(struct pm_sampler *sampler, int cpu)
{
	struct perf_event_attr attr;
	int fd, err;

	pm_watch_no_side(sampler, &attr);
	fd = pm_open(&attr, 0, cpu, -1, 0);
	if (fd < 0)
		return fd;
	err = pm_watch_map(sampler, fd, cpu);
	if (err < 0)
		close(fd);
	return err;
}

static int keep_rings(struct pm_sampler *sampler)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < sampler->on.count; i++)
		err = keep_ring(sampler, sampler->on.list[i]);
	return err;
}

/* -------------------------------------------------------------------------------------- threads */

/* Descriptors that the options leave, besides those that are open. */
static bool has_room(const struct pm_sampler *sampler, size_t more)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return true;
	return sampler->open.count + more <=
		(uint64_t)limit.rlim_cur * sampler->opts.descriptors_percent / 100;
}

/* What is to be opened: on one CPU that came late, or, with cpu -1, on all. */
struct opening {
	struct pm_sampler *sampler;
	struct threads *threads;	/* those of that CPU */
	uint64_t root;
	int cpu;
};

/* All events of one thread. -ESRCH: it has ended, which is no failure. */
static int open_thread(const struct opening *opening, uint32_t tid)
{
	struct pm_sampler *sampler = opening->sampler;
	int err = 0;

	if (!has_room(sampler, (sampler->count + 1) *
		      (opening->cpu < 0 ? sampler->rings.count : 1)))
		return -EMFILE;
	for (size_t i = 0; err == 0 && i < sampler->rings.count; i++) {
		const struct session_ring *ring = &sampler->rings.list[i];
		const struct session_event target = {
			.tid = (pid_t)tid, .cpu = ring->cpu, .round = opening->threads->rounds,
			.owner = opening->root,
		};

		if (opening->cpu < 0 || ring->cpu == opening->cpu)
			err = pm_watch_open_on(sampler, &target, ring->fd, sampler->count + 1);
	}
	return err;
}

/* A thread with events on all CPUs has them on those that came late, too. */
static int mark_on_late(struct pm_sampler *sampler, uint32_t tid)
{
	for (size_t i = 0; i < sampler->late.count; i++) {
		struct threads *threads = &sampler->late.list[i].threads;
		struct thread_mark *mark = pm_threads_mark(threads, (pid_t)tid, true);

		if (mark == NULL)
			return -ENOMEM;
		mark->listed = true;
		mark->round = threads->rounds;
	}
	return 0;
}

static int open_listed(pid_t tid, void *context)
{
	const struct opening *opening = context;
	int err = open_thread(opening, (uint32_t)tid);

	if (err == 0 && opening->cpu < 0)
		err = mark_on_late(opening->sampler, (uint32_t)tid);
	return err;
}

/* All threads of a process. 0 or -errno, with nothing left open. */
static int open_threads_of(struct opening *opening, uint32_t pid)
{
	struct threads *threads = opening->threads;
	struct event_list *open = &opening->sampler->open;
	const size_t before = open->count;
	const uint32_t rounds = threads->rounds;
	int err = 0;

	threads->of = (pid_t)pid;
	for (int i = 0; i < ATTEMPTS; i++) {
		err = pm_threads_list(threads, open_listed, opening);
		if (err < 0 || pm_threads_unlisted(threads) <= 0 || i == ATTEMPTS - 1)
			break;
		pm_threads_forget_since(threads, rounds);
		pm_events_close_since(open, before);
	}
	for (int i = 0; err > 0 && i < LISTINGS; i++)
		err = pm_threads_list(threads, open_listed, opening);
	if (err < 0) {
		pm_threads_forget_since(threads, rounds);
		pm_events_close_since(open, before);
	}
	return err < 0 ? err : 0;
}

static int open_process(struct pm_sampler *sampler, struct process *process)
{
	struct opening opening = {
		.sampler = sampler, .threads = &sampler->threads, .root = process->told.serial,
		.cpu = -1,
	};
	int err = open_threads_of(&opening, process->told.pid);

	if (err == 0)
		process->root = process->told.serial;
	return err;
}

/* ---------------------------------------------------------------------------------- all of them */

static struct process *next_without(const struct pm_sampler *sampler, uint64_t after)
{
	const struct processes *all = &sampler->processes;
	struct process *found = NULL;

	for_each_process(at, all)
		if (at->told.watched && at->root == 0 && !at->ending &&
		    !at->told.kernel && !at->refused && at->told.serial > after &&
		    (found == NULL || at->told.serial < found->told.serial))
			found = at;
	return found;
}

static int open_all(struct pm_sampler *sampler, struct pm_diag *diag)
{
	struct process *process = NULL;
	size_t opened = 0;

	while ((process = next_without(sampler, process ? process->told.serial : 0)) != NULL) {
		int err = open_process(sampler, process);

		opened += err == 0;
		if (err == 0 || err == -ESRCH)
			continue;
		if (err == -EACCES || err == -EPERM) {
			sampler->stats.unwatched++;
			process->refused = true;
			continue;
		}
		return pm_diag_say(diag, -err, err == -EMFILE ? PM_CAUSE_DESCRIPTORS :
				   PM_CAUSE_UNKNOWN, "sampler: events of process %u: %s%s",
				   process->told.pid, pm_errno_name(-err), err == -EMFILE ?
				   "; raise RLIMIT_NOFILE or descriptors_percent" : "");
	}
	return opened > 0 || sampler->stats.unwatched == 0 ? 0 :
		pm_diag_say(diag, EACCES, PM_CAUSE_PARANOID, "sampler: none of %llu processes may "
			    "be watched", (unsigned long long)sampler->stats.unwatched);
}

/* As before the first thread was opened: another way may be tried. */
static void take_back(struct pm_sampler *sampler)
{
	struct processes *all = &sampler->processes;

	for_each_process(at, all) {
		at->root = 0;
		at->refused = false;
	}
	sampler->stats.unwatched = 0;
	pm_watch_close_all(sampler);
	pm_threads_free(&sampler->threads);
}

int pm_watch_open_threads(struct pm_sampler *sampler, bool whole, struct pm_diag *diag)
{
	const struct process *any = next_without(sampler, 0);
	int err = pm_watch_negotiate(sampler, any ? any->told.pid : (uint32_t)getpid(), diag);

	if (err < 0)
		return err;
	err = keep_rings(sampler);
	if (err < 0)
		err = pm_diag_map(diag, sampler->on.count, (size_t)sysconf(_SC_PAGESIZE), -err);
	else
		err = open_all(sampler, diag);
	if (err == 0)
		err = pm_watch_prove_opened(sampler, diag);
	if (err == 0 && whole && sampler->stats.unwatched > 0)
		err = pm_diag_say(diag, EACCES, PM_CAUSE_PARANOID, "sampler: %llu of the processes "
				  "may not be watched one by one",
				  (unsigned long long)sampler->stats.unwatched);
	if (err < 0)
		take_back(sampler);
	return err;
}

/* ---------------------------------------------------------------------------------------- later */

/* Without its events nobody tells us of its exec. */
static void look_again(struct pm_sampler *sampler)
{
	struct processes *all = &sampler->processes;

	for_each_process(at, all) {
		struct proc_stat stat;

		if (at->root != 0 || at->ending || at->told.kernel ||
		    pm_proc_look_stat(at->told.pid, &stat) < 0 ||
		    stat.started != at->told.started ||
		    strncmp(stat.comm, at->told.comm, 15) == 0)
			continue;
		(void)pm_process_look(all, at, NULL, sampler->followed_at);
		pm_process_judge(all, at, at->inherits);
	}
}

/* What is watched has inherited events on other CPUs only; here each thread has its own. */
static void open_all_on(struct pm_sampler *sampler, struct session_cpu *late)
{
	const struct processes *all = &sampler->processes;

	for_each_process(at, all) {
		struct opening opening = {
			.sampler = sampler, .threads = &late->threads, .root = at->root,
			.cpu = late->cpu,
		};
		int err = at->root != 0 && !at->ending ?
			open_threads_of(&opening, at->told.pid) : 0;

		if (err < 0 && err != -ESRCH && err != -ENOENT)
			sampler->stats.unwatched++;
	}
}

int pm_watch_open_late(struct pm_sampler *sampler, int cpu)
{
	const int err = keep_ring(sampler, cpu);
	struct session_cpu *late = err == 0 ? pm_late_cpus_make(&sampler->late, cpu) : NULL;

	if (late != NULL)
		open_all_on(sampler, late);
	return err;
}

struct threads *pm_watch_threads_on(struct pm_sampler *sampler, int cpu)
{
	struct session_cpu *late = pm_late_cpus_find(&sampler->late, cpu);

	return late != NULL ? &late->threads : &sampler->threads;
}

void pm_watch_forget_thread(struct pm_sampler *sampler, uint32_t tid)
{
	for (size_t i = 0; i < sampler->late.count; i++)
		pm_threads_forget(&sampler->late.list[i].threads, (pid_t)tid);
	pm_threads_forget(&sampler->threads, (pid_t)tid);
}

void pm_watch_free_threads(struct pm_sampler *sampler)
{
	pm_late_cpus_free(&sampler->late);
	free(sampler->proof.threads);
	pm_threads_free(&sampler->threads);
}

void pm_watch_follow_threads(struct pm_sampler *sampler)
{
	struct process *process = NULL;

	/* Somebody who is not watched may become so without our hearing of it. */
	if (!pm_targets_are_pids(&sampler->processes.rules.targets)) {
		look_again(sampler);
		(void)pm_processes_list(&sampler->processes, sampler->followed_at);
	}
	while ((process = next_without(sampler, process ? process->told.serial : 0)) != NULL) {
		const size_t before = sampler->open.count;
		int err = open_process(sampler, process);

		if (err < 0) {
			sampler->stats.unwatched += err != -ESRCH;
			process->refused = true;
			continue;
		}
		sampler->stats.late_threads += process->threads;
		(void)pm_events_enable_since(&sampler->open, before, NULL);
	}
}
