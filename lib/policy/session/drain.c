/* SPDX-License-Identifier: MIT */
/*
 * From rings to the listener, with an account of everything that is not delivered.
 *
 * Which source is the right one? A thread T that appeared while we attached has events of its own
 * and may have inherited those of its maker P, so one occurrence gives two samples. Threads of
 * listings have complete events of their own: any other source is dropped. A later child of T
 * inherits from T and, through T, from P: the source listed last is the complete one.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "attach.h"

#define RECORD_LARGE 4096	/* longer than any but samples with very long call chains */

/* -------------------------------------------------------------------------------------- sources */

static bool is_right_source(struct pm_session *session, const struct session_event *event,
			    pid_t tid)
{
	struct threads *threads = pm_threads_of(session, event);
	struct thread_mark *mark;

	/* With one listing nobody inherits twice. */
	if (threads->rounds <= 1 || event->tid == tid ||
	    session->plan->events[event->spec].spec.tid != PM_ALL_THREADS)
		return true;
	mark = pm_threads_mark(threads, tid, true);
	if (mark == NULL)
		return true;
	if (mark->listed || event->round < mark->round)
		return false;
	mark->round = event->round;
	return true;
}

/* -------------------------------------------------------------------------------------- records */

/* Two 32-bit halves as they lie in memory. */
static void split(uint64_t word, uint32_t *first, uint32_t *second)
{
	uint32_t half[2];

	memcpy(half, &word, sizeof(word));
	*first = half[0];
	*second = half[1];
}

static bool take_callchain(const uint64_t **at, const uint64_t *end, struct pm_observed *ret)
{
	if (*at == end || **at > (uint64_t)(end - *at - 1))
		return false;
	ret->callchain_count = (size_t)**at;
	ret->callchain = *at + 1;
	*at += 1 + ret->callchain_count;
	return true;
}

/* A size of 32 bits and so many bytes, filled up to a multiple of 8. */
static bool take_raw(const uint64_t *at, const uint64_t *end, struct pm_observed *ret)
{
	size_t room = (size_t)(end - at) * sizeof(*at);
	uint32_t size;

	if (room < sizeof(size))
		return false;
	memcpy(&size, at, sizeof(size));
	if (size > room - sizeof(size))
		return false;
	ret->raw = (const char *)at + sizeof(size);
	ret->raw_size = size;
	return true;
}

/* What has a length, at the end; most sessions ask for nothing of it. */
static bool take_long_parts(const uint64_t *at, const uint64_t *end, uint64_t type,
			    struct pm_observed *ret)
{
	if ((type & PERF_SAMPLE_CALLCHAIN) && !take_callchain(&at, end, ret))
		return false;
	return !(type & PERF_SAMPLE_RAW) || take_raw(at, end, ret);
}

/* Words that each sample has: sample_type() in negotiate.c chose the bits. */
static ptrdiff_t words_of(uint64_t type)
{
	return 5 + !!(type & PERF_SAMPLE_IDENTIFIER) + !!(type & PERF_SAMPLE_ADDR) +
		!!(type & PERF_SAMPLE_ID);
}

/*
 * The samples of a session, whose layout is known: one word each in this order, but for what has a
 * length. A fifth of the time that pm_record_decode takes for any layout. Each field is set by
 * itself, for clearing them together takes as long as all else. False: the bytes do not fit.
 */
static bool take_sample(const struct perf_event_header *header, uint64_t type,
			struct pm_observed *ret, uint64_t *ret_id)
{
	const uint64_t *at = (const uint64_t *)(header + 1);
	const uint64_t *end = (const uint64_t *)((const char *)header + header->size);
	uint32_t unused;

	if (end - at < words_of(type))
		return false;
	if (type & PERF_SAMPLE_IDENTIFIER)
		*ret_id = *at++;
	ret->ip = *at++;
	split(*at++, &ret->pid, &ret->tid);
	ret->time = *at++;
	ret->address = type & PERF_SAMPLE_ADDR ? *at++ : 0;
	if (type & PERF_SAMPLE_ID)
		*ret_id = *at++;
	split(*at++, &ret->cpu, &unused);
	ret->period = *at++;
	ret->callchain = NULL;
	ret->callchain_count = 0;
	ret->raw = NULL;
	ret->raw_size = 0;
	return !(type & (PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW)) ||
		take_long_parts(at, end, type, ret);
}

/* Its number may be given to another thread after its end, which another ring may tell first. */
static bool is_canary(const struct pm_session *session, pid_t tid, uint64_t time)
{
	return session->canary.tid != 0 && tid == session->canary.tid &&
		(session->canary.ended == 0 || time <= session->canary.ended);
}

/* Of a child process that inherited the event, or of whoever else was on the CPU. */
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

