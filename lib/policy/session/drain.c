/* SPDX-License-Identifier: MIT */
/* From rings to the listener, with an account of everything that is not delivered. */
#include "drain.h"

#include "../engine/layout.h"
#include "../plan/group.h"
#include "../proof/seen.h"

#define STRANGE_NS 1000000000ull	/* no two samples of one clock are that far out of order */
#define RECORD_LARGE 4096	/* longer than any but samples with very long call chains */

/* -------------------------------------------------------------------------------------- records */

/* A sample of a child process that inherited the event, or of another task on the CPU. */
static bool is_foreign(const struct pm_session *session, const struct session_event *event,
		       const struct pm_observed *observed)
{
	int wanted = session->plan->events[event->spec].spec.tid;

	if (wanted == PM_ALL_THREADS)
		return (pid_t)observed->pid != session->pid;
	if (wanted < 0 || event->tid >= 0)
		return false;
	return (pid_t)observed->tid != (wanted ? wanted : session->self);
}

/* The listings that tell which source of this event is the right one. */
static struct threads *threads_of(struct pm_session *session, const struct session_event *event)
{
	return event->late == 0 ? &session->threads : &session->cpus.list[event->late - 1].threads;
}

static bool is_right_source(struct pm_session *session, const struct session_event *event,
			    pid_t tid)
{
	struct threads *threads = threads_of(session, event);

	/* With one listing nobody inherits twice. */
	return threads->rounds <= 1 ||
		session->plan->events[event->spec].spec.tid != PM_ALL_THREADS ||
		pm_threads_is_source(threads, event->tid, event->round, tid);
}

/* No sample has a later time. It is read again before a sample is called a late one. */
static void look_at_clock(struct pm_session *session)
{
	const struct pm_plan *plan = session->plan;
	uint64_t now = 0;

	session->latest = 0;
	if (pm_plan_takes(plan, MODIFIER(CLOCK)) &&
	    pm_clock_ns(plan->clocks[plan->clock], &now) == 0)
		session->latest = now + STRANGE_NS;
}

/*
 * When one occurrence hits several software events, the kernel fills in time and id once, by the
 * clock of the first, which may be of another program: see probe clock.shared_hit.
 */
static __attribute__((noinline)) uint64_t plausible(struct pm_session *session,
						    struct session_ring *ring, uint64_t time)
{
	if (time > session->latest)
		look_at_clock(session);
	if (session->latest == 0 || (time <= session->latest && time + STRANGE_NS >= ring->time))
		return time;
	session->stats.mistimed++;
	return ring->time ? ring->time : session->latest - STRANGE_NS;
}

static const struct session_event *event_of(struct pm_session *session, uint64_t id)
{
	return session->ids.table ? pm_ids_find(&session->ids, &session->events, id) :
		&session->events.list[0];
}

/*
 * The spec of the only events whose samples of this layout can be in this ring; -1: there are
 * several, or none.
 */
static int lone_spec(const struct pm_session *session, const struct session_ring *ring,
		     uint64_t type)
{
	int lone = -1;

	if (session->strategy->able & RING_PER_EVENT)
		return (int)ring->spec;
	for (size_t i = 0; i < session->plan->count; i++) {
		if (!session->plan->events[i].sampled ||
		    (session->mixed && session->plan->events[i].attr.sample_type != type))
			continue;
		if (lone >= 0)
			return -1;
		lone = (int)i;
	}
	return lone;
}

/*
 * The event of a sample whose id is nobody's here. When one occurrence hits several software
 * events, the kernel fills in the id once, too, and it may be that of another program: see probe
 * sample.shared_hit. The ring tells whose it is where only one event can be.
 */
static __attribute__((noinline)) const struct session_event *
event_by_ring(struct pm_session *session, const struct session_ring *ring, uint64_t type)
{
	const bool own = session->strategy->able & RING_PER_EVENT;
	const int spec = lone_spec(session, ring, type);

	for (size_t i = 0; spec >= 0 && i < session->events.count; i++) {
		const struct session_event *event = &session->events.list[i];

		if ((int)event->spec != spec || event->cpu != ring->cpu ||
		    (own && event->tid != ring->tid))
			continue;
		/* A thread that inherits twice gives each sample twice. */
		return own || threads_of(session, event)->rounds <= 1 ? event : NULL;
	}
	return NULL;
}

/* Not inline, as most sessions have no groups. */
static __attribute__((noinline)) void give_group(struct pm_session *session, uint32_t spec,
						 const struct group_words *words,
						 struct pm_observed *ret)
{
	const size_t room = sizeof(session->group) / sizeof(session->group[0]);

