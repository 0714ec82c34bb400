/* SPDX-License-Identifier: MIT */
/* What the strategies have in common: limits, opening, mapping, ids, lists of threads. */
#include "attach.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../diagnosis/diag.h"
#include "../profile/profile.h"
#include "../strategy/ticks.h"

/* ---------------------------------------------------------------------------------- descriptors */

uint64_t pm_attach_limit(const struct pm_plan *plan)
{
	struct rlimit limit;
	uint64_t most;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return 0;
	most = plan->opts.allow & PM_ALLOW_RAISE_NOFILE ? limit.rlim_max : limit.rlim_cur;
	if (most > INT32_MAX)
		most = INT32_MAX;
	return most * plan->opts.descriptors_percent / 100;
}

/*
 * Descriptors are given out lowest first, so the number of a new one tells that as many are open:
 * no list of them is needed to notice that the share of the soft limit is used up.
 */
static void raise_when_short(struct pm_session *session, int fd)
{
	const struct pm_session_opts *opts = &session->plan->opts;
	struct rlimit limit;

	if (session->nofile == 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0)
		session->nofile = limit.rlim_cur;
	if (!(opts->allow & PM_ALLOW_RAISE_NOFILE) ||
	    (uint64_t)fd < session->nofile * opts->descriptors_percent / 100)
		return;
	session->nofile = UINT64_MAX / 100;	/* once is enough */
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* --------------------------------------------------------------------------------------- events */

static int add_event(struct pm_session *session, const struct session_event *event)
{
	if (session->event_count == session->event_room) {
		size_t room = session->event_room ? 2 * session->event_room : 64;
		struct session_event *more = realloc(session->events, room * sizeof(*more));

		if (more == NULL)
			return -ENOMEM;
		session->events = more;
		session->event_room = room;
	}
	session->events[session->event_count] = *event;
	return (int)session->event_count++;
}

int pm_attach_open(struct pm_session *session, uint32_t spec, pid_t tid, int cpu, bool inherit)
{
	const struct plan_event *wanted = &session->plan->events[spec];
	struct perf_event_attr attr = wanted->attr;
	struct session_event event = {
		.cpu = cpu, .tid = tid ? tid : pm_gettid(), .spec = spec,
		.round = session->threads.rounds,
	};
	int at;

	attr.inherit = inherit;
	attr.disabled = !session->open_enabled;
	event.fd = pm_plan_open(session->plan, wanted, &attr, tid, cpu);
	if (event.fd == -EMFILE && (session->plan->opts.allow & PM_ALLOW_RAISE_NOFILE)) {
		raise_when_short(session, INT32_MAX);
		event.fd = pm_plan_open(session->plan, wanted, &attr, tid, cpu);
	}
	if (event.fd < 0)
		return event.fd;
	raise_when_short(session, event.fd);
	at = add_event(session, &event);
	if (at < 0)
		close(event.fd);
	return at;
}

int pm_attach_map(struct pm_session *session, size_t event, size_t pages)
{
	struct session_ring ring = {
		.fd = session->events[event].fd, .cpu = session->events[event].cpu,
		.tid = session->events[event].tid,
	};
	int err;

	if (session->ring_count == session->ring_room) {
		size_t room = session->ring_room ? 2 * session->ring_room : 16;
		struct session_ring *more = realloc(session->rings, room * sizeof(*more));

		if (more == NULL)
			return -ENOMEM;
		session->rings = more;
		session->ring_room = room;
	}
	err = pm_ring_open(ring.fd, pages, PROT_READ | PROT_WRITE, &ring.ring);
	if (err < 0)
		return err;
	session->rings[session->ring_count++] = ring;
	/* For the explanation: the smallest there is. */
	if (pages < session->plan->ring_pages)
		session->plan->ring_pages = (unsigned int)pages;
	return 0;
}

/* ------------------------------------------------------------------------------------------ ids */

static size_t id_slot(const struct pm_session *session, uint64_t id)
{
	return (size_t)(id * 0x9e3779b97f4a7c15ull >> 32) & (session->by_id_room - 1);
}

static void enter_id(struct pm_session *session, size_t event)
{
	size_t at = id_slot(session, session->events[event].id);

	while (session->by_id[at] != 0 && session->by_id[at] != event + 1)
		at = (at + 1) & (session->by_id_room - 1);
	session->by_id[at] = (uint32_t)event + 1;
}

/* The ioctl came with v3.12; before that only read(2) tells the id, where it was asked for. */
int pm_attach_id(const struct pm_session *session, struct session_event *event)
{
	const uint64_t format = session->plan->events[event->spec].attr.read_format;
	struct pm_counts counts;
	int err;

	if (event->id != 0)
		return 0;
	if (event->fd < 0)
		return -EBADF;
	err = pm_ioctl(event->fd, PERF_EVENT_IOC_ID, (unsigned long)&event->id);
	if (err == -ENOTTY && (format & PERF_FORMAT_ID)) {
		err = pm_read_counts(event->fd, format, &counts);
		event->id = err < 0 ? 0 : counts.member[0].id;
	}
	return err < 0 ? err : 0;
}

int pm_attach_index(struct pm_session *session)
{
	size_t room = 64;
	uint32_t *table;

	while (room < 2 * session->event_count)
		room *= 2;
	table = calloc(room, sizeof(*table));
	if (table == NULL)
		return -ENOMEM;
	free(session->by_id);
	session->by_id = table;
	session->by_id_room = room;
	for (size_t i = 0; i < session->event_count; i++)
		if (session->events[i].id != 0)
			enter_id(session, i);
	session->asked_all = false;
	return 0;
}

static const struct session_event *known_id(const struct pm_session *session, uint64_t id)
{
	size_t at = id_slot(session, id);

	for (; session->by_id[at] != 0; at = (at + 1) & (session->by_id_room - 1))
		if (session->events[session->by_id[at] - 1].id == id)
			return &session->events[session->by_id[at] - 1];
	return NULL;
}

/* The kernel numbers events in the order of their opening, so a few questions find one of many. */
static bool guess_id(struct pm_session *session, uint64_t id)
{
	size_t low = 0, high = session->event_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		struct session_event *event = &session->events[middle];

		if (pm_attach_id(session, event) < 0)
			return false;
		enter_id(session, middle);
		if (event->id == id)
			return true;
		if (event->id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

const struct session_event *pm_attach_find(struct pm_session *session, uint64_t id)
{
	const struct session_event *event = known_id(session, id);

	if (event != NULL || session->asked_all || session->pid != getpid())
		return event;
	if (!guess_id(session, id)) {
		/* Nothing rests on the order: where it did not help, all are asked, once. */
		session->asked_all = true;
		for (size_t i = 0; i < session->event_count; i++)
			if (pm_attach_id(session, &session->events[i]) == 0)
				enter_id(session, i);
	}
	return known_id(session, id);
}

/* ------------------------------------------------------------------------------ enable, refusal */

int pm_attach_enable(struct pm_session *session)
{
	if (session->open_enabled)
		return 0;
	for (size_t i = 0; i < session->event_count; i++) {
		int err = pm_ioctl(session->events[i].fd, PERF_EVENT_IOC_ENABLE, 0);

		if (err < 0)
			return err;
	}
	return 0;
}

void pm_attach_fold(struct pm_session *session, const struct session_event *event)
{
	const uint64_t format = session->plan->events[event->spec].attr.read_format;
	struct pm_value *sum = &session->folded[event->spec];
	struct pm_counts counts;

	if (event->fd < 0 || pm_read_counts(event->fd, format, &counts) < 0)
		return;
	sum->value += counts.member[0].value;
	sum->enabled += counts.time_enabled;
	sum->running += counts.time_running;
	session->stats.lost_counted += counts.member[0].lost;
}

int pm_attach_refused(const struct pm_session *session, uint32_t spec, int cpu, int err,
		      struct pm_diag *diag)
{
	if (err == -ENOMEM)
		return pm_diag_say(diag, ENOMEM, PM_CAUSE_NONE, "attach: out of memory");
	(void)pm_diag_open(diag, &session->plan->events[spec].spec, cpu, err);
	return err;
}

/* -------------------------------------------------------------------------------------- threads */

static struct thread_mark *mark_slot(const struct threads *threads, pid_t tid)
{
	size_t at = (uint32_t)tid * 2654435769u >> 7 & (threads->room - 1);

	while (threads->marks[at].tid != 0 && threads->marks[at].tid != tid)
		at = (at + 1) & (threads->room - 1);
	return &threads->marks[at];
}

static bool is_in_use(const struct thread_mark *mark)
{
	return mark->tid != 0 && (mark->listed || mark->announced || mark->refused || mark->round);
}

/* Room for twice those in use; numbers of threads that have ended are forgotten. */
static int grow_marks(struct threads *threads)
{
	struct threads bigger = { .room = 256, .rounds = threads->rounds };
	size_t in_use = 0;

	for (size_t i = 0; i < threads->room; i++)
		in_use += is_in_use(&threads->marks[i]);
	while (bigger.room < 4 * in_use)
		bigger.room *= 2;
	bigger.marks = calloc(bigger.room, sizeof(*bigger.marks));
	if (bigger.marks == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < threads->room; i++)
		if (is_in_use(&threads->marks[i])) {
			*mark_slot(&bigger, threads->marks[i].tid) = threads->marks[i];
			bigger.used++;
		}
	free(threads->marks);
	*threads = bigger;
	return 0;
}

struct thread_mark *pm_threads_mark(struct threads *threads, pid_t tid, bool make)
{
	struct thread_mark *mark;

	if (make && threads->used >= threads->room / 2 && grow_marks(threads) < 0)
		return NULL;
	if (threads->room == 0)
		return NULL;
	mark = mark_slot(threads, tid);
	if (mark->tid == 0 && make) {
		mark->tid = tid;
		threads->used++;
	}
	return mark->tid == 0 ? NULL : mark;
}

/* 1 when it was new, or -errno. */
static int list_one(struct pm_session *session, pid_t tid,
		    int (*each)(struct pm_session *session, pid_t tid, void *context),
		    void *context)
{
	struct thread_mark *mark = pm_threads_mark(&session->threads, tid, true);
	int err;

	if (mark == NULL)
		return -ENOMEM;
	if (mark->listed)
		return 0;
	mark->listed = true;
	mark->round = session->threads.rounds;
	err = each(session, tid, context);
	if (err != -ESRCH)
		return err < 0 ? err : 1;
	mark->listed = false;
	mark->round = 0;
	return 0;
}

struct tids {
	pid_t *list;
	size_t count, room;
};

static int add_tid(struct tids *tids, pid_t tid)
{
	if (tids->count == tids->room) {
		size_t room = tids->room ? 2 * tids->room : 64;
		pid_t *more = realloc(tids->list, room * sizeof(*more));

		if (more == NULL)
			return -ENOMEM;
		tids->list = more;
		tids->room = room;
	}
	tids->list[tids->count++] = tid;
	return 0;
}

static int read_tids(struct tids *ret)
{
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *entry;
	int err = 0;

	if (dir == NULL)
		return -errno;
	while (err == 0 && (entry = readdir(dir)) != NULL) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid > 0)
			err = add_tid(ret, tid);
	}
	closedir(dir);
	return err;
}

/*
 * The listing ends before the first of it is attached to: a thread born meanwhile has inherited
 * from that one, and in the next listing is known to.
 */
int pm_attach_list(struct pm_session *session,
		   int (*each)(struct pm_session *session, pid_t tid, void *context),
		   void *context)
{
	struct tids tids = { NULL, 0, 0 };
	int fresh = 0, err = read_tids(&tids);

	for (size_t i = 0; err >= 0 && i < tids.count; i++) {
		err = list_one(session, tids.list[i], each, context);
		fresh += err > 0;
	}
	free(tids.list);
	session->threads.rounds += fresh > 0;
	return err < 0 ? err : fresh;
}

int pm_attach_nothing(struct pm_session *session, pid_t tid, void *context)
{
	(void)session;
	(void)tid;
	(void)context;
	return 0;
}

int pm_attach_late(struct pm_session *session, pid_t tid, int err)
{
	struct thread_mark *mark = pm_threads_mark(&session->threads, tid, false);

	if (mark == NULL || err == -ESRCH)
		return err;
	session->stats.late_threads += !mark->announced && !mark->refused;
	session->stats.unwatched_threads += err < 0 && !mark->refused;
	mark->announced = false;
	mark->refused = err < 0;
	mark->listed = err >= 0;
	return 0;
}

/* ----------------------------------------------------------------------------------------- undo */

void pm_attach_forget_ended(struct pm_session *session)
{
	size_t kept = 0;

	for (size_t i = 0; i < session->event_count; i++)
		if (session->events[i].fd >= 0)
			session->events[kept++] = session->events[i];
	session->event_count = kept;
	kept = 0;
	for (size_t i = 0; i < session->ring_count; i++)
		if (session->rings[i].ring.base != NULL)
			session->rings[kept++] = session->rings[i];
	session->ring_count = kept;
	if (session->by_id != NULL)
		(void)pm_attach_index(session);
}

void pm_attach_undo(struct pm_session *session)
{
	bool forked = session->pid != getpid();

	if (session->ticks != NULL)
		session->ticks->undo(session);
	for (size_t i = 0; i < session->ring_count; i++) {
		struct pm_ring *ring = &session->rings[i].ring;

		/* Rings are not copied to a child: what is at that address there is its own. */
		ring->borrowed |= forked;
		if (ring->base != NULL)
			pm_ring_close(ring);
	}
	for (size_t i = 0; i < session->event_count; i++)
		if (session->events[i].fd >= 0)
			close(session->events[i].fd);
	free(session->events);
	free(session->rings);
	free(session->by_id);
	free(session->threads.marks);
	session->events = NULL;
	session->rings = NULL;
	session->by_id = NULL;
	session->event_count = session->event_room = 0;
	session->ring_count = session->ring_room = session->by_id_room = 0;
	session->threads = (struct threads){ 0 };
	session->follows = session->open_enabled = false;
}
