/* SPDX-License-Identifier: MIT */
/* The worker: chains and deferred chains, a queue that is flooded, ends of all kinds. */
#define _GNU_SOURCE
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../test.h"
#include "../../perfmodes_stacks.h"

#define KERNEL ((uint64_t)-128)
#define USER ((uint64_t)-512)
#define DEFERRED ((uint64_t)-640)

struct seen {
	unsigned int stacks;
	struct pm_stack last;
	uint64_t addresses[64];
	uint8_t frames[64];
	unsigned int ends[16];
	sem_t *gate;			/* each stack waits for it */
};

static void on_stack(void *context, struct pm_unwinder *unwinder, const struct pm_stack *stack)
{
	struct seen *seen = context;
	const size_t count = stack->count < 64 ? stack->count : 64;

	(void)unwinder;
	if (seen->gate != NULL)
		sem_wait(seen->gate);
	seen->stacks++;
	seen->last = *stack;
	seen->ends[stack->end & 15]++;
	memcpy(seen->addresses, stack->addresses, count * sizeof(uint64_t));
	memcpy(seen->frames, stack->frames, count);
}

static struct pm_stack_worker *started(struct seen *seen, uint64_t memory)
{
	const struct pm_stack_worker_opts opts = {
		.size = sizeof(opts), .memory = memory, .stack = on_stack, .context = seen,
		.deferred = 4,
	};
	struct pm_stack_worker *worker;

	assert_int_equal(pm_stack_worker_start(&opts, &worker), 0);
	return worker;
}

static struct pm_stack_sample chain_of(const uint64_t *chain, size_t count)
{
	return (struct pm_stack_sample){
		.size = sizeof(struct pm_stack_sample), .pid = 1, .tid = 2, .callchain = chain,
		.callchain_count = count,
	};
}

static void a_chain_is_taken_apart(void **state)
{
	const uint64_t chain[] = { KERNEL, 0xffffffff81000001, 0xffffffff81000002, USER, 0x1000,
				   0x2000, 0x3000 };
	const struct pm_stack_sample sample = chain_of(chain, 7);
	struct pm_stack_worker_stats stats = { .size = sizeof(stats) };
	struct seen seen = { 0 };
	struct pm_stack_worker *worker = started(&seen, 0);

	(void)state;
	assert_int_equal(pm_stack_worker_put(worker, NULL, &sample), 0);
	assert_int_equal(pm_stack_worker_flush(worker, 60000000000), 0);
	pm_stack_worker_stop(worker, false, &stats);
	assert_int_equal(seen.last.count, 5);
	assert_int_equal(seen.last.end, PM_END_UNTOLD);
	assert_int_equal(seen.addresses[2], 0x1000);
	assert_int_equal(seen.frames[0], PM_FRAME_KERNEL);
	assert_int_equal(seen.frames[1], PM_FRAME_KERNEL | PM_FRAME_CALLER);
	assert_int_equal(seen.frames[2], 0);
	assert_int_equal(seen.frames[3], PM_FRAME_CALLER);
	assert_true(stats.put == 1 && stats.done == 1 && stats.incomplete == 0);
}

static void deferred_chains_are_joined(void **state)
{
	const uint64_t chain[] = { KERNEL, 0xffffffff81000001, DEFERRED, 77 };
	const uint64_t user[] = { USER, 0x1000, 0x2000 };
	const struct pm_stack_sample sample = chain_of(chain, 4);
	struct pm_stack_worker_stats stats = { .size = sizeof(stats) };
	struct seen seen = { 0 };
	struct pm_stack_worker *worker = started(&seen, 0);

	(void)state;
	assert_int_equal(pm_stack_cookie(&sample), 77);
	for (int i = 0; i < 2; i++)
		pm_stack_worker_put(worker, NULL, &sample);
	pm_stack_worker_deferred(worker, 3, 77, user, 3);	/* another thread's */
	pm_stack_worker_deferred(worker, 2, 77, user, 3);
	assert_int_equal(pm_stack_worker_flush(worker, 60000000000), 0);
	assert_int_equal(seen.stacks, 2);
	assert_int_equal(seen.last.count, 3);
	assert_int_equal(seen.last.end, PM_END_UNTOLD);
	assert_int_equal(seen.addresses[1], 0x1000);
	for (int i = 0; i < 6; i++)		/* four wait; two are given up for them */
		pm_stack_worker_put(worker, NULL, &sample);
	assert_int_equal(pm_stack_worker_flush(worker, 60000000000), 0);
	assert_int_equal(seen.ends[PM_END_DEFERRED], 2);
	pm_stack_worker_stop(worker, false, &stats);
	assert_int_equal(seen.ends[PM_END_DEFERRED], 6);
	assert_true(stats.done == 8 && stats.orphans == 1 && stats.incomplete == 6);
}