	for (size_t i = 0; i < words->count && i < room; i++) {
		const uint64_t *word = words->member + i * words->words;
		const struct session_event *event = event_of(session, word[1]);

		session->group[i] = (struct pm_member){
			.size = sizeof(session->group[i]),
			.event = event ? session->plan->events[event->spec].asked : SIZE_MAX,
			.value = word[0], .lost = words->words > 2 ? word[2] : 0,
		};
	}
	ret->group = session->group;
	ret->group_count = words->count < room ? words->count : room;
	ret->group_enabled = words->enabled;
	ret->group_running = words->running;
	pm_group_times(session->plan, session->strategy->able, &session->plan->events[spec],
		       &ret->group_enabled, &ret->group_running);
}

/* What a sample is of: NULL when its id is nobody's here. */
struct origin {
	const struct session_event *event;
	uint64_t id, type;
};

/* By a layout whose words are those of the record. */
static bool take_as(const struct pm_session *session, const struct perf_event_header *header,
		    struct origin *origin, struct pm_observed *ret, struct group_words *ret_group)
{
	struct pm_format format = session->format;

	format.sample_type = origin->type;
	ret_group->count = 0;
	return pm_layout_take(header, &format, ret, &origin->id, ret_group) && header->size ==
		sizeof(*header) + 8 * pm_layout_words(origin->type, ret, ret_group);
}

/*
 * Some samples tell their periods: the id tells the event, and so whether this one does. An id that
 * is shared may be of another event (see event_by_ring()), and then the words do not add up.
 */
static __attribute__((noinline)) bool
take_mixed(struct pm_session *session, const struct session_ring *ring,
	   const struct perf_event_header *header, struct origin *origin, struct pm_observed *ret,
	   struct group_words *ret_group)
{
	if (!pm_layout_id(header, origin->type, &origin->id))
		return false;
	origin->event = event_of(session, origin->id);
	if (origin->event != NULL)
		origin->type = session->plan->events[origin->event->spec].attr.sample_type;
	if (take_as(session, header, origin, ret, ret_group))
		return true;
	origin->type ^= PERF_SAMPLE_PERIOD;
	origin->event = event_by_ring(session, ring, origin->type);
	return origin->event != NULL && take_as(session, header, origin, ret, ret_group);
}

static void on_sample(struct pm_session *session, struct session_ring *ring,
		      const struct perf_event_header *header)
{
	struct origin origin = { .type = session->format.sample_type };
	struct group_words group = { .count = 0 };
	const struct session_event *event;
	struct pm_observed observed;

	if (!(session->mixed ?
	      take_mixed(session, ring, header, &origin, &observed, &group) :
	      pm_layout_take(header, &session->format, &observed, &origin.id, &group))) {
		session->stats.unknown++;
		return;
	}
	if (session->latest != 0 && (observed.time > session->latest ||
				     observed.time + STRANGE_NS < ring->time))
		observed.time = plausible(session, ring, observed.time);
	ring->time = observed.time;
	event = origin.event ? origin.event : event_of(session, origin.id);
	if (event == NULL)
		event = event_by_ring(session, ring, origin.type);
	if (event == NULL) {
		pm_proof_unnamed(session, &observed);
		session->stats.unknown++;
		return;
	}
	observed.size = sizeof(observed);
	if (!(origin.type & PERF_SAMPLE_PERIOD))
		observed.period = session->plan->events[event->spec].attr.sample_period;
	if (pm_proof_sample(session, ring, event->spec, &observed))
		return;
	if (is_foreign(session, event, &observed)) {
		session->stats.foreign++;
		return;
	}
	if (!is_right_source(session, event, (pid_t)observed.tid)) {
		session->stats.duplicates++;
		return;
	}
	session->stats.samples++;
	pm_proof_delivered(session, event->spec, observed.period);
	observed.event = session->plan->events[event->spec].asked;
	if (group.count > 0 && (session->plan->events[event->spec].spec.want & PM_WANT_GROUP))
		give_group(session, event->spec, &group, &observed);
	if (session->listener.sample != NULL)
		session->listener.sample(session->context, &observed);
}

/* With one listing marks are of no weight, and kept. */
static void forget_thread(struct threads *threads, pid_t tid)
{
	if (threads->rounds > 1)
		pm_threads_forget(threads, tid);
}

static void on_exit_of(struct pm_session *session, pid_t tid)
{
	forget_thread(&session->threads, tid);
	for (size_t i = 0; i < session->cpus.count; i++)
		forget_thread(&session->cpus.list[i].threads, tid);
}

/* Where nothing is inherited, a new thread is not observed yet, and may end before it is found. */
static void on_creation_of(struct pm_session *session, pid_t tid)
{
	struct thread_mark *mark;

	if (!session->follows)
		return;
	session->followed_at = 0;
	mark = pm_threads_mark(&session->threads, tid, true);
	if (mark == NULL || mark->listed)
		return;
	mark->announced = true;
	session->stats.late_threads++;
}

