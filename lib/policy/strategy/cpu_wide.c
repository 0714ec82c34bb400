/* SPDX-License-Identifier: MIT */
/*
 * Strategy cpu_wide: one event and one ring a CPU, whatever runs there. drain.c drops what was not
 * asked for. It takes a privilege, and few descriptors however many threads there are.
 *
 * When the CPU goes offline its events die, and stay dead when it comes back: late_cpus.c.
 */
#include <errno.h>
#include <stdlib.h>

#include "../session/attach.h"
#include "../diagnosis/diag.h"
#include "../profile/profile.h"

static int open_on_cpu(struct pm_session *session, int cpu, uint32_t *ret_spec)
{
	for (uint32_t spec = 0; spec < session->plan->count; spec++) {
		int at = pm_attach_open(session, spec, -1, cpu, false);

		*ret_spec = spec;
		if (at < 0)
			return at;
	}
	return 0;
}

/* A CPU that goes offline meanwhile (ENODEV) has nothing to tell, and is left out. */
static int open_all(struct pm_session *session, struct pm_cpus *cpus, struct pm_diag *diag)
{
	size_t kept = 0;

	for (size_t i = 0; i < cpus->count; i++) {
		uint32_t spec = 0;
		int err = open_on_cpu(session, cpus->list[i], &spec);

		if (err == -ENODEV && spec == 0)
			continue;
		if (err < 0)
			return pm_attach_refused(session, spec, cpus->list[i], err, diag);
		cpus->list[kept++] = cpus->list[i];
	}
	cpus->count = kept;
	return kept > 0 ? 0 : pm_diag_say(diag, ENODEV, PM_CAUSE_NO_TARGET, "attach: no CPU is "
					  "online");
}

static int connect_all(struct pm_session *session, const struct pm_cpus *cpus, size_t first,
		       struct pm_diag *diag)
{
	int err;

	if (session->plan->samples)
		return pm_attach_share_rings(session, cpus, first, diag);
	err = pm_attach_enable(session);
	return err < 0 ? pm_diag_say(diag, -err, PM_CAUSE_UNKNOWN, "attach: enabling: %s",
				     pm_errno_name(-err)) : 0;
}

static int attach(struct pm_session *session, struct pm_cpus *cpus, struct pm_diag *diag)
{
	const size_t first = session->event_count;
	int err = open_all(session, cpus, diag);

	return err < 0 ? err : connect_all(session, cpus, first, diag);
}

int pm_attach_cpu_wide(struct pm_session *session, struct pm_diag *diag)
{
	struct pm_cpus cpus;
	int err = pm_attach_cpus(session, &cpus, diag);

	if (err < 0)
		return err;
	if (!session->plan->samples)
		pm_attach_as_counters(session);
	session->attach_cpus = attach;
	session->die_with_cpu = true;
	err = attach(session, &cpus, diag);
	free(cpus.list);
	return err;
}
