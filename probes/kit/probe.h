/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The declaration of a probe, and its main(). Includes the words that any probe may use; headers
 * for one subject are included behind it. KIT.md lists them all.
 *
 * A probe is one file, probes/<area>/<name>.c, with the id <area>.<name>. It declares itself with
 * PROBE(), asks the kernel its question in kselftest tests (TEST, TEST_F) by doing the thing and
 * watching the effect, and says one verdict a test:
 *
 *   yes      the test returns
 *   no       say_no(), or ask_open() by itself: refused, proven by a pair of calls
 *   broken   say_broken(): accepted, but the effect is wrong; the text is the evidence
 *   blocked  say_blocked(), or must_open() by itself: policy is in the way
 *   absent   say_absent() or require(): not on this machine
 *   unknown  say_unknown(), a failed ASSERT, a crash, a time-out
 *
 * Verdict words end the test at once, from the test or any function it calls, a fixture's set-up
 * included. They work in the test's own thread only: threads and children hand back values.
 * Neither they nor ASSERT_* belong in FIXTURE_TEARDOWN: the harness would run it for ever.
 */
#ifndef PROBE_H
#define PROBE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <linux/types.h>
#include <kselftest.h>

/*
 * The 6.1 generation prints a skipped test as "ok N # SKIP reason" and loses its name. This
 * prints the newer form; the harness itself stays as it is.
 */
#define ksft_test_result_skip(fmt, reason)                                                 \
	do {                                                                               \
		ksft_inc_xskip_cnt();                                                      \
		printf("ok %u %s%s%s.%s # SKIP %s\n", ksft_test_num(), f->name,            \
		       variant->name[0] ? "." : "", variant->name, t->name, reason);       \
	} while (0)
#include <kselftest_harness.h>

/* A test that waits longer than this has hung: the harness kills it, the verdict is unknown. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 10

#include "attrs.h"
#include "counting.h"
#include "internal.h"
#include "open.h"
#include "sampler.h"
#include "say.h"
#include "task.h"
#include "verdict.h"
#include "worker.h"
#include "workload.h"

/* --------------------------------------------------------------------------- declaration */

#ifndef PROBE_ID
#error "PROBE_ID comes from the file's path; build probes with the project's Makefile"
#endif

/*
 * Declare the probe: PROBE(TITLE("...") SINCE("4.7") COMMIT("...") POINT(...) FACT(...) ...).
 * It becomes NUL-separated key=value strings in the section .probeinfo, and the catalogue reads
 * them without running anything. TITLE, SINCE and one POINT are required. SINCE, COMMIT and NEEDS
 * right behind a POINT or FACT belong to that one alone.
 */
#define PROBE(...)                                                                             \
	static const char probe_declaration[]                                                  \
		__attribute__((section(".probeinfo"), used, aligned(1))) =                     \
			"id=" PROBE_ID "\0" __VA_ARGS__;

#define TITLE(text) "title=" text "\0"		/* a noun phrase: what the probe is about */
#define SINCE(version) "since=" version "\0"	/* first upstream release: a date, never a reason */
#define COMMIT(hash) "commit=" hash "\0"	/* 12 hex digits of the commit that brought it */
#define NEEDS(words) "needs=" words "\0"	/* pmu tracefs cpu2 aux root arch:<name> ... */
#define DISTURBS(what) "disturbs=" what "\0"	/* what it changes: runs only with --may-disturb */
#define ALONE(why) "alone=" why "\0"		/* why nothing may be probed beside it */
#define HAZARD(what) "hazard=" what "\0"	/* what may happen: runs only with --hazards */
/* A test, named without its fixture ("per_cpu.newest_first"), and what yes means. */
#define POINT(name, meaning) "point=" #name " " meaning "\0"
/* A value: type bool, int, string, enum or verdict; unit "-" where it has none. */
#define FACT(name, type, unit, meaning) "fact=" #name " " #type " " unit " " meaning "\0"

