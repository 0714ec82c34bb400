/* SPDX-License-Identifier: MIT */
/* Records of the canary, as they are met between all others. */
#include "seen.h"

void pm_proof_unnamed(struct pm_session *session, const struct pm_observed *observed)
{
	session->proof->canary.unnamed |=
		pm_proof_is_canary(session->proof, (pid_t)observed->tid, observed->time);
}

bool pm_proof_task(struct pm_session *session, const struct pm_record *record)
{
	struct proof *proof = session->proof;
	const bool created = record->type == PERF_RECORD_FORK;

	proof->account.created += created;
	if (!proof->canary.other ||
	    !pm_proof_is_canary(proof, (pid_t)record->task.tid, record->task.time))
		return false;
	if (!created)
		proof->canary.ended = record->task.time;
	return true;
}

bool pm_proof_name(struct pm_session *session, struct session_ring *ring,
		   const struct pm_record *record)
{
	struct canary *canary = &session->proof->canary;

	if (!pm_proof_is_canary(session->proof, (pid_t)record->comm.tid, record->sid.time))
		return false;
	if (canary->forwarded != 0 && record->sid.id == canary->forwarded)
		canary->forwarded = 0;
	else
		ring->canary = true;
	return true;
}
