/* SPDX-License-Identifier: MIT */
/*
 * Names of libpfm4, beside what libpfm4 itself says, and beside our own names of the same events.
 * What libpfm4 finds out when it starts, by its environment or by what is mounted, is tried in
 * child processes, each of which starts it anew.
 */
#include "../test.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../perfmodes_pfm.h"
#include "theirs.h"

static bool missing;		/* libpfm.so.4 is not there */
void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);

void *__wrap_dlopen(const char *name, int flags)
{
	return missing && strstr(name, "pfm") ? NULL : __real_dlopen(name, flags);
}

static struct pm_event_spec parsed(const char *name)
{
	struct pm_event_spec spec = { .size = sizeof(spec) };
	struct pm_diag diag = { .size = sizeof(diag) };
	int err = pm_pfm_parse(name, &diag, &spec);

	if (err < 0)
		print_error("%s\n", diag.text);
	assert_int_equal(err, 0);
	return spec;
}

static void assert_same_event(const struct pm_event_spec *spec, const struct theirs *theirs)
{
	assert_int_equal(spec->type, theirs->type);
	assert_int_equal(spec->config, theirs->config);
	assert_int_equal(spec->config1, theirs->config1);
	assert_int_equal(spec->config2, theirs->config2);
	assert_true(theirs->user);
	assert_int_equal(!(spec->flags & PM_SPEC_USER_ONLY), theirs->kernel);
	assert_int_equal(!!(spec->flags & PM_SPEC_PINNED), theirs->pinned);
	assert_int_equal(!!(spec->flags & PM_SPEC_PRECISE), theirs->precise > 0);
	assert_int_equal(theirs->frequency ? spec->frequency : spec->period, theirs->period);
}

/* What a child says goes to stderr; its exit status is the verdict. */
static void in_child(int (*check)(void), const char *variable)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (variable != NULL)
			setenv(variable, "1", 1);
		_exit(check());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* -------------------------------------------------------------------------- before it is loaded */

static int without_libpfm(void)
{
	struct pm_event_spec spec = { .size = sizeof(spec), .config = 7 };
	struct pm_diag diag = { .size = sizeof(diag) };
	char full[64];

	missing = true;
	if (pm_pfm_parse("perf::PAGE-FAULTS", &diag, &spec) != -ENOSYS || spec.config != 7)
		return 1;
	if (strstr(diag.text, "apt-get install libpfm4") == NULL)
		return 2;
	return pm_pfm_name("perf::PAGE-FAULTS", full, sizeof(full)) == -ENOSYS ? 0 : 3;
}

static void test_without_libpfm(void **state)
{
	(void)state;
	in_child(without_libpfm, NULL);
}

/* Of another machine's PMU: the numbers of Intel's manual for UNHALTED_CORE_CYCLES and umasks. */
static int of_another_machine(void)
{
	static const struct { const char *name; uint64_t config, config1; } events[] = {
		{ "skl::UNHALTED_CORE_CYCLES:u", 0x3c, 0 },
		{ "skl::MEM_LOAD_RETIRED:L3_MISS", 0x20d1, 0 },
		{ "skl::OFFCORE_RESPONSE_0:DMND_DATA_RD:ANY_RESPONSE", 0x1b7, 0x10001 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		struct pm_event_spec spec = { .size = sizeof(spec) };
		struct pm_diag diag = { .size = sizeof(diag) };

		if (pm_pfm_parse(events[i].name, &diag, &spec) < 0) {
			fprintf(stderr, "%s\n", diag.text);
			return 77;	/* a libpfm4 of another architecture has not its tables */
		}
		if (spec.type != PERF_TYPE_RAW || spec.config != events[i].config ||
		    spec.config1 != events[i].config1)
			return 1;
	}
	return 0;
}

static void test_of_another_machine(void **state)
{
	(void)state;
	in_child(of_another_machine, "LIBPFM_ENCODE_INACTIVE");
}

/* libpfm4 looks for debugfs in /proc/mounts; this is a mount of the child alone. */
static int tracepoints(void)
{
	static const char *const names[] = { "sched:sched_switch", "sched:sched_wakeup:u" };

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", "/sys/kernel/debug", "debugfs", 0, NULL) < 0)
		return 77;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct pm_event_spec spec = { .size = sizeof(spec) }, own = spec;
		struct pm_diag diag = { .size = sizeof(diag) };
		struct theirs theirs;

		if (pm_event_parse(names[i], &diag, &own) < 0)
			return 77;	/* a kernel without this tracepoint */
		if (pm_pfm_parse(names[i], &diag, &spec) < 0 ||
		    theirs_encode(names[i], &theirs) != 0) {
			fprintf(stderr, "%s\n", diag.text);
			return 1;
		}
		if (spec.type != own.type || spec.config != own.config ||
		    spec.flags != own.flags || theirs.type != own.type ||
		    theirs.config != own.config ||
		    theirs.kernel == !!(own.flags & PM_SPEC_USER_ONLY))
			return 2;
	}
	return 0;
}

