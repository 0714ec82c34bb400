/* SPDX-License-Identifier: MIT */
/* Counters that are read by the clock: for PMUs that cannot interrupt. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../perfmodes.h"
#include "../../pm_sys.h"
#include "../../policy/spec/spec.h"
#include "service.h"

#define GROUPS 4096		/* CPUs, or processes */
#define FORMAT (PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | \
		PERF_FORMAT_TOTAL_TIME_RUNNING)

/* A leader and its followers, on one CPU or process. */
struct counter_group {
	int cpu, pid;			/* -1: any */
	int fds[FOLLOWERS + 1];
	size_t count;
};

struct polling {
	struct counter_group *groups;
	size_t count;
	struct pm_event_spec specs[FOLLOWERS + 1];
	size_t spec_count;
};

static void close_group(struct counter_group *group)
{
	while (group->count > 0)
		close(group->fds[--group->count]);
}

void polling_close(struct polling *polling)
{
	if (!polling)
		return;
	for (size_t i = 0; i < polling->count; i++)
		close_group(&polling->groups[i]);
	free(polling->groups);
	free(polling);
}

static int open_group(struct polling *polling, struct counter_group *group)
{
	for (size_t i = 0; i < polling->spec_count; i++) {
		struct perf_event_attr attr = pm_spec_attr(&polling->specs[i], false);
		int fd;

		attr.sample_period = 0;
		attr.read_format = FORMAT;
		fd = pm_open(&attr, group->pid, group->cpu, i == 0 ? -1 : group->fds[0], 0);
		if (fd < 0 && (fd == -EACCES || fd == -EPERM)) {
			attr.exclude_kernel = 1;
			fd = pm_open(&attr, group->pid, group->cpu,
				     i == 0 ? -1 : group->fds[0], 0);
		}
		if (fd < 0) {
			close_group(group);
			return fd;
		}
		group->fds[group->count++] = fd;
	}
	return 0;
}

static int add_group(struct polling *polling, int pid, int cpu)
{
	struct counter_group *group = &polling->groups[polling->count];
	int err;

	if (polling->count == GROUPS)
		return -E2BIG;
	*group = (struct counter_group){ .cpu = cpu, .pid = pid };
	err = open_group(polling, group);
	if (err == 0)
		polling->count++;
	return err;
}

struct cpus {
	struct polling *polling;
	int err;
};

static void add_cpu(unsigned int cpu, void *context)
{
	struct cpus *cpus = context;
	int err = add_group(cpus->polling, -1, (int)cpu);

	if (err < 0 && err != -ENODEV)		/* it has gone offline */
		cpus->err = err;
}

static int open_cpus(struct polling *polling, const char *list)
{
	struct cpus cpus = { polling, 0 };
	char text[4096];
	int err = 0;

	if (!list) {
		err = pm_read_text("/sys/devices/system/cpu/online", text, sizeof(text));
		list = text;
	}
	if (err >= 0)
		err = pm_cpulist_each(list, add_cpu, &cpus);
	return err < 0 ? err : cpus.err;
}

static int open_pids(struct polling *polling, const struct source_config *config)
{
	for (size_t i = 0; i < config->target_count; i++) {
		struct pm_target target = { .size = sizeof(target) };
		int err = pm_target_parse(config->targets[i], NULL, &target);

		if (err < 0 || target.by != PM_BY_PID || target.exclude)
			return -EINVAL;
		err = add_group(polling, (int)target.number, -1);
		if (err < 0)
			return err;
	}
	return 0;
}

static int parse(struct source *source, struct polling *polling, struct pm_diag *diag)
{
	const struct source_config *config = source->config;

	polling->spec_count = config->follower_count + 1;
	for (size_t i = 0; i < polling->spec_count; i++) {
		int err;

		polling->specs[i].size = sizeof(polling->specs[i]);
		err = pm_event_parse(i == 0 ? config->event : config->followers[i - 1], diag,
				     &polling->specs[i]);
		if (err < 0)
			return err;
	}
	return 0;
}

static int open_all(struct source *source, struct polling *polling, struct pm_diag *diag)
{
	const struct source_config *config = source->config;
	bool by_cpu = config->target_count == 0 || strcmp(config->targets[0], "any") == 0;
	int err = parse(source, polling, diag);

	if (err < 0)
		return err;
	err = by_cpu ? open_cpus(polling, config->cpus) : open_pids(polling, config);
	if (err == -EINVAL && !by_cpu && polling->count == 0)
		(void)snprintf(diag->text, sizeof(diag->text), "counters are polled of \"any\" or "
			       "of processes named by pid");
	else if (err < 0)
		(void)pm_diag_open(diag, &polling->specs[0], by_cpu ? 0 : -1, err);
	return err;
}

int polling_open(struct source *source, struct polling **ret)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct polling *polling = calloc(1, sizeof(*polling));
	int err = -ENOMEM;

	if (polling)
		polling->groups = calloc(GROUPS, sizeof(*polling->groups));
	if (polling && polling->groups)
		err = open_all(source, polling, &diag);
	if (err == 0) {
		*ret = polling;
		return 0;
	}
	polling_close(polling);
	(void)snprintf(source->service->error, sizeof(source->service->error),
		       "source \"%s\": %s: %s", source->config->name, source->config->event,
		       diag.text[0] ? diag.text : pm_errno_name(err));
	return err;
}

static void tell(struct source *source, const struct counter_group *group,
		 const struct pm_counts *counts)
{
	const uint32_t pid = group->pid < 0 ? 0 : (uint32_t)group->pid;
	struct note note = {
		.kind = NOTE_COUNTS, .time = source_now(source), .pid = pid, .tid = pid,
		.cpu = group->cpu < 0 ? 0 : (uint32_t)group->cpu,
	};

	source->counts.samples++;
	for (uint64_t i = 0; i < counts->nr && i < NOTE_VALUES; i++)
		note.values[note.value_count++] = counts->member[i].value;
	if (!send_note(source, &note))
		source->counts.untold++;
}

void polling_read(struct source *source)
{
	struct polling *polling = source->polling;

	for (size_t i = 0; i < polling->count; i++) {
		struct pm_counts counts;
		int err = pm_read_counts(polling->groups[i].fds[0], FORMAT, &counts);

		source->counts.polls++;
		if (err < 0)
			source->counts.poll_errors++;
		else
			tell(source, &polling->groups[i], &counts);
	}
}
