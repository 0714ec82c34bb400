/* SPDX-License-Identifier: MIT */
/*
 * Strategy own_rings: as per_cpu, but each event has a ring of its own and its descriptor is
 * closed at once. A mapping keeps an event alive and inherited; one that is forwarded would go with
 * its descriptor. So this takes locked memory where per_cpu takes descriptors.
 *
 * Without descriptors nobody wakes us, nothing can be disabled and no counter be read: rings are
 * read by time, and unmapping ends the events.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../session/attach.h"
#include "../diagnosis/diag.h"

static int map_and_close(struct pm_session *session, size_t at)
{
	struct session_event *event = &session->events[at];
	int err = pm_attach_id(session, event);

	if (err == 0)
		err = pm_attach_map(session, at, session->plan->ring_pages);
	if (err < 0)
		return err;
	session->rings[session->ring_count - 1].fd = -1;
	close(event->fd);
	event->fd = -1;
	return 0;
}

/*
 * An event counts from when it is opened, and the last one is opened a while after the first. What
 * came before is thrown away, so that all begin together, also in threads whose maker's events
 * told of them before they had their own.
 */
static void begin_together(struct pm_session *session, size_t first)
{
	for (size_t i = first; i < session->ring_count; i++) {
		(void)pm_ring_skip_all(&session->rings[i].ring);
		pm_ring_release(&session->rings[i].ring);
	}
}

static int attach(struct pm_session *session, struct pm_cpus *cpus, struct pm_diag *diag)
{
	const size_t first = session->ring_count;
	int err;

	session->open_enabled = true;
	err = pm_attach_on_cpus(session, cpus, map_and_close, diag);
	if (err == 0 && pm_attach_index(session) < 0)
		err = pm_diag_say(diag, ENOMEM, PM_CAUSE_NONE, "attach: out of memory");
	if (err == 0)
		begin_together(session, first);
	return err;
}

int pm_attach_own_rings(struct pm_session *session, struct pm_diag *diag)
{
	struct pm_cpus cpus;
	int err = pm_attach_cpus(session, &cpus, diag);

	if (err < 0)
		return err;
	session->attach_cpus = attach;
	err = attach(session, &cpus, diag);
	/* Others of this user lock memory as well: what is left shows only by trying. */
	while ((err == -EPERM || err == -ENOMEM) && session->plan->ring_pages > 1) {
		pm_attach_undo(session);
		session->plan->ring_pages /= 2;
		err = attach(session, &cpus, diag);
	}
	free(cpus.list);
	return err;
}
