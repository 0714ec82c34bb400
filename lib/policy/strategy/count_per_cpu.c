/* SPDX-License-Identifier: MIT */
/*
 * Strategy count_per_cpu: for each thread and CPU a counter, so that the kernel itself tells on
 * which CPU a thread did what. Asking where a thread is after reading its one counter is a guess
 * that a migration makes wrong.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "../session/attach.h"
#include "../diagnosis/diag.h"
#include "../profile/profile.h"

/* Of threads that were not in the first listing. Returns how many threads these are. */
static uint64_t drop_later(struct pm_session *session, size_t first)
{
	const struct threads *threads = &session->threads;
	size_t kept = first;
	uint64_t late = 0;

	for (size_t i = first; i < session->event_count; i++)
		if (session->events[i].round == 0)
			session->events[kept++] = session->events[i];
		else
			close(session->events[i].fd);
	session->event_count = kept;
	for (size_t i = 0; i < threads->room; i++)
		late += threads->marks[i].listed && threads->marks[i].round > 0;
	return late;
}

/*
 * As with counters of any CPU: what a thread inherited while we listed cannot be told from what it
 * has of its own, so threads of later listings are taken for heirs and counted as late.
 */
static int open_clean(struct pm_session *session, struct pm_cpus *cpus, struct pm_diag *diag)
{
	const size_t first = session->event_count;
	int err = pm_attach_on_cpus(session, cpus, NULL, diag);

	if (err == 0 && session->threads.rounds > 1)
		session->stats.late_threads += drop_later(session, first);
	return err;
}

int pm_attach_count_per_cpu(struct pm_session *session, struct pm_diag *diag)
{
	struct pm_cpus cpus;
	int err = pm_attach_cpus(session, &cpus, diag);

	if (err < 0)
		return err;
	pm_attach_as_counters(session);
	session->attach_cpus = open_clean;
	err = open_clean(session, &cpus, diag);
	free(cpus.list);
	if (err < 0)
		return err;
	err = pm_attach_enable(session);
	return err < 0 ? pm_diag_say(diag, -err, PM_CAUSE_UNKNOWN, "attach: enabling: %s",
				     pm_errno_name(-err)) : 0;
}

/* --------------------------------------------------------------------------------------- parts */

static int read_part(const struct pm_session *session, const struct session_event *event,
		     struct pm_part *ret)
{
	struct pm_counts counts;
	int err;

	ret->event = event->spec;
	ret->tid = event->tid;
	ret->cpu = event->cpu;
	ret->value = (struct pm_value){ 0, 0, 0 };
	if (event->fd < 0)
		return 0;
	err = pm_read_counts(event->fd, session->plan->events[event->spec].attr.read_format,
			     &counts);
	if (err < 0)
		return err;
	ret->value = (struct pm_value){ counts.member[0].value, counts.time_enabled,
					counts.time_running };
	return 0;
}

/* What events counted that went with their CPU. Returns the new count. */
static size_t add_ended(const struct pm_session *session, const struct session_cpu *cpu,
			size_t have, struct pm_part *ret, size_t count)
{
	for (size_t i = 0; i < session->plan->count; i++, have++)
		if (have < count)
			ret[have] = (struct pm_part){ .event = i, .tid = -1, .cpu = cpu->cpu,
						      .value = cpu->folded[i] };
	return have;
}

int pm_session_read_parts(struct pm_session *session, struct pm_part *ret, size_t count)
{
	struct pm_value unused;
	int err = pm_session_read(session, &unused, 0);
	size_t have;

	if (err < 0)
		return err;
	for (size_t i = 0; i < session->event_count && i < count; i++) {
		err = read_part(session, &session->events[i], &ret[i]);
		if (err < 0)
			return err;
	}
	have = session->event_count;
	for (size_t i = 0; i < session->cpu_count; i++)
		if (session->cpus[i].ended)
			have = add_ended(session, &session->cpus[i], have, ret, count);
	return (int)have;
}
