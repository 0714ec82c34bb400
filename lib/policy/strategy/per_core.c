/* SPDX-License-Identifier: MIT */
/*
 * Strategy per_core: for each thread and CPU an inheriting event, all events of a CPU forwarded
 * to one ring, only its leader mapped and polled.
 *
 * Threads come while we attach, and may have inherited what their makers had by then. So all is
 * begun again until none came meanwhile. In the end, one that appears in a later listing gets
 * events of its own beside those; drain.c tells the two apart by their ids, but two software
 * events that one occurrence hits have the same one in their samples (seen on 6.18). Events are
 * opened enabled, which saves a call for each: what comes before there is a ring was not to be
 * observed yet.
 *
 * Never one ring for inheriting events of any CPU, though kernels take it: inherited copies on
 * several CPUs would write into it at once, and a ring is made for one writing CPU at a time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../session/attach.h"
#include "../diagnosis/diag.h"
#include "../profile/profile.h"

#define CPUS_MAX 4096

struct round {
	const struct pm_cpus *cpus;
	int (*each)(struct pm_session *session, size_t event);
	uint32_t spec;		/* of a failure */
	int cpu;
	bool each_failed;
};

static void add_cpu(unsigned int cpu, void *context)
{
	struct pm_cpus *cpus = context;

	if (cpus->count < CPUS_MAX)
		cpus->list[cpus->count++] = (int)cpu;
}

static void keep_cpu(unsigned int cpu, void *context)
{
	struct pm_cpus *cpus = context;

	/* Sets its sign: cpu c becomes -1 - c. */
	for (size_t i = 0; i < cpus->count; i++)
		if (cpus->list[i] == (int)cpu)
			cpus->list[i] = -1 - (int)cpu;
}

/* Those of `set` only. */
static int limit_cpus(struct pm_cpus *cpus, const char *set)
{
	size_t kept = 0;

	if (set[0] == '\0')
		return 0;
	if (pm_cpulist_each(set, keep_cpu, cpus) < 0)
		return -EINVAL;
	for (size_t i = 0; i < cpus->count; i++)
		if (cpus->list[i] < 0)
			cpus->list[kept++] = -1 - cpus->list[i];
	cpus->count = kept;
	return kept > 0 ? 0 : -ENODEV;
}

int pm_cpus_list(const struct pm_plan *plan, struct pm_cpus *ret)
{
	char text[4096];
	long configured;

	ret->list = malloc(CPUS_MAX * sizeof(*ret->list));
	ret->count = 0;
	if (ret->list == NULL)
		return -ENOMEM;
	if (pm_read_text("/sys/devices/system/cpu/online", text, sizeof(text)) > 0 &&
	    pm_cpulist_each(text, add_cpu, ret) > 0)
		return limit_cpus(ret, plan->cpus);
	configured = sysconf(_SC_NPROCESSORS_CONF);
	for (long i = 0; i < configured; i++)
		add_cpu((unsigned int)i, ret);
	return ret->count > 0 ? limit_cpus(ret, plan->cpus) : -ENODEV;
}

int pm_attach_cpus(const struct pm_session *session, struct pm_cpus *ret, struct pm_diag *diag)
{
	const char *only = session->plan->cpus;
	int err = pm_cpus_list(session->plan, ret);

	if (err == 0)
		return 0;
	free(ret->list);
	if (err == -ENOMEM)
		return pm_diag_say(diag, ENOMEM, PM_CAUSE_NONE, "attach: out of memory");
	return pm_diag_say(diag, -err, PM_CAUSE_NO_TARGET, "attach: no CPU%s%.100s is online",
			   only[0] ? " of " : "", only);
}

static int open_on_cpus(struct pm_session *session, struct round *round, uint32_t spec, pid_t tid,
			bool inherit)
{
	for (size_t i = 0; i < round->cpus->count; i++) {
		int at = pm_attach_open(session, spec, tid, round->cpus->list[i], inherit);

		if (at < 0) {
			round->spec = spec;
			round->cpu = round->cpus->list[i];
			return at;
		}
		at = round->each ? round->each(session, (size_t)at) : 0;
		if (at < 0) {
			round->each_failed = true;
			return at;
		}
	}
	return 0;
}

static int open_for_thread(struct pm_session *session, pid_t tid, void *context)
{
	struct round *round = context;

	for (uint32_t spec = 0; spec < session->plan->count; spec++) {
		int err;

		if (session->plan->events[spec].spec.tid != PM_ALL_THREADS)
			continue;
		/* When it ended meanwhile, what was opened for it stays and does no harm. */
		err = open_on_cpus(session, round, spec, tid, true);
		if (err < 0)
			return err;
	}
	return 0;
}

static int open_single(struct pm_session *session, struct round *round)
{
	for (uint32_t spec = 0; spec < session->plan->count; spec++) {
		int tid = session->plan->events[spec].spec.tid, err;

		if (tid == PM_ALL_THREADS)
			continue;
		/* Of CPUs that come later it is another thread that may come to know. */
		if (tid == 0 && pm_gettid() != session->self)
			tid = session->self;
		err = open_on_cpus(session, round, spec, tid, false);
		if (err < 0)
			return err;
	}
	return 0;
}

static bool watches_all(const struct pm_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++)
		if (plan->events[i].spec.tid == PM_ALL_THREADS)
			return true;
	return false;
}

static int refused(const struct pm_session *session, const struct round *round, int err,
		   struct pm_diag *diag)
{
	if (round->each_failed)
		return pm_diag_map(diag, session->ring_count + 1,
				   (session->plan->ring_pages + 1) * (size_t)sysconf(_SC_PAGESIZE),
				   -err);
	return pm_attach_refused(session, round->spec, round->cpu, err, diag);
}

