/* SPDX-License-Identifier: MIT */
/* Names of events: what each stands for, and which are refused and why. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../perfmodes.h"
#include "../../pm_sys.h"
#include "../fake_files.h"

#define DEVICES "/sys/bus/event_source/devices/"

static int setup(void **state)
{
	if (fake_setup(state))
		return -1;
	fake_file(DEVICES "cpu_core/type", "4\n");
	fake_file(DEVICES "cpu_core/format/event", "config:0-7,32-35\n");
	fake_file(DEVICES "cpu_core/format/umask", "config:8-15\n");
	fake_file(DEVICES "cpu_core/format/edge", "config:18\n");
	fake_file(DEVICES "cpu_core/format/ldlat", "config1:0-15\n");
	fake_file(DEVICES "cpu_core/format/far", "config3:0-7\n");
	fake_file(DEVICES "cpu_core/format/odd", "nonsense\n");
	fake_file(DEVICES "cpu_core/events/loads", "event=0xcd,umask=0x1,ldlat=3\n");
	fake_file(DEVICES "cpu_core/events/loop", "loop\n");
	fake_file(DEVICES "uncore_imc-0/type", "23\n");
	fake_file(DEVICES "cpu_atom/type", "10\n");
	fake_file(DEVICES "cpu_atom/cpus", "4-7\n");
	fake_file(DEVICES "cpu_atom/events/instructions", "event=0xc0\n");
	fake_file(DEVICES "cpu_atom/format/event", "config:0-7\n");
	fake_file(DEVICES "kprobe/type", "8\n");
	fake_file(DEVICES "kprobe/format/retprobe", "config:0\n");
	fake_file("/sys/kernel/tracing/events/sched/sched_switch/id", "314\n");
	return 0;
}

static const struct {
	const char *name;
	uint32_t type;
	uint64_t config, config1, config2;
	unsigned int flags;
} good[] = {
	{ "cycles", PM_TYPE_HARDWARE, PM_HW_CYCLES, 0, 0, 0 },
	{ "cpu-cycles:u", PM_TYPE_HARDWARE, PM_HW_CYCLES, 0, 0, PM_SPEC_USER_ONLY },
	{ "cycles:pp", PM_TYPE_HARDWARE, PM_HW_CYCLES, 0, 0, PM_SPEC_PRECISE_2 },
	{ "cycles:p", PM_TYPE_HARDWARE, PM_HW_CYCLES, 0, 0, PM_SPEC_PRECISE_1 },
	{ "cycles:pP", PM_TYPE_HARDWARE, PM_HW_CYCLES, 0, 0, PM_SPEC_PRECISE },
	{ "cycles:k", PM_TYPE_HARDWARE, PM_HW_CYCLES, 0, 0,
	  PM_SPEC_NO_USER | PM_SPEC_NO_HYPERVISOR },
	{ "cycles:uk", PM_TYPE_HARDWARE, PM_HW_CYCLES, 0, 0, PM_SPEC_NO_HYPERVISOR },
	{ "cycles:hu", PM_TYPE_HARDWARE, PM_HW_CYCLES, 0, 0, PM_SPEC_NO_KERNEL },
	{ "cycles:kH", PM_TYPE_HARDWARE, PM_HW_CYCLES, 0, 0,
	  PM_SPEC_NO_USER | PM_SPEC_NO_HYPERVISOR | PM_SPEC_NO_GUEST },
	{ "cycles:G", PM_TYPE_HARDWARE, PM_HW_CYCLES, 0, 0, PM_SPEC_NO_HOST },
	{ "cycles:HG", PM_TYPE_HARDWARE, PM_HW_CYCLES, 0, 0, 0 },
	{ "cycles:DeI", PM_TYPE_HARDWARE, PM_HW_CYCLES, 0, 0,
	  PM_SPEC_PINNED | PM_SPEC_EXCLUSIVE | PM_SPEC_NO_IDLE },
	{ "cycles:uP", PM_TYPE_HARDWARE, PM_HW_CYCLES, 0, 0, PM_SPEC_USER_ONLY | PM_SPEC_PRECISE },
	{ "cycles:pppu", PM_TYPE_HARDWARE, PM_HW_CYCLES, 0, 0,
	  PM_SPEC_USER_ONLY | PM_SPEC_PRECISE },
	{ "ref-cycles", PM_TYPE_HARDWARE, PM_HW_REF_CYCLES, 0, 0, 0 },
	{ "branch-instructions", PM_TYPE_HARDWARE, PM_HW_BRANCHES, 0, 0, 0 },
	{ "page-faults:u", PM_TYPE_SOFTWARE, PM_SW_PAGE_FAULTS, 0, 0, PM_SPEC_USER_ONLY },
	{ "cs", PM_TYPE_SOFTWARE, PM_SW_CONTEXT_SWITCHES, 0, 0, 0 },
	{ "cgroup-switches", PM_TYPE_SOFTWARE, PM_SW_CGROUP_SWITCHES, 0, 0, 0 },
	{ "L1-dcache-loads", PM_TYPE_CACHE, 0, 0, 0, 0 },
	{ "LLC-store-misses:u", PM_TYPE_CACHE,
	  PM_CACHE_EVENT(PM_CACHE_LL, PM_CACHE_STORE, PM_CACHE_MISS), 0, 0, PM_SPEC_USER_ONLY },
	{ "dTLB-prefetches", PM_TYPE_CACHE,
	  PM_CACHE_EVENT(PM_CACHE_DTLB, PM_CACHE_PREFETCH, PM_CACHE_ACCESS), 0, 0, 0 },
	{ "branch-load-misses", PM_TYPE_CACHE,
	  PM_CACHE_EVENT(PM_CACHE_BPU, PM_CACHE_LOAD, PM_CACHE_MISS), 0, 0, 0 },
	{ "L1-dcache", PM_TYPE_CACHE, 0, 0, 0, 0 },
	{ "l1d-misses", PM_TYPE_CACHE, 1 << 16, 0, 0, 0 },
	{ "Data-TLB-miss-write", PM_TYPE_CACHE,
	  PM_CACHE_EVENT(PM_CACHE_DTLB, PM_CACHE_STORE, PM_CACHE_MISS), 0, 0, 0 },
	{ "L2-speculative-read-refs", PM_TYPE_CACHE,
	  PM_CACHE_EVENT(PM_CACHE_LL, PM_CACHE_PREFETCH, PM_CACHE_ACCESS), 0, 0, 0 },
	{ "r1a8", PM_TYPE_RAW, 0x1a8, 0, 0, 0 },
	{ "1:2:u", PM_TYPE_SOFTWARE, PM_SW_PAGE_FAULTS, 0, 0, PM_SPEC_USER_ONLY },
	{ "4:0x1a8", PM_TYPE_RAW, 0x1a8, 0, 0, 0 },
	{ "cycles/config=1/", PM_TYPE_HARDWARE, PM_HW_INSTRUCTIONS, 0, 0, 0 },
	{ "cycles//u", PM_TYPE_HARDWARE, PM_HW_CYCLES, 0, 0, PM_SPEC_USER_ONLY },
	{ "loads", 4, 0x1cd, 3, 0, 0 },
	{ "loads:k", 4, 0x1cd, 3, 0, PM_SPEC_NO_USER | PM_SPEC_NO_HYPERVISOR },
	{ "rFFFFffffFFFFffff:u", PM_TYPE_RAW, UINT64_MAX, 0, 0, PM_SPEC_USER_ONLY },
	{ "sched:sched_switch", PM_TYPE_TRACEPOINT, 314, 0, 0, 0 },
	{ "sched:sched_switch:u", PM_TYPE_TRACEPOINT, 314, 0, 0, PM_SPEC_USER_ONLY },
	{ "mem:0x1000", PM_TYPE_BREAKPOINT, PM_ACCESS_RW, 0x1000, 4, 0 },
	{ "mem:4096/8:w", PM_TYPE_BREAKPOINT, PM_ACCESS_W, 0x1000, 8, 0 },
	{ "mem:0x1000/1:rw:u", PM_TYPE_BREAKPOINT, PM_ACCESS_RW, 0x1000, 1, PM_SPEC_USER_ONLY },
	{ "mem:0x1000:x", PM_TYPE_BREAKPOINT, PM_ACCESS_X, 0x1000, sizeof(long), 0 },
	{ "mem:0x1000:u", PM_TYPE_BREAKPOINT, PM_ACCESS_RW, 0x1000, 4, PM_SPEC_USER_ONLY },
	{ "cpu_core/event=0x1c0,umask=0x2/", 4, 0x1000002c0, 0, 0, 0 },
	{ "cpu_core/event=192,edge/u", 4, 0x400c0, 0, 0, PM_SPEC_USER_ONLY },
	{ "cpu_core/loads/", 4, 0x1cd, 3, 0, 0 },
	{ "cpu_core/loads,ldlat=30/", 4, 0x1cd, 30, 0, 0 },
	{ "cpu_core/config=0x10,config1=2,config2=3/", 4, 0x10, 2, 3, 0 },
	{ "uncore_imc-0//", 23, 0, 0, 0, 0 },
	{ "cpu_atom/cycles/u", PM_TYPE_HARDWARE, 10ull << 32, 0, 0, PM_SPEC_USER_ONLY },
	{ "cpu_atom/LLC-loads/", PM_TYPE_CACHE, 10ull << 32 | PM_CACHE_LL, 0, 0, 0 },
	{ "cpu_atom/instructions/", 10, 0xc0, 0, 0, 0 },
	{ "kprobe/retprobe,config2=0x1000/", 8, 1, 0, 0x1000, 0 },
};

static void names_that_are_known(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct pm_event_spec spec = { .size = sizeof(spec), .period = 7, .tid = -1,
					      .flags = PM_SPEC_EXACT, .config2 = 99 };
		struct pm_diag diag = { .size = sizeof(diag) };

		if (pm_event_parse(good[i].name, &diag, &spec) != 0)
			fail_msg("%s: %s", good[i].name, diag.text);
		if (spec.type != good[i].type || spec.config != good[i].config ||
		    spec.config1 != good[i].config1 || spec.config2 != good[i].config2 ||
		    spec.flags != (good[i].flags | PM_SPEC_EXACT))
			fail_msg("%s: %u 0x%llx 0x%llx 0x%llx %u", good[i].name, spec.type,
				 (unsigned long long)spec.config, (unsigned long long)spec.config1,
				 (unsigned long long)spec.config2, spec.flags);
		assert_true(spec.period == 7 && spec.tid == -1);
	}
}

static const struct {
	const char *name;
	int error;
	const char *says;
} bad[] = {
	{ "", EINVAL, "no name of an event" },
	{ "cyclez", EINVAL, "\"cyclez\" is no name" },
	{ "Cycles", EINVAL, "is no name" },
	{ "cycles:", EINVAL, "is no modifier" },
	{ "cycles:z", EINVAL, "\"z\" is no modifier" },
	{ "cycles:uu", EINVAL, "there twice" },
	{ "cycles:b", ENOTSUP, "programs of BPF" },
	{ "cycles:S", ENOTSUP, "pm_event_list() takes" },
	{ "cycles:W", ENOTSUP, "pm_event_list() takes" },
	{ "cycles/name=x/", ENOTSUP, "pm_event_list() takes" },
	{ "cycles/percore/", ENOTSUP, "\"percore\" is a term of perf(1) that is not supported" },
	{ "cycles/call-graph=lbr/", ENOTSUP, "fp, dwarf and no are" },
	{ "cycles/call-graph=yes/", EINVAL, "is fp, dwarf or no" },
	{ "cycles/stack-size=65536/", EINVAL, "no size of a stack" },
	{ "cycles/period=0/", EINVAL, "takes no sample" },
	{ "cycles/period=/", EINVAL, "no number" },
	{ "cycles/freq=0x10000000000000000/", ERANGE, "64 bits" },
	{ "cycles/name=/", EINVAL, "is no name" },
	{ "cycles/period=1", EINVAL, "no slash behind it" },
	{ "cycles/period=1,/", EINVAL, "is no term" },
	{ "cycles/event=1/", EINVAL, "is no term of such an event" },
	{ "cycles/period=1/:u", EINVAL, "no modifier" },
	{ "duration_time", ENOTSUP, "measured by perf(1) itself" },
	{ "1:", ENOENT, "no tracepoint here" },
	{ "4294967296:1", ERANGE, "\"4294967296:1\" has a type of more than 32 bits" },
	{ "1:18446744073709551616", ERANGE, "or a config of more than 64" },
	{ "cycles:pppp", EINVAL, "three degrees" },
	{ "cycles u", EINVAL, "no blanks" },
	{ "cycles\n", EINVAL, "printable" },
	{ "L1-dcache-", EINVAL, "is no name" },
	{ "L1-dcache-load-load", EINVAL, "is no name" },
	{ "L1-dcacheload", EINVAL, "is no name" },
	{ "r", EINVAL, "is no name" },
	{ "r1g", EINVAL, "is no name" },
	{ "r12345678123456781", ERANGE, "has more than 64 bits" },
	{ "r1234567812345678g", EINVAL, "is no name" },
	{ ":sched_switch", EINVAL, "is no name" },
	{ "sched:nonsense", ENOENT, "no tracepoint here" },
	{ "sched:../sched_switch", ENOENT, "no tracepoint here" },
	{ "mem:", EINVAL, "is no address" },
	{ "mem:here", EINVAL, "\"here\" is no address" },
	{ "mem:0x1000/", EINVAL, "is no length" },
	{ "mem:0x1000:rr", EINVAL, "no modifier" },
	{ "mem:18446744073709551616", ERANGE, "has more than 64 bits" },
	{ "mem:0x1000/0x10000000000000000", ERANGE, "has more than 64 bits" },
	{ "cpu_core/event=1", EINVAL, "has no slash behind it" },
	{ "cpu_core/event=/", EINVAL, "has no number" },
	{ "cpu_core/event=0x1000/", ERANGE, "cannot be that large" },
	{ "cpu_core/edge=2/", ERANGE, "cannot be that large" },
	{ "cpu_core/event=0x10000000000000000/", ERANGE, "cannot be that large" },
	{ "cpu_core/event=0x1000000000000000g/", EINVAL, "has no number" },
	{ "cpu_core/cycles/", ENOENT, "\"cycles\" is no term and no event" },
	{ "cpu_atom/page-faults/", ENOENT, "is no term and no event" },
	{ "cpu_atom/cycles,event=1/", ENOENT, "is no term and no event" },
	{ "cpu_core/nonsense/", ENOENT, "\"nonsense\" is no term and no event" },
	{ "cpu_core/event=1,,umask=1/", EINVAL, "is no term" },
	{ "cpu_core/event=1/z", EINVAL, "modifier" },
	{ "cpu_core/event=1/:u", EINVAL, "no modifier" },
	{ "cpu_core/far=1/", ENOTSUP, "config3" },
	{ "cpu_core/odd=1/", ENOTSUP, "not understood" },
	{ "cpu_core/loop/", ENOENT, "is no term" },
	{ "cpu_core/../", ENOENT, "is no term" },
	{ "nonsense/event=1/", ENOENT, "\"nonsense\" is no PMU" },
	{ "../cpu_core/event=1/", ENOENT, "is no PMU" },
};

static void names_that_are_none(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct pm_event_spec spec = { .size = sizeof(spec), .config = 5 }, before = spec;
		struct pm_diag diag = { .size = sizeof(diag) };
		int err = pm_event_parse(bad[i].name, &diag, &spec);

		if (err != -bad[i].error || diag.error != bad[i].error)
			fail_msg("\"%s\": %d, %s", bad[i].name, err, diag.text);
		if (bad[i].says != NULL && strstr(diag.text, bad[i].says) == NULL)
			fail_msg("\"%s\" does not say \"%s\"", diag.text, bad[i].says);
		assert_memory_equal(&spec, &before, sizeof(spec));
		assert_int_equal(pm_event_parse(bad[i].name, NULL, &spec), err);
	}
}

static void rates_of_terms(void **state)
{
	struct pm_event_spec spec = { .size = sizeof(spec), .period = 7 };

	(void)state;
	assert_int_equal(pm_event_parse("page-faults/period=0x10/u", NULL, &spec), 0);
	assert_true(spec.period == 16 && spec.frequency == 0);
	assert_int_equal(pm_event_parse("cpu_core/event=1,freq=99/", NULL, &spec), 0);
	assert_true(spec.period == 0 && spec.frequency == 99 && spec.config == 1);
	/* The last one counts. */
	assert_int_equal(pm_event_parse("cycles/freq=99,period=5/", NULL, &spec), 0);
	assert_true(spec.period == 5 && spec.frequency == 0);
	assert_int_equal(pm_event_parse("sched:sched_switch/period=3/", NULL, &spec), 0);
	assert_true(spec.period == 3 && spec.config == 314);
}

