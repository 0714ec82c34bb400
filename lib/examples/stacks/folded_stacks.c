/* SPDX-License-Identifier: MIT */
/*
 * Stacks of a process, with all its threads and children, for some seconds: folded, for a flame
 * graph. The process needs no frame pointers, and need not know of it.
 *
 *   folded_stacks PID [SECONDS [chains]] >folded
 *
 * With `chains` the kernel walks frame pointers, on its way back to user mode where it can (Linux
 * 6.19 on x86-64): nothing is copied, and pages that are not in memory come in.
 */
#include <perfmodes_sampler.h>
#include <perfmodes_stacks.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PROCESSES 1024

struct known {
	uint64_t serial;
	struct pm_unwinder *unwinder;	/* NULL: not ours to read; its chains remain */
};

struct profile {
	struct pm_symbols *symbols;
	struct pm_folded *folded;
	struct pm_stack_worker *worker;
	struct known known[PROCESSES];
	unsigned long long deferred;	/* user parts that came after their samples */
};

/* In the worker's thread. */
static void on_stack(void *context, struct pm_unwinder *unwinder, const struct pm_stack *stack)
{
	struct profile *profile = context;
	char name[32];

	snprintf(name, sizeof(name), "process-%d", (int)stack->pid);
	pm_folded_add(profile->folded, name, profile->symbols, unwinder, stack);
}

static struct known *known_of(struct profile *profile, const struct pm_process *process)
{
	return &profile->known[process->serial % PROCESSES];
}

static void forget(struct profile *profile, struct known *known)
{
	if (known->unwinder != NULL)
		pm_stack_worker_forget(profile->worker, known->unwinder);
	*known = (struct known){ 0 };
}

static void on_process(void *context, const struct pm_process *process,
		       enum pm_process_change change, uint64_t time)
{
	struct profile *profile = context;
	struct known *known = known_of(profile, process);

	(void)time;
	if (change == PM_PROCESS_EXEC || (change == PM_PROCESS_ENDED &&
					  known->serial == process->serial))
		forget(profile, known);
}

static struct pm_unwinder *unwinder_of(struct profile *profile, const struct pm_process *process)
{
	const struct pm_unwinder_opts opts = { .size = sizeof(opts), .symbols = profile->symbols };
	struct known *known = known_of(profile, process);

	if (known->serial == process->serial)
		return known->unwinder;
	forget(profile, known);
	known->serial = process->serial;
	if (pm_unwinder_open((pid_t)process->pid, &opts, &known->unwinder) < 0)
		known->unwinder = NULL;
	return known->unwinder;
}

static void on_sample(void *context, const struct pm_sampled *from)
{
	struct profile *profile = context;
	const struct pm_stack_sample sample = {
		.size = sizeof(sample), .pid = (pid_t)from->pid, .tid = (pid_t)from->tid,
		.time = from->time, .weight = from->period, .ip = from->ip,
		.callchain = from->chain, .callchain_count = from->chain_count,
		.regs_abi = from->registers_abi, .regs = from->registers,
		.regs_mask = from->registers_mask, .stack = from->stack,
		.stack_size = from->stack_size, .stack_used = from->stack_size,
	};

	pm_stack_worker_put(profile->worker, unwinder_of(profile, from->process), &sample);
}

/* Only the user parts of chains: no other side-band is asked for. */
static void on_side(void *context, const struct pm_side *side)
{
	struct profile *profile = context;

	if (side->kind != PM_SIDE_CHAIN)
		return;
	profile->deferred++;
	pm_stack_worker_deferred(profile->worker, (pid_t)side->tid, side->id, side->chain,
				 side->chain_count);
}

static int run(struct profile *profile, const char *pid, int seconds, bool chains)
{
	const struct pm_event_spec clock = { .size = sizeof(clock), .type = PM_TYPE_SOFTWARE,
					     .config = PM_SW_CPU_CLOCK, .frequency = 199 };
	const struct pm_sampler_event event = { .size = sizeof(event), .spec = &clock };
	const struct pm_sampler_opts opts = {
		.size = sizeof(opts), .flags = PM_SAMPLER_CHILDREN | PM_SAMPLER_USER_ONLY,
		.want = chains ? PM_WANT_DEFERRED : PM_WANT_REGISTERS | PM_WANT_STACK,
		.stack = chains ? 0 : 32768, .registers = chains ? 0 : pm_unwinder_registers(),
	};
	const struct pm_sampler_listener listener = {
		.size = sizeof(listener), .sample = on_sample, .side = on_side,
		.process = on_process,
	};
	struct pm_target target = { .size = sizeof(target) };
	struct pm_diag diag = { .size = sizeof(diag) };
	const time_t end = time(NULL) + seconds;
	struct pm_sampler *sampler;
	int err = pm_target_parse(pid, &diag, &target);

	if (err == 0)
		err = pm_sampler_open(&event, 1, &target, 1, &opts, NULL, &listener, profile, &diag,
				      &sampler);
	if (err < 0) {
		fprintf(stderr, "folded_stacks: %s\n", diag.text);
		return 1;
	}
	err = pm_sampler_start(sampler, &diag);
	while (err >= 0 && time(NULL) < end)
		err = pm_sampler_poll(sampler, 100);
	pm_sampler_stop(sampler);
	pm_sampler_destroy(sampler);
	return err < 0;
}

int main(int argc, char **argv)
{
	static struct profile profile;
	const struct pm_stack_worker_opts how = { .size = sizeof(how), .stack = on_stack,
						  .context = &profile };
	struct pm_stack_worker_stats stats = { .size = sizeof(stats) };
	int failed;

	if (argc < 2) {
		fprintf(stderr, "usage: folded_stacks PID [SECONDS [chains]] >folded\n");
		return 2;
	}
	profile.symbols = pm_symbols_create(NULL);
	if (profile.symbols == NULL || pm_folded_open(1, NULL, &profile.folded) < 0 ||
	    pm_stack_worker_start(&how, &profile.worker) < 0)
		return 1;
	failed = run(&profile, argv[1], argc > 2 ? atoi(argv[2]) : 5, argc > 3);
	for (size_t i = 0; i < PROCESSES; i++)
		forget(&profile, &profile.known[i]);
	pm_stack_worker_stop(profile.worker, false, &stats);
	fprintf(stderr, "%llu stacks, %llu cut off, %llu dropped, %llu deferred\n",
		(unsigned long long)stats.done, (unsigned long long)stats.incomplete,
		(unsigned long long)stats.dropped, profile.deferred);
	failed |= pm_folded_destroy(profile.folded) < 0;
	pm_symbols_destroy(profile.symbols);
	return failed;
}