static void on_sample(struct pm_session *session, const struct perf_event_header *header)
{
	const struct session_event *event;
	struct pm_observed observed;
	uint64_t id = 0;

	if (!take_sample(header, session->format.sample_type, &observed, &id)) {
		session->stats.unknown++;
		return;
	}
	event = session->by_id ? pm_attach_find(session, id) : &session->events[0];
	if (event == NULL) {
		session->stats.unknown++;
		return;
	}
	observed.event = event->spec;
	if (is_canary(session, (pid_t)observed.tid, observed.time)) {
		session->canary.samples[event->spec]++;
		if (session->canary.other)
			return;
	}
	if (is_foreign(session, event, &observed)) {
		session->stats.foreign++;
		return;
	}
	if (!is_right_source(session, event, (pid_t)observed.tid)) {
		session->stats.duplicates++;
		return;
	}
	session->stats.samples++;
	if (session->listener.sample != NULL)
		session->listener.sample(session->context, &observed);
}

/* A number that is used again must not be taken for the thread that had it before. */
static void forget_mark(struct threads *threads, pid_t tid)
{
	struct thread_mark *mark = pm_threads_mark(threads, tid, false);

	if (mark != NULL && threads->rounds > 1) {
		mark->listed = false;
		mark->round = 0;
	}
}

static void on_exit_of(struct pm_session *session, pid_t tid)
{
	forget_mark(&session->threads, tid);
	for (size_t i = 0; i < session->cpu_count; i++)
		forget_mark(&session->cpus[i].threads, tid);
}

/* Where nothing is inherited, it begins unseen, and may have ended before it is found. */
static void on_birth_of(struct pm_session *session, pid_t tid)
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
	bool born = record->type == PERF_RECORD_FORK;

	if ((pid_t)record->task.pid != session->pid)
		return;
	if (born)
		on_birth_of(session, (pid_t)record->task.tid);
	else
		on_exit_of(session, (pid_t)record->task.tid);
	if (session->canary.other &&
	    is_canary(session, (pid_t)record->task.tid, record->task.time)) {
		if (!born)
			session->canary.ended = record->task.time;
		return;
	}
	if (session->listener.task != NULL)
		session->listener.task(session->context, (int)record->task.tid,
				       born ? (int)record->task.ptid : -1, record->task.time);
}

static void on_other(struct pm_session *session, struct session_ring *ring,
		     const struct perf_event_header *header, const struct pm_record *record)
{
	if (record->type == PERF_RECORD_COMM &&
	    is_canary(session, (pid_t)record->comm.tid, record->sid.time)) {
		if (session->canary.forwarded != 0 && record->sid.id == session->canary.forwarded)
			session->canary.forwarding = true;
		else
			ring->canary = true;
		return;
	}
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

/* What cannot be true is thrown away together with all that stands behind it, and counted. */
static void resynchronise(struct pm_session *session, struct session_ring *ring)
{
	session->stats.corrupt++;
	session->stats.corrupt_bytes += pm_ring_skip_all(&ring->ring);
}

/* Apart from the samples, whose way is to have a small frame. */
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
		on_sample(session, header);
	else
		on_record(session, ring, header);
}

/*
 * The kernel drops a record only when the ring is as good as full, and it is never fuller than
 * just before the tail is moved. While that has not been, nothing can be missing.
 */
static void release(struct pm_session *session, struct session_ring *ring, uint64_t before)
{
	uint64_t room = ring->ring.data_size, after;

	pm_ring_release(&ring->ring);
	after = pm_ring_pending(&ring->ring) + (ring->ring.tail - before);
	if (after > room || room - after < RECORD_LARGE)
		session->was_full = true;
}

/*
 * One lap at most: a thread that writes faster than we read must not keep us from the others, nor
 * from being stopped.
 */
static int drain_ring(struct pm_session *session, struct session_ring *ring)
{
	const struct perf_event_header *header;
	uint64_t left = pm_ring_pending(&ring->ring), before = ring->ring.tail;
	int count = 0, state;

	if (left > ring->ring.data_size)
		left = ring->ring.data_size;
	while (left > 0) {
		state = pm_ring_next(&ring->ring, &header);
		if (state < 0)
			resynchronise(session, ring);
		if (state <= 0)
			break;
		left -= header->size < left ? header->size : left;
		take_record(session, ring, header);
		count++;
	}
	release(session, ring, before);
	return count;
}

int pm_drain(struct pm_session *session)
{
	int count = 0;

	if (session->ticks != NULL)
		return pm_ticks_drain(session);
	session->draining = true;
	for (size_t i = 0; i < session->ring_count; i++)
		if (session->rings[i].ring.base != NULL)
			count += drain_ring(session, &session->rings[i]);
	session->draining = false;
	return count;
}