static void an_event_of_two_pmus(void **state)
{
	struct pm_event_spec spec = { .size = sizeof(spec) };
	struct pm_diag diag = { .size = sizeof(diag) };

	(void)state;
	fake_file(DEVICES "cpu_atom/events/loads", "event=0xc0\n");
	assert_int_equal(pm_event_parse("loads", &diag, &spec), -EINVAL);
	assert_non_null(strstr(diag.text, "several PMUs"));
}

static void tracefs_that_cannot_be_read(void **state)
{
	struct pm_event_spec spec = { .size = sizeof(spec) };
	struct pm_diag diag = { .size = sizeof(diag) };

	(void)state;
	fake_denied_path = "/sys/kernel/tracing/events/sched/sched_switch/id";
	fake_denied_errno = EACCES;
	assert_int_equal(pm_event_parse("sched:sched_switch", &diag, &spec), -EACCES);
	assert_non_null(strstr(diag.text, "tracefs is not readable"));
}

static void long_names(void **state)
{
	struct pm_event_spec spec = { .size = sizeof(spec) };
	char name[400];

	(void)state;
	memset(name, 'z', sizeof(name));
	for (size_t length = 1; length < sizeof(name); length++) {
		name[length] = '\0';
		assert_int_equal(pm_event_parse(name, NULL, &spec), -EINVAL);
		name[length] = 'z';
	}
	memcpy(name, "cpu_core/", 9);
	name[399] = '\0';
	assert_int_equal(pm_event_parse(name, NULL, &spec), -EINVAL);
}

