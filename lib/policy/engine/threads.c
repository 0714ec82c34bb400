/* SPDX-License-Identifier: MIT */
/* Listing the threads of a process, and what is kept of each. */
#define _GNU_SOURCE
#include "threads.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../spec/spec.h"

#define GUESSES 4096
#define WAIT_TURNS 10000	/* of sched_yield(2); more would be a kernel that forgets threads */

static struct thread_mark *mark_slot(const struct threads *threads, pid_t tid)
{
	size_t at = (uint32_t)tid * 2654435769u >> 7 & (threads->room - 1);

	while (threads->marks[at].tid != 0 && threads->marks[at].tid != tid)
		at = (at + 1) & (threads->room - 1);
	return &threads->marks[at];
}

static bool is_in_use(const struct thread_mark *mark)
{
	return mark->tid != 0 && (mark->listed || mark->announced || mark->refused || mark->round);
}

/* Room for twice those in use; numbers of threads that have ended are forgotten. */
static int grow_marks(struct threads *threads)
{
	struct threads bigger = *threads;
	size_t in_use = 0;

	bigger.room = 256;
	bigger.used = 0;
	for (size_t i = 0; i < threads->room; i++)
		in_use += is_in_use(&threads->marks[i]);
	while (bigger.room < 4 * in_use)
		bigger.room *= 2;
	bigger.marks = calloc(bigger.room, sizeof(*bigger.marks));
	if (bigger.marks == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < threads->room; i++)
		if (is_in_use(&threads->marks[i])) {
			*mark_slot(&bigger, threads->marks[i].tid) = threads->marks[i];
			bigger.used++;
		}
	free(threads->marks);
	*threads = bigger;
	return 0;
}

struct thread_mark *pm_threads_mark(struct threads *threads, pid_t tid, bool make)
{
	struct thread_mark *mark;

	if (make && threads->used >= threads->room / 2 && grow_marks(threads) < 0)
		return NULL;
	if (threads->room == 0)
		return NULL;
	mark = mark_slot(threads, tid);
	if (mark->tid == 0 && make) {
		mark->tid = tid;
		threads->used++;
	}
	return mark->tid == 0 ? NULL : mark;
}

static void unlist(struct thread_mark *mark)
{
	mark->listed = false;
	mark->round = 0;
}

void pm_threads_forget(struct threads *threads, pid_t tid)
{
	struct thread_mark *mark = pm_threads_mark(threads, tid, false);

	if (mark != NULL)
		unlist(mark);
}

void pm_threads_forget_since(struct threads *threads, uint32_t since)
{
	for (size_t i = 0; i < threads->room; i++)
		if (threads->marks[i].listed && threads->marks[i].round >= since)
			unlist(&threads->marks[i]);
	threads->rounds = since;
}

bool pm_threads_is_source(struct threads *threads, pid_t target, uint32_t round, pid_t tid)
{
	struct thread_mark *mark;

	if (target == tid)
		return true;
	mark = pm_threads_mark(threads, tid, true);
	if (mark == NULL)
		return true;
	if (mark->listed || round < mark->round)
		return false;
	mark->round = round;
	return true;
}

/* ------------------------------------------------------------------------------------- listing */

struct tids {
	pid_t *list;
	size_t count, room;
	size_t told;			/* how many there are by the directory; 0: not known */
};

static int add_tid(struct tids *tids, pid_t tid)
{
	if (pm_make_room(&tids->list, tids->count, &tids->room, sizeof(tid)) < 0)
		return -ENOMEM;
	tids->list[tids->count++] = tid;
	return 0;
}

static bool holds(const struct tids *tids, pid_t tid)
{
	for (size_t i = 0; i < tids->count; i++)
		if (tids->list[i] == tid)
			return true;
	return false;
}

/* Whether the calling thread is among them; a filter may refuse to tell which one that is. */
static bool holds_self(const struct tids *tids)
{
	const pid_t self = pm_gettid();

	return self <= 0 || holds(tids, self);
}

/*
 * Without /proc: the numbers above that of the process, as far as threads made by one after another
 * would reach, are asked for. Threads elsewhere are not found.
 */
static int guess_tids(struct tids *ret)
{
	const pid_t pid = getpid(), self = pm_gettid();
	pid_t last = (self > pid ? self : pid) + GUESSES;
	int err = holds_self(ret) ? 0 : add_tid(ret, self);

	for (pid_t tid = pid; err == 0 && tid < last; tid++)
		if ((tid == pid || syscall(SYS_tgkill, pid, tid, 0) == 0) && !holds(ret, tid))
			err = add_tid(ret, tid);
	return err;
}

