/* SPDX-License-Identifier: MIT */
/*
 * The canary: a thread that does something on each CPU which must show in each ring. A kernel, a
 * filter or a wrong profile may let everything open and deliver nothing; this is where that shows.
 *
 * Renaming oneself gives a COMM record in the ring of the CPU one is on, at once, for events of
 * any kind. The thread is made after the attach, so it has its events by inheritance.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "attach.h"
#include "../strategy/ticks.h"

#define BURN_NS 4000000		/* longest that a clock's period may last to be waited for */
#define FAULTS 16
#define STACK_SIZE 131072

struct bird {
	struct pm_session *session;
	pid_t tid;
	bool deeds;		/* not only the name */
	bool patient;		/* the second one, when the first seemed not to come back */
	bool astray;		/* it could go nowhere where it shows */
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

static bool can_cause(const struct plan_event *event)
{
	if (event->spec.tid != PM_ALL_THREADS && event->spec.tid != PM_SYSTEM)
		return false;
	if (is_fault(&event->spec))
		return event->attr.freq == 0 && event->attr.sample_period <= FAULTS;
	return tick(event) != 0;
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

/* In user mode for the most part: asking for the time is a system call that may be excluded. */
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

static void do_deeds(const struct pm_plan *plan, bool patient)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct plan_event *event = &plan->events[i];

		if (!can_cause(event))
			continue;
		if (is_fault(&event->spec))
			fault(patient ? 4 * FAULTS : (size_t)event->attr.sample_period + 1);
		else
			burn(patient ? 5 * tick(event) : tick(event) + tick(event) / 4);
	}
}

/* ------------------------------------------------------------------------------------- the bird */

static void rename_self(void)
{
	char name[16];

	if (prctl(PR_GET_NAME, (unsigned long)name, 0, 0, 0) == 0)
		(void)prctl(PR_SET_NAME, (unsigned long)name, 0, 0, 0);
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

/* From the CPU one is on round to the last: each move costs more than all else together. */
static void visit(struct pm_session *session, bool patient)
{
	int here = sched_getcpu();
	size_t first = 0, count = session->ring_count;

	for (size_t i = 0; i < count; i++)
		if (session->rings[i].cpu == here && !session->rings[i].canary)
			first = i;
	for (size_t i = 0; i < count; i++) {
		struct session_ring *ring = &session->rings[(first + i) % count];
		bool stay = ring->cpu == here && i == 0 && !patient;

		if (ring->canary)
			continue;
		/* Where it must not go, no other thread of this process is likely to be, either. */
		if (!stay && !move_to(ring->cpu))
			ring->canary = true;
		else
			rename_self();
	}
}

/* Counters of CPUs tell of these alone, which may be others than those that one may run on. */
static bool go_where_counted(const struct pm_session *session)
{
	for (size_t i = 0; i < session->event_count; i++)
		if (session->events[i].cpu < 0 || move_to(session->events[i].cpu))
			return true;
	return false;
}

/*
 * The bird inherits from the thread that attaches, whose events may be the very leaders. So it
 * opens one of its own, forwards it as others' are, and is renamed once more: that record has the
 * id of this event. A kernel without dummy events (v3.12) is not asked.
 */
static void try_forwarding(struct pm_session *session, const struct session_ring *ring)
{
	struct perf_event_attr attr = session->plan->events[0].attr;
	uint64_t id = 0;
	int fd;

	if (session->event_count == session->ring_count || ring->fd < 0)
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
		session->canary.forwarded = id;
		rename_self();
	}
	close(fd);
}

static void *fly(void *context)
{
	struct bird *bird = context;
	struct pm_session *session = bird->session;

	bird->tid = pm_gettid();
	visit(session, bird->patient);
	bird->astray = session->ring_count == 0 && !go_where_counted(session);
	/* The last one is where it is held. */
	for (size_t i = 0; bird->deeds && i < session->ring_count; i++)
		if (session->rings[i].cpu == sched_getcpu() && session->canary.forwarded == 0)
			try_forwarding(session, &session->rings[i]);
	if (bird->deeds)
		do_deeds(bird->session->plan, bird->patient);
	return NULL;
}

static bool has_heirs(const struct pm_session *session)
{
	for (size_t i = 0; i < session->ring_count; i++)
		if (session->rings[i].cpu < 0)
			return false;
	for (size_t i = 0; i < session->plan->count; i++)
		if (session->plan->events[i].spec.tid == PM_ALL_THREADS ||
		    session->plan->events[i].spec.tid == PM_SYSTEM)
			return true;
	return session->plan->chosen == PM_STRATEGY_CGROUP && pm_cgroup_holds_us(session->plan);
}

