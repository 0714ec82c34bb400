/* SPDX-License-Identifier: MIT */
/*
 * The canary's thread. It renames itself on each CPU: that gives a COMM record in the ring of the
 * CPU, at once, for events of any kind. It is made after the attach, so it has its events by
 * inheritance.
 */
#define _GNU_SOURCE
#include "canary_thread.h"

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include "../plan/attrs.h"

#define BURN_NS 4000000		/* longest that a clock's period may last to be waited for */
#define FAULTS 16

struct canary_job {
	struct pm_session *session;
	pthread_t thread;
	pid_t tid;
	bool name_only;
	bool forwards;		/* some event has no ring of its own, or will have none */
	bool by_flag;		/* such are forwarded as they open */
	bool patient;		/* the second one, when the first seemed not to come back */
	bool stranded;		/* it could go nowhere where it shows */
	bool nameless;		/* as in struct canary, where all go when it is back */
	uint64_t forwarded;
	int miscounted;
};

/* ---------------------------------------------------------------------------- what it can cause */

/* ns of CPU time after which a clock must have ticked; 0 when that is no clock, or too long. */
static uint64_t tick(const struct plan_event *event)
{
	const struct perf_event_attr *attr = &event->attr;
	uint64_t period;

	if (!pm_is_clock(attr))
		return 0;
	/* What is burnt is burnt in user mode: counted all the same, and not sampled. */
	if (attr->exclude_user && event->sampled)
		return 0;
	period = attr->freq ? 1000000000 / attr->sample_freq : attr->sample_period;
	if (period == 0)	/* counted: every ns tells */
		return 1000;
	return period <= BURN_NS ? period : 0;
}

bool pm_canary_can_cause(const struct plan_event *event)
{
	if (event->spec.tid != PM_ALL_THREADS && event->spec.tid != PM_SYSTEM &&
	    !event->around_us)
		return false;
	/* It only counts beside those of its group that are sampled. */
	if ((event->spec.want & PM_WANT_GROUP) && !event->sampled)
		return false;
	if (pm_is_page_fault(&event->spec))
		return event->attr.freq == 0 && event->attr.sample_period <= FAULTS;
	return tick(event) != 0;
}

bool pm_canary_is_everywhere(const struct plan_event *event)
{
	return pm_is_page_fault(&event->spec) && event->sampled && pm_canary_can_cause(event);
}

/* Mostly in user mode: reading the clock is a system call, and the kernel may be excluded. */
static void burn(uint64_t ns)
{
	clockid_t clock = CLOCK_THREAD_CPUTIME_ID;
	uint64_t begin = 0, now = 0, turns = ns / 1000 + 100;	/* of 1 us at least */
	volatile unsigned int work;

	/* A filter may refuse it, and cannot refuse what needs no system call. */
	if (pm_clock_ns(clock, &begin) < 0) {
		clock = CLOCK_MONOTONIC;
		(void)pm_clock_ns(clock, &begin);
	}
	do {
		for (work = 0; work < 20000; work++)
			;
	} while (--turns > 0 && pm_clock_ns(clock, &now) == 0 && now - begin < ns);
}

/* `visited`: what takes little has been done on each CPU. */
static void cause(struct pm_session *session, bool patient, bool visited)
{
	const struct pm_plan *plan = session->plan;

	for (size_t i = 0; i < plan->count; i++) {
		const struct plan_event *event = &plan->events[i];

		if (!pm_canary_can_cause(event) ||
		    (visited && !patient && pm_canary_is_everywhere(event)))
			continue;
		if (pm_is_page_fault(&event->spec))
			pm_canary_fault(&session->proof->memory, patient ? 4 * FAULTS :
					session->rings.count == 0 ? CANARY_COUNTED :
					(size_t)event->attr.sample_period + 1);
		else
			burn(patient ? 5 * tick(event) : tick(event) + tick(event) / 4);
	}
}

void pm_canary_cause(struct pm_session *session, bool patient)
{
	pm_canary_memory_make(&session->proof->memory);
	session->proof->memory.faults = 0;
	cause(session, patient, false);
}

/* ---------------------------------------------------------------------------------- the thread */