static void the_size_of_the_spec(void **state)
{
	struct pm_event_spec spec = { .size = 0 };

	(void)state;
	assert_int_equal(pm_event_parse("cycles", NULL, &spec), -EINVAL);
	spec.size = offsetof(struct pm_event_spec, filter);
	assert_int_equal(pm_event_parse("cycles", NULL, &spec), 0);
}

static void names_of_specs(void **state)
{
	struct pm_event_spec spec = { .size = sizeof(spec), .type = PM_TYPE_SOFTWARE,
				      .config = PM_SW_PAGE_FAULTS };
	char name[64], little[5];

	(void)state;
	assert_int_equal(pm_event_name(&spec, name, sizeof(name)), strlen("page-faults"));
	assert_string_equal(name, "page-faults");
	assert_int_equal(pm_event_name(&spec, little, sizeof(little)), strlen("page-faults"));
	assert_string_equal(little, "page");
	spec.flags = PM_SPEC_USER_ONLY;
	spec.type = PM_TYPE_HARDWARE;
	spec.config = PM_HW_INSTRUCTIONS;
	(void)pm_event_name(&spec, name, sizeof(name));
	assert_string_equal(name, "instructions:u");
	spec.flags = PM_SPEC_NO_USER | PM_SPEC_NO_HYPERVISOR | PM_SPEC_NO_GUEST;
	(void)pm_event_name(&spec, name, sizeof(name));
	assert_string_equal(name, "instructions:kH");
	spec.flags = PM_SPEC_NO_KERNEL | PM_SPEC_NO_IDLE | PM_SPEC_NO_HOST;
	(void)pm_event_name(&spec, name, sizeof(name));
	assert_string_equal(name, "instructions:uhGI");
	spec.flags = PM_SPEC_USER_ONLY;
	spec.config = PM_HW_REF_CYCLES + 1;
	(void)pm_event_name(&spec, name, sizeof(name));
	assert_string_equal(name, "event 0:0xa:u");
}