/* A small stack is made faster; a program with much thread-local data may need the usual one. */
static int let_out(struct bird *bird, pthread_t *ret)
{
	pthread_attr_t attr;
	int err = EINVAL;

	if (pthread_attr_init(&attr) != 0)
		return ENOMEM;
	if (pthread_attr_setstacksize(&attr, STACK_SIZE) == 0)
		err = pthread_create(ret, &attr, fly, bird);
	(void)pthread_attr_destroy(&attr);
	return err == 0 ? 0 : pthread_create(ret, NULL, fly, bird);
}

/* True when a thread went out, did it where it shows, and came back. */
static bool send(struct pm_session *session, bool deeds, bool patient)
{
	struct bird bird = { .session = session, .deeds = deeds, .patient = patient };
	pthread_t thread;

	/* Where each thread has rings of its own, it shows in those of the one that sends it. */
	for (size_t i = 0; i < session->ring_count; i++)
		session->rings[i].canary = session->plan->chosen == PM_STRATEGY_OWN_RINGS &&
			session->rings[i].tid != pm_gettid();
	session->canary.forwarded = 0;
	if (let_out(&bird, &thread) != 0)
		return false;
	(void)pthread_join(thread, NULL);
	session->canary.tid = bird.tid;
	session->canary.ended = 0;
	session->canary.other = true;
	return !bird.astray;
}

static bool is_own_ring(const struct pm_session *session, const struct session_ring *ring)
{
	return ring->cpu < 0 && ring->tid == pm_gettid() && session->canary.tid != 0;
}

static int judge(const struct pm_session *session, char *reason, size_t size)
{
	for (size_t i = 0; i < session->ring_count; i++) {
		const struct session_ring *ring = &session->rings[i];

		if (ring->canary || !(session->canary.other || is_own_ring(session, ring)))
			continue;
		snprintf(reason, size, "all opened, but a deliberate event %s %d gave no record",
			 ring->cpu < 0 ? "of thread" : "on cpu",
			 ring->cpu < 0 ? ring->tid : ring->cpu);
		return -EIO;
	}
	if (session->canary.forwarded != 0 && !session->canary.forwarding) {
		snprintf(reason, size, "all opened, but PERF_EVENT_IOC_SET_OUTPUT is taken and "
			 "forwards nothing");
		return -EIO;
	}
	for (size_t i = 0; session->canary.other && i < session->plan->count; i++) {
		if (!can_cause(&session->plan->events[i]) || session->canary.samples[i] > 0)
			continue;
		snprintf(reason, size, "all opened, but event %zu, caused deliberately, gave no "
			 "sample", i);
		return -EIO;
	}
	return 0;
}

/* Counters have no ring: what the bird caused must be in the sums. */
static int judge_counters(struct pm_session *session, bool patient, char *reason, size_t size)
{
	struct pm_value before[PLAN_EVENTS_MAX], after[PLAN_EVENTS_MAX];

	if (!has_heirs(session) || pm_session_read(session, before, PLAN_EVENTS_MAX) < 0 ||
	    !send(session, true, patient) ||
	    pm_session_read(session, after, PLAN_EVENTS_MAX) < 0)
		return 0;
	for (size_t i = 0; i < session->plan->count; i++) {
		if (!can_cause(&session->plan->events[i]) || after[i].value > before[i].value)
			continue;
		snprintf(reason, size, "all opened, but event %zu, caused deliberately, was not "
			 "counted", i);
		return -EIO;
	}
	return 0;
}

static int judge_rings(struct pm_session *session, bool patient, char *reason, size_t size)
{
	int err;

	if (!has_heirs(session) || !send(session, true, patient)) {
		/* Nobody inherits: this very thread, if it is observed at all. */
		session->canary.tid = pm_gettid();
		rename_self();
	}
	/* A flood of others' records could hide it for a while, not for ever. */
	for (int i = 0; i < 64 && pm_drain(session) > 0; i++)
		;
	err = judge(session, reason, size);
	if (!session->canary.other)
		session->canary.tid = 0;
	return err;
}

/* Nothing is inherited, but this thread has events of its own. */
static int judge_signals(struct pm_session *session, bool patient, char *reason, size_t size)
{
	int err;

	session->canary.tid = pm_gettid();
	session->canary.other = true;
	do_deeds(session->plan, patient);
	(void)pm_drain(session);
	err = judge(session, reason, size);
	session->canary.tid = 0;
	return err;
}

int pm_canary(struct pm_session *session, char *reason, size_t size)
{
	int err = 0;

	if (session->ticks != NULL && !session->ticks->proves)
		return 0;
	memset(&session->canary, 0, sizeof(session->canary));
	/* On a busy machine one may be moved or delayed: only the second failure counts. */
	for (int again = 0; again < 2; again++) {
		err = session->ticks != NULL ? judge_signals(session, again, reason, size) :
			session->ring_count == 0 ?
			judge_counters(session, again, reason, size) :
			judge_rings(session, again, reason, size);
		if (err == 0)
			break;
	}
	return err;
}

void pm_canary_flush(struct pm_session *session)
{
	if (has_heirs(session))
		(void)send(session, false, true);
	else
		rename_self();
}
