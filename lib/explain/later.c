/* SPDX-License-Identifier: MIT */
/*
 * Thousands of events: a thread that is stopped behind each call, too, waits twice, and if it is
 * these events that watch it, the kernel walks through all of them each time it goes on. So where
 * one thread opens one event after the other and each got the next number, the thread goes on, and
 * what stands at that number when it calls again is looked at: an event with an id that is newer
 * than the last, or none, and the call was refused. From then on it is stopped again.
 */
#define _GNU_SOURCE
#include "later.h"

#include <sys/resource.h>

#include "shape.h"

#define FAMILIAR 256		/* so many in a row before */
#define MOST (1 << 20)		/* descriptors that are searched */

static struct {
	pid_t tid;
	int fd;			/* of the last event */
	unsigned int run;	/* of successes, each at the next number */
	uint64_t id;		/* of the last event, once `run` is long enough */
} row;

static struct {
	struct call call;	/* tid 0: none */
	int fd;			/* where it is looked for first */
	uint64_t id;		/* of the event before it */
} pending;

static bool failed_once;

/* The next number may be beyond the limit, and then the errno is wanted. */
static bool has_room(pid_t process)
{
	struct rlimit limit;

	return prlimit(process, RLIMIT_NOFILE, NULL, &limit) == 0 &&
		(rlim_t)row.fd + 1 < limit.rlim_cur;
}

bool later_can(const struct call *call)
{
	if (call->which != CALL_OPEN || failed_once || pending.call.tid != 0 ||
	    call->tid != row.tid || row.run < FAMILIAR || !watch_has_opened(call) ||
	    !has_room(process_of(call->tid, false)))
		return false;
	if (row.id == 0)
		row.id = event_id_at(process_of(call->tid, false), row.fd);
	return row.id != 0;
}

void later_open(const struct call *call)
{
	pending.call = *call;
	pending.fd = row.fd + 1;
	pending.id = row.id;
}

static void end_pending(int64_t result)
{
	const struct call call = pending.call;

	pending.call.tid = 0;
	watch_result(&call, result);
}

/* Another event may be there that is known already, of another thread. */
static bool is_it(pid_t process, int fd)
{
	const uint64_t id = event_find(process, fd) == NULL ? event_id_at(process, fd) : 0;

	if (id <= pending.id)
		return false;
	if (row.tid == pending.call.tid) {
		row.fd = fd;
		row.id = id;
	}
	end_pending(fd);
	return true;
}

static bool search(pid_t process)
{
	struct rlimit limit;

	if (prlimit(process, RLIMIT_NOFILE, NULL, &limit) != 0)
		return false;
	for (int fd = 0; (rlim_t)fd < limit.rlim_cur && fd < MOST; fd++)
		if (is_it(process, fd))
			return true;
	return false;
}

void later_settle(const struct call *call)
{
	const pid_t process = pending.call.tid != 0 ? process_of(pending.call.tid, false) : 0;

	if (pending.call.tid == 0 || (call != NULL && process_of(call->tid, false) != process))
		return;
	if (is_it(process, pending.fd))
		return;
	/* By a call of another thread it may not have ended yet. */
	if (call != NULL && call->tid != pending.call.tid && call->which != CALL_EXIT_GROUP)
		return;
	if (search(process))
		return;
	failed_once = true;
	end_pending(RESULT_NOT_FOUND);
}

void later_note(const struct call *call, int64_t result)
{
	const bool next = call->tid == row.tid && result >= 0 && result == row.fd + 1;

	if (call->which != CALL_OPEN)
		return;
	row.run = next ? row.run + 1 : 0;
	row.tid = call->tid;
	row.fd = result >= 0 ? (int)result : -1;
	row.id = 0;
}
