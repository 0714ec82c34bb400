/* SPDX-License-Identifier: MIT */
/* A sampler from its opening to its end. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "../../policy/diagnosis/diag.h"
#include "../../policy/plan/group.h"
#include "../../policy/plan/make.h"
#include "../../policy/spec/now.h"
#include "../../policy/spec/spec.h"
#include "opening.h"
#include "options.h"
#include "prove.h"
#include "records.h"
#include "rings.h"
#include "threads.h"

#define TICK_NS 100000000ull		/* rings are looked at that often, wake-up or not */
#define FOLLOW_NS 1000000000ull		/* and processes and CPUs that often */

/* -------------------------------------------------------------------------------------- opening */

static void on_process(void *context, struct process *process, enum pm_process_change change,
		       uint64_t time)
{
	struct pm_sampler *sampler = context;

	if (sampler->listener.process != NULL && (sampler->running || sampler->ended))
		sampler->listener.process(sampler->context, &process->told, change, time);
	if (change == PM_PROCESS_ENDED && sampler->way == WAY_THREADS)
		pm_watch_leave(sampler, process);
}

/* Who is asked for by pid has to be there. */
static int check_pids(const struct pm_sampler *sampler, struct pm_diag *diag)
{
	const struct targets *targets = &sampler->processes.rules.targets;

	for (size_t i = 0; i < targets->count; i++)
		if (targets->list[i].target.by == PM_BY_PID &&
		    !targets->list[i].target.exclude && targets->list[i].serial == 0)
			return pm_diag_say(diag, ESRCH, PM_CAUSE_NO_TARGET,
					   "sampler: there is no process %lld",
					   (long long)targets->list[i].target.number);
	return 0;
}

static int look_around(struct pm_sampler *sampler, struct pm_diag *diag)
{
	struct processes *processes = &sampler->processes;
	int err = pm_processes_begin(processes, sampler->opts.processes);

	processes->tell = on_process;
	processes->context = sampler;
	processes->clock = pm_watch_clock(sampler);
	if (err == 0)
		err = pm_processes_list(processes, pm_now_by(pm_watch_clock(sampler)));
	if (err < 0)
		return pm_diag_say(diag, -err, PM_CAUSE_UNKNOWN, "sampler: /proc cannot be "
				   "listed: %s", pm_errno_name(-err));
	return check_pids(sampler, diag);
}

static int load_profile(struct pm_sampler *sampler, struct pm_profile *profile,
			struct pm_diag *diag)
{
	int err = 0;

	sampler->plan->profile = profile;
	if (profile == NULL) {
		err = pm_profile_load_default(diag, &sampler->plan->profile);
		sampler->plan->owns_profile = err >= 0;
	}
	return err < 0 ? err : pm_profile_probe(sampler->plan->profile, NULL, 0);
}

static int open_all(struct pm_sampler *sampler, struct pm_diag *diag)
{
	int err = pm_cpus_list(sampler->plan->cpus, diag, &sampler->on);

	if (err == 0)
		err = pm_pollable_open(&sampler->pollable);
	if (err == 0)
		err = look_around(sampler, diag);
	return err < 0 ? err : pm_watch_open(sampler, diag);
}

int pm_sampler_open(const struct pm_sampler_event *events, size_t count,
		    const struct pm_target *targets, size_t target_count,
		    const struct pm_sampler_opts *opts, struct pm_profile *profile,
		    const struct pm_sampler_listener *listener, void *context,
		    struct pm_diag *diag, struct pm_sampler **ret)
{
	struct pm_sampler *sampler = calloc(1, sizeof(*sampler));
	int err;

	if (sampler == NULL)
		return -ENOMEM;
	sampler->plan = pm_plan_blank();
	if (sampler->plan == NULL) {
		free(sampler);
		return -ENOMEM;
	}
	sampler->cgroup = -1;
	sampler->pid = getpid();
	err = pm_watch_take_opts(sampler, opts, diag);
	if (err == 0)
		err = pm_watch_take_events(sampler, events, count, diag);
	if (err == 0)
		err = pm_watch_take_listener(sampler, listener, context, diag);
	if (err == 0)
		err = pm_watch_take_targets(sampler, targets, target_count, diag);
	if (err == 0)
		err = load_profile(sampler, profile, diag);
	if (err >= 0)
		err = open_all(sampler, diag);
	if (err < 0) {
		pm_sampler_destroy(sampler);
		return err;
	}
	*ret = sampler;
	return 0;
}