bool pm_canary_rename(void)
{
	char name[16];

	return prctl(PR_GET_NAME, (unsigned long)name, 0, 0, 0) == 0 &&
		prctl(PR_SET_NAME, (unsigned long)name, 0, 0, 0) == 0;
}

static bool move_to(int cpu)
{
	cpu_set_t set;

	if (cpu >= CPU_SETSIZE)
		return false;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) == 0;
}

/* Begins with the CPU that it runs on: each move costs more than all else together. */
static bool visit(struct canary_job *job)
{
	struct pm_session *session = job->session;
	const struct pm_plan *plan = session->plan;
	struct ring_set *rings = &session->rings;
	bool visited = false;
	int here = sched_getcpu();
	size_t first = 0, count = rings->count;

	for (size_t i = 0; i < count; i++)
		if (rings->list[i].cpu == here && !rings->list[i].canary)
			first = i;
	for (size_t i = 0; i < count; i++) {
		struct session_ring *ring = &rings->list[(first + i) % count];
		bool stay = ring->cpu == here && i == 0 && !job->patient;

		if (ring->canary)
			continue;
		/* Where it must not go, no other thread of this process is likely to be, either. */
		if (!stay && !move_to(ring->cpu)) {
			ring->canary = ring->unvisited = true;
			continue;
		}
		job->nameless |= !pm_canary_rename();
		visited = true;
		for (size_t k = 0; !job->name_only && k < plan->count; k++)
			if (pm_canary_is_everywhere(&plan->events[k]))
				pm_canary_fault(&session->proof->memory,
						(size_t)plan->events[k].attr.sample_period + 1);
	}
	return visited;
}

/*
 * Whether the counter of the CPU that this thread is on goes on. A kernel whose clock is too coarse
 * shows that in many looks.
 */
static bool goes_on(struct canary_job *job, const struct session_event *event)
{
	const struct pm_session *session = job->session;
	struct pm_counts before, after;

	for (int looks = job->patient ? 100 : 1; looks > 0; looks--) {
		if (pm_event_counts(&session->events, event, &before) < 0)
			return true;
		(void)pm_canary_rename();
		if (pm_is_page_fault(&session->plan->events[event->spec].spec))
			pm_canary_fault(&job->session->proof->memory, FAULTS);
		if (pm_event_counts(&session->events, event, &after) < 0 ||
		    after.time_running > before.time_running ||
		    after.member[0].value > before.member[0].value)
			return true;
	}
	return false;
}

/* A counter of the thread that made this one, or of all. */
static bool is_counted_by(const struct pm_session *session, const struct session_event *event)
{
	return (event->tid < 0 || event->tid == session->self) &&
		(session->plan->events[event->spec].spec.tid == PM_ALL_THREADS ||
		 session->plan->events[event->spec].spec.tid == PM_SYSTEM ||
		 session->plan->events[event->spec].around_us);
}

/* A counter of a CPU counts what runs there only, and this thread may not be allowed there. */
static bool go_where_counted(struct canary_job *job)
{
	const struct pm_session *session = job->session;
	const struct event_list *events = &session->events;
	bool any = false;
	int last = -1;

	for (size_t i = 0; i < events->count; i++) {
		const struct session_event *event = &events->list[i];

		if (event->cpu < 0)
			return true;
		if (event->cpu == last || !is_counted_by(session, event))
			continue;
		last = event->cpu;
		if (!move_to(event->cpu))
			continue;
		any = true;
		if (!goes_on(job, event))
			job->miscounted = event->cpu + 1;
	}
	return any;
}

/*
 * The thread inherits from the thread that attaches, whose events may be the very leaders. So it
 * opens one of its own, forwards it as others' are, and is renamed once more: that record has the
 * id of this event. It is missing where a filter answers in place of the ioctl(2) that forwards. A
 * kernel without dummy events (v3.12) is not asked.
 */
