/* SPDX-License-Identifier: MIT */
/* A session as its files share it; not installed. */
#ifndef PM_ATTACH_H
#define PM_ATTACH_H

#include <pthread.h>
#include <sys/types.h>

#include "../plan/plan.h"

struct session_event {
	int fd;				/* -1: closed */
	int cpu;			/* -1: any */
	pid_t tid;
	uint32_t spec;
	uint32_t round;			/* listing of threads in which its target appeared */
	uint32_t late;			/* 1 + index of the CPU that came later; 0: none */
	uint64_t id;			/* 0 until asked for: see pm_attach_find */
};

struct session_ring {
	struct pm_ring ring;		/* base NULL: not in use */
	int fd;				/* of its leader, to be polled; -1: hung up */
	int cpu;
	pid_t tid;			/* of its leader */
	bool canary;			/* the canary's record has come */
};

/* Threads known from listings, and the best source seen for others: see drain.c. */
struct thread_mark {
	pid_t tid;			/* 0: free */
	bool listed;
	bool announced;			/* per_thread: its birth was told, it is not attached yet */
	bool refused;			/* it came late and could not be attached */
	uint32_t round;
};

struct threads {
	struct thread_mark *marks;	/* open addressing, at most half full */
	size_t room, used;
	uint32_t rounds;		/* listings that brought something new */
};

/* A CPU that came after the attach, and each one whose events die with it: see late_cpus.c. */
struct session_cpu {
	int cpu;
	bool refused;			/* it could not be attached; that is told once */
	bool ended;			/* events on it died, and counted this: */
	struct pm_value folded[PLAN_EVENTS_MAX];
	int pulse;			/* a descriptor of its own to tell by; -1: none */
	uint64_t enabled, asked_at;	/* ns: how long its events have counted when last asked */
	struct threads threads;		/* of listings for this CPU */
};

struct ticks;
struct pm_cpus;

struct pm_session {
	struct pm_plan *plan;
	struct pm_listener listener;
	void *context;
	struct pm_stats stats;
	struct pm_format format;
	struct session_event *events;
	size_t event_count, event_room;
	struct session_ring *rings;
	size_t ring_count, ring_room;
	uint32_t *by_id;		/* event index + 1, open addressing */
	size_t by_id_room;
	bool asked_all;			/* no event is left whose id is not known */
	uint64_t nofile;		/* the soft limit, once read */
	struct threads threads;
	struct pm_value folded[PLAN_EVENTS_MAX];	/* of events already closed */
	struct ticks *ticks;	/* of strategies whose samples come by signals */
	bool attached, follows;		/* follows: new threads are looked for while polling */
	bool open_enabled;		/* events are opened so: no ioctl(2) for each is needed */
	bool was_full;			/* a ring was, so records may have been lost */
	bool draining;			/* the listener is at work: rings must stay */
	/* Attaches to CPUs more, as to the first ones; NULL: CPUs make no difference. */
	int (*attach_cpus)(struct pm_session *session, struct pm_cpus *cpus, struct pm_diag *diag);
	bool die_with_cpu;		/* events do, for good, even if the CPU comes back */
	struct session_cpu *cpus;
	size_t cpu_count;
	uint64_t cpus_seen_at;		/* ns */
	uint64_t followed_at;		/* ns */
	pid_t pid, self;		/* of the process and thread that attached */
	int stop_fd;
	struct {
		pid_t tid;		/* 0: none is out */
		bool other;		/* a thread of its own, nothing of it is delivered */
		uint64_t ended;		/* when, of perf's clock; 0: not told yet */
		uint64_t forwarded;	/* the id of an event of its own; 0: there was none */
		bool forwarding;	/* a record of that event has come */
		uint64_t samples[PLAN_EVENTS_MAX];
	} canary;
	pthread_mutex_t lock;		/* of what follows */
	pthread_cond_t out;
	bool running;
	pthread_t runner;
};

/* ----------------------------------------------------------------------- attach.c: common parts */

/* Descriptors this process may have by the options, after raising the limit if that is allowed. */
uint64_t pm_attach_limit(const struct pm_plan *plan);

/*
 * Opens spec `spec` on a thread (0: the calling one). Returns the event's index or -errno of the
 * call; the target's end (-ESRCH) is for the caller to judge.
 */
int pm_attach_open(struct pm_session *session, uint32_t spec, pid_t tid, int cpu, bool inherit);

/* Maps the ring of a leader with `pages` data pages. 0 or -errno. */
int pm_attach_map(struct pm_session *session, size_t event, size_t pages);

/* From now on samples are told apart by their ids, which are asked for as they turn up. -ENOMEM. */
int pm_attach_index(struct pm_session *session);

/* The event of that id; NULL: none of this session. Only after pm_attach_index. */
const struct session_event *pm_attach_find(struct pm_session *session, uint64_t id);

/* Asks for the id of one event, to be called before its descriptor goes. 0 or -errno. */
int pm_attach_id(const struct pm_session *session, struct session_event *event);

int pm_attach_enable(struct pm_session *session);

/* Adds what an event counted to the sums of its spec, before its descriptor goes. */
void pm_attach_fold(struct pm_session *session, const struct session_event *event);

