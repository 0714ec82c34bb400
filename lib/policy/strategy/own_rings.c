/* SPDX-License-Identifier: MIT */
/*
 * Strategy own_rings: as per_cpu, but each event has a ring of its own and its descriptor is
 * closed at once. A mapping keeps an event alive and inherited; one that is forwarded would go with
 * its descriptor. So this takes locked memory where per_cpu takes descriptors.
 *
 * Without descriptors there are no wake-ups, nothing can be disabled and no counter can be read:
 * rings are read by time, and unmapping ends the events.
 */
#include "../diagnosis/diag.h"
#include "../plan/cost.h"
#include "../proof/canary.h"
#include "../engine/on_cpus.h"

static void cost(const struct pm_plan *plan, struct pm_cost *ret)
{
	ret->rings = pm_cost_targets(plan, ret->threads) * ret->cpus;
	ret->opens = ret->rings;
	ret->descriptors = 2;
}

static int map_and_close(struct pm_session *session, struct session_event *event,
			 struct pm_diag *diag)
{
	struct ring_set *rings = &session->rings;
	const size_t bytes = (*rings->pages + 1) * (size_t)sysconf(_SC_PAGESIZE);
	int err = pm_event_id(&session->events, event);

	if (err < 0)
		return pm_diag_say(diag, -err, PM_CAUSE_UNKNOWN, "ioctl(PERF_EVENT_IOC_ID): %s: "
				   "samples cannot be told apart", pm_errno_name(-err));
	err = pm_rings_map(rings, event, *rings->pages);
	if (err < 0)
		return pm_diag_map(diag, rings->count + 1, bytes, -err);
	rings->list[rings->count - 1].fd = -1;
	close(event->fd);
	event->fd = -1;
	return 0;
}

/*
 * An event counts as soon as it is opened, and the last one is opened a while after the first. What
 * came before is dropped, so that all begin together, also in threads that were observed by events
 * inherited from their parent before they had their own.
 */
static void begin_together(struct ring_set *rings, size_t first)
{
	for (size_t i = first; i < rings->count; i++) {
		(void)pm_ring_skip_all(&rings->list[i].ring);
		pm_ring_release(&rings->list[i].ring);
	}
}

static int attach_cpus(struct pm_session *session, struct pm_cpus *cpus, struct pm_diag *diag)
{
	const size_t first = session->rings.count;
	int err;

	session->events.enabled = true;
	err = pm_on_cpus_open(session, cpus, map_and_close, diag);
	if (err < 0)
		return err;
	if (pm_ids_index(&session->ids, &session->events) < 0)
		return pm_diag_say(diag, ENOMEM, PM_CAUSE_NONE, "attach: out of memory");
	begin_together(&session->rings, first);
	return 0;
}

/* Others of this user lock memory as well: what is left shows only by trying. */
static int attach(struct pm_session *session, struct pm_diag *diag)
{
	int err = pm_on_cpus_attach(session, diag);

	while ((err == -EPERM || err == -ENOMEM) && *session->rings.pages > 1) {
		pm_on_cpus_undo(session, 0, 0);
		*session->rings.pages /= 2;
		err = pm_on_cpus_attach(session, diag);
	}
	return err;
}

static const struct operations operations = {
	.attach = attach,
	.attach_cpus = attach_cpus,
	.prove = pm_canary_inherits,
};

#define NEEDS(X) \
	X("perm.available.opens", true) \
	X("attach.thread.thread_id_is_that_thread", false) \
	X("attach.self.one_cpu", false) \
	X("inherit.ring.thread", false) \
	X("inherit.after_close.mapped.self", false) \
	X("inherit.after_close.mapped.living", false) \
	X("inherit.after_close.mapped.new_with_living", false) \
	X("inherit.after_close.mapped.new_alone", false) \
	X("ring.closed_fd.event_lives_on", false) \
	X("breakpoint.lifetime.unmapped", false)
PM_NEEDS(own_rings, NEEDS);

const struct strategy pm_strategy_own_rings = {
	.name = "own_rings",
	.what = "inheriting events on each CPU, each with its own ring, descriptors closed, read "
		"by time",
	.able = FOR_SELF | USES_PERF | CAN_SAMPLE | BY_CPU | INHERITS | USES_RINGS |
		RING_PER_EVENT,
	.needs = needs_own_rings,
	.proof = "ring.closed_fd.event_lives_on",
	.cost = cost,
	.operations = &operations,
};
