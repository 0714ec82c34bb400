/* SPDX-License-Identifier: MIT */
/* Who a process is, as /proc tells it, and whether it is watched. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../pm_sys.h"
#include "processes.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434	/* v5.3; one number on all machines but alpha */
#endif
#define PIDFDS_MAX 128		/* they are a convenience, and count against RLIMIT_NOFILE */
#define NS_PER_S 1000000000ull
#define SLACK_NS 30000000ull	/* of start times: two ticks of the slowest clock, and some */

static bool set_text(char **to, const char *text)
{
	char *copy = *text != '\0' ? strdup(text) : NULL;

	if (*text != '\0' && copy == NULL)
		return false;
	free(*to);
	*to = copy;
	return true;
}

static void set_cmdline(struct process *process, const char *text, const char *arguments,
			size_t size)
{
	char *copy = size > 0 ? malloc(size) : NULL;

	(void)set_text(&process->cmdline, text);
	process->told.cmdline = process->cmdline ? process->cmdline : "";
	if (copy != NULL)
		memcpy(copy, arguments, size);
	free(process->arguments);
	process->arguments = copy;
	process->told.arguments = copy != NULL ? copy : "";
	process->told.arguments_size = copy != NULL ? size : 0;
}

/* ------------------------------------------------------------------------------------ identity */

/* An instant of the records' clock as ns since boot; 0 where that cannot be said. */
static uint64_t since_boot(const struct processes *processes, uint64_t time)
{
	uint64_t clock, boot;

	if (processes->clock < 0 || pm_clock_ns(processes->clock, &clock) < 0 ||
	    pm_clock_ns(CLOCK_BOOTTIME, &boot) < 0)
		return 0;
	return time + boot - clock;
}

static uint64_t started_ns(const struct proc_stat *stat)
{
	const long ticks = sysconf(_SC_CLK_TCK);

	return ticks > 0 ? stat->started / (uint64_t)ticks * NS_PER_S +
		stat->started % (uint64_t)ticks * NS_PER_S / (uint64_t)ticks : 0;
}

/*
 * Whether what /proc has under the pid is the process that had it at `time`: it must have started
 * by then, at its birth if that was told, and when it was looked at before.
 */
static bool is_same(const struct processes *processes, const struct process *process,
		    const struct proc_stat *stat, uint64_t time)
{
	const uint64_t at = since_boot(processes, time), started = started_ns(stat);

	if (process->told.started != 0)
		return process->told.started == stat->started;
	if (at == 0)
		return true;
	if (started > at + SLACK_NS)
		return false;
	return process->told.begin == 0 ||
		started + SLACK_NS >= since_boot(processes, process->told.begin);
}

/* The kernel cuts names at 15 bytes, and /proc shows longer ones of its own threads. */
static bool is_name(const char *comm, const char *expect)
{
	return expect == NULL || strncmp(comm, expect, 15) == 0;
}

static void open_pidfd(struct processes *processes, struct process *process)
{
	struct proc_stat stat;
	int fd;

	if (process->told.pidfd >= 0 || processes->pidfds >= PIDFDS_MAX)
		return;
	fd = (int)syscall(SYS_pidfd_open, process->told.pid, 0);
	if (fd < 0)
		return;
	/* It may be of another already, unless the start time is still the same. */
	if (pm_proc_look_stat(process->told.pid, &stat) < 0 ||
	    stat.started != process->told.started) {
		close(fd);
		return;
	}
	process->told.pidfd = fd;
	processes->pidfds++;
}

static void take_look(struct process *process, const struct proc_look *look)
{
	struct pm_process *told = &process->told;

	told->started = look->stat.started;
	if (told->parent == 0)
		told->parent = look->stat.parent;
	told->uid = look->uid;
	told->kernel = look->stat.kernel;
	memcpy(told->comm, look->stat.comm, sizeof(told->comm));
	set_cmdline(process, look->cmdline, look->arguments, look->arguments_size);
	memcpy(told->inner_pids, look->inner, sizeof(told->inner_pids));
	(void)set_text(&process->cgroup, look->cgroup);
}

bool pm_process_look(struct processes *processes, struct process *process, const char *expect,
		     uint64_t time)
{
	struct proc_look *look = malloc(sizeof(*look));
	const bool found = look != NULL && pm_proc_look(process->told.pid, look) == 0 &&
		is_same(processes, process, &look->stat, time) && is_name(look->stat.comm, expect);
	const bool zombie = found && (look->stat.state == 'Z' || look->stat.state == 'X');
	bool lost;

	if (found) {
		take_look(process, look);
		if (processes->clock >= 0)
			(void)pm_clock_ns(processes->clock, &process->looked_at);
	}
	free(look);
	/* What a zombie was started with is gone; its name is not. */
	lost = !found || zombie;
	processes->gone += lost && !process->told.gone;
	process->told.gone = lost;
	return found;
}

bool pm_process_same_now(const struct processes *processes, const struct process *process,
			 uint64_t time, struct proc_stat *ret)
{
	return pm_proc_look_stat(process->told.pid, ret) == 0 &&
		is_same(processes, process, ret, time);
}

void pm_process_name_only(struct process *process, const char *comm)
{
	snprintf(process->told.comm, sizeof(process->told.comm), "%s", comm);
	set_cmdline(process, "", "", 0);
}

void pm_process_take_after(struct process *process, const struct process *parent)
{
	process->told.uid = parent->told.uid;
	process->told.kernel = parent->told.kernel;
	memcpy(process->told.comm, parent->told.comm, sizeof(process->told.comm));
	set_cmdline(process, parent->told.cmdline, parent->told.arguments,
		    parent->told.arguments_size);
	(void)set_text(&process->cgroup, parent->cgroup ? parent->cgroup : "");
}

/* ------------------------------------------------------------------------------------- judging */

static bool is_wanted(const struct rules *rules, const struct process *process, bool inherits)
{
	const struct pm_process *told = &process->told;
	const struct subject subject = {
		.pid = told->pid, .uid = told->uid, .serial = told->serial,
		.kernel = told->kernel,
		.cmdline = told->cmdline[0] != '\0' ? told->cmdline : told->comm,
		.cgroup = process->cgroup ? process->cgroup : "",
	};

	if (told->pid == rules->self || (rules->shards > 1 &&
					 told->pid % rules->shards != rules->shard))
		return false;
	if (inherits)
		return !pm_targets_exclude(&rules->targets, &subject);
	return pm_targets_match(&rules->targets, &subject);
}

void pm_process_judge(struct processes *processes, struct process *process, bool inherits)
{
	bool watch;

	processes->watched -= process->told.watched;
	process->told.watched = false;
	process->inherits = inherits;
	watch = is_wanted(&processes->rules, process, inherits);
	if (watch && processes->rules.first > 0 && processes->watched >= processes->rules.first) {
		processes->unwatched++;
		watch = false;
	}
	process->told.watched = watch;
	processes->watched += watch;
	if (watch && !process->told.kernel && process->told.started != 0)
		open_pidfd(processes, process);
}
