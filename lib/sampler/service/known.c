/* SPDX-License-Identifier: MIT */
/* Two tables, of processes and of threads. What is not known when needed is asked of /proc. */
#define _GNU_SOURCE
#include "known.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../target/proc.h"

struct known_process {
	struct known_process *next;
	size_t source;
	uint32_t pid;
	int32_t parent;
	int64_t uid;
	uint64_t started, told;		/* told: a bit for each trace */
	uint32_t inner_pids[8];
	unsigned int kernel;		/* as in struct pm_perfetto_who */
	char comm[16];
	char *arguments;
	size_t arguments_size;
	struct known_thread *threads;
};

struct known_thread {
	struct known_thread *next, *sibling;
	struct known_process *process;
	uint32_t tid;
	bool named;
	uint64_t told;
	char name[16];
};

void known_init(struct known *known, size_t most)
{
	*known = (struct known){ .most = most };
}

/* ------------------------------------------------------------------------------ the tables */

static size_t slot_of(size_t source, uint32_t id)
{
	return (id * 2654435761u + source * 40503u) % KNOWN_SLOTS;
}

static struct known_process *find_process(const struct known *known, size_t source, uint32_t pid)
{
	struct known_process *at = known->processes[slot_of(source, pid)];

	while (at && (at->pid != pid || at->source != source))
		at = at->next;
	return at;
}

static struct known_thread *find_thread(const struct known *known,
					const struct known_process *process, uint32_t tid)
{
	struct known_thread *at = known->threads[slot_of(process->source, tid)];

	while (at && (at->tid != tid || at->process != process))
		at = at->next;
	return at;
}

/* NULL beyond the limit, or without memory. */
static struct known_process *make_process(struct known *known, const struct note *note)
{
	struct known_process **slot = &known->processes[slot_of(note->source, note->pid)];
	struct known_process *made = known->process_count < known->most ?
		calloc(1, sizeof(*made)) : NULL;

	if (!made)
		return NULL;
	made->source = note->source;
	made->pid = note->pid;
	made->uid = -1;
	memcpy(made->comm, note->comm, sizeof(made->comm));
	made->next = *slot;
	*slot = made;
	known->process_count++;
	return made;
}

static struct known_thread *make_thread(struct known *known, struct known_process *process,
					uint32_t tid)
{
	struct known_thread **slot = &known->threads[slot_of(process->source, tid)];
	struct known_thread *made = known->thread_count < known->most ?
		calloc(1, sizeof(*made)) : NULL;

	if (!made)
		return NULL;
	made->process = process;
	made->tid = tid;
	made->next = *slot;
	*slot = made;
	made->sibling = process->threads;
	process->threads = made;
	known->thread_count++;
	return made;
}

static void drop_thread(struct known *known, struct known_thread *thread)
{
	struct known_thread **at = &known->threads[slot_of(thread->process->source, thread->tid)];

	while (*at != thread)
		at = &(*at)->next;
	*at = thread->next;
	for (at = &thread->process->threads; *at != thread;)
		at = &(*at)->sibling;
	*at = thread->sibling;
	known->thread_count--;
	free(thread);
}

static void drop_threads(struct known *known, struct known_process *process)
{
	while (process->threads)
		drop_thread(known, process->threads);
}

static void drop_process(struct known *known, struct known_process *process)
{
	struct known_process **at = &known->processes[slot_of(process->source, process->pid)];

	drop_threads(known, process);
	while (*at != process)
		at = &(*at)->next;
	*at = process->next;
	known->process_count--;
	free(process->arguments);
	free(process);
}

void known_free(struct known *known)
{
	for (size_t i = 0; i < KNOWN_SLOTS; i++)
		while (known->processes[i])
			drop_process(known, known->processes[i]);
}

void known_forget(struct known *known, unsigned int number)
{
	for (size_t i = 0; i < KNOWN_SLOTS; i++) {
		for (struct known_process *at = known->processes[i]; at; at = at->next)
			at->told &= ~(1ull << number);
		for (struct known_thread *at = known->threads[i]; at; at = at->next)
			at->told &= ~(1ull << number);
	}
}

/* ------------------------------------------------------------------------- what notes tell */

static void set_arguments(struct known_process *process, const char *text, size_t size)
{
	char *copy = size > 0 ? malloc(size) : NULL;

	free(process->arguments);
	process->arguments = copy;
	process->arguments_size = copy ? size : 0;
	if (copy)
		memcpy(copy, text, size);
}

static void take_process(struct known *known, struct known_process *process,
			 const struct note *note)
{
	if (process->started != 0 && process->started != note->started)
		drop_threads(known, process);	/* another has the pid */
	process->told = 0;
	process->parent = note->parent;
	process->uid = note->uid;
	process->started = note->started;
	process->kernel = note->started == 0 ? 0 : note->kernel ? 2 : 1;
	memcpy(process->inner_pids, note->inner_pids, sizeof(process->inner_pids));
	memcpy(process->comm, note->comm, sizeof(process->comm));
	set_arguments(process, note->text, note->text_size);
}