/* main(): the last line of every probe. */
#define PROBE_MAIN                                                                             \
	static void __attribute__((constructor)) __constructor_order_last(void)                \
	{                                                                                      \
		if (!__constructor_order)                                                      \
			__constructor_order = _CONSTRUCTOR_ORDER_BACKWARD;                     \
	}                                                                                      \
	int main(int argc, char **argv)                                                        \
	{                                                                                      \
		return probe_main(argc, argv, probe_declaration, sizeof(probe_declaration));   \
	}

/* ------------------------------------------------------------------- the test that is running */

/*
 * The name is the harness's: its ASSERT_* and EXPECT_* look for it, in the functions that tests
 * call as well. Only the test's own thread has it.
 */
static __thread struct __test_metadata *_metadata __attribute__((unused));

/* Ends the test with a verdict: how say.h's words reach the harness. */
static inline noreturn void probe_end(const struct finding *finding)
{
	switch (finding->verdict) {
	case BROKEN:
		probe_evidence(finding->reason);
		_metadata->passed = 0;
		break;
	case UNKNOWN:
		TH_LOG("could not tell: %s", finding->reason);
		_metadata->passed = 0;
		break;
	default:
		SKIP(, "%s: %s", verdict_word(finding->verdict), finding->reason);
	}
	_metadata->setup_completed = false;	/* no teardown: the test's exit cleans up */
	longjmp(_metadata->env, 1);
}

struct probe_test {
	struct __test_metadata *test;
	void (*body)(struct __test_metadata *, struct __fixture_variant_metadata *);
};
static struct probe_test *probe_tests;

/* Stands in for the body of every test, its fixture's set-up included. */
static inline void probe_run(struct __test_metadata *test,
			     struct __fixture_variant_metadata *variant)
{
	const struct probe_test *own = probe_tests;

	while (own->test != test)
		own++;
	_metadata = test;
	test_begins(probe_end);
	own->body(test, variant);
}

static inline int probe_run_all(int argc, char **argv)
{
	unsigned int count = 0;

	for (struct __fixture_metadata *f = __fixture_list; f; f = f->next)
		for (struct __test_metadata *t = f->tests; t; t = t->next) {
			probe_tests = realloc(probe_tests, (count + 1) * sizeof(*probe_tests));
			if (!probe_tests)
				return KSFT_FAIL;
			probe_tests[count++] = (struct probe_test){ t, t->fn };
			t->fn = probe_run;
		}
	return test_harness_run(argc, argv);
}

/* Answer every test of a probe that may not run here with one and the same verdict. */
static inline int probe_refuse_all(const struct finding *finding)
{
	struct __fixture_variant_metadata plain = { .name = "" }, *variant;
	struct __fixture_metadata *f;
	struct __test_metadata *t;
	unsigned int planned = 0;

	for (f = __fixture_list; f; f = f->next)
		for (variant = f->variant ?: &plain; variant; variant = variant->next)
			for (t = f->tests; t; t = t->next)
				planned++;
	ksft_print_header();
	ksft_set_plan(planned);
	for (f = __fixture_list; f; f = f->next)
		for (variant = f->variant ?: &plain; variant; variant = variant->next)
			for (t = f->tests; t; t = t->next) {
				char reason[sizeof(finding->reason) + 16];

				snprintf(reason, sizeof(reason), "%s: %s",
					 verdict_word(finding->verdict), finding->reason);
				ksft_test_result_skip("%s\n", reason);
			}
	return ksft_exit_pass();
}

static inline int probe_main(int argc, char **argv, const char *declaration, size_t size)
{
	struct finding finding;

	if (argc > 1 && !strcmp(argv[1], "--describe")) {
		probe_describe(declaration, size);
		fflush(stdout);
		_exit(0);
	}
	if (!probe_allowed(declaration, size, &finding))
		return probe_refuse_all(&finding);
	return probe_run_all(argc, argv);
}

#endif