static void try_forwarding(struct canary_job *job, const struct session_ring *ring)
{
	struct perf_event_attr attr = job->session->plan->events[0].attr;
	uint64_t id = 0;
	int fd = -EINVAL, err = 0;

	if (!job->forwards || ring->fd < 0)
		return;
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.config1 = attr.config2 = 0;
	pm_plan_no_side(&attr);
	attr.freq = attr.inherit = attr.disabled = attr.pinned = attr.precise_ip = 0;
	attr.sample_type &= ~(uint64_t)PERF_SAMPLE_BRANCH_STACK;
	attr.branch_sample_type = 0;
	attr.sample_period = 1;
	attr.comm = 1;
	if (job->by_flag)
		fd = pm_open(&attr, 0, ring->cpu, ring->fd,
			     PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP);
	if (fd == -EINVAL || fd == -ENODEV) {
		fd = pm_open(&attr, 0, ring->cpu, -1, 0);
		if (fd >= 0)
			err = pm_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, (unsigned long)ring->fd);
	}
	if (fd < 0)
		return;
	if (err == 0 && pm_ioctl(fd, PERF_EVENT_IOC_ID, (unsigned long)&id) == 0 &&
	    pm_canary_rename())
		job->forwarded = id;
	close(fd);
}

static void *run_job(void *context)
{
	struct canary_job *job = context;
	struct pm_session *session = job->session;
	bool visited;

	job->tid = pm_gettid();
	visited = visit(job);
	job->stranded = session->rings.count == 0 && !go_where_counted(job);
	/* The thread is held on the CPU that it visited last. */
	for (size_t i = 0; !job->name_only && i < session->rings.count; i++)
		if (session->rings.list[i].cpu == sched_getcpu() && job->forwarded == 0)
			try_forwarding(job, &session->rings.list[i]);
	if (!job->name_only)
		cause(session, job->patient, visited);
	return NULL;
}

/*
 * A small stack of our own is faster to make, and to leave: the C library need not give it back. A
 * program with much thread-local data may need the usual one.
 */
static int start(struct canary_job *job)
{
	char *stack = job->session->proof->memory.stack;
	pthread_attr_t attr;
	int err = EINVAL;

	if (pthread_attr_init(&attr) != 0)
		return ENOMEM;
#ifdef __SANITIZE_THREAD__	/* it needs more than that for itself */
	stack = NULL;
#endif
	if (stack != NULL && pthread_attr_setstack(&attr, stack, CANARY_STACK) == 0)
		err = pthread_create(&job->thread, &attr, run_job, job);
	(void)pthread_attr_destroy(&attr);
	return err == 0 ? 0 : pthread_create(&job->thread, NULL, run_job, job);
}

/* Only one event of a target tells names, and what the canary causes may show on one CPU alone. */
static bool may_be_silent(const struct plan_event *event)
{
	return !event->attr.comm && !pm_canary_is_everywhere(event);
}

/*
 * Where a record shows in the rings of its own thread only, that is the one that makes the canary's
 * thread: the others are not waited for.
 */
static void begin(struct pm_session *session)
{
	const bool own_only = session->strategy->able & RING_PER_EVENT;

	for (size_t i = 0; i < session->rings.count; i++) {
		struct session_ring *ring = &session->rings.list[i];

		ring->unvisited = own_only && may_be_silent(&session->plan->events[ring->spec]);
		ring->canary = ring->unvisited || (own_only && ring->tid != pm_gettid());
		ring->sampled = 0;
	}
}

bool pm_canary_send(struct pm_session *session, bool name_only, bool patient)
{
	struct canary *canary = &session->proof->canary;
	struct canary_job job = {
		.session = session, .name_only = name_only, .patient = patient,
		.by_flag = session->events.by_flag,
		.forwards = session->events.count > session->rings.count ||
			session->threads.present > 1,
	};

	pm_canary_memory_make(&session->proof->memory);
	session->proof->memory.faults = 0;
	begin(session);
	if (start(&job) != 0)
		return false;
	/* All its records are written then. */
	(void)pthread_join(job.thread, NULL);
	canary->tid = canary->back = job.tid;
	canary->ended = 0;
	canary->other = true;
	canary->nameless |= job.nameless;
	canary->forwarded = job.forwarded;
	canary->miscounted = job.miscounted;
	return !job.stranded;
}

void pm_canary_bury(struct pm_session *session)
{
	if (session->proof->canary.back != 0)
		pm_threads_wait_gone(session->proof->canary.back);
	session->proof->canary.back = 0;
}
