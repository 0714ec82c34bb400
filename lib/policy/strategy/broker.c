/* SPDX-License-Identifier: MIT */
/*
 * Strategy broker: a process that may open events opens them for this one and hands them over a
 * socket. From then on they are like any others: rings are mapped here and count as ours.
 */
#include "../session/attach.h"

int pm_attach_broker(struct pm_session *session, struct pm_diag *diag)
{
	session->plan->via_broker = true;
	return session->plan->samples ? pm_attach_per_core(session, diag) :
		pm_attach_count(session, diag);
}
