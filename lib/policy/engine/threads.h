/* SPDX-License-Identifier: MIT */
/* The threads that a session or a sampler knows of; not installed. */
#ifndef PM_THREADS_H
#define PM_THREADS_H

#include <sys/types.h>

#include "../../perfmodes.h"

/*
 * What is known of a thread from listings; of another one, the best source that was seen, as
 * pm_threads_is_source() has it.
 */
struct thread_mark {
	pid_t tid;			/* 0: free */
	bool listed;
	bool announced;			/* its creation was told, it is not attached yet */
	bool refused;			/* it came late and could not be attached */
	uint32_t round;
	uint64_t owner;			/* the caller's, of what it is a thread; 0: not used */
};

struct threads {
	struct thread_mark *marks;	/* open addressing, at most half full */
	size_t room, used;
	pid_t of;			/* the process that is listed next; 0: this one */
	uint32_t rounds;		/* listings that brought something new */
	size_t present;			/* how many the last listing had */
	size_t hidden;			/* how many more there were by its own count */
};

/* The mark of a thread, made when `make`; NULL: not there, or no memory. */
struct thread_mark *pm_threads_mark(struct threads *threads, pid_t tid, bool make);

/* The thread has ended: its number may come again, and must not be taken for it. */
void pm_threads_forget(struct threads *threads, pid_t tid);

/*
 * Whether what an event on thread `target`, opened in listing `round` for all threads, tells of
 * thread `tid` is to be delivered. Means something after a second listing only: with one, nobody
 * inherits twice.
 *
 * A thread T that appeared during the attach has events of its own and may have inherited those of
 * its parent P, so one occurrence gives two samples. Listed threads have complete events of their
 * own: any other source is dropped. A later child of T inherits from T and, through T, from P: the
 * source that was listed last is the complete one.
 */
bool pm_threads_is_source(struct threads *threads, pid_t target, uint32_t round, pid_t tid);

/* Threads that were listed in round `since` or later are to be listed anew, in that round. */
void pm_threads_forget_since(struct threads *threads, uint32_t since);

/*
 * The process's threads that are not marked yet are marked as listed, and `each` (may be
 * NULL) is called with them; -ESRCH from it says that the thread has ended, which is no failure.
 * The listing ends before the first call: a thread that is created meanwhile has inherited from
 * what `each` opens, and is new in the next listing. Returns how many were new, or -errno (also
 * what `each` returned); -ESRCH: the process has ended.
 */
int pm_threads_list(struct threads *threads, int (*each)(pid_t tid, void *context),
		    void *context);

/* How many threads there are that no listing has marked; -errno. */
int pm_threads_unlisted(struct threads *threads);

/*
 * Keeps account of a thread found while polling, with `err` from the attempt to attach to it: where
 * limits left nothing that is told once, and tried again with each listing. For `each` to return.
 */
int pm_threads_late(struct threads *threads, struct pm_stats *stats, pid_t tid, int err);

/*
 * A joined thread may not have left the kernel: until then /proc lists it, and what it counted is
 * not in the events that it inherited.
 */
void pm_threads_wait_gone(pid_t tid);

/* Page faults of the calling thread, as the kernel accounts them without perf; 0: not known. */
uint64_t pm_threads_own_faults(void);

void pm_threads_free(struct threads *threads);

struct thread_creation {
	int fd;				/* of /proc/loadavg; -1: it does not tell */
	long last;			/* number that was given last */
};

/* Watching begins. */
void pm_thread_creation_begin(struct thread_creation *creation);

/* True when no thread of this process was created since; false: one may have been. It ends. */
bool pm_thread_creation_none(struct thread_creation *creation);

#endif
