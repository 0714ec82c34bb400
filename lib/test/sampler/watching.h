/* SPDX-License-Identifier: MIT */
/* A sampler over a crowd, and what it told. */
#ifndef TEST_SAMPLER_WATCHING_H
#define TEST_SAMPLER_WATCHING_H

#include <errno.h>

#include "../../perfmodes_sampler.h"
#include "crowd.h"

#define SERIALS 8192

static struct heard {
	uint64_t samples, in_area, of_after, born, ended, execs, found, changes_after_end;
	uint64_t sides[10];		/* by the bit of the kind */
	uint64_t build_ids;
	uint64_t first_time, last_time, backwards;
	uint32_t tids[64];
	size_t tid_count;
	uint8_t state[SERIALS];		/* 1: seen, 2: ended */
	uint64_t of[SERIALS];		/* faults in the area, by serial */
	char cmdline[64];		/* of the last exec */
	size_t values;
	uint64_t value[4];
} heard;

static inline void note_tid(uint32_t tid)
{
	for (size_t i = 0; i < heard.tid_count; i++)
		if (heard.tids[i] == tid)
			return;
	if (heard.tid_count < 64)
		heard.tids[heard.tid_count++] = tid;
}

static inline void on_sample(void *context, const struct pm_sampled *sample)
{
	const uint64_t serial = sample->process->serial % SERIALS;

	(void)context;
	heard.samples++;
	heard.backwards += sample->time < heard.last_time;
	heard.last_time = sample->time;
	heard.of_after += heard.state[serial] == 2;
	heard.values = sample->values_count;
	for (size_t i = 0; i < sample->values_count && i < 4; i++)
		heard.value[i] = sample->values[i];
	if (!crowd_has(sample->address))
		return;
	heard.in_area++;
	heard.of[serial]++;
	note_tid(sample->tid);
}

static inline void on_process(void *context, const struct pm_process *process,
			      enum pm_process_change change, uint64_t time)
{
	uint8_t *state = &heard.state[process->serial % SERIALS];

	(void)context;
	(void)time;
	heard.changes_after_end += *state == 2;
	*state = change == PM_PROCESS_ENDED ? 2 : 1;
	if (!process->watched)
		return;
	heard.found += change == PM_PROCESS_FOUND;
	heard.born += change == PM_PROCESS_BORN;
	heard.ended += change == PM_PROCESS_ENDED;
	heard.execs += change == PM_PROCESS_EXEC;
	if (change == PM_PROCESS_EXEC)
		(void)snprintf(heard.cmdline, sizeof(heard.cmdline), "%s", process->cmdline);
}

static inline void on_side(void *context, const struct pm_side *side)
{
	(void)context;
	for (int bit = 0; bit < 10; bit++)
		heard.sides[bit] += side->kind == 1u << bit;
	heard.build_ids += side->build_id != NULL && side->build_id_size == 20;
}

static const struct pm_sampler_listener listener = {
	.size = sizeof(listener), .sample = on_sample, .side = on_side, .process = on_process,
};

static const struct pm_event_spec fault_spec = {
	.size = sizeof(fault_spec), .type = PM_TYPE_SOFTWARE, .config = PM_SW_PAGE_FAULTS,
	.period = 1,
};
static const struct pm_sampler_event fault_event = {
	.size = sizeof(fault_event), .spec = &fault_spec,
};

static inline bool is_refused(int err)
{
	return err == -EACCES || err == -EPERM || err == -ENOSYS;
}

/* NULL: this machine refuses it. */
static inline struct pm_sampler *watch(const struct pm_target *targets, size_t count,
				       struct pm_sampler_opts opts)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_sampler *sampler = NULL;
	int err;

	memset(&heard, 0, sizeof(heard));
	opts.size = sizeof(opts);
	opts.want |= PM_WANT_ADDRESS;
	opts.ring_pages = 2048;
	err = pm_sampler_open(&fault_event, 1, targets, count, &opts, NULL, &listener, NULL, &diag,
			      &sampler);
	if (is_refused(err)) {
		print_message("%s\n", diag.text);
		return NULL;
	}
	if (err < 0)
		fail_msg("%s", diag.text);
	assert_int_equal(pm_sampler_start(sampler, &diag), 0);
	return sampler;
}

static inline struct pm_target the_pid(pid_t pid)
{
	return (struct pm_target){
		.size = sizeof(struct pm_target), .by = PM_BY_PID, .number = pid,
	};
}

/* Polls until the child has ended. */
static inline void watch_child(struct pm_sampler *sampler, pid_t child)
{
	int status = -1;

	while (waitpid(child, &status, WNOHANG) == 0)
		assert_true(pm_sampler_poll(sampler, 20) >= 0);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* A child of a crowd from the step `go` to its end, watched and stopped. Skips where refused. */
static inline struct pm_sampler *watch_life(pid_t child, unsigned int go,
					    struct pm_sampler_opts opts)
{
	const struct pm_target target = the_pid(child);
	struct pm_sampler *sampler = watch(&target, 1, opts);

	crowd->go = go;
	if (sampler == NULL) {
		(void)waitpid(child, NULL, 0);
		skip();
	}
	watch_child(sampler, child);
	(void)pm_sampler_stop(sampler);
	return sampler;
}

static inline struct pm_sampler_stats stats_of(struct pm_sampler *sampler)
{
	struct pm_sampler_stats stats = { .size = sizeof(stats) };

	assert_int_equal(pm_sampler_stats(sampler, &stats), 0);
	return stats;
}

/* All of what was caused was told once, or the loss of the rest was. */
static inline void everything_was_told(struct pm_sampler *sampler)
{
	const struct pm_sampler_stats stats = stats_of(sampler);
	/* Unknown: with the id of another program's event that the same fault hit. */
	const uint64_t caused = crowd->caused;
	const uint64_t lost = stats.lost + stats.lost_samples + stats.unknown;

	print_message("caused %llu, told %llu, lost %llu, skipped %llu, duplicates %llu, "
		      "processes %llu, gone %llu, unordered %llu\n", (unsigned long long)caused,
		      (unsigned long long)heard.in_area, (unsigned long long)lost,
		      (unsigned long long)stats.skipped, (unsigned long long)stats.duplicates,
		      (unsigned long long)stats.processes_seen, (unsigned long long)stats.gone,
		      (unsigned long long)stats.unordered);
	assert_true(heard.in_area <= caused);
	assert_true(heard.in_area + lost >= caused - caused / 1000);
	assert_int_equal(heard.of_after, 0);
	assert_int_equal(heard.changes_after_end, 0);
	assert_int_equal(stats.corrupt, 0);
}

static const unsigned int ways[] = { PM_SAMPLER_ONLY_CPUS, PM_SAMPLER_ONLY_THREADS };

#endif
