/* SPDX-License-Identifier: MIT */
/*
 * CPUs that come and go under a session.
 *
 * A thread's events on a CPU outlast the CPU's absence. But on a CPU that came online after the
 * attach there are none, and whatever runs there would be missed in silence. And events on a CPU,
 * whoever runs there, die with it: on most kernels nobody is told, and when the CPU is back they
 * stay dead. So the online CPUs are looked at once a second while somebody polls or reads, and at
 * the end. What happened before that is missing; `late_cpus` says that there is such a gap.
 *
 * Threads are listed anew for each such CPU, and which source is the right one there is decided by
 * those listings alone: a thread born after the attach is an heir elsewhere, but has events of its
 * own here.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../session/attach.h"

#define LOOK_NS 1000000000
#define PULSE_NS 100000000	/* longer than the tick of any clock */

void pm_attach_back_to(struct pm_session *session, size_t events, size_t rings)
{
	while (session->ring_count > rings)
		pm_ring_close(&session->rings[--session->ring_count].ring);
	while (session->event_count > events) {
		int fd = session->events[--session->event_count].fd;

		if (fd >= 0)
			close(fd);
	}
	free(session->threads.marks);
	session->threads = (struct threads){ 0 };
}

static struct session_cpu *find_cpu(struct pm_session *session, int cpu)
{
	for (size_t i = 0; i < session->cpu_count; i++)
		if (session->cpus[i].cpu == cpu)
			return &session->cpus[i];
	return NULL;
}

static struct session_cpu *make_cpu(struct pm_session *session, int cpu)
{
	struct session_cpu *found = find_cpu(session, cpu), *more;

	if (found != NULL)
		return found;
	more = realloc(session->cpus, (session->cpu_count + 1) * sizeof(*more));
	if (more == NULL)
		return NULL;
	session->cpus = more;
	more += session->cpu_count++;
	memset(more, 0, sizeof(*more));
	more->cpu = cpu;
	more->pulse = -1;
	return more;
}

static void stop_pulse(struct session_cpu *cpu)
{
	if (cpu->pulse >= 0)
		close(cpu->pulse);
	cpu->pulse = -1;
	cpu->enabled = cpu->asked_at = 0;
}

void pm_forget_cpus(struct pm_session *session)
{
	for (size_t i = 0; i < session->cpu_count; i++) {
		stop_pulse(&session->cpus[i]);
		free(session->cpus[i].threads.marks);
	}
	free(session->cpus);
	session->cpus = NULL;
	session->cpu_count = 0;
	session->cpus_seen_at = 0;
	session->attach_cpus = NULL;
	session->die_with_cpu = false;
}

/* ------------------------------------------------------------------------------------ coming */

static void account(struct pm_session *session, struct session_cpu *cpu, int err)
{
	/* Offline again, or the one thread that was to be observed has ended: nothing is missed. */
	if (err == -ENODEV || err == -ESRCH)
		return;
	if (err == 0)
		session->stats.late_cpus++;
	else
		session->stats.unwatched_cpus += !cpu->refused;
	cpu->refused = err < 0;
}

/* Attaches as if this CPU were the only one, and there were no listings but its own. */
static void attach_late(struct pm_session *session, struct session_cpu *cpu)
{
	const size_t events = session->event_count, rings = session->ring_count;
	const struct threads others = session->threads;
	const bool open_enabled = session->open_enabled;
	int number = cpu->cpu, err;

	free(cpu->threads.marks);
	session->threads = (struct threads){ 0 };
	session->open_enabled = true;
	err = session->attach_cpus(session, &(struct pm_cpus){ &number, 1 }, NULL);
	if (err < 0)
		pm_attach_back_to(session, events, rings);
	for (size_t i = events; i < session->event_count; i++)
		session->events[i].late = (uint32_t)(cpu - session->cpus) + 1;
	session->open_enabled = open_enabled;
	cpu->threads = session->threads;
	session->threads = others;
	/* Two sources of one occurrence are told apart by their ids. */
	if (session->by_id != NULL && pm_attach_index(session) < 0)
		err = -ENOMEM;
	account(session, cpu, err);
}

/* ------------------------------------------------------------------------------------- going */

static void fold(struct pm_session *session, struct session_cpu *cpu, struct session_event *event)
{
	const struct pm_value before = session->folded[event->spec];
	const struct pm_value *after = &session->folded[event->spec];
	struct pm_value *sum = &cpu->folded[event->spec];

	pm_attach_fold(session, event);
	sum->value += after->value - before.value;
	sum->enabled += after->enabled - before.enabled;
	sum->running += after->running - before.running;
	close(event->fd);
}

