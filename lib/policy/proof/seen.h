/* SPDX-License-Identifier: MIT */
/*
 * What each record tells of the proof, on its way to the listener; not installed. Samples are most
 * of the records: what is asked of each of them is inline.
 */
#ifndef PM_SEEN_H
#define PM_SEEN_H

#include "proof.h"

/* After its end its number may be given to another thread, whose ring may be read first. */
static inline bool pm_proof_is_canary(const struct proof *proof, pid_t tid, uint64_t time)
{
	return proof->canary.tid != 0 && tid == proof->canary.tid &&
		(proof->canary.ended == 0 || time <= proof->canary.ended);
}

/* A sample of an event, whose period is known. True: it is not for the listener. */
static inline bool pm_proof_sample(struct pm_session *session, struct session_ring *ring,
				   uint32_t spec, const struct pm_observed *observed)
{
	struct proof *proof = session->proof;

	if (pm_proof_is_canary(proof, (pid_t)observed->tid, observed->time)) {
		proof->canary.samples[spec]++;
		ring->sampled |= 1u << spec;
		if (proof->canary.other)
			return true;
	}
	proof->seen |= 1u << spec;
	proof->account.sampled[spec] += observed->period;
	return false;
}

/* One that is delivered stands for so many ns or events. */
static inline void pm_proof_delivered(struct pm_session *session, uint32_t spec, uint64_t period)
{
	struct cpu_time *time = &session->proof->cpu_time;

	time->sampled += spec == time->event ? period : 0;
}

/* A sample that came by no ring, and is delivered. */
static inline void pm_proof_outside_rings(struct pm_session *session, uint32_t spec,
					  uint64_t period)
{
	session->proof->seen |= 1u << spec;
	session->proof->account.sampled[spec] += period;
	pm_proof_delivered(session, spec, period);
}

/* A sample whose id is nobody's. */
void pm_proof_unnamed(struct pm_session *session, const struct pm_observed *observed);

/* Records of a thread's creation or end, and of a name. True: not for the listener. */
bool pm_proof_task(struct pm_session *session, const struct pm_record *record);
bool pm_proof_name(struct pm_session *session, struct session_ring *ring,
		   const struct pm_record *record);

#endif
