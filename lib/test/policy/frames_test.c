/* SPDX-License-Identifier: MIT */
/*
 * Call chains of sessions without rings: the handler walks the frame pointers of what it
 * interrupted. And pointers that lead nowhere, which must not be followed.
 */
#define _GNU_SOURCE
#include "../test.h"

#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#include "../../policy/strategy/frames.h"
#include "sessions.h"

static const struct pm_event_spec chains_of_clock = {
	.size = sizeof(chains_of_clock), .type = PERF_TYPE_SOFTWARE,
	.config = PERF_COUNT_SW_TASK_CLOCK, .period = 1000000, .tid = PM_ALL_THREADS,
	.want = PM_WANT_CALLCHAIN,
};

/* Calls that are known: the innermost notes return addresses of those around it. */
static uint64_t returns[3];

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

#define PLAIN __attribute__((noinline, optimize("no-omit-frame-pointer")))
unsigned long inner(unsigned long turns);
PLAIN unsigned long inner(unsigned long turns)
{
	volatile unsigned long sum = 0;

	returns[0] = (uint64_t)(uintptr_t)__builtin_return_address(0);
	for (unsigned long i = 0; i < turns; i++)
		sum += i;
	return sum;
}

unsigned long middle(unsigned long turns);
PLAIN unsigned long middle(unsigned long turns)
{
	returns[1] = (uint64_t)(uintptr_t)__builtin_return_address(0);
	return inner(turns) + 1;
}

unsigned long outermost(unsigned long turns);
PLAIN unsigned long outermost(unsigned long turns)
{
	return middle(turns) + 1;
}

struct heard {
	unsigned int samples, chains, known;
};

static void on_sample(void *context, const struct pm_observed *sample)
{
	struct heard *heard = context;

	heard->samples++;
	heard->chains += sample->callchain_count >= 2 && sample->callchain[1] == sample->ip &&
		sample->callchain[0] == PERF_CONTEXT_USER;
	heard->known += sample->callchain_count >= 4 && sample->callchain[2] == returns[0] &&
		sample->callchain[3] == returns[1];
}

static void walked_by(enum pm_strategy strategy)
{
	struct pm_plan *plan = plan_of(&chains_of_clock, 1, strategy, NULL);
	const struct pm_listener listener = { .size = sizeof(listener), .sample = on_sample };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct heard heard = { 0 };
	struct pm_session *session;
	const double begin = cpu_seconds();

	if (plan == NULL)
		skip();
	session = pm_session_create(plan, &listener, &heard);
	if (pm_session_attach(session, &diag) < 0)
		fail_msg("%s", diag.text);
	while (heard.samples < 50 && cpu_seconds() - begin < 20) {
		outermost(2000000);
		pm_session_poll(session, 0);
	}
	pm_session_detach(session);
	assert_true(heard.samples >= 50);
	assert_int_equal(heard.chains, heard.samples);
#if defined(__x86_64__) || defined(__aarch64__)
	assert_true(heard.known >= heard.samples / 2);
#endif
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

static void timers_have_chains(void **state)
{
	(void)state;
	walked_by(PM_STRATEGY_TIMERS);
}

static void the_process_timer_has_chains(void **state)
{
	(void)state;
	walked_by(PM_STRATEGY_PROCESS_TIMER);
}

static void signals_have_chains(void **state)
{
	(void)state;
	walked_by(PM_STRATEGY_SIGNALS);
}

#ifdef __x86_64__
static unsigned int walk(const void *frame, const void *stack)
{
	uint64_t chain[FRAMES_DEPTH];
	ucontext_t at;

	memset(&at, 0, sizeof(at));
	at.uc_mcontext.gregs[REG_RBP] = (greg_t)(uintptr_t)frame;
	at.uc_mcontext.gregs[REG_RSP] = (greg_t)(uintptr_t)stack;
	return pm_frames_walk(&at, chain);
}

/* Unaligned, below the stack, far above it, not mapped, itself, and across the end of memory. */
static void pointers_that_lead_nowhere(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *area = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t *words = (uintptr_t *)(void *)area;

	(void)state;
	munmap(area + 2 * page, page);
	assert_int_equal(walk(area + 1, area), 0);
	assert_int_equal(walk(area, area + 64), 0);
	assert_int_equal(walk((void *)((uintptr_t)area + ((uintptr_t)1 << 40)), area), 0);
	assert_int_equal(walk(area + 2 * page, area), 0);
	assert_int_equal(walk(area + 2 * page - 8, area), 0);
	assert_int_equal(walk(NULL, NULL), 0);
	assert_int_equal(walk((void *)-16, (void *)-4096), 0);
	words[0] = (uintptr_t)words;
	words[1] = 0x123456;
	assert_int_equal(walk(words, words), 1);
	words[0] = (uintptr_t)(words + 8);
	words[8] = (uintptr_t)(area + 2 * page - 8);
	words[9] = 0x234567;
	assert_int_equal(walk(words, words), 2);
	munmap(area, 2 * page);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timers_have_chains),
		cmocka_unit_test(the_process_timer_has_chains),
		cmocka_unit_test(signals_have_chains),
#ifdef __x86_64__
		cmocka_unit_test(pointers_that_lead_nowhere),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
