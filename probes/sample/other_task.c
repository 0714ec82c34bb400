/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * * Are the registers and the stack copied from another process that process's own? A sampler of
 * other processes unwinds from nothing else, and cannot ask the target where it was.
 * Observed: a child causes a page fault below a function that holds a known pattern on its stack
 * and says where; the parent, which has the event, finds the pattern in the copy.
 */
#include "probe.h"
#include "fork_exec.h"
#include "register_numbers.h"
#include <sys/mman.h>

PROBE(TITLE("registers and stack of another process in samples")
      SINCE("3.7")
      POINT(stack, "STACK_USER of a child's fault holds the pattern on the child's stack")
      POINT(at_sp, "the copy begins at the SP of REGS_USER: the pattern lies where the child says")
      POINT(after_exec, "after the child's execve the copy is of the new program's stack")
      POINT(each_child, "two children watched side by side give their own stacks"))

#define PATTERN 256
#define SIZE 2048

static uint64_t *shared;		/* where each child's pattern lies */

static __attribute__((noinline)) void fault_above(unsigned int seed, uint64_t *ret_at)
{
	volatile unsigned char pattern[PATTERN];

	if (ret_at)
		*ret_at = (uintptr_t)pattern;
	for (unsigned int i = 0; i < PATTERN; i++)
		pattern[i] = (unsigned char)(seed + 7 * i);
	cause_faults(1);
	pattern[0] = pattern[PATTERN - 1];
}

/* In the child. A program that was executed anew does not have the shared page. */
static int fault(void *seed)
{
	const unsigned int number = (unsigned int)(uintptr_t)seed;

	fault_above(number, shared ? &shared[number % 2] : NULL);
	return 0;
}

static void must_fault(struct worker *child, unsigned int seed)
{
	ASSERT_EQ(0, worker_do(child, fault, (void *)(uintptr_t)seed));
}

static struct sampler must_watch(struct worker *child)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID | PERF_SAMPLE_REGS_USER |
						  PERF_SAMPLE_STACK_USER);
	struct perf_event_attr without = attr_faults(PERF_SAMPLE_TID);

	attr.sample_regs_user = known_registers();
	attr.sample_stack_user = SIZE;
	must_start_worker(child, WORKER_CHILD);
	return ask_run_sampler(&attr, &without, child->tid, -1, 16, "REGS_USER and STACK_USER");
}

struct found {
	struct pm_sample sample;
	size_t offset;
};

/* The sample whose stack has the pattern; broken without one. */
static struct found must_find(struct sampler *sampler, const struct worker *child,
			      unsigned int seed)
{
	unsigned char want[PATTERN];
	struct pm_record record;
	const unsigned char *at;

	for (unsigned int i = 0; i < PATTERN; i++)
		want[i] = (unsigned char)(seed + 7 * i);
	while (find_record(sampler, PERF_RECORD_SAMPLE, &record)) {
		const struct pm_sample *sample = &record.sample;

		at = sample->stack_user_dyn_size < PATTERN ? NULL :
		     memmem(sample->stack_user, sample->stack_user_dyn_size, want, PATTERN);
		if (at && sample->sid.tid != (uint32_t)child->tid)
			say_broken("the pattern is in a sample of another task");
		if (at)
			return (struct found){ *sample,
					       (size_t)(at - (unsigned char *)sample->stack_user) };
	}
	say_broken("the pattern on the child's stack is in no copy");
}

static void must_share(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, page);
	shared = page;
}

TEST(stack)
{
	struct worker child;
	struct sampler sampler = must_watch(&child);

	must_fault(&child, 100);
	must_find(&sampler, &child, 100);
}

TEST(at_sp)
{
	struct worker child;
	struct sampler sampler;
	struct found found;
	uint64_t sp;

	must_share();
	sampler = must_watch(&child);
	must_fault(&child, 100);
	found = must_find(&sampler, &child, 100);
	sp = register_value(found.sample.regs_user, SP);
	if (sp + found.offset != shared[0])
		say_broken("SP=%#" PRIx64 " offset=%zu, and the pattern lies at %#" PRIx64, sp,
			   found.offset, shared[0]);
}

TEST(after_exec)
{
	struct worker child;
	struct sampler sampler = must_watch(&child);
	struct pm_record record;

	must_fault(&child, 100);
	must_exec_worker(&child);
	/* A program begins with faults, on old kernels with more copies than a ring holds. */
	while (find_record(&sampler, 0, &record))
		;
	must_fault(&child, 55);
	must_find(&sampler, &child, 55);
}

TEST(each_child)
{
	struct worker child[2];
	struct sampler sampler[2];

	for (int i = 0; i < 2; i++)
		sampler[i] = must_watch(&child[i]);
	for (unsigned int i = 0; i < 2; i++)
		must_fault(&child[i], 100 + 51 * i);
	for (unsigned int i = 0; i < 2; i++)
		must_find(&sampler[i], &child[i], 100 + 51 * i);
}

PROBE_MAIN