/*
 * The calling process's threads that are not marked yet are marked as listed, and `each` is
 * called with them; -ESRCH from it says that the thread has ended, which is no failure: its number
 * may come again. Returns how many were new, or -errno (also what `each` returned).
 */
int pm_attach_list(struct pm_session *session,
		   int (*each)(struct pm_session *session, pid_t tid, void *context),
		   void *context);

/* For `each`: whether there is anybody new. */
int pm_attach_nothing(struct pm_session *session, pid_t tid, void *context);

/*
 * Keeps account of a thread found while polling, with `err` from the attempt to attach to it: where
 * limits left nothing that is told once, and tried again with each listing. For `each` to return.
 */
int pm_attach_late(struct pm_session *session, pid_t tid, int err);

struct pm_cpus {
	int *list;
	size_t count;
};

/* The online ones that are to be observed. The list is to be freed, also on failure. -ENOMEM,
 * -ENODEV, -EINVAL for a bad set. */
int pm_cpus_list(const struct pm_plan *plan, struct pm_cpus *ret);

/* The same for a strategy that attaches: with a diagnosis, and nothing to be freed on failure. */
int pm_attach_cpus(const struct pm_session *session, struct pm_cpus *ret, struct pm_diag *diag);

/*
 * Opens each event on each CPU, for all threads with inherit: as often from the beginning as the
 * option `rounds` says until nobody was born meanwhile, then until a listing brings no new one,
 * whose threads may have two events of one kind. `each` (may be NULL) is called with each event;
 * what it returns < 0 is of mmap(2).
 */
int pm_attach_on_cpus(struct pm_session *session, const struct pm_cpus *cpus,
		      int (*each)(struct pm_session *session, size_t event), struct pm_diag *diag);

/* Events from `first` on are open, each on one CPU: a ring on each, forwarding, ids; enables. */
int pm_attach_share_rings(struct pm_session *session, const struct pm_cpus *cpus, size_t first,
			  struct pm_diag *diag);

/* Closes what was opened and mapped since there were so many, and forgets the listings. */
void pm_attach_back_to(struct pm_session *session, size_t events, size_t rings);

/* Makes counters of the plan's events: no records, no ring, and no period that needs one. */
void pm_attach_as_counters(struct pm_session *session);

/* The diagnosis of an open that failed; returns its error. */
int pm_attach_refused(const struct pm_session *session, uint32_t spec, int cpu, int err,
		      struct pm_diag *diag);

/* Of events and rings that are closed nothing must pile up: the others get new places. */
void pm_attach_forget_ended(struct pm_session *session);

/* Unmaps and closes everything that is open. Statistics stay. */
void pm_attach_undo(struct pm_session *session);

/* The mark of a thread, made when `make`; NULL: not there, or no memory. */
struct thread_mark *pm_threads_mark(struct threads *threads, pid_t tid, bool make);

/* ------------------------------------------------------------------------------- the strategies */

int pm_attach_per_core(struct pm_session *session, struct pm_diag *diag);
int pm_attach_per_thread(struct pm_session *session, struct pm_diag *diag);
int pm_attach_count(struct pm_session *session, struct pm_diag *diag);
int pm_attach_timers(struct pm_session *session, struct pm_diag *diag);
int pm_attach_own_rings(struct pm_session *session, struct pm_diag *diag);
int pm_attach_cpu_wide(struct pm_session *session, struct pm_diag *diag);
int pm_attach_cgroup(struct pm_session *session, struct pm_diag *diag);
int pm_attach_broker(struct pm_session *session, struct pm_diag *diag);
int pm_attach_signals(struct pm_session *session, struct pm_diag *diag);
int pm_attach_count_per_cpu(struct pm_session *session, struct pm_diag *diag);
int pm_attach_process_timer(struct pm_session *session, struct pm_diag *diag);

/* Per thread: attaches to threads that were born meanwhile, and lets go of ended ones. */
void pm_follow_threads(struct pm_session *session);

/*
 * Once a second, or now: attaches to CPUs that came online, lets go of events that died with
 * their CPU, and keeps account of both.
 */
void pm_follow_cpus(struct pm_session *session, bool now);

/* Frees what is known of such CPUs, before anything else is undone. */
void pm_forget_cpus(struct pm_session *session);

/* Whose listings tell which source of an event is the right one. */
static inline struct threads *pm_threads_of(struct pm_session *session,
					    const struct session_event *event)
{
	return event->late == 0 ? &session->threads : &session->cpus[event->late - 1].threads;
}

/* Whether this process is in the cgroup that is to be observed itself. */
bool pm_cgroup_holds_us(const struct pm_plan *plan);

/* ------------------------------------------------------------------------------------- the rest */

/* Delivers what is in the rings now, one lap at most. Returns the number of records. */
int pm_drain(struct pm_session *session);

/* Sends the canary out and drains. 0, or -EIO with the reason. */
int pm_canary(struct pm_session *session, char *reason, size_t size);

/* A record in each ring, so that LOST records held back come out. */
void pm_canary_flush(struct pm_session *session);

int pm_ticks_drain(struct pm_session *session);

#endif