static void on_task(struct pm_session *session, const struct pm_record *record)
{
	bool created = record->type == PERF_RECORD_FORK;

	if ((pid_t)record->task.pid != session->pid)
		return;
	if (created)
		on_creation_of(session, (pid_t)record->task.tid);
	else
		on_exit_of(session, (pid_t)record->task.tid);
	if (pm_proof_task(session, record))
		return;
	if (session->listener.task != NULL)
		session->listener.task(session->context, (int)record->task.tid,
				       created ? (int)record->task.ptid : -1, record->task.time);
}

static void on_other(struct pm_session *session, struct session_ring *ring,
		     const struct perf_event_header *header, const struct pm_record *record)
{
	if (record->type == PERF_RECORD_COMM && pm_proof_name(session, ring, record))
		return;
	if (session->listener.other != NULL)
		session->listener.other(session->context, header, header->size);
}

static void on_lost(struct pm_session *session, uint64_t count)
{
	session->stats.lost += count;
	if (session->listener.lost != NULL)
		session->listener.lost(session->context, count);
}

static void dispatch(struct pm_session *session, struct session_ring *ring,
		     const struct perf_event_header *header, const struct pm_record *record)
{
	switch (record->type) {
	case PERF_RECORD_LOST:
		on_lost(session, record->lost.lost);
		break;
	case PERF_RECORD_LOST_SAMPLES:
		session->stats.lost_samples += record->lost_samples.lost;
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		on_task(session, record);
		break;
	case PERF_RECORD_THROTTLE:
		session->stats.throttled++;
		/* fall through */
	default:
		on_other(session, ring, header, record);
	}
}

/* ---------------------------------------------------------------------------------------- rings */

/* Not inline, so that the path of samples keeps a small stack frame. */
static __attribute__((noinline)) void on_record(struct pm_session *session,
						struct session_ring *ring,
						const struct perf_event_header *header)
{
	struct pm_record record;

	if (pm_record_decode(header, &session->format, &record) == 0)
		dispatch(session, ring, header, &record);
	else
		session->stats.unknown++;
}

static void take_record(struct pm_session *session, struct session_ring *ring,
			const struct perf_event_header *header)
{
	session->stats.records++;
	if (header->type == PERF_RECORD_SAMPLE)
		on_sample(session, ring, header);
	else
		on_record(session, ring, header);
}

/*
 * A record that cannot be true is dropped and counted, together with all that follows it.
 *
 * The kernel drops a record only when the ring is as good as full, and it is never fuller than
 * just before the tail is moved. While that has not been, nothing can be missing.
 */
static void release(struct pm_session *session, struct session_ring *ring, uint64_t before,
		    bool corrupt)
{
	uint64_t room = ring->ring.data_size, after;

	if (corrupt) {
		session->stats.corrupt++;
		session->stats.corrupt_bytes += pm_ring_skip_all(&ring->ring);
	}
	pm_ring_release(&ring->ring);
	after = pm_ring_pending(&ring->ring) + (ring->ring.tail - before);
	if (after <= room && room - after >= RECORD_LARGE)
		return;
	session->was_full = true;
	session->stats.full_rings++;
}

/*
 * What pm_ring_next() does for a record that is true and lies in one piece, inline, of the `left`
 * bytes whose end was read before. NULL: ask that one.
 */
static inline const struct perf_event_header *next_whole(struct pm_ring *ring, uint64_t left)
{
	const size_t at = (size_t)(ring->tail & (ring->data_size - 1));
	const struct perf_event_header *header =
		(const void *)((const char *)ring->base + ring->data_offset + at);
	uint16_t size;

	if (ring->tail % 8 != 0 || left < sizeof(*header))
		return NULL;
	size = __atomic_load_n(&header->size, __ATOMIC_RELAXED);
	if (size < sizeof(*header) || size % 8 != 0 || size > left || size > ring->data_size - at)
		return NULL;
	ring->tail += size;
	return header;
}

/*
 * One lap at most: a thread that writes faster than we read must not keep us from the others, nor
 * from being stopped.
 */
static int drain_ring(struct pm_session *session, struct session_ring *ring)
{
	const struct perf_event_header *header;
	uint64_t left = pm_ring_pending(&ring->ring), before = ring->ring.tail;
	const bool possible = left <= ring->ring.data_size;
	int count = 0, state = 0;

	if (!possible)
		left = ring->ring.data_size;
	while (left > 0) {
		header = possible ? next_whole(&ring->ring, left) : NULL;
		state = header ? 1 : pm_ring_next(&ring->ring, &header);
		if (state <= 0)
			break;
		left -= header->size < left ? header->size : left;
		take_record(session, ring, header);
		count++;
	}
	release(session, ring, before, state < 0);
	return count;
}

int pm_drain(struct pm_session *session)
{
	int count = 0;

	if (session->operations->drain != NULL)
		return session->operations->drain(session);
	session->draining = true;
	look_at_clock(session);
	for (size_t i = 0; i < session->rings.count; i++)
		if (session->rings.list[i].ring.base != NULL)
			count += drain_ring(session, &session->rings.list[i]);
	session->draining = false;
	return count;
}