static void test_tracepoints(void **state)
{
	(void)state;
	in_child(tracepoints, NULL);
}

/* -------------------------------------------------------------------------- names of both sides */

/* One event by both names: libpfm4's attr, our spec of its name, our spec of our name. */
static void test_same_attr(void **state)
{
	static const struct { const char *pfm, *own; } names[] = {
		{ "page-faults", "page-faults" },
		{ "perf::PAGE-FAULTS", "page-faults" },
		{ "perf::PERF_COUNT_SW_PAGE_FAULTS:u", "page-faults:u" },
		{ "context-switches", "context-switches" },
		{ "cpu-migrations", "cpu-migrations" },
		{ "minor-faults:u", "minor-faults:u" },
		{ "cpu-clock", "cpu-clock" },
		{ "task-clock", "task-clock" },
		{ "cycles", "cycles" },
		{ "instructions:u", "instructions:u" },
		{ "branch-misses", "branch-misses" },
		{ "L1-dcache-loads", "L1-dcache-loads" },
		{ "L1-dcache-load-misses", "L1-dcache-load-misses" },
		{ "dTLB-store-misses:u", "dTLB-store-misses:u" },
		{ "perf_raw::r1a8", "r1a8" },
		{ "perf_raw::r1:u", "r1:u" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct pm_event_spec spec = parsed(names[i].pfm), own = { .size = sizeof(own) };
		struct theirs theirs;

		assert_int_equal(theirs_encode(names[i].pfm, &theirs), 0);
		assert_same_event(&spec, &theirs);
		assert_int_equal(pm_event_parse(names[i].own, NULL, &own), 0);
		assert_memory_equal(&spec, &own, sizeof(own));
	}
}

/* libpfm 4.13 of Debian 13 has no modifier for hypervisors at its events of the kernel any more. */
static bool has_hypervisor(void)
{
	struct theirs unused;

	return theirs_encode("perf::CYCLES:u:k:h", &unused) == 0;
}

static void test_modifiers(void **state)
{
	static const char *const names[] = {
		"perf::CPU-CLOCK:period=1000", "perf::CPU-CLOCK:u:freq=99",
		"perf::PAGE-FAULTS:pinned", "perf::CYCLES:precise=2", "perf::PAGE-FAULTS:u=1:k=0",
		"perf::PAGE-FAULTS:u:k", "perf::CYCLES:u:k:h",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct pm_event_spec spec;
		struct theirs theirs;

		if (strstr(names[i], ":h") != NULL && !has_hypervisor())
			continue;
		spec = parsed(names[i]);
		assert_int_equal(theirs_encode(names[i], &theirs), 0);
		assert_same_event(&spec, &theirs);
	}
}

/* Without the hypervisor is what cannot be said, or where there is none to be without, as it is. */
static void test_without_hypervisor(void **state)
{
	struct pm_event_spec spec = { .size = sizeof(spec), .config = 7 };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct theirs theirs;

	(void)state;
	if (has_hypervisor()) {
		assert_int_equal(pm_pfm_parse("perf::CYCLES:u:k", &diag, &spec), -ENOTSUP);
		assert_non_null(strstr(diag.text, "without h"));
		assert_int_equal(spec.config, 7);
		return;
	}
	spec = parsed("perf::CYCLES:u:k");
	assert_int_equal(theirs_encode("perf::CYCLES:u:k", &theirs), 0);
	assert_same_event(&spec, &theirs);
}

static void test_rest_of_the_spec_stays(void **state)
{
	struct pm_event_spec spec = { .size = sizeof(spec), .period = 3, .tid = PM_ALL_THREADS,
				      .want = PM_WANT_CPU, .flags = PM_SPEC_EXACT };

	(void)state;
	assert_int_equal(pm_pfm_parse("perf::PAGE-FAULTS:u", NULL, &spec), 0);
	assert_int_equal(spec.period, 3);
	assert_int_equal(spec.tid, PM_ALL_THREADS);
	assert_int_equal(spec.want, PM_WANT_CPU);
	assert_int_equal(spec.flags, PM_SPEC_EXACT | PM_SPEC_USER_ONLY);
}

/* ------------------------------------------------------------------------------------- refusals */

static void test_refusals(void **state)
{
	static const struct { const char *name; int error; const char *says; } wrong[] = {
		{ "perf::PAGE-FAULT", ENOENT, "near it is perf::" },
		{ "perf::CONTEXT-SWITCHEZ", ENOENT, "CONTEXT-SWITCHES" },
		{ "nosuch::EVENT", ENOENT, "knows no PMU \"nosuch\"; this machine has perf" },
		{ "PAGE-FAULTZ", ENOENT, "no such event" },
		{ "perf::PAGE-FAULTS:z", EINVAL, "no modifier" },
		{ "perf::PAGE-FAULTS:u=2", EINVAL, "value" },
		{ "perf::PAGE-FAULTS:k", ENOTSUP, "PM_SPEC_NO_USER" },
		{ "perf::PAGE-FAULTS:mg", ENOTSUP, "PM_SPEC_NO_HOST" },
		{ "perf::PAGE-FAULTS:mh=1", ENOTSUP, "PM_SPEC_NO_GUEST" },
		{ "perf::PAGE-FAULTS:excl", ENOTSUP, "PM_SPEC_EXCLUSIVE" },
		{ "perf::PAGE-FAULTS:cpu=0", ENOTSUP, "option `cpus`" },
		{ "perf::PAGE-FAULTS,perf::CYCLES", EINVAL, "commas" },
		{ "", EINVAL, "no name" },
		{ "::", ENOENT, "knows no PMU" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct pm_event_spec spec = { .size = sizeof(spec), .config = 7 }, before = spec;
		struct pm_diag diag = { .size = sizeof(diag) };
		int err = pm_pfm_parse(wrong[i].name, &diag, &spec);

		if (err != -wrong[i].error || strstr(diag.text, wrong[i].says) == NULL)
			print_error("%s: %d %s\n", wrong[i].name, err, diag.text);
		assert_int_equal(err, -wrong[i].error);
		assert_int_equal(diag.error, wrong[i].error);
		assert_non_null(strstr(diag.text, wrong[i].says));
		assert_memory_equal(&spec, &before, sizeof(spec));
	}
}

/* A machine has not the PMUs of two makers, so one of these is another's. */
static void test_absent_pmu(void **state)
{
	static const char *const names[] = {
		"skl::UNHALTED_CORE_CYCLES", "amd64_k8_revb::CPU_CLK_UNHALTED",
		"arm_ac57::CPU_CYCLES", "power8::PM_CYC",
	};
	bool refused = false;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct pm_event_spec spec = { .size = sizeof(spec) };
		struct pm_diag diag = { .size = sizeof(diag) };

		if (pm_pfm_parse(names[i], &diag, &spec) == 0)
			continue;
		assert_int_equal(diag.error, ENOENT);
		assert_int_equal(diag.cause, PM_CAUSE_NO_EVENT);
		refused |= strstr(diag.text, "this machine has") != NULL;
	}
	assert_true(refused);
}

/* The other function is named: our own parser knows such a name when it sees one. */
static void test_own_parser_sends_here(void **state)
{
	struct pm_event_spec spec = { .size = sizeof(spec) };
	struct pm_diag diag = { .size = sizeof(diag) };

	(void)state;
	assert_int_equal(pm_event_parse("perf::PAGE-FAULTS", &diag, &spec), -EINVAL);
	assert_non_null(strstr(diag.text, "pm_pfm_parse"));
}

static void test_full_name(void **state)
{
	char full[128];

	(void)state;
	assert_true(pm_pfm_name("page-faults:u", full, sizeof(full)) > 0);
	assert_non_null(strstr(full, "perf::PERF_COUNT_SW_PAGE_FAULTS"));
	assert_int_equal(pm_pfm_name("perf::nothing", full, sizeof(full)), -ENOENT);
}

/* ------------------------------------------------------------------------------------ in a plan */

static void test_plan_tells(void **state)
{
	struct pm_event_spec spec = parsed("perf::PAGE-FAULTS:u");
	struct pm_session_opts opts = { .size = sizeof(opts), .allow = PM_ALLOW_ALL };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_plan *plan = NULL;
	char text[4096], name[] = "perf::PAGE-FAULTS:u\n";

	(void)state;
	spec.period = 1;
	spec.name = name;
	if (pm_plan_make(&spec, 1, &opts, NULL, &diag, &plan) < 0) {
		print_error("%s\n", diag.text);
		skip();
	}
	name[0] = 'X';		/* the plan has a copy */
	pm_plan_explain(plan, text, sizeof(text));
	assert_non_null(strstr(text, "event 0, page-faults:u: \"perf::PAGE-FAULTS:u?\" is type 1, "
			       "config 0x2\n"));
	pm_plan_destroy(plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_libpfm),	/* first: nothing has loaded it yet */
		cmocka_unit_test(test_of_another_machine),
		cmocka_unit_test(test_tracepoints),
		cmocka_unit_test(test_same_attr),
		cmocka_unit_test(test_modifiers),
		cmocka_unit_test(test_without_hypervisor),
		cmocka_unit_test(test_rest_of_the_spec_stays),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_absent_pmu),
		cmocka_unit_test(test_own_parser_sends_here),
		cmocka_unit_test(test_full_name),
		cmocka_unit_test(test_plan_tells),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
