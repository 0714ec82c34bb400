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
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#define BURN_NS 4000000		/* longest that a clock's period may last to be waited for */
#define FAULTS 16
#define MANY_FAULTS 64		/* more than others on a CPU cause at the same time, mostly */
#define STACK_SIZE 131072

struct errand {
	struct pm_session *session;
	pid_t tid;
	bool name_only;
	bool patient;		/* the second one, when the first seemed not to come back */
	bool stranded;		/* it could go nowhere where it shows */
};

/* ---------------------------------------------------------------------------- what it can cause */

static bool is_fault(const struct pm_event_spec *spec)
{
	return spec->type == PERF_TYPE_SOFTWARE && (spec->config == PERF_COUNT_SW_PAGE_FAULTS ||
		spec->config == PERF_COUNT_SW_PAGE_FAULTS_MIN);
}

/* ns of CPU time after which a clock must have ticked; 0 when that is no clock, or too long. */
static uint64_t tick(const struct plan_event *event)
{
	const struct perf_event_attr *attr = &event->attr;
	uint64_t period;

	if (attr->type != PERF_TYPE_SOFTWARE || attr->config > PERF_COUNT_SW_TASK_CLOCK)
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
	if (is_fault(&event->spec))
		return event->attr.freq == 0 && event->attr.sample_period <= FAULTS;
	return tick(event) != 0;
}

bool pm_canary_is_everywhere(const struct plan_event *event)
{
	return is_fault(&event->spec) && pm_plan_is_sampled(event) && pm_canary_can_cause(event);
}

static void fault(size_t count)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *area = mmap(NULL, count * page, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED)
		return;
#ifdef MADV_NOHUGEPAGE
	(void)madvise(area, count * page, MADV_NOHUGEPAGE);
#endif
	for (size_t i = 0; i < count; i++)
		((volatile char *)area)[i * page] = 1;
	(void)munmap(area, count * page);
}

/* Mostly in user mode: reading the clock is a system call, and the kernel may be excluded. */
static void burn(uint64_t ns)
{
	uint64_t begin = 0, now = 0;
	volatile unsigned int work;

	(void)pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &begin);
	do {
		for (work = 0; work < 20000; work++)
			;
		(void)pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &now);
	} while (now - begin < ns);
}

void pm_canary_cause(const struct pm_plan *plan, bool patient)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct plan_event *event = &plan->events[i];

		if (!pm_canary_can_cause(event))
			continue;
		if (is_fault(&event->spec))
			fault(patient ? 4 * FAULTS : (size_t)event->attr.sample_period + 1);
		else
			burn(patient ? 5 * tick(event) : tick(event) + tick(event) / 4);
	}
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
static void visit(struct pm_session *session, const struct pm_plan *plan, bool patient)
{
	struct ring_set *rings = &session->rings;
	int here = sched_getcpu();
	size_t first = 0, count = rings->count;

	for (size_t i = 0; i < count; i++)
		if (rings->list[i].cpu == here && !rings->list[i].canary)
			first = i;
	for (size_t i = 0; i < count; i++) {
		struct session_ring *ring = &rings->list[(first + i) % count];
		bool stay = ring->cpu == here && i == 0 && !patient;

		if (ring->canary)
			continue;
		/* Where it must not go, no other thread of this process is likely to be, either. */
		if (!stay && !move_to(ring->cpu)) {
			ring->canary = ring->unvisited = true;
			continue;
		}
		session->canary.nameless |= !pm_canary_rename();
		for (size_t k = 0; plan != NULL && k < plan->count; k++)
			if (pm_canary_is_everywhere(&plan->events[k]))
				fault((size_t)plan->events[k].attr.sample_period + 1);
	}
}

/* Whether the counter of the CPU that this thread is on has run or counted meanwhile. */
static bool goes_on(const struct pm_session *session, const struct session_event *event)
{
	const struct plan_event *planned = &session->plan->events[event->spec];
	struct pm_counts before, after;

	if (pm_event_counts(&session->events, event, &before) < 0)
		return true;
	(void)pm_canary_rename();
	if (is_fault(&planned->spec))
		fault(MANY_FAULTS);
	if (pm_event_counts(&session->events, event, &after) < 0)
		return true;
	return is_fault(&planned->spec) ?
		after.member[0].value - before.member[0].value >= MANY_FAULTS :
		after.time_running > before.time_running;
}

