/* SPDX-License-Identifier: MIT */
/*
 * The memory of other processes: read-only descriptors of /proc/PID/maps and /proc/PID/mem, opened
 * directly where that is allowed, else passed by a willing target (perfmodes_willing.h) that is
 * asked by a signal. Link with libperfmodes-sampler.a.
 *
 * An answer is taken from the very process that was asked, while it runs, in time, with the token
 * of its signal, and with read-only descriptors of its own two files in this process's /proc. All
 * others are refused and counted. Conventions are those of perfmodes.h.
 */
#ifndef PERFMODES_DESCRIPTORS_H
#define PERFMODES_DESCRIPTORS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How the question about one process ended. (0.1) */
enum pm_descriptors_outcome {
	PM_DESCRIPTORS_OPENED,		/* directly */
	PM_DESCRIPTORS_PASSED,		/* by the process itself */
	PM_DESCRIPTORS_UNWILLING,	/* it has no handler for the signal, so it was not asked */
	PM_DESCRIPTORS_NOT_ALLOWED,	/* this process may not send it a signal */
	PM_DESCRIPTORS_REFUSED,		/* it, or this process, cannot open them: `error` */
	PM_DESCRIPTORS_TIMED_OUT,
	PM_DESCRIPTORS_GONE,		/* it ended, or another process has its pid by now */
	PM_DESCRIPTORS_OUTCOMES
};

/* "opened", "passed" and so on; NULL for another number. (0.1) */
const char *pm_descriptors_outcome_name(enum pm_descriptors_outcome outcome);

/* The end of one question. (0.1) */
struct pm_descriptors_answer {
	size_t size;		/* set by the library */
	int pid;
	enum pm_descriptors_outcome outcome;
	int error;		/* a positive errno where there is one, else 0 */
	int maps, mem;		/* of OPENED and PASSED; the callback owns them. Else -1 */
	uint64_t start_time;	/* of the process, in clock ticks after boot: tells a reused pid */
	uint64_t waited;	/* ns since the question */
};

/* How to ask. All 0 but for `size` and `answer`. (0.1) */
struct pm_descriptors_opts {
	size_t size;		/* sizeof(struct pm_descriptors_opts) */
	/* Each question ends with one call of it, out of pm_descriptors_ask or _run. */
	void (*answer)(void *context, const struct pm_descriptors_answer *answer);
	void *context;
	const char *socket;	/* as in pm_willing_opts; NULL: nobody is asked by signal */
	int signal;		/* 0: PM_WILLING_SIGNAL */
	unsigned int flags;	/* enum pm_descriptors_flags */
	uint64_t timeout_ns;	/* for one process, all attempts together; 0: 1 s */
	unsigned int attempts;	/* signals to one process, spread over that time; 0: 2 */
	unsigned int pending_max;	/* questions at a time; 0: 1024 */
};

enum pm_descriptors_flags {
	PM_DESCRIPTORS_NOT_DIRECT = 1	/* ask also where opening would be allowed */
};

/* What happened so far. (0.1) */
struct pm_descriptors_stats {
	size_t size;		/* sizeof(struct pm_descriptors_stats) */
	uint64_t asked;
	uint64_t outcomes[PM_DESCRIPTORS_OUTCOMES];
	uint64_t signals;	/* sent */
	uint64_t foreign;	/* connections of processes that nobody asked */
	uint64_t late;		/* of processes whose question had timed out */
	uint64_t forged;	/* answers with a wrong token, form or descriptors */
	uint64_t flooded;	/* connections closed because of their number */
	uint64_t silent;	/* connections that sent nothing until their time was over */
};

struct pm_descriptors;		/* not thread-safe */

/*
 * Listens on the socket, which must not exist yet (a path is removed by destroy). Returns 0;
 * -EADDRINUSE, -EINVAL, -ENOMEM, -errno of socket(2), bind(2) and epoll_create(2). (0.1)
 */
int pm_descriptors_open(const struct pm_descriptors_opts *opts, struct pm_descriptors **ret);

/* Ends open questions without a callback, and frees. NULL is allowed. (0.1) */
void pm_descriptors_destroy(struct pm_descriptors *descriptors);

/* A descriptor that polls readable when pm_descriptors_run has something to do. (0.1) */
int pm_descriptors_fd(const struct pm_descriptors *descriptors);

/*
 * Asks about a process. The callback may run before the call returns. Returns 0; -EALREADY when the
 * question is open; -ENOSPC beyond pending_max. (0.1)
 */
int pm_descriptors_ask(struct pm_descriptors *descriptors, int pid);

/* Ends the question about a process without a callback. Returns 0; -ENOENT. (0.1) */
int pm_descriptors_cancel(struct pm_descriptors *descriptors, int pid);

/*
 * Takes what has come, a bounded part of it, and ends what has timed out; never blocks. Returns the
 * ms until the next time-out, for poll(2): -1 without an open question, 0 when there is more. (0.1)
 */
int pm_descriptors_run(struct pm_descriptors *descriptors);

/* Copies the counts, up to ret->size. Returns 0. (0.1) */
int pm_descriptors_stats(const struct pm_descriptors *descriptors,
			 struct pm_descriptors_stats *ret);

#ifdef __cplusplus
}
#endif

#endif
