/* SPDX-License-Identifier: MIT */
/*
 * Samples the CPU clock of a process on all CPUs, unwinds and names what it finds, and tells how
 * that went: "key value" lines. Needs the right to watch whole CPUs.
 *
 *   sample PID SECONDS HERTZ [stack bytes, 0: chains of the kernel's] [folded file] [pprof file]
 *
 * SAMPLE_DEBUG_ROOT has debug files instead of /usr/lib/debug.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "../../perfmodes_stacks.h"
#include "../../pm_sys.h"

#define CPUS_MAX 64
#define ENOUGH 50		/* samples of a target that others leave little of a CPU */
#define PATIENCE 300		/* s, if it takes longer */

struct sampling {
	struct pm_symbols *symbols;
	struct pm_unwinder *unwinder;
	struct pm_folded *folded;
	struct pm_pprof *pprof;
	unsigned long stacks, complete, frames, named, leaves, kernel;
	unsigned long ends[16];
};

static pid_t target;
static unsigned long taken;	/* samples of it */

static void on_stack(void *context, struct pm_unwinder *unwinder, const struct pm_stack *stack)
{
	struct sampling *all = context;

	all->stacks++;
	all->complete += stack->end == PM_END_COMPLETE;
	all->ends[stack->end & 15]++;
	for (size_t i = 0; i < stack->count; i++) {
		struct pm_symbol symbol = { .size = sizeof(symbol) };

		pm_symbols_find(all->symbols, unwinder, stack->addresses[i], stack->frames[i],
				&symbol);
		all->frames++;
		all->named += symbol.name != NULL;
		all->leaves += i == 0 && symbol.name != NULL;
		all->kernel += i == 0 && (stack->frames[0] & PM_FRAME_KERNEL);
		if (symbol.name == NULL && getenv("SAMPLE_UNNAMED") != NULL)
			fprintf(stderr, "unnamed %llx %s\n",
				(unsigned long long)stack->addresses[i], symbol.module);
	}
	if (all->folded != NULL)
		pm_folded_add(all->folded, "target", all->symbols, unwinder, stack);
	if (all->pprof != NULL)
		pm_pprof_add(all->pprof, "target", all->symbols, unwinder, stack);
}

static struct perf_event_attr attr_of(unsigned long hertz, unsigned int stack)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = hertz, .freq = 1, .disabled = 1, .mmap = 1, .mmap2 = 1,
		.sample_id_all = 1, .exclude_kernel = getenv("SAMPLE_USER_ONLY") != NULL,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN,
	};

	if (stack != 0) {
		attr.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		attr.sample_regs_user = pm_unwinder_registers();
		attr.sample_stack_user = stack;
		attr.exclude_callchain_user = 1;
	}
	return attr;
}

static void take(struct pm_stack_worker *worker, struct pm_unwinder *unwinder,
		 const struct pm_record *record, uint64_t mask)
{
	const struct pm_sample *from = &record->sample;
	const struct pm_stack_sample sample = {
		.size = sizeof(sample), .pid = (pid_t)from->sid.pid, .tid = (pid_t)from->sid.tid,
		.time = from->sid.time, .weight = from->period, .ip = from->ip,
		.callchain = from->callchain, .callchain_count = from->callchain_nr,
		.regs_abi = from->regs_user_abi, .regs_mask = mask, .regs = from->regs_user,
		.stack = from->stack_user, .stack_size = from->stack_user_size,
		.stack_used = from->stack_user_dyn_size,
	};
	const struct pm_mapping mapping = {
		.size = sizeof(mapping), .start = record->mmap.addr, .length = record->mmap.len,
		.offset = record->mmap.pgoff, .prot = record->mmap.prot, .inode = record->mmap.ino,
		.name = record->mmap.filename,
	};

	if (record->type == PERF_RECORD_SAMPLE && sample.pid == target) {
		pm_stack_worker_put(worker, unwinder, &sample);
		taken++;
	} else if (record->type == PERF_RECORD_MMAP2 && (pid_t)record->mmap.pid == target)
		pm_stack_worker_map(worker, unwinder, &mapping);
}

/* Returns how many records were lost. */
static unsigned long drain(struct pm_ring *ring, const struct pm_format *format,
			   struct pm_stack_worker *worker, struct pm_unwinder *unwinder)
{
	const struct perf_event_header *header;
	struct pm_record record;
	unsigned long lost = 0;

	while (pm_ring_next(ring, &header) == 1) {
		if (pm_record_decode(header, format, &record) < 0)
			continue;
		if (record.type == PERF_RECORD_LOST)
			lost += record.lost.lost;
		take(worker, unwinder, &record, format->sample_regs_user);
		pm_ring_release(ring);
	}
	return lost;
}