static void take_thread(struct known *known, struct known_process *process,
			const struct note *note)
{
	struct known_thread *thread = find_thread(known, process, note->tid);

	if (!thread)
		thread = make_thread(known, process, note->tid);
	if (!thread)
		return;
	if (!thread->named || strcmp(thread->name, note->comm) != 0)
		thread->told = 0;
	memcpy(thread->name, note->comm, sizeof(thread->name));
	thread->named = true;
}

void known_take(struct known *known, const struct note *note)
{
	const bool ends = note->kind == NOTE_ENDED || note->kind == NOTE_THREAD_ENDED;
	struct known_process *process = find_process(known, note->source, note->pid);
	struct known_thread *thread;

	if (!process && !ends)
		process = make_process(known, note);
	if (!process)
		return;
	if (note->kind == NOTE_PROCESS)
		take_process(known, process, note);
	else if (note->kind == NOTE_THREAD)
		take_thread(known, process, note);
	else if (note->kind == NOTE_ENDED)
		drop_process(known, process);
	else if ((thread = find_thread(known, process, note->tid)) != NULL)
		drop_thread(known, thread);
}

/* ------------------------------------------------------------------------------ telling it */

/* Of a thread of that process, as long as it is the same one. */
static bool ask_name(const struct known_process *process, uint32_t tid, char *ret)
{
	struct proc_stat thread, leader;
	char path[48];
	bool found;
	int folder;

	(void)snprintf(path, sizeof(path), "/proc/%u/task/%u", process->pid, tid);
	folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return false;
	found = pm_proc_stat_at(folder, &thread) == 0 &&
		pm_proc_look_stat(process->pid, &leader) == 0 && process->started != 0 &&
		leader.started == process->started;
	close(folder);
	if (found)
		memcpy(ret, thread.comm, sizeof(thread.comm));
	return found;
}

/* A thread that nobody named has the name of the one that made it, as a rule the process's. */
static void name_thread(struct known_thread *thread, const struct note *note)
{
	if (thread->named)
		return;
	thread->named = true;
	if (note->tid == note->pid || !ask_name(thread->process, note->tid, thread->name))
		memcpy(thread->name, note->comm, sizeof(thread->name));
}

/* Whose counters are polled is watched by pid: it is asked while it is there. */
static void ask_process(struct known *known, struct known_process *process,
			const struct note *note)
{
	struct proc_look *look = malloc(sizeof(*look));
	struct note found = *note;

	if (look && pm_proc_look(note->pid, look) == 0) {
		found.parent = (int32_t)look->stat.parent;
		found.uid = look->uid == UINT32_MAX ? -1 : (int64_t)look->uid;
		found.started = look->stat.started;
		found.kernel = look->stat.kernel;
		found.text = look->arguments;
		found.text_size = look->arguments_size;
		memcpy(found.comm, look->stat.comm, sizeof(found.comm));
		memcpy(found.inner_pids, look->inner, sizeof(found.inner_pids));
		take_process(known, process, &found);
	}
	free(look);
}

static uint64_t since_boot(uint64_t ticks)
{
	const long second = sysconf(_SC_CLK_TCK);

	return second > 0 ? ticks * (1000000000ull / (uint64_t)second) : 0;
}

static int tell_process(struct pm_perfetto *trace, const struct known_process *process)
{
	struct pm_perfetto_who who = {
		.size = sizeof(who), .pid = (int)process->pid, .parent = process->parent,
		.uid = process->uid, .arguments = process->arguments,
		.arguments_size = process->arguments_size, .comm = process->comm,
		.started = since_boot(process->started), .kernel = process->kernel,
		.inner_pids = process->inner_pids,
	};

	while (who.inner_count < 8 && process->inner_pids[who.inner_count] != 0)
		who.inner_count++;
	return pm_perfetto_tell(trace, &who);
}

/* There is no room for it: it is told each time, by its name. */
static int tell_stranger(struct pm_perfetto *trace, const struct note *note)
{
	const struct known_process process = { .pid = note->pid, .uid = -1 };
	struct known_process named = process;
	int err;

	memcpy(named.comm, note->comm, sizeof(named.comm));
	err = tell_process(trace, &named);
	return err < 0 ? err :
		pm_perfetto_thread(trace, (int)note->pid, (int)note->tid, note->comm);
}

int known_tell(struct known *known, unsigned int number, struct pm_perfetto *trace,
	       const struct note *note)
{
	struct known_process *process = find_process(known, note->source, note->pid);
	struct known_thread *thread;
	int err = 0;

	if (!process && (process = make_process(known, note)) && note->kind == NOTE_COUNTS)
		ask_process(known, process, note);
	thread = process ? find_thread(known, process, note->tid) : NULL;
	if (process && !thread)
		thread = make_thread(known, process, note->tid);
	if (!thread)
		return tell_stranger(trace, note);
	if (!(process->told >> number & 1))
		err = tell_process(trace, process);
	process->told |= 1ull << number;
	if (err < 0 || thread->told >> number & 1)
		return err;
	name_thread(thread, note);
	thread->told |= 1ull << number;
	return pm_perfetto_thread(trace, (int)note->pid, (int)note->tid, thread->name);
}