/* The links of /proc/self/task are two and one for each thread; 0: not known. */
static size_t count_told(DIR *dir)
{
	struct stat stat;

	return fstat(dirfd(dir), &stat) == 0 && stat.st_nlink > 2 ? stat.st_nlink - 2 : 0;
}

static int read_entries(DIR *dir, struct tids *ret)
{
	const struct dirent *entry;
	int err = 0;

	ret->count = 0;
	ret->told = count_told(dir);
	while (err == 0 && (entry = readdir(dir)) != NULL) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid > 0)
			err = add_tid(ret, tid);
	}
	return err;
}

/*
 * One that is shorter than its own count leaves threads out; such as end meanwhile do that once,
 * but hardly twice. `need_self`: a listing without the calling thread is none of ours: a filter
 * refused it, or this /proc is of another PID namespace. Returns 1 when it is whole, 0 when it is
 * not, -errno.
 */
static int read_twice(DIR *dir, bool need_self, struct tids *ret)
{
	bool whole = false;
	int err = 0;

	for (int again = 0; err == 0 && !whole && again < 2; again++) {
		if (again > 0)
			rewinddir(dir);
		err = read_entries(dir, ret);
		whole = ret->count >= ret->told && (!need_self || holds_self(ret));
	}
	closedir(dir);
	return err < 0 ? err : whole;
}

static int read_own(struct tids *ret)
{
	DIR *dir = opendir("/proc/self/task");
	int err;

	if (dir == NULL)
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno :
			guess_tids(ret);
	err = read_twice(dir, true, ret);
	if (err != 0)
		return err < 0 ? err : 0;
	if (!holds_self(ret))
		ret->count = 0;
	return guess_tids(ret);
}

static int read_tids(pid_t of, struct tids *ret)
{
	char path[40];
	DIR *dir;
	int err;

	if (of == 0)
		return read_own(ret);
	snprintf(path, sizeof(path), "/proc/%d/task", (int)of);
	dir = opendir(path);
	if (dir == NULL)
		return errno == ENOENT ? -ESRCH : -errno;
	err = read_twice(dir, false, ret);
	return err < 0 ? err : 0;
}

/* 1 when it was new, or -errno. */
static int list_one(struct threads *threads, pid_t tid, int (*each)(pid_t tid, void *context),
		    void *context)
{
	struct thread_mark *mark = pm_threads_mark(threads, tid, true);
	int err;

	if (mark == NULL)
		return -ENOMEM;
	if (mark->listed)
		return 0;
	mark->listed = true;
	mark->round = threads->rounds;
	err = each != NULL ? each(tid, context) : 0;
	if (err != -ESRCH)
		return err < 0 ? err : 1;
	unlist(mark);
	return 0;
}

int pm_threads_list(struct threads *threads, int (*each)(pid_t tid, void *context),
		    void *context)
{
	struct tids tids = { .list = NULL };
	int fresh = 0, err = read_tids(threads->of, &tids);

	threads->present = tids.count;
	threads->hidden = tids.told > tids.count ? tids.told - tids.count : 0;
	for (size_t i = 0; err >= 0 && i < tids.count; i++) {
		err = list_one(threads, tids.list[i], each, context);
		fresh += err > 0;
	}
	free(tids.list);
	threads->rounds += fresh > 0;
	return err < 0 ? err : fresh;
}

int pm_threads_unlisted(struct threads *threads)
{
	struct tids tids = { .list = NULL };
	int err = read_tids(threads->of, &tids), count = 0;

	for (size_t i = 0; i < tids.count; i++) {
		const struct thread_mark *mark = pm_threads_mark(threads, tids.list[i], false);

		count += mark == NULL || !mark->listed;
	}
	free(tids.list);
	return err < 0 ? err : count;
}

int pm_threads_late(struct threads *threads, struct pm_stats *stats, pid_t tid, int err)
{
	struct thread_mark *mark = pm_threads_mark(threads, tid, false);

	if (mark == NULL || err == -ESRCH)
		return err;
	stats->late_threads += !mark->announced && !mark->refused;
	stats->unwatched_threads += err < 0 && !mark->refused;
	mark->announced = false;
	mark->refused = err < 0;
	mark->listed = err >= 0;
	return 0;
}

void pm_threads_wait_gone(pid_t tid)
{
	for (int i = 0; i < WAIT_TURNS && syscall(SYS_tgkill, getpid(), tid, 0) == 0; i++)
		(void)sched_yield();
}

uint64_t pm_threads_own_faults(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) != 0 ? 0 :
		(uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
}

void pm_threads_free(struct threads *threads)
{
	free(threads->marks);
	*threads = (struct threads){ .marks = NULL };
}
