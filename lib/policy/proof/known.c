/* SPDX-License-Identifier: MIT */
/*
 * A few words that any thread reads and writes without a lock, which a forked child could find
 * taken for ever. A shape that is overwritten is proven once more.
 */
#include "known.h"

#include <string.h>

#include "proof.h"

#define SHAPES 64
#define TRIES 4
#define UNVISITED_BITS 12	/* of a word; the rest tells the shape */
#define UNVISITED ((1u << UNVISITED_BITS) - 1)
#define CPUS 4096

static uint64_t known[SHAPES];

/* ---------------------------------------------------------------------------------- the shape */

/* FNV-1a, of 64 bits. */
static uint64_t mix(uint64_t hash, const void *from, size_t size)
{
	const unsigned char *bytes = from;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3;
	return hash;
}

static uint64_t mix_number(uint64_t hash, uint64_t number)
{
	return mix(hash, &number, sizeof(number));
}

static uint64_t mix_events(uint64_t hash, const struct pm_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct plan_event *event = &plan->events[i];

		hash = mix(hash, &event->attr, sizeof(event->attr));
		hash = mix(hash, event->filter, strlen(event->filter) + 1);
		hash = mix(hash, event->on, event->pmu[0] != '\0' ? sizeof(event->on) : 0);
		hash = mix_number(hash, event->spec.want);
		/* Of single threads one is as another, but for the calling one. */
		hash = mix_number(hash, (uint64_t)(event->spec.tid > 0 ? 1 : event->spec.tid));
	}
	return hash;
}

static void add_cpu(unsigned char *set, int cpu)
{
	if (cpu >= 0 && cpu < CPUS)
		set[cpu / 8] |= (unsigned char)(1u << cpu % 8);
}

/* Of rings; without any those of events. */
static uint64_t mix_cpus(uint64_t hash, const struct pm_session *session)
{
	unsigned char set[CPUS / 8] = { 0 };

	for (size_t i = 0; i < session->rings.count; i++)
		add_cpu(set, session->rings.list[i].cpu);
	for (size_t i = 0; session->rings.count == 0 && i < session->events.count; i++)
		add_cpu(set, session->events.list[i].cpu);
	return mix(hash, set, sizeof(set));
}

static uint64_t mix_facts(uint64_t hash, const struct pm_session *session)
{
	for (const struct need *need = session->strategy->needs; need->key != NULL; need++) {
		struct pm_fact fact = { .size = sizeof(fact) };

		(void)pm_profile_lookup(session->plan->profile, need->key, &fact);
		hash = mix_number(hash, (uint64_t)fact.verdict << 8 | (unsigned int)fact.rank);
	}
	return hash;
}

uint64_t pm_known_shape(const struct pm_session *session)
{
	const struct pm_plan *plan = session->plan;
	uint64_t hash = 0xcbf29ce484222325;

	/* Another broker, or another cgroup, may have the same number. */
	if (plan->via_broker)
		return 0;
	for (size_t i = 0; i < plan->count; i++)
		if (plan->events[i].spec.tid == PM_CGROUP)
			return 0;
	hash = mix_number(hash, (uint64_t)session->pid);
	hash = mix_number(hash, (uint64_t)plan->chosen->number);
	hash = mix_number(hash, session->events.by_flag);
	hash = mix_events(hash, plan);
	hash = mix_cpus(hash, session);
	hash = mix_facts(hash, session) & ~(uint64_t)UNVISITED;
	return hash != 0 ? hash : UNVISITED + 1;
}

/* ---------------------------------------------------------------------------------- the table */

static uint64_t *place(uint64_t shape, size_t try)
{
	return &known[((shape >> UNVISITED_BITS) + try) % SHAPES];
}

bool pm_known_find(uint64_t shape, uint64_t *ret_unvisited)
{
	for (size_t i = 0; shape != 0 && i < TRIES; i++) {
		const uint64_t word = __atomic_load_n(place(shape, i), __ATOMIC_RELAXED);

		if ((word & ~(uint64_t)UNVISITED) != shape)
			continue;
		*ret_unvisited = word & UNVISITED;
		return true;
	}
	return false;
}

void pm_known_add(uint64_t shape, size_t unvisited)
{
	uint64_t *at = place(shape, 0);

	if (shape == 0 || unvisited > UNVISITED)
		return;
	for (size_t i = TRIES; i-- > 0;) {
		const uint64_t word = __atomic_load_n(place(shape, i), __ATOMIC_RELAXED);

		if (word == 0 || (word & ~(uint64_t)UNVISITED) == shape)
			at = place(shape, i);
	}
	__atomic_store_n(at, shape | unvisited, __ATOMIC_RELAXED);
}

void pm_known_forget(void)
{
	for (size_t i = 0; i < SHAPES; i++)
		__atomic_store_n(&known[i], 0, __ATOMIC_RELAXED);
}