/* A counter of the thread that made this one, or of all. */
static bool is_counted_by(const struct pm_session *session, const struct session_event *event)
{
	return (event->tid < 0 || event->tid == session->self) &&
		(session->plan->events[event->spec].spec.tid == PM_ALL_THREADS ||
		 session->plan->events[event->spec].spec.tid == PM_SYSTEM ||
		 session->plan->events[event->spec].around_us);
}

/*
 * A counter of a CPU counts what runs there only, and this thread may not be allowed there. A
 * kernel whose clock is too coarse shows no progress, hence the second look when patient.
 */
static bool go_where_counted(struct pm_session *session, bool patient)
{
	const struct event_list *events = &session->events;
	bool any = false;
	int last = -1;

	for (size_t i = 0; i < events->count; i++) {
		const struct session_event *event = &events->list[i];
		bool moves = false;

		if (event->cpu < 0)
			return true;
		if (event->cpu == last || !is_counted_by(session, event))
			continue;
		last = event->cpu;
		if (!move_to(event->cpu))
			continue;
		any = true;
		for (int k = 0; !moves && k < (patient ? 100 : 1); k++)
			moves = goes_on(session, event);
		if (!moves)
			session->canary.miscounted = event->cpu + 1;
	}
	return any;
}

/*
 * The thread inherits from the thread that attaches, whose events may be the very leaders. So it
 * opens one of its own, forwards it as others' are, and is renamed once more: that record has the
 * id of this event. A kernel without dummy events (v3.12) is not asked.
 */
static void try_forwarding(struct pm_session *session, const struct session_ring *ring)
{
	struct perf_event_attr attr = session->plan->events[0].attr;
	uint64_t id = 0;
	int fd;

	if (session->events.count == session->rings.count || ring->fd < 0)
		return;
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.config1 = attr.config2 = 0;
	attr.freq = attr.task = attr.inherit = attr.disabled = 0;
	attr.sample_period = 1;
	attr.comm = 1;
	fd = pm_open(&attr, 0, ring->cpu, -1, 0);
	if (fd < 0)
		return;
	if (pm_ioctl(fd, PERF_EVENT_IOC_ID, (unsigned long)&id) == 0 &&
	    pm_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, (unsigned long)ring->fd) == 0) {
		if (pm_canary_rename())
			session->canary.forwarded = id;
	}
	close(fd);
}

static void *run_errand(void *context)
{
	struct errand *errand = context;
	struct pm_session *session = errand->session;

	errand->tid = pm_gettid();
	visit(session, errand->name_only ? NULL : session->plan, errand->patient);
	errand->stranded = session->rings.count == 0 &&
		!go_where_counted(session, errand->patient);
	/* The thread is held on the CPU that it visited last. */
	for (size_t i = 0; !errand->name_only && i < session->rings.count; i++)
		if (session->rings.list[i].cpu == sched_getcpu() && session->canary.forwarded == 0)
			try_forwarding(session, &session->rings.list[i]);
	if (!errand->name_only)
		pm_canary_cause(session->plan, errand->patient);
	return NULL;
}

/* A small stack is faster to make; a program with much thread-local data may need the usual one. */
static int start(struct errand *errand, pthread_t *ret)
{
	pthread_attr_t attr;
	int err = EINVAL;

	if (pthread_attr_init(&attr) != 0)
		return ENOMEM;
	if (pthread_attr_setstacksize(&attr, STACK_SIZE) == 0)
		err = pthread_create(ret, &attr, run_errand, errand);
	(void)pthread_attr_destroy(&attr);
	return err == 0 ? 0 : pthread_create(ret, NULL, run_errand, errand);
}

/*
 * Where a record shows in the rings of its own thread only, that is the one that makes the canary's
 * thread: the others are not waited for.
 */
static void begin(struct ring_set *rings, bool own_only)
{
	for (size_t i = 0; i < rings->count; i++) {
		rings->list[i].canary = own_only && rings->list[i].tid != pm_gettid();
		rings->list[i].unvisited = false;
		rings->list[i].sampled = 0;
	}
}

bool pm_canary_send(struct pm_session *session, bool name_only, bool patient)
{
	struct errand errand = { .session = session, .name_only = name_only, .patient = patient };
	pthread_t thread;

	begin(&session->rings, session->strategy->able & RING_PER_EVENT);
	session->canary.forwarded = 0;
	session->canary.miscounted = 0;
	if (start(&errand, &thread) != 0)
		return false;
	(void)pthread_join(thread, NULL);
	session->canary.tid = errand.tid;
	session->canary.ended = 0;
	session->canary.other = true;
	return !errand.stranded;
}
