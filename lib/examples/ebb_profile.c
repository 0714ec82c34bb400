/* SPDX-License-Identifier: MIT */
/*
 * Folded stacks of this very thread by event-based branches of Power, without the kernel:
 * ebb_profile | flamegraph.pl. The callback walks the back chain and stores addresses; names are
 * looked up afterwards. Elsewhere than on Power it says so.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <perfmodes_ebb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STACKS 4096
#define DEPTH 16
#define FAR 0x100000			/* bytes of stack that are looked at */

struct stack {
	uint64_t frames[DEPTH];
	uint64_t lr;
};

static struct stack stacks[STACKS];
static unsigned int stack_count;

/* In place of any instruction: reads the stack, writes to an array. */
static void on_branch(void *context, const struct pm_ebb_branch *branch)
{
	struct stack *stack = &stacks[stack_count];
	uint64_t sp = branch->sp, next;

	(void)context;
	if (stack_count == STACKS)
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
	stack_count++;
}

/* ------------------------------------------------------------------------------------- work */

unsigned long leaf(unsigned long rounds);
unsigned long middle(unsigned long rounds);

static volatile unsigned long one = 1;	/* nobody knows what the rounds come to */

__attribute__((noinline)) unsigned long leaf(unsigned long rounds)
{
	unsigned long sum = 0;

	for (unsigned long i = 0; i < rounds; i++)
		sum += i * one;
	return sum;
}

__attribute__((noinline)) unsigned long middle(unsigned long rounds)
{
	return leaf(rounds) + leaf(2 * rounds) + one;
}

/* ------------------------------------------------------------------------------------- names */

static void name_of(uint64_t address, char *ret, size_t size)
{
	Dl_info info;

	if (dladdr((void *)(uintptr_t)address, &info) != 0 && info.dli_sname != NULL)
		snprintf(ret, size, "%s", info.dli_sname);
	else
		snprintf(ret, size, "0x%llx", (unsigned long long)address);
}

static void append(char *text, size_t size, const char *name)
{
	const size_t used = strlen(text);

	snprintf(text + used, size - used, "%s%s", used ? ";" : "", name);
}

/* A function without a frame has its caller in the link register alone; in others it is stale. */
static void fold(const struct stack *stack, char *ret, size_t size)
{
	char name[64], caller[64];

	ret[0] = '\0';
	for (int depth = DEPTH - 1; depth >= 1; depth--) {
		if (stack->frames[depth] == 0)
			continue;
		name_of(stack->frames[depth], name, sizeof(name));
		append(ret, size, name);
	}
	name_of(stack->frames[0], name, sizeof(name));
	name_of(stack->lr, caller, sizeof(caller));
	if (stack->lr != stack->frames[1] && strcmp(caller, name) != 0)
		append(ret, size, caller);
	append(ret, size, name);
}

static int by_text(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

static void print_stacks(void)
{
	static char *texts[STACKS];
	unsigned int count = 0;

	for (unsigned int i = 0; i < stack_count; i++) {
		char text[DEPTH * 66];

		fold(&stacks[i], text, sizeof(text));
		texts[count] = strdup(text);
		count += texts[count] != NULL;
	}
	qsort(texts, count, sizeof(*texts), by_text);
	for (unsigned int i = 0, same; i < count; i += same) {
		for (same = 1; i + same < count && strcmp(texts[i], texts[i + same]) == 0; same++)
			free(texts[i + same]);
		printf("%s %u\n", texts[i], same);
		free(texts[i]);
	}
}

int main(void)
{
	struct pm_ebb_counter counter = { .size = sizeof(counter), .period = 100000 };
	const struct pm_ebb_opts opts = {
		.size = sizeof(opts), .counters = &counter, .count = 1, .callback = on_branch,
		.flags = PM_EBB_USER_ONLY | PM_EBB_VECTORS,
	};
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_ebb *ebb = NULL;

	if (pm_ebb_code("cycles", &diag, &counter.code) < 0 ||
	    pm_ebb_open(&opts, &diag, &ebb) < 0 || pm_ebb_start(ebb, &diag) < 0) {
		printf("%s\n", diag.text);
		pm_ebb_close(ebb);
		return diag.error == EOPNOTSUPP ? 0 : 1;
	}
	one = middle(5000000) ? 1 : 2;
	(void)pm_ebb_stop(ebb);
	print_stacks();
	pm_ebb_close(ebb);
	return 0;
}
