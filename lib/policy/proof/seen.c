/* SPDX-License-Identifier: MIT */
/* Records of the canary, as they are met between all others. */
#include "seen.h"

/* A record of one CPU in the ring of another. */
static bool is_misplaced(const struct session_ring *ring, uint32_t cpu)
{
	return ring->cpu >= 0 && (uint32_t)ring->cpu != cpu;
}

bool pm_proof_canary_sample(struct pm_session *session, struct session_ring *ring, uint32_t spec,
			    const struct pm_observed *observed)
{
	struct canary *canary = &session->proof->canary;

	canary->samples[spec]++;
	canary->sampled[spec] += observed->period;
	if (pm_canary_has_touched(&session->proof->memory, observed->address))
		canary->addressed[spec] += observed->period;
	ring->sampled |= 1u << spec;
	canary->misplaced |= is_misplaced(ring, observed->cpu);
	return canary->other;
}

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

static bool is_one_target(const struct pm_plan *plan)
{
	for (size_t i = 1; i < plan->count; i++)
		if (plan->events[i].spec.tid != plan->events[0].spec.tid)
			return false;
	return true;
}

/* The canary has the events of this thread alone, and one of them tells its name. */
static bool is_strange(const struct pm_session *session, struct session_ring *ring, uint64_t id)
{
	const uint64_t before = ring->name_id;

	if (ring->cpu < 0 || (session->strategy->able & RING_PER_EVENT))
		return ring->tid != pm_gettid();
	ring->name_id = id;
	return before != 0 && before != id && session->threads.rounds <= 1 &&
		is_one_target(session->plan);
}

bool pm_proof_name(struct pm_session *session, struct session_ring *ring,
		   const struct pm_record *record)
{
	struct canary *canary = &session->proof->canary;

	if (!pm_proof_is_canary(session->proof, (pid_t)record->comm.tid, record->sid.time))
		return false;
	canary->misplaced |= is_misplaced(ring, record->sid.cpu);
	if (canary->forwarded != 0 && record->sid.id == canary->forwarded) {
		canary->forwarding = true;
	} else {
		canary->strange |= is_strange(session, ring, record->sid.id);
		ring->canary = true;
	}
	return true;
}
