/* SPDX-License-Identifier: MIT */
/* What strategies take for the threads and CPUs there are, and what the limits leave them. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cpus.h"
#include "limits.h"

#define MLOCK_KB_DEFAULT 516	/* kernel.perf_event_mlock_kb since v2.6.32, where it is hidden */

static size_t count_entries(const char *path)
{
	const struct dirent *entry;
	DIR *dir = opendir(path);
	size_t count = 0;

	if (dir == NULL)
		return 1;
	while ((entry = readdir(dir)) != NULL)
		count += entry->d_name[0] != '.';
	closedir(dir);
	return count;
}

/* The links of the directory are itself, its parent's and one a thread. */
size_t pm_thread_count(void)
{
	struct stat info;

	return stat("/proc/self/task", &info) == 0 && info.st_nlink > 2 ?
		(size_t)info.st_nlink - 2 : count_entries("/proc/self/task");
}

/* Its size is their number since Linux v6.2 (commit f1f1f2569901), and 0 before. */
static size_t descriptor_count(void)
{
	struct stat info;

	return stat("/proc/self/fd", &info) == 0 && info.st_size > 0 ? (size_t)info.st_size :
		count_entries("/proc/self/fd");
}

static size_t cpu_count(const struct pm_plan *plan)
{
	int cpus = plan->cpus[0] ? pm_cpulist_each(plan->cpus, NULL, NULL) : pm_cpus_online();

	if (cpus <= 0)
		cpus = (int)sysconf(_SC_NPROCESSORS_CONF);
	return cpus > 0 ? (size_t)cpus : 1;
}

int pm_plan_cost(const struct pm_plan *plan, struct pm_cost *ret)
{
	struct pm_cost cost = {
		.size = ret->size, .threads = pm_thread_count(),
		.cpus = cpu_count(plan),
	};

	plan->chosen->strategy->cost(plan, &cost);
	cost.locked_bytes = cost.rings * (plan->ring_pages + 1) * (uint64_t)sysconf(_SC_PAGESIZE);
	memcpy(ret, &cost, ret->size < sizeof(cost) ? ret->size : sizeof(cost));
	return 0;
}

/* --------------------------------------------------------------------------------- descriptors */

int pm_limit_descriptors(const struct pm_plan *plan, struct candidate *candidate)
{
	struct pm_cost cost = { .threads = plan->now.threads, .cpus = plan->now.cpus };
	const unsigned int percent = plan->opts.descriptors_percent;
	struct rlimit limit;
	uint64_t most, all;

	/* Where a filter hides the limit, the first open that is too many tells it. */
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		limit.rlim_cur = limit.rlim_max = INT32_MAX;
	most = plan->opts.allow & PM_ALLOW_RAISE_NOFILE ? limit.rlim_max : limit.rlim_cur;
	candidate->strategy->cost(plan, &cost);
	all = plan->now.descriptors + cost.descriptors;
	if (all <= (most < INT32_MAX ? most : INT32_MAX) * percent / 100)
		return 0;
	snprintf(candidate->reason, REASON_SIZE, "%llu descriptors beside %zu open ones exceed "
		 "%u %% of RLIMIT_NOFILE=%llu: ulimit -n %llu (hard limit %llu)",
		 (unsigned long long)cost.descriptors, plan->now.descriptors, percent,
		 (unsigned long long)most,
		 (unsigned long long)(all * 100 + percent - 1) / percent,
		 (unsigned long long)limit.rlim_max);
	candidate->cause = PM_CAUSE_DESCRIPTORS;
	return -EMFILE;
}

/* ------------------------------------------------------------------------------- locked memory */

/* An upper bound: other processes of this user take from it as well. */
static uint64_t lockable(const struct pm_plan *plan)
{
	struct pm_env env = { .uid = 0 };
	uint64_t kb;
	int cpus = plan->cpus[0] ? pm_cpus_online() : (int)plan->now.cpus;

	pm_env_read_thread(&env);
	if (pm_env_has_cap(&env, PM_CAP_IPC_LOCK) && !pm_in_user_namespace())
		return UINT64_MAX;
	pm_env_read_locked(&env);
	if (env.paranoid == -1 || env.memlock_bytes > UINT64_MAX / 2)
		return UINT64_MAX;
	kb = env.mlock_kb >= 0 ? (uint64_t)env.mlock_kb : MLOCK_KB_DEFAULT;
	return kb * 1024 * (cpus > 0 ? (uint64_t)cpus : 1) + env.memlock_bytes;
}

unsigned int pm_limit_pages(const struct pm_plan *plan, uint64_t rings)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	unsigned int pages = plan->opts.ring_pages;

	while (pages > 0 && rings * (pages + 1) * page > plan->now.lockable)
		pages /= 2;
	return pages;
}

void pm_limit_look(struct pm_plan *plan)
{
	struct pm_cpus cpus;
	int err = pm_cpus_list(plan->cpus, NULL, &cpus);

	plan->now.threads = pm_thread_count();
	plan->now.descriptors = descriptor_count();
	plan->now.first_cpu = err == 0 ? cpus.list[0] : err;
	plan->now.cpus = err == 0 && plan->cpus[0] == '\0' ? cpus.count : cpu_count(plan);
	plan->now.lockable = lockable(plan);
	free(cpus.list);
}

void pm_limit_locked_text(char *buf, size_t size)
{
	struct pm_env env;
	int used;

	pm_env_read_locked(&env);
	if (env.mlock_kb >= 0)
		used = snprintf(buf, size, "kernel.perf_event_mlock_kb=%lld a CPU",
				(long long)env.mlock_kb);
	else
		used = snprintf(buf, size, "kernel.perf_event_mlock_kb is hidden, %d a CPU taken "
				"for it", MLOCK_KB_DEFAULT);
	snprintf(buf + used, size - (size_t)used, " and RLIMIT_MEMLOCK=%llu kB",
		 (unsigned long long)env.memlock_bytes / 1024);
}
