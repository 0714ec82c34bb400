/* SPDX-License-Identifier: MIT */
/* The events of a session; not installed. */
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
	const struct pm_plan *plan;	/* whose events they are */
	bool enabled;			/* they are opened so: no ioctl(2) for each is needed */
	bool by_flag;			/* forwarded as they open, not by an ioctl(2) for each */
	int highest;			/* descriptor of those that are open */
	int output;			/* whose ring the next one shares; -1: nobody's */
	uint64_t nofile;		/* the soft limit, once read */
};

/*
 * Opens an event as `wanted` says by spec, tid (0: the calling thread), cpu and round. Returns its
 * index or -errno of the call; the target's end (-ESRCH) is for the caller to judge. -EPROTO when
 * the answer is a descriptor that another event of these has.
 */
int pm_events_open(struct event_list *events, const struct session_event *wanted, bool inherit);

/* Enables all, unless they were opened so. 0 or -errno, with the diagnosis. */
int pm_events_enable(const struct event_list *events, struct pm_diag *diag);

/* What it has counted since its base. -EBADF when it is closed, -ENODATA, -errno of read(2). */
int pm_event_counts(const struct event_list *events, const struct session_event *event,
		    struct pm_counts *ret);

/* What it has counted by now is left out from here on. Errors as above. */
int pm_event_begin(const struct event_list *events, struct session_event *event);

/* Closes what was opened since there were `count`. */
void pm_events_close_since(struct event_list *events, size_t count);

/* Closed events must not pile up: the others get new places. */
void pm_events_forget_closed(struct event_list *events);

/* Closes all and frees the list. */
void pm_events_free(struct event_list *events);

/* The diagnosis of an open that failed; returns its error. */
int pm_events_refused(const struct event_list *events, uint32_t spec, int cpu, int err,
		      struct pm_diag *diag);

#endif
