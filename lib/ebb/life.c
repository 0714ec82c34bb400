/* SPDX-License-Identifier: MIT */
/* A set of counters from open to close, in the thread that it belongs to. */
#define _GNU_SOURCE
#include "ebb.h"

#ifdef PM_HAS_EBB

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../policy/diagnosis/diag.h"
#include "../policy/spec/spec.h"
#include "open.h"

#define PERIOD_MAX 0x7fffffffull
#define STACK_LEAST 4096
#define ALL_FLAGS (PM_EBB_VECTORS | PM_EBB_PRCTL | PM_EBB_USER_ONLY | PM_EBB_ADOPT)

static pid_t thread_id(void)
{
	return (pid_t)syscall(SYS_gettid);
}

static bool is_ours(const struct pm_ebb *ebb)
{
	return ebb->pid == getpid() && pm_ebb_of_thread == ebb;
}

/* -------------------------------------------------------------------------------------- opening */

static int take_counter(struct pm_ebb *ebb, const struct pm_ebb_counter *counter)
{
	const unsigned int pmc = (unsigned int)(counter->code >> 16 & 0xf);

	if (pmc == 0 || pmc > PM_EBB_COUNTERS || (ebb->used & 1u << pmc) ||
	    counter->period == 0 || counter->period > PERIOD_MAX)
		return -EINVAL;
	ebb->used |= 1u << pmc;
	ebb->index_of[pmc] = (unsigned char)ebb->count;
	ebb->pmc_of[ebb->count] = (unsigned char)pmc;
	ebb->periods[pmc] = counter->period;
	ebb->codes[ebb->count] = counter->code;
	ebb->fds[ebb->count++] = -1;
	return 0;
}

static int take(struct pm_ebb *ebb, const struct pm_ebb_opts *from)
{
	struct pm_ebb_opts opts;
	int err = 0;

	memset(&opts, 0, sizeof(opts));
	if (!pm_take(&opts, sizeof(opts), from, offsetof(struct pm_ebb_opts, callback)) ||
	    opts.count == 0 || opts.count > PM_EBB_COUNTERS || opts.counters == NULL ||
	    opts.counters->size < sizeof(struct pm_ebb_counter) || opts.counters->size > 4096 ||
	    (opts.flags & ~(unsigned int)ALL_FLAGS) ||
	    (opts.stack != NULL && opts.stack_size < STACK_LEAST))
		return -EINVAL;
	for (size_t i = 0; err == 0 && i < opts.count; i++)
		err = take_counter(ebb, (const void *)((const char *)opts.counters +
						       i * opts.counters->size));
	ebb->flags = opts.flags;
	ebb->callback = opts.callback;
	ebb->context = opts.context;
	if (opts.stack != NULL)
		ebb->stack_top = (char *)opts.stack + opts.stack_size;
	return err;
}

static int open_all(struct pm_ebb *ebb, struct pm_diag *diag)
{
	int err = pm_ebb_supported(diag);

	if (err < 0)
		return err;
	err = pm_ebb_guard();
	if (err < 0)
		return pm_diag_say(diag, -err, PM_CAUSE_UNKNOWN, "sigaction(SIGILL): %s",
				   pm_errno_name(-err));
	return ebb->flags & PM_EBB_ADOPT ? 0 : pm_ebb_open_events(ebb, 0, diag);
}

int pm_ebb_enter(struct pm_ebb *ebb, const struct pm_ebb_opts *opts, struct pm_diag *diag)
{
	int err;

	/* A forked child has a copy of the pointer, and none of the registers. */
	if (pm_ebb_of_thread != NULL && pm_ebb_of_thread->pid == getpid())
		return pm_diag_say(diag, EBUSY, PM_CAUSE_INPUT, "this thread has a set of counters "
				   "already");
	err = take(ebb, opts);
	if (err < 0)
		(void)pm_diag_say(diag, -err, PM_CAUSE_INPUT, "counters or options that make no "
				  "sense: each counter names a PMC of its own, and a period up to "
				  "2^31 - 1");
	else
		err = open_all(ebb, diag);
	if (err < 0) {
		pm_ebb_close_events(ebb);
		return err;
	}
	ebb->pid = getpid();
	ebb->tid = thread_id();
	pm_ebb_of_thread = ebb;
	return 0;
}

int pm_ebb_open(const struct pm_ebb_opts *opts, struct pm_diag *diag, struct pm_ebb **ret)
{
	struct pm_ebb *ebb = calloc(1, sizeof(*ebb));
	int err = ebb ? pm_ebb_enter(ebb, opts, diag) : -ENOMEM;

	if (err < 0)
		free(ebb);
	else
		*ret = ebb;
	return err;
}

/* -------------------------------------------------------------------------------------- running */

/* read(2) gives nothing for an event that is not on the PMU. */
bool pm_ebb_is_scheduled(const struct pm_ebb *ebb)
{
	uint64_t junk;

	for (size_t i = 0; i < ebb->count; i++)
		if (ebb->fds[i] >= 0 && read(ebb->fds[i], &junk, sizeof(junk)) != sizeof(junk))
			return false;
	return true;
}

