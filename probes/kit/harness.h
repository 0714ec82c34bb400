/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's kselftest harness as probes use it, of whichever kernel source it comes from. Not
 * for probes: probe.h includes it.
 *
 * Its files stay as they are. It registers the tests, runs each in a process of its own, limits
 * its time and prints its result. Its generations differ in how a test ends early, in who runs a
 * fixture and in how the end of a test is waited for. These things are done here, so that a probe
 * says the same with each of them. No version is looked at, and no generation asked for.
 */
#ifndef HARNESS_H
#define HARNESS_H

#include <ctype.h>
#include <poll.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/types.h>
#include <linux/unistd.h>

#include "internal.h"

/*
 * Some generations give the constructors that register tests a priority, or some of them, and then
 * the tests of a fixture run last one first. Without any, all run in the order of the source, and
 * lie in the one section where a bundle looks for them.
 */
#define constructor(priority) constructor

#include <kselftest.h>

/* The oldest generation prints a skipped test without its name. */
#define ksft_test_result_skip(fmt, reason)                                                 \
	do {                                                                               \
		ksft_inc_xskip_cnt();                                                      \
		printf("ok %u %s%s%s.%s # SKIP %s\n", ksft_test_num(), f->name,            \
		       variant->name[0] ? "." : "", variant->name, t->name, reason);       \
	} while (0)

/*
 * Where a test is waited for with pidfd_open(2), which is as young as Linux 5.3, the kit waits in
 * place of these three calls. harness.c
 */
long harness_syscall(long number, ...);
int harness_poll(struct pollfd *test, nfds_t count, int ms);
int harness_close(int test);
#define syscall(...) harness_syscall(__VA_ARGS__)
#define poll(...) harness_poll(__VA_ARGS__)
#define close(...) harness_close(__VA_ARGS__)
#include <kselftest_harness.h>
#undef syscall
#undef poll
#undef close

/* A test that waits longer than this has hung: the harness kills it, the verdict is unknown. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 10

/* A failed ASSERT_* ends the test at once. No teardown: the test's exit cleans up. */
#define __bail(ends, ...) harness_bail(ends)
static inline int harness_bail(int ends)
{
	if (ends)
		abort();
	return 0;
}

/* A test of a fixture: the process of the test sets up, tests and tears down. */
#undef FIXTURE_SETUP
#define FIXTURE_SETUP(fixture_name) PROBE_STEP(fixture_name, setup)
#undef FIXTURE_TEARDOWN
#define FIXTURE_TEARDOWN(fixture_name) PROBE_STEP(fixture_name, teardown)
#define PROBE_STEP(fixture_name, step)                                                         \
	static void fixture_name##_##step(                                                     \
		FIXTURE_DATA(fixture_name) __attribute__((unused)) *self,                      \
		const FIXTURE_VARIANT(fixture_name) __attribute__((unused)) *variant)
#undef TEST_F
#define TEST_F(fixture_name, test_name)                                                        \
	PROBE_STEP(fixture_name, test_name);                                                   \
	static void run_##fixture_name##_##test_name(                                          \
		struct __test_metadata __attribute__((unused)) *test,                          \
		struct __fixture_variant_metadata *chosen)                                     \
	{                                                                                      \
		FIXTURE_DATA(fixture_name) data;                                               \
		memset(&data, 0, sizeof(data));                                                \
		fixture_name##_setup(&data, chosen->data);                                     \
		fixture_name##_##test_name(&data, chosen->data);                               \
		fixture_name##_teardown(&data, chosen->data);                                  \
	}                                                                                      \
	static struct __test_metadata fixture_name##_##test_name##_test = {                    \
		.name = #test_name, .fn = run_##fixture_name##_##test_name,                    \
		.fixture = &_##fixture_name##_fixture_object, .termsig = -1,                   \
		.timeout = TEST_TIMEOUT_DEFAULT,                                               \
	};                                                                                     \
	static void __attribute__((constructor)) register_##fixture_name##_##test_name(void)   \
	{                                                                                      \
		__register_test(&fixture_name##_##test_name##_test);                           \
	}                                                                                      \
	PROBE_STEP(fixture_name, test_name)

/* ------------------------------------------------------------------- the test that is running */

/*
 * The name is the harness's: its ASSERT_* and EXPECT_* look for it, in the functions that tests
 * call as well. Only the test's own thread has it.
 */
static __thread struct __test_metadata *_metadata __attribute__((unused));
static jmp_buf probe_skipped;

/* Ends the test with a verdict: how say.h's words reach the harness. No teardown here, either. */
static inline noreturn void probe_end(const struct finding *finding)
{
	switch (finding->verdict) {
	case BROKEN:
		probe_evidence(finding->reason);
		_exit(KSFT_FAIL);
	case UNKNOWN:
		TH_LOG("could not tell: %s", finding->reason);
		_exit(KSFT_FAIL);
	default:
		SKIP(longjmp(probe_skipped, 1), "%s: %s", verdict_word(finding->verdict),
		     finding->reason);
	}
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

	if (setjmp(probe_skipped))
		return;
	while (own->test != test)
		own++;
	_metadata = test;
	test_begins(probe_end);
	own->body(test, variant);
}

/* Without the arguments of the command line, of which newer generations know some. */
static inline int probe_run_all(char **argv)
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
	return test_harness_run(1, argv);
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
	ksft_exit_pass();
	return KSFT_PASS;
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
	return probe_run_all(argv);
}

/* main() is the harness's, in each generation; what it runs is the probe. */
#define test_harness_run(argc, argv) \
	probe_main(argc, argv, probe_declaration, sizeof(probe_declaration))

#endif