void pm_sampler_destroy(struct pm_sampler *sampler)
{
	if (sampler == NULL)
		return;
	pm_watch_close_all(sampler);
	pm_processes_free(&sampler->processes);
	pm_watch_free_threads(sampler);
	free(sampler->on.list);
	pm_plan_destroy(sampler->plan);
	pm_pollable_close(&sampler->pollable);
	if (sampler->cgroup >= 0)
		close(sampler->cgroup);
	free(sampler);
}

/* ------------------------------------------------------------------------------------- running */

/* A forked child has the descriptors, and none of the rings. */
static int check(const struct pm_sampler *sampler)
{
	if (sampler->pid != getpid())
		return -ECHILD;
	return sampler->running ? 0 : -ENOTCONN;
}

static void disable(const struct pm_sampler *sampler)
{
	for (size_t i = 0; i < sampler->open.count; i++)
		if (pm_watch_leads(sampler, sampler->open.list[i].spec))
			(void)pm_ioctl(sampler->open.list[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

int pm_sampler_start(struct pm_sampler *sampler, struct pm_diag *diag)
{
	int err = check(sampler);

	if (err == -ECHILD)
		return pm_diag_say(diag, ECHILD, PM_CAUSE_INPUT, "sampler: opened before the fork");
	if (err == 0 || sampler->ended)
		return -EALREADY;
	err = pm_events_enable(&sampler->open, diag);
	if (err == 0)
		err = pm_watch_prove_started(sampler, diag);
	if (err < 0) {
		disable(sampler);
		return err;
	}
	sampler->running = true;
	sampler->followed_at = pm_now_by(pm_watch_clock(sampler));
	err = pm_processes_refresh(&sampler->processes, sampler->followed_at);
	pm_pollable_arm(&sampler->pollable, TICK_NS);
	return err;
}

static struct session_ring *ring_of(const struct pm_sampler *sampler, int fd)
{
	for (size_t i = 0; i < sampler->rings.count; i++)
		if (sampler->rings.list[i].fd == fd && !sampler->rings.list[i].dead)
			return &sampler->rings.list[i];
	return NULL;
}

/* What the timer has to say is taken back when it is set anew. */
static void take_wakeups(struct pm_sampler *sampler, const struct epoll_event *woken, int count)
{
	for (int i = 0; i < count; i++) {
		struct session_ring *ring = ring_of(sampler, woken[i].data.fd);

		if (ring == NULL || !(woken[i].events & (EPOLLHUP | EPOLLERR)))
			continue;
		/* Its thread, or its CPU, is gone: from here on the ring is read by the clock. */
		pm_watch_let_go(sampler, ring);
		ring->dead = sampler->way != WAY_THREADS;
	}
}

static void wait(struct pm_sampler *sampler, int timeout_ms)
{
	struct epoll_event woken[64];
	int count = epoll_wait(sampler->pollable.epoll, woken, 64, timeout_ms);

	take_wakeups(sampler, woken, count);
}

/* Perf's own clock cannot be read: what is there now is taken for complete. */
static uint64_t limit_now(struct pm_sampler *sampler, uint64_t now)
{
	if (!pm_watch_has_clock(sampler))
		return UINT64_MAX;
	return pm_watch_is_pressed(sampler) || now < sampler->opts.delay ? now :
		now - sampler->opts.delay;
}

static int turn(struct pm_sampler *sampler)
{
	const uint64_t now = pm_now_by(pm_watch_clock(sampler)), limit = limit_now(sampler, now);
	int count;

	sampler->turn_began = now;
	count = pm_watch_merge(sampler, limit, sampler->opts.turn);
	pm_watch_drop_dead(sampler);
	pm_processes_settle(&sampler->processes, limit == UINT64_MAX ? now : limit);
	if (now >= sampler->followed_at + FOLLOW_NS) {
		sampler->followed_at = now;
		pm_watch_prove_threads(sampler);
		pm_watch_follow(sampler);
		pm_processes_sweep(&sampler->processes, now);
	}
	pm_pollable_arm(&sampler->pollable, pm_watch_is_waiting(sampler) &&
			sampler->opts.delay < TICK_NS ? sampler->opts.delay : TICK_NS);
	return count;
}

int pm_sampler_poll(struct pm_sampler *sampler, int timeout_ms)
{
	int count = check(sampler);

	if (count < 0)
		return count;
	wait(sampler, 0);
	count = turn(sampler);
	if (count != 0 || timeout_ms == 0)
		return count;
	wait(sampler, timeout_ms);
	return turn(sampler);
}

int pm_sampler_stop(struct pm_sampler *sampler)
{
	int count = check(sampler);

	if (count < 0)
		return count;
	pm_watch_prove_threads(sampler);
	disable(sampler);
	sampler->turn_began = pm_now_by(pm_watch_clock(sampler));
	count = pm_watch_merge(sampler, UINT64_MAX, 0);
	sampler->running = false;
	sampler->ended = true;
	sampler->stats.lost_counted = pm_sums_lost(&sampler->sums, &sampler->open);
	pm_processes_settle(&sampler->processes, UINT64_MAX);
	return count;
}

int pm_sampler_fd(const struct pm_sampler *sampler)
{
	return sampler->pollable.epoll;
}

/* ------------------------------------------------------------------------------------- looking */

int pm_sampler_each(const struct pm_sampler *sampler,
		    int (*each)(const struct pm_process *process, void *context), void *context)
{
	const struct processes *all = &sampler->processes;

	for_each_process(at, all) {
		int stop = each(&at->told, context);

		if (stop != 0)
			return stop;
	}
	return 0;
}

int pm_sampler_stats(struct pm_sampler *sampler, struct pm_sampler_stats *ret)
{
	const struct processes *all = &sampler->processes;
	struct pm_sampler_stats *stats = &sampler->stats;

	stats->processes = all->count;
	stats->watched = all->watched;
	stats->processes_seen = all->serials;
	stats->pids_reused = all->reused;
	stats->execs = all->execs;
	stats->gone = all->gone;
	stats->rings = sampler->rings.count;
	stats->unproven_threads = sampler->proof.count + sampler->proof.others;
	stats->descriptors = sampler->open.count;
	stats->brokered = sampler->broker.opened;
	stats->broker_refused = sampler->broker.refused;
	if (!sampler->ended)
		stats->lost_counted = sampler->sums.lost;
	if (!pm_give(ret, stats, sizeof(*stats), sizeof(size_t)))
		return -EINVAL;
	if (ret->size >= offsetof(struct pm_sampler_stats, late_threads))
		ret->unwatched += all->unwatched;
	return 0;
}

/* By CPU the events count everybody: as asked for without a target, or of a cgroup. */
static bool is_everybody(const struct pm_sampler *sampler)
{
	return sampler->way != WAY_CPUS || sampler->processes.rules.targets.count == 0;
}

/*
 * An event of a thread on one CPU is enabled for as long as the thread runs anywhere, so all of a
 * thread's together tell its time as often as there are CPUs; they begin one after the other, and
 * no share can be told from 1 by little.
 */
static void settle(const struct pm_sampler *sampler, size_t index, struct pm_value *sum)
{
	if (sampler->way != WAY_THREADS || sampler->on.count == 0)
		return;
	sum->enabled /= sampler->on.count;
	if (pm_group_is_always_on(sampler->plan, &sampler->plan->events[index]))
		sum->enabled = sum->running;
	else if (sampler->plan->cpus[0] != '\0')
		sum->enabled = sum->running = 0;
	else if (sum->running + sum->enabled / 64 > sum->enabled)
		sum->enabled = sum->running;
}

int pm_sampler_read(struct pm_sampler *sampler, struct pm_value *ret, size_t count)
{
	struct pm_value sums[EVENTS_MAX];
	int err;

	if (check(sampler) == -ECHILD)
		return -ECHILD;
	if (count > 0 && (ret->size < sizeof(*ret) || ret->size > SIZE_MOST))
		return -EINVAL;
	if (!is_everybody(sampler))
		return -ENOTSUP;
	err = pm_sums_read(&sampler->sums, &sampler->open, sums);
	if (err < 0)
		return err;
	if (count > sampler->count)
		count = sampler->count;
	for (size_t i = 0; i < count; i++) {
		settle(sampler, i, &sums[i]);
		pm_give_element(ret, i, &sums[i], sizeof(sums[i]));
	}
	return (int)count;
}