static double seconds_now(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void tell(const struct sampling *all, const struct pm_stack_worker_stats *stats,
		 unsigned long lost, double used)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	printf("stacks %lu\ncomplete %lu\nframes %lu\nnamed %lu\nleaves %lu\nkernel %lu\n",
	       all->stacks, all->complete, all->frames, all->named, all->leaves, all->kernel);
	printf("put %llu\ndropped %llu\nlost %lu\npeak %llu\n", (unsigned long long)stats->put,
	       (unsigned long long)stats->dropped, lost, (unsigned long long)stats->bytes_peak);
	printf("worker_ns %llu\ncpu_us %.0f\nmaxrss_kb %ld\n", (unsigned long long)stats->cpu_time,
	       used * 1e6, usage.ru_maxrss);
	for (int i = 0; i < 16; i++)
		if (all->ends[i])
			printf("end_%d %lu %s\n", i, all->ends[i],
			       pm_stack_end_text((enum pm_stack_end)i));
}

static int open_output(char **argv, int argc, int i)
{
	return argc > i && argv[i][0] ? open(argv[i], O_WRONLY | O_CREAT | O_TRUNC, 0644) : -1;
}

int main(int argc, char **argv)
{
	const struct pm_symbols_opts names = {
		.size = sizeof(names), .debug_root = getenv("SAMPLE_DEBUG_ROOT"),
	};
	struct sampling all = { .symbols = pm_symbols_create(&names) };
	const struct pm_unwinder_opts opts = { .size = sizeof(opts), .symbols = all.symbols,
						.time_limit = 60000000000 };
	const struct pm_stack_worker_opts how = { .size = sizeof(how), .stack = on_stack,
						  .context = &all };
	struct pm_stack_worker_stats stats = { .size = sizeof(stats) };
	const struct timespec tick = { .tv_nsec = 20000000 };
	struct perf_event_attr attr;
	struct pm_stack_worker *worker;
	struct pm_ring rings[CPUS_MAX] = { 0 };
	struct pm_format format;
	unsigned long lost = 0;
	int fds[CPUS_MAX], cpus = pm_cpus_online(), err, file;
	double end, begin;

	if (argc < 4)
		return 2;
	if (cpus > CPUS_MAX)
		cpus = CPUS_MAX;
	target = atoi(argv[1]);
	attr = attr_of(strtoul(argv[3], NULL, 0), argc > 4 ? (unsigned int)atoi(argv[4]) : 32768);
	pm_format_of(&attr, &format);
	if ((file = open_output(argv, argc, 5)) >= 0)
		pm_folded_open(file, NULL, &all.folded);
	if ((file = open_output(argv, argc, 6)) >= 0)
		pm_pprof_open(file, NULL, &all.pprof);
	for (int cpu = 0; cpu < cpus; cpu++) {
		fds[cpu] = pm_open(&attr, -1, cpu, -1, 0);
		if (fds[cpu] < 0 || pm_ring_open(fds[cpu], 1024, PROT_READ | PROT_WRITE,
						 &rings[cpu]) < 0)
			_exit(77);	/* nothing is freed: no leak is looked for */
	}
	err = pm_unwinder_open(target, &opts, &all.unwinder);
	if (err < 0 || pm_stack_worker_start(&how, &worker) < 0) {
		fprintf(stderr, "sample: %s\n", strerror(-err));
		return 1;
	}
	for (int cpu = 0; cpu < cpus; cpu++)
		pm_ioctl(fds[cpu], PERF_EVENT_IOC_ENABLE, 0);
	begin = seconds_now(CLOCK_PROCESS_CPUTIME_ID);
	end = seconds_now(CLOCK_MONOTONIC) + atof(argv[2]);
	while (seconds_now(CLOCK_MONOTONIC) < end + (taken < ENOUGH ? PATIENCE : 0)) {
		nanosleep(&tick, NULL);
		for (int cpu = 0; cpu < cpus; cpu++)
			lost += drain(&rings[cpu], &format, worker, all.unwinder);
	}
	pm_stack_worker_stop(worker, false, &stats);
	err = pm_folded_destroy(all.folded) | pm_pprof_destroy(all.pprof, 0);
	tell(&all, &stats, lost, seconds_now(CLOCK_PROCESS_CPUTIME_ID) - begin);
	for (int cpu = 0; cpu < cpus; cpu++)
		pm_ring_close(&rings[cpu]);
	pm_unwinder_destroy(all.unwinder);
	pm_symbols_destroy(all.symbols);
	return err < 0;
}