/* 0: nobody was born meanwhile. */
static int open_one_listing(struct pm_session *session, struct round *round)
{
	int err = open_single(session, round);

	if (err < 0 || !watches_all(session->plan))
		return err;
	err = pm_attach_list(session, open_for_thread, round);
	return err < 0 ? err : pm_attach_list(session, pm_attach_nothing, NULL);
}

static int open_all_listings(struct pm_session *session, struct round *round)
{
	int err = open_single(session, round);

	for (unsigned int i = 0; err >= 0 && i < session->plan->opts.rounds; i++) {
		err = pm_attach_list(session, open_for_thread, round);
		if (err == 0)
			return 0;
	}
	return err;
}

int pm_attach_on_cpus(struct pm_session *session, const struct pm_cpus *cpus,
		      int (*each)(struct pm_session *session, size_t event), struct pm_diag *diag)
{
	const size_t events = session->event_count, rings = session->ring_count;
	struct round round = { .cpus = cpus, .each = each, .cpu = -1 };
	/* A broker gives so many events in all, whatever becomes of them. */
	unsigned int undertakings = session->plan->via_broker ? 0 : session->plan->opts.rounds;
	int err = 1;

	for (unsigned int i = 0; err > 0 && i < undertakings; i++) {
		pm_attach_back_to(session, events, rings);
		err = open_one_listing(session, &round);
	}
	if (err > 0) {
		pm_attach_back_to(session, events, rings);
		err = open_all_listings(session, &round);
	}
	if (err < 0)
		return refused(session, &round, err, diag);
	return err == 0 ? 0 : pm_diag_say(diag, EAGAIN, PM_CAUSE_NONE, "attach: new threads still "
					  "appeared in listing %u", session->plan->opts.rounds);
}

/* The main thread's event if it has one: when a leader's thread ends, nothing wakes us any more. */
static int find_leader(const struct pm_session *session, int cpu)
{
	int leader = -ESRCH;

	for (size_t i = 0; i < session->event_count; i++) {
		if (session->events[i].cpu != cpu)
			continue;
		if (session->events[i].tid == session->pid)
			return (int)i;
		if (leader < 0)
			leader = (int)i;
	}
	return leader;
}

static int map_with(struct pm_session *session, const struct pm_cpus *cpus, size_t pages)
{
	const size_t before = session->ring_count;

	for (size_t i = 0; i < cpus->count; i++) {
		int leader = find_leader(session, cpus->list[i]);
		int err = leader < 0 ? leader : pm_attach_map(session, (size_t)leader, pages);

		if (err < 0) {
			while (session->ring_count > before)
				pm_ring_close(&session->rings[--session->ring_count].ring);
			return err;
		}
	}
	return 0;
}

/* The locked memory is shared with others of this user, so its limit shows only by trying. */
static int map_all(struct pm_session *session, const struct pm_cpus *cpus, struct pm_diag *diag)
{
	size_t pages = session->plan->ring_pages;
	int err;

	do {
		err = map_with(session, cpus, pages);
		pages /= 2;
	} while ((err == -EPERM || err == -ENOMEM) && pages > 0);
	return err < 0 ? pm_diag_map(diag, cpus->count, (size_t)sysconf(_SC_PAGESIZE), -err) : 0;
}

static int forward_all(struct pm_session *session, size_t first, struct pm_diag *diag)
{
	for (size_t i = first, at = 0; i < session->event_count; i++) {
		const struct session_event *event = &session->events[i];
		int err;

		/* In the order of CPUs over and over: the next ring, as a rule. */
		while (session->rings[at].cpu != event->cpu)
			at = (at + 1) % session->ring_count;
		if (session->rings[at].fd == event->fd)
			continue;
		err = pm_ioctl(event->fd, PERF_EVENT_IOC_SET_OUTPUT,
			       (unsigned long)session->rings[at].fd);
		if (err < 0)
			return pm_diag_say(diag, -err, PM_CAUSE_UNSUPPORTED,
					   "PERF_EVENT_IOC_SET_OUTPUT between threads on cpu %d: "
					   "%s", event->cpu, pm_errno_name(-err));
	}
	return 0;
}

int pm_attach_share_rings(struct pm_session *session, const struct pm_cpus *cpus, size_t first,
			  struct pm_diag *diag)
{
	int err = map_all(session, cpus, diag);

	if (err == 0)
		err = forward_all(session, first, diag);
	if (err < 0)
		return err;
	/* One event of one listing needs no names. */
	if (session->plan->count > 1 || session->threads.rounds > 1 || session->by_id != NULL)
		err = pm_attach_index(session);
	if (err == 0)
		err = pm_attach_enable(session);
	return err < 0 ? pm_diag_say(diag, -err, PM_CAUSE_UNKNOWN, "attach: enabling: %s",
				     pm_errno_name(-err)) : 0;
}

static int attach(struct pm_session *session, struct pm_cpus *cpus, struct pm_diag *diag)
{
	const size_t first = session->event_count;
	int err = pm_attach_on_cpus(session, cpus, NULL, diag);

	return err < 0 ? err : pm_attach_share_rings(session, cpus, first, diag);
}

int pm_attach_per_core(struct pm_session *session, struct pm_diag *diag)
{
	struct pm_cpus cpus;
	int err = pm_attach_cpus(session, &cpus, diag);

	if (err < 0)
		return err;
	session->open_enabled = true;
	session->attach_cpus = attach;
	err = attach(session, &cpus, diag);
	free(cpus.list);
	return err;
}
