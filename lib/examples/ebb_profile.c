/* SPDX-License-Identifier: MIT */
/*
 * Folded stacks of this very thread by event-based branches of Power, without the kernel. Addresses
 * are stored as they come, and looked up afterwards. Elsewhere than on Power it says so.
 *
 *   cc -O2 -rdynamic ebb_profile.c -lperfmodes -ldl && ./a.out | flamegraph.pl
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <perfmodes_ebb.h>
#include <stdio.h>
#include <string.h>

#define STACKS 4096
#define DEPTH 16
#define FAR 0x100000			/* bytes of stack that are looked at */

static struct stack {
	uint64_t lr, frames[DEPTH];
} stacks[STACKS];
static unsigned int count;

/* In place of any instruction: reads the stack, writes to an array. */
static void on_branch(void *context, const struct pm_ebb_branch *branch)
{
	struct stack *stack = &stacks[count];
	uint64_t sp = branch->sp, next;

	(void)context;
	if (count == STACKS)
		return;
	stack->lr = branch->lr;
	stack->frames[0] = branch->ip;
	/* The ELF V2 ABI: the back chain at 0, and in the frame above the return address at 16. */
	for (int depth = 1; depth < DEPTH; depth++, sp = next) {
		next = *(const uint64_t *)(uintptr_t)sp;
		if (next <= sp || next - branch->sp > FAR || next % 16 != 0)
			break;
		stack->frames[depth] = *(const uint64_t *)(uintptr_t)(next + 16);
	}
	count++;
}

__attribute__((noinline)) static unsigned long leaf(volatile unsigned long *one, unsigned long n)
{
	unsigned long sum = 0;

	while (n-- > 0)
		sum += *one;
	return sum;
}

static void name_of(uint64_t address, char *ret, size_t size)
{
	Dl_info info;

	if (dladdr((void *)(uintptr_t)address, &info) != 0 && info.dli_sname != NULL)
		snprintf(ret, size, "%s", info.dli_sname);
	else
		snprintf(ret, size, "0x%llx", (unsigned long long)address);
}

/* A function without a frame has its caller in the link register alone; in others it is stale. */
static void print_stack(const struct stack *stack)
{
	char name[64], caller[64];

	for (int depth = DEPTH - 1; depth >= 1; depth--) {
		name_of(stack->frames[depth], name, sizeof(name));
		if (stack->frames[depth] != 0)
			printf("%s;", name);
	}
	name_of(stack->frames[0], name, sizeof(name));
	name_of(stack->lr, caller, sizeof(caller));
	if (stack->lr != stack->frames[1] && strcmp(caller, name) != 0)
		printf("%s;", caller);
	printf("%s 1\n", name);
}

int main(void)
{
	struct pm_ebb_counter counter = { .size = sizeof(counter), .period = 100000 };
	const struct pm_ebb_opts opts = { .size = sizeof(opts), .counters = &counter, .count = 1,
		.callback = on_branch, .flags = PM_EBB_USER_ONLY | PM_EBB_VECTORS };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_ebb *ebb = NULL;
	volatile unsigned long one = 1;

	if (pm_ebb_code("cycles", &diag, &counter.code) < 0 ||
	    pm_ebb_open(&opts, &diag, &ebb) < 0 || pm_ebb_start(ebb, &diag) < 0) {
		printf("%s\n", diag.text);
		return diag.error != EOPNOTSUPP;
	}
	(void)leaf(&one, 20000000);
	pm_ebb_destroy(ebb);
	for (unsigned int i = 0; i < count; i++)
		print_stack(&stacks[i]);
	return 0;
}