/* What the parser makes of each name, this makes that name of again. */
static void names_go_both_ways(void **state)
{
	static const char *const names[] = {
		"cycles:u", "page-faults", "L1-dcache-loads", "LLC-store-misses",
		"iTLB-load-misses", "branch-prefetches", "node-prefetch-misses:u",
		"cpu_core/cycles/", "cpu_core/LLC-load-misses/u",
	};
	char name[64];

	(void)state;
	fake_file(DEVICES "/cpu_core/type", "4\n");
	fake_file(DEVICES "/cpu_core/cpus", "0-3\n");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct pm_event_spec spec = { .size = sizeof(spec) };

		assert_int_equal(pm_event_parse(names[i], NULL, &spec), 0);
		(void)pm_event_name(&spec, name, sizeof(name));
		assert_string_equal(name, names[i]);
	}
}

static void kinds_without_a_name(void **state)
{
	struct pm_event_spec spec = { .size = sizeof(spec), .type = PM_TYPE_HARDWARE,
				      .config = 99ull << 32 | PM_HW_CYCLES };
	char name[64];

	(void)state;
	assert_int_equal(pm_event_name(&spec, name, sizeof(name)), strlen("cycles of PMU 99"));
	assert_string_equal(name, "cycles of PMU 99");
	spec.config |= 0xff;
	(void)pm_event_name(&spec, name, sizeof(name));
	assert_string_equal(name, "event 0:0x63000000ff");
}

/* The upper half is a number that pm_pmu_type() returns for a PMU without a type: -ENOENT. */
static void a_kind_that_is_an_error(void **state)
{
	struct pm_event_spec spec = { .size = sizeof(spec), .type = PM_TYPE_HARDWARE,
				      .config = (uint64_t)(uint32_t)-ENOENT << 32 | PM_HW_CYCLES };
	char name[64];

	(void)state;
	fake_file(DEVICES "untyped/cpus", "0-3\n");
	assert_int_equal(pm_pmu_type("untyped"), -ENOENT);
	(void)pm_event_name(&spec, name, sizeof(name));
	assert_string_equal(name, "cycles of PMU 4294967294");
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(names_that_are_known),
		TEST(names_that_are_none),
		TEST(rates_of_terms), TEST(an_event_of_two_pmus),
		TEST(tracefs_that_cannot_be_read),
		TEST(long_names),
		TEST(the_size_of_the_spec),
		TEST(names_of_specs), TEST(names_go_both_ways), TEST(kinds_without_a_name),
		TEST(a_kind_that_is_an_error),
	};

	return cmocka_run_group_tests_name("event", tests, NULL, NULL);
}