/* What is in the ring is delivered, what was counted is kept; all else goes. */
static void let_go(struct pm_session *session, struct session_cpu *cpu)
{
	size_t kept = 0;

	(void)pm_drain(session);
	for (size_t i = 0; i < session->event_count; i++)
		if (session->events[i].cpu == cpu->cpu)
			fold(session, cpu, &session->events[i]);
		else
			session->events[kept++] = session->events[i];
	session->event_count = kept;
	kept = 0;
	for (size_t i = 0; i < session->ring_count; i++)
		if (session->rings[i].cpu == cpu->cpu)
			pm_ring_close(&session->rings[i].ring);
		else
			session->rings[kept++] = session->rings[i];
	session->ring_count = kept;
	if (session->by_id != NULL)
		(void)pm_attach_index(session);
	stop_pulse(cpu);
	cpu->ended = true;
}

/* A cgroup's event stands still when nobody of it is there, so that a second one has to tell. */
static int open_pulse(struct session_cpu *cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED, .exclude_kernel = 1,
	};

	if (cpu->pulse < 0)
		cpu->pulse = pm_open(&attr, -1, cpu->cpu, -1, 0);
	return cpu->pulse;
}

/*
 * The time for which an event on a CPU has been enabled goes on while the CPU is online. That the
 * CPU was away between two looks shows here alone: the time stands still for ever.
 */
static bool is_dead(const struct pm_session *session, struct session_cpu *cpu,
		    const struct session_event *event)
{
	uint64_t format = session->plan->events[event->spec].attr.read_format;
	const uint64_t before = cpu->enabled;
	struct pm_counts counts;
	int fd = event->fd, err;

	if (session->cpus_seen_at - cpu->asked_at < PULSE_NS)
		return false;
	if (session->plan->chosen == PM_STRATEGY_CGROUP) {
		fd = open_pulse(cpu);
		format = PERF_FORMAT_TOTAL_TIME_ENABLED;
	}
	err = fd < 0 ? fd : pm_read_counts(fd, format, &counts);
	if (err < 0)
		return err == -ENODATA;
	cpu->enabled = counts.time_enabled;
	cpu->asked_at = session->cpus_seen_at;
	return before != 0 && counts.time_enabled == before;
}

static bool is_listed(const struct pm_cpus *cpus, int cpu)
{
	for (size_t i = 0; i < cpus->count; i++)
		if (cpus->list[i] == cpu)
			return true;
	return false;
}

/* The first event of each CPU speaks for all of that CPU. Goes round again after each that went. */
static bool let_one_go(struct pm_session *session, const struct pm_cpus *online)
{
	int last = -1;

	for (size_t i = 0; i < session->event_count; i++) {
		const struct session_event *event = &session->events[i];
		struct session_cpu *cpu;

		if (event->cpu == last)
			continue;
		last = event->cpu;
		cpu = make_cpu(session, event->cpu);
		if (cpu == NULL)
			return false;
		if (is_listed(online, event->cpu) && !is_dead(session, cpu, event))
			continue;
		let_go(session, cpu);
		return true;
	}
	return false;
}

/* -------------------------------------------------------------------------------------- both */

static bool has_events(const struct pm_session *session, int cpu)
{
	for (size_t i = 0; i < session->event_count; i++)
		if (session->events[i].cpu == cpu)
			return true;
	return false;
}

static void attach_missing(struct pm_session *session, const struct pm_cpus *online)
{
	for (size_t i = 0; i < online->count; i++) {
		struct session_cpu *cpu;

		if (has_events(session, online->list[i]))
			continue;
		cpu = make_cpu(session, online->list[i]);
		/* A broker that refused or went may take seconds to say so again. */
		if (cpu != NULL && !(cpu->refused && session->plan->via_broker))
			attach_late(session, cpu);
	}
}

void pm_follow_cpus(struct pm_session *session, bool at_once)
{
	struct pm_cpus online;
	uint64_t now = 0;
	int err;

	if (session->attach_cpus == NULL || session->draining)
		return;
	(void)pm_clock_ns(CLOCK_MONOTONIC, &now);
	if (!at_once && session->cpus_seen_at != 0 && now - session->cpus_seen_at < LOOK_NS)
		return;
	session->cpus_seen_at = now;
	err = pm_cpus_list(session->plan, &online);
	if (err == 0 || err == -ENODEV) {
		while (session->die_with_cpu && let_one_go(session, &online))
			;
		attach_missing(session, &online);
	}
	free(online.list);
}