/* How many perf events this process holds, its own branches left out. */
static size_t other_events(const struct pm_ebb *ebb)
{
	DIR *folder = opendir("/proc/self/fd");
	size_t count = 0;
	struct dirent *entry;

	while (folder != NULL && (entry = readdir(folder)) != NULL) {
		char link[64] = "";

		if (readlinkat(dirfd(folder), entry->d_name, link, sizeof(link) - 1) > 0)
			count += strcmp(link, "anon_inode:[perf_event]") == 0;
	}
	if (folder != NULL)
		closedir(folder);
	return count > ebb->count ? count - ebb->count : 0;
}

static int not_scheduled(const struct pm_ebb *ebb, struct pm_diag *diag)
{
	const size_t others = diag ? other_events(ebb) : 0;

	if (others > 0)
		return pm_diag_say(diag, EBUSY, PM_CAUSE_UNKNOWN, "the event is enabled and not on "
				   "the PMU (read gives nothing): a pinned event is there; this "
				   "process has %zu other perf events open", others);
	return pm_diag_say(diag, EBUSY, PM_CAUSE_UNKNOWN, "the event is enabled and not on the PMU "
			   "(read gives nothing): somebody else's pinned event is there, as of "
			   "perf stat -e cycles:D or perf top on this CPU");
}

static int enable(const struct pm_ebb *ebb)
{
	int err;

	if (ebb->flags & PM_EBB_ADOPT)
		return 0;
	if (ebb->flags & PM_EBB_PRCTL)
		return prctl(PR_TASK_PERF_EVENTS_ENABLE) == 0 ? 0 : -errno;
	/* An event in error state is tried again when it is enabled. */
	err = pm_ioctl(ebb->fds[0], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
	return err < 0 ? err : 0;
}

int pm_ebb_start(struct pm_ebb *ebb, struct pm_diag *diag)
{
	int err;

	if (!is_ours(ebb))
		return pm_diag_say(diag, EXDEV, PM_CAUSE_INPUT, "these counters belong to thread "
				   "%d of process %d", (int)ebb->tid, (int)ebb->pid);
	err = enable(ebb);
	if (err < 0)
		return pm_diag_say(diag, -err, PM_CAUSE_UNKNOWN, "enabling the events: %s",
				   pm_errno_name(-err));
	if (!pm_ebb_is_scheduled(ebb))
		return not_scheduled(ebb, diag);
	ebb->evicted = false;
	pm_ebb_arm(ebb);
	if (ebb->evicted && !(ebb->flags & PM_EBB_ADOPT)) {
		(void)pm_ebb_stop(ebb);
		return not_scheduled(ebb, diag);
	}
	return 0;
}

int pm_ebb_stop(struct pm_ebb *ebb)
{
	if (!is_ours(ebb))
		return -EXDEV;
	WRITE_SPR(SPR_BESCR, 0);
	ebb->running = false;
	return 0;
}

void pm_ebb_request_stop(struct pm_ebb *ebb)
{
	ebb->stopping = true;
}

int pm_ebb_set_period(struct pm_ebb *ebb, unsigned int counter, uint64_t period)
{
	if (counter >= ebb->count || period == 0 || period > PERIOD_MAX)
		return -EINVAL;
	__atomic_store_n(&ebb->periods[ebb->pmc_of[counter]], period, __ATOMIC_RELAXED);
	return 0;
}

enum pm_ebb_state pm_ebb_state(const struct pm_ebb *ebb)
{
	if (!is_ours(ebb))
		return PM_EBB_ELSEWHERE;
	if (!ebb->running)
		return PM_EBB_STOPPED;
	if (ebb->evicted || !pm_ebb_is_scheduled(ebb))
		return PM_EBB_EVICTED;
	/* Outside of the handler an alert is due at once, and branches are on. */
	return (READ_SPR(SPR_MMCR0) & MMCR0_PMAO) || !(READ_SPR(SPR_BESCR) & BESCR_GE) ?
		PM_EBB_LOST : PM_EBB_RUNNING;
}

int pm_ebb_tid(const struct pm_ebb *ebb)
{
	return ebb->tid;
}

int pm_ebb_stats(const struct pm_ebb *ebb, struct pm_ebb_stats *ret)
{
	struct pm_ebb_stats stats = {
		.size = ret->size, .branches = ebb->branches, .spurious = ebb->spurious,
		.missed = ebb->missed, .late = ebb->late,
	};

	for (size_t i = 0; i < ebb->count; i++)
		stats.overflows[i] = ebb->overflows[ebb->pmc_of[i]];
	memcpy(ret, &stats, ret->size < sizeof(stats) ? ret->size : sizeof(stats));
	return 0;
}

void pm_ebb_leave(struct pm_ebb *ebb)
{
	if (is_ours(ebb)) {
		WRITE_SPR(SPR_BESCR, 0);
		WRITE_SPR(SPR_EBBHR, 0);
	}
	if (pm_ebb_of_thread == ebb)
		pm_ebb_of_thread = NULL;
	pm_ebb_close_events(ebb);
}

void pm_ebb_destroy(struct pm_ebb *ebb)
{
	if (ebb == NULL)
		return;
	pm_ebb_leave(ebb);
	free(ebb);
}

#endif