/* The reader goes on at once, and everything is accounted for. */
static void a_flood_is_dropped_and_counted(void **state)
{
	static char stack[60000];
	const uint64_t regs[64] = { 0 };
	const struct pm_stack_sample sample = {
		.size = sizeof(sample), .pid = 1, .tid = 1, .regs_abi = 2,
		.regs_mask = pm_unwinder_registers(), .regs = regs, .stack = stack,
		.stack_size = sizeof(stack), .stack_used = sizeof(stack),
	};
	struct pm_stack_worker_stats stats = { .size = sizeof(stats) };
	struct seen seen = { 0 };
	struct pm_stack_worker *worker;
	unsigned int refused = 0;
	sem_t gate;

	(void)state;
	sem_init(&gate, 0, 0);
	seen.gate = &gate;
	worker = started(&seen, 1 << 20);
	for (int i = 0; i < 10000; i++)
		refused += pm_stack_worker_put(worker, NULL, &sample) == -ENOBUFS;
	assert_true(refused > 9900 && refused < 10000);
	pm_stack_worker_stats(worker, &stats);
	assert_true(stats.bytes <= 1 << 20 && stats.bytes_peak <= 1 << 20);
	assert_int_equal(stats.dropped, refused);
	assert_int_equal(stats.put + refused, 10000);
	for (int i = 0; i < 20000; i++)
		sem_post(&gate);
	pm_stack_worker_stop(worker, false, &stats);
	assert_int_equal(stats.done, stats.put);
	assert_int_equal(stats.done, seen.stacks);
	sem_destroy(&gate);
}

static void stopped_at_once_it_purges(void **state)
{
	const uint64_t chain[] = { USER, 0x1000 };
	const struct pm_stack_sample sample = chain_of(chain, 2);
	struct pm_stack_worker_stats stats = { .size = sizeof(stats) };
	struct seen seen = { 0 };
	struct pm_stack_worker *worker;
	sem_t gate;

	(void)state;
	sem_init(&gate, 0, 1000);
	seen.gate = &gate;
	worker = started(&seen, 0);
	for (int i = 0; i < 1000; i++)
		pm_stack_worker_put(worker, NULL, &sample);
	pm_stack_worker_stop(worker, true, &stats);
	assert_int_equal(stats.done + stats.purged, 1000);
	sem_destroy(&gate);
}

static pid_t sleeping_child(void)
{
	const pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	assert_true(pid > 0);
	return pid;
}

static struct pm_stack_sample in_nowhere(const uint64_t *regs, const void *stack)
{
	return (struct pm_stack_sample){
		.size = sizeof(struct pm_stack_sample), .pid = 1, .tid = 1, .regs_abi = 2,
		.regs_mask = pm_unwinder_registers(), .regs = regs, .stack = stack,
		.stack_size = 4096, .stack_used = 4096,
	};
}

/* It is killed with its samples in the queue; its unwinder is forgotten meanwhile. */
static void a_target_that_is_killed(void **state)
{
	static const char stack[4096];
	const uint64_t regs[64] = { 0 };
	const struct pm_stack_sample sample = in_nowhere(regs, stack);
	const struct pm_mapping mapping = { .size = sizeof(mapping), .start = 0x1000,
					    .length = 0x1000, .prot = PROT_EXEC, .name = "x" };
	struct pm_stack_worker_stats stats = { .size = sizeof(stats) };
	struct seen seen = { 0 };
	struct pm_stack_worker *worker = started(&seen, 0);
	const pid_t pid = sleeping_child();
	struct pm_unwinder *unwinder;

	(void)state;
	assert_int_equal(pm_unwinder_open(pid, NULL, &unwinder), 0);
	for (int i = 0; i < 100; i++) {
		if (i == 50) {
			kill(pid, SIGKILL);
			assert_int_equal(waitpid(pid, NULL, 0), pid);
		}
		pm_stack_worker_map(worker, unwinder, &mapping);
		assert_int_equal(pm_stack_worker_put(worker, unwinder, &sample), 0);
	}
	pm_stack_worker_forget(worker, unwinder);
	pm_stack_worker_stop(worker, false, &stats);
	assert_int_equal(stats.done, 100);
	assert_int_equal(seen.stacks, 100);
}

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The maps of a target that maps without end: read again for some of the stacks, not for each. */
static int endless_maps(size_t count)
{
	int fd = memfd_create("maps", MFD_CLOEXEC);

	for (size_t i = 0; i < count; i++)
		assert_true(dprintf(fd, "%zx-%zx rw-p 0 0:0 0    /lib/name-%zu\n",
				    0x100000 + i * 0x2000, 0x101000 + i * 0x2000, i) > 0);
	return fd;
}

