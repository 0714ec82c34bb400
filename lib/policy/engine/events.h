/* SPDX-License-Identifier: MIT */
/* Events that are open: of a session, or of a sampler; not installed. */
#ifndef PM_EVENTS_H
#define PM_EVENTS_H

#include <sys/types.h>

#include "../plan/plan.h"

struct session_event {
	int fd;				/* -1: closed */
	int cpu;			/* -1: any */
	pid_t tid;			/* -1: any */
	uint32_t spec;
	uint32_t round;			/* listing of threads in which its target appeared */
	uint32_t late;			/* 1 + index of the CPU that came later; 0: none */
	uint64_t id;			/* 0 until asked for: see ids.h */
	uint64_t owner;			/* what it was opened for, by the caller; 0: none */
	bool forwarded;			/* to `output` of the list, as it opened */
	uint64_t begun[2];		/* it counts since then, ns: not before, not after */
	struct {			/* what it had counted when the attach was done */
		uint64_t value, enabled, running;
	} base;
};


/* In the order of their opening. */
struct event_list {
	struct session_event *list;
	size_t count, room;
	uint32_t changes;		/* how often events have gone, come or moved */
	uint64_t read_format[SPECS_MAX];	/* by spec, as they were opened */
	const struct pm_plan *plan;	/* whose events they are; NULL: no plan's */
	bool enabled;			/* they are opened so: no ioctl(2) for each is needed */
	bool by_flag;			/* forwarded as they open, not by an ioctl(2) for each */
	int output;			/* whose ring the next one shares; -1: nobody's */
	uint64_t nofile;		/* the soft limit, once read */
};

/*
 * Opens an event as `wanted` says by spec, tid (0: the calling thread), cpu and round. Returns its
 * index or -errno of the call; the target's end (-ESRCH) is for the caller to judge.
 */
int pm_events_open(struct event_list *events, const struct session_event *wanted, bool inherit);

/* Enables all, unless they were opened so. 0 or -errno, with the diagnosis. */
int pm_events_enable(const struct event_list *events, struct pm_diag *diag);

/* Enables what was opened since there were `count`. As above. */
int pm_events_enable_since(const struct event_list *events, size_t count, struct pm_diag *diag);

/* What it has counted since its base. -EBADF when it is closed, -ENODATA, -errno of read(2). */
int pm_event_counts(const struct event_list *events, const struct session_event *event,
		    struct pm_counts *ret);

/* What it has counted by now is left out from here on. Errors as above. */
int pm_event_begin(const struct event_list *events, struct session_event *event);

/* Closes what was opened since there were `count`. */
void pm_events_close_since(struct event_list *events, size_t count);

/* Closed events must not pile up: the others get new places, in the same order. */
void pm_events_forget_closed(struct event_list *events);

/* Closes all and frees the list. */
void pm_events_free(struct event_list *events);

/* The diagnosis of an open that failed; returns its error. */
int pm_events_refused(const struct event_list *events, uint32_t spec, int cpu, int err,
		      struct pm_diag *diag);

#endif