static void a_hundred_thousand_mappings(void **state)
{
	static const char stack[4096];
	const uint64_t regs[64] = { 0 };	/* a call to nowhere */
	const struct pm_stack_sample sample = in_nowhere(regs, stack);
	const struct pm_unwinder_opts opts = { .size = sizeof(opts), .descriptors = true,
					       .maps_fd = endless_maps(100000), .mem_fd = -1 };
	struct pm_stack found = { .size = sizeof(found) };
	struct pm_unwinder *unwinder;
	double begin = cpu_seconds(), once;

	(void)state;
	assert_int_equal(pm_unwinder_open(getpid(), &opts, &unwinder), 0);
	once = cpu_seconds() - begin;
	begin = cpu_seconds();
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(pm_unwinder_stack(unwinder, &sample, &found), 0);
		assert_int_equal(found.end, PM_END_NO_MAPPING);
	}
	assert_true(cpu_seconds() - begin < 20 * once + 1);	/* and not 1,000 times */
	pm_unwinder_destroy(unwinder);
}

/* The mapping of this program that holds the address, as side-band would have told it. */
static struct pm_mapping mapping_of(uint64_t address)
{
	static char name[4096];
	struct pm_mapping mapping = { .size = sizeof(mapping), .prot = PROT_EXEC, .name = name };
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long long start, end, offset, inode;
	char line[4400];

	assert_non_null(maps);
	while (mapping.length == 0 && fgets(line, sizeof(line), maps) != NULL) {
		if (sscanf(line, "%llx-%llx %*s %llx %*s %llu %4095[^\n]", &start, &end, &offset,
			   &inode, name) != 5 || address < start || address >= end)
			continue;
		mapping.start = start;
		mapping.length = end - start;
		mapping.offset = offset;
		mapping.inode = inode;
	}
	fclose(maps);
	assert_true(mapping.length > 0);
	return mapping;
}

/* A process that has ended is what is told of it. */
static void nobody_is_there(void **state)
{
	const pid_t pid = sleeping_child();
	const uint64_t here = (uint64_t)(uintptr_t)nobody_is_there;
	struct pm_mapping mapping = mapping_of(here);
	struct pm_symbols *symbols = pm_symbols_create(NULL);
	struct pm_symbol symbol = { .size = sizeof(symbol) };
	struct pm_unwinder *unwinder = NULL;
	const struct pm_unwinder_opts none = { .size = sizeof(none), .descriptors = true,
					       .maps_fd = -1, .mem_fd = -1, .symbols = symbols };

	(void)state;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(pm_unwinder_open(pid, NULL, &unwinder), -ESRCH);
	assert_null(unwinder);
	assert_int_equal(pm_unwinder_open(pid, &none, &unwinder), 0);
	assert_int_equal(pm_unwinder_refresh(unwinder), -ESRCH);
	assert_int_equal(pm_symbols_find(symbols, unwinder, here, 0, &symbol), 0);
	assert_null(symbol.name);
	assert_int_equal(pm_unwinder_map(unwinder, &mapping), 0);
	assert_int_equal(pm_symbols_find(symbols, unwinder, here, 0, &symbol), 0);
	assert_string_equal(symbol.name, "nobody_is_there");
	/* The kernel's name for memory without a file is no file's. */
	mapping.name = "//anon";
	mapping.inode = 0;
	assert_int_equal(pm_unwinder_map(unwinder, &mapping), 0);
	assert_int_equal(pm_symbols_find(symbols, unwinder, here, 0, &symbol), 0);
	assert_null(symbol.name);
	assert_string_equal(symbol.module, "[unknown]");
	pm_unwinder_destroy(unwinder);
	pm_symbols_destroy(symbols);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chain_is_taken_apart),
		cmocka_unit_test(deferred_chains_are_joined),
		cmocka_unit_test(a_flood_is_dropped_and_counted),
		cmocka_unit_test(stopped_at_once_it_purges),
		cmocka_unit_test(a_target_that_is_killed),
		cmocka_unit_test(a_hundred_thousand_mappings),
		cmocka_unit_test(nobody_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
