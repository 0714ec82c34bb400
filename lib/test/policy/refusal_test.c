/* SPDX-License-Identifier: MIT */
/* Gates with settings that this machine does not have: vendors' levels, lockdown, LSMs. */
#define _GNU_SOURCE
#include "refused.h"

int capset(void *header, const void *data);

/* ----------------------------------------------------------------------------------- levels */

static void mainline_levels(void **state)
{
	static const struct {
		const struct pm_event_spec *spec;
		enum pm_reach reach;
		int met;
		const char *file, *change;
	} cases[] = {
		{ &all, PM_REACH_OWN, 2, "2\n", "perf_event_paranoid=1" },
		{ &all, PM_REACH_CPU, 1, "1\n", "perf_event_paranoid=0" },
		{ &all, PM_REACH_CPU, 2, "2\n", "perf_event_paranoid=0" },
		{ &all, PM_REACH_TRACE, 0, "0\n", "perf_event_paranoid=-1" },
		{ &all, PM_REACH_OTHER, 2, "2\n", "perf_event_paranoid=1" },
	};
	struct pm_refusal refusal;
	char said[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		level(cases[i].met, false, cases[i].file);
		pm_refusal_of_open(cases[i].spec, cases[i].reach, -1, EACCES, &refusal);
		assert_int_equal(refusal.cause, PM_CAUSE_PARANOID);
		assert_int_equal(refusal.error, EACCES);
		snprintf(said, sizeof(said), "kernel.perf_event_paranoid=%d,", cases[i].met);
		assert_says(refusal.gate, said);
		assert_says(refusal.change, cases[i].change);
	}
}

/* Samples of user mode alone, with something of the kernel in them. */
static void user_mode_that_tells_of_the_kernel(void **state)
{
	static const struct { uint64_t sample, branches; bool hypervisor, refused; } cases[] = {
		{ PERF_SAMPLE_IP, 0, true, false },
		{ PERF_SAMPLE_PHYS_ADDR, 0, false, true },
		{ PERF_SAMPLE_BRANCH_STACK, PERF_SAMPLE_BRANCH_ANY, true, true },
		{ PERF_SAMPLE_BRANCH_STACK, PERF_SAMPLE_BRANCH_ANY, false, false },
		{ PERF_SAMPLE_BRANCH_STACK, PERF_SAMPLE_BRANCH_USER, true, false },
		{ PERF_SAMPLE_BRANCH_STACK, PERF_SAMPLE_BRANCH_KERNEL, false, true },
	};
	struct pm_refusal refusal;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct perf_event_attr attr = {
			.exclude_kernel = 1, .exclude_hv = !cases[i].hypervisor,
			.sample_period = 1, .sample_type = cases[i].sample,
			.branch_sample_type = cases[i].branches,
		};

		level(2, false, "2\n");
		pm_refusal_of_attr(&attr, PM_REACH_OWN, -1, false, EACCES, &refusal);
		assert_int_equal(refusal.cause == PM_CAUSE_PARANOID, cases[i].refused);
		if (cases[i].refused)
			assert_says(refusal.change, i == 1 ? "leave physical addresses out" :
				    "branches of user mode only");
	}
}

/* The data of a tracepoint takes more than its count, which the session's own line has to know. */
static void data_of_a_tracepoint(void **state)
{
	struct pm_event_spec spec = { .size = sizeof(spec), .type = PERF_TYPE_TRACEPOINT };
	struct pm_diag diag = { .size = sizeof(diag) };

	(void)state;
	level(1, false, "1\n");
	assert_int_not_equal(pm_diag_open(&diag, &spec, -1, EACCES), PM_CAUSE_PARANOID);
	spec.want = PM_WANT_RAW;
	assert_int_equal(pm_diag_open(&diag, &spec, -1, EPERM), PM_CAUSE_PARANOID);
	assert_says(diag.text, "-1 or less is needed");
	assert_says(diag.text, "perf_event_open(event 2:0x0, this thread, any cpu): EPERM");
	spec.tid = PM_SYSTEM;
	spec.name = "sched:\nsched_switch";
	assert_int_equal(pm_diag_open(&diag, &spec, 0, EPERM), PM_CAUSE_PARANOID);
	assert_says(diag.text, "-1 or less is needed");
	assert_says(diag.text,
		    "perf_event_open(sched:?sched_switch, the whole machine, cpu 0): EPERM");
	spec.want = 0;
	assert_int_equal(pm_diag_open(&diag, &spec, 0, EACCES), PM_CAUSE_PARANOID);
	assert_says(diag.text, "0 or less is needed");
}

/* A caller of an earlier release, whose text was shorter. */
static void a_smaller_diagnosis(void **state)
{
	const struct pm_event_spec spec = { .size = sizeof(spec), .type = PM_TYPE_SOFTWARE };
	struct pm_diag diag;

	(void)state;
	memset(&diag, 0x55, sizeof(diag));
	diag.size = offsetof(struct pm_diag, text) + 20;
	assert_int_equal(pm_diag_open(&diag, &spec, -1, EMFILE), PM_CAUSE_DESCRIPTORS);
	assert_int_equal(strlen(diag.text), 19);
	assert_int_equal(diag.text[20], 0x55);
	diag.size = offsetof(struct pm_diag, text);
	diag.error = 0;
	assert_int_equal(pm_diag_open(&diag, &spec, -1, EMFILE), PM_CAUSE_DESCRIPTORS);
	assert_int_equal(diag.error, 0);
}

/* Debian's and Android's 3, Ubuntu's 4: user mode is refused as well. */
static void vendors_levels(void **state)
{
	static const char *const files[] = { "3\n", "4\n" };
	struct pm_refusal refusal;

	(void)state;
	for (int i = 0; i < 2; i++) {
		level(3 + i, true, files[i]);
		pm_refusal_of_open(&user, PM_REACH_OWN, -1, EACCES, &refusal);
		assert_int_equal(refusal.cause, PM_CAUSE_PARANOID);
		assert_says(refusal.gate, i ? "paranoid=4, a vendor" : "paranoid=3, a vendor");
		assert_says(refusal.change, "perf_event_paranoid=2");
	}
}

/* The reason names the capability that counts: above 2, and before v5.8, it is not CAP_PERFMON. */
static void the_capability_of_a_level(void **state)
{
	static const struct { int level, last; const char *said; } cases[] = {
		{ 3, 40, "needs <= 2 or CAP_SYS_ADMIN" }, { 2, 40, "needs <= 1 or CAP_PERFMON" },
		{ 2, 37, "needs <= 1 or CAP_SYS_ADMIN" },
	};
	const struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE };
	struct pm_gate_words words;
	struct pm_env env = { .paranoid_present = true };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct pm_refused refused = {
			.call = PM_CALL_OPEN, .error = EACCES, .env = &env, .attr = &attr,
			.reach = PM_REACH_OWN, .cpu = -1, .level = cases[i].level,
		};

		env.paranoid = cases[i].level;
		env.cap_last = cases[i].last;
		pm_gate_find(&refused, &words);
		assert_says(words.brief, cases[i].said);
	}
}

/* What refuses them is told from what refuses a task, which perf record of a child may be. */
static void chains_of_the_kernel(void **state)
{
	static const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .exclude_kernel = 1, .sample_period = 1,
		.sample_type = PERF_SAMPLE_CALLCHAIN,
	};
	const struct pm_env env = { .paranoid_present = true, .paranoid = 2, .cap_last = 40 };
	struct pm_gate_words words;

	(void)state;
	for (int i = 0; i < 2; i++) {
		const struct pm_refused refused = {
			.call = PM_CALL_OPEN, .error = EACCES, .env = &env, .attr = &attr,
			.reach = PM_REACH_OTHER, .cpu = -1, .level = 2, .needs_user_chains = i != 0,
		};
		const struct pm_gate *gate = pm_gate_find(&refused, &words);

		assert_string_equal(gate->name, i ? "chain" : "target");
		assert_int_equal(strstr(words.change, "call chains of user mode only") != NULL, i);
		assert_int_equal(words.level, i ? 1 : INT_MIN);
	}
}

/* At 3 and 4 CAP_PERFMON is not looked at: the safe way is 2, where it is, and never SYS_ADMIN. */
static void the_way_down_from_a_vendors_level(void **state)
{
	struct pm_refusal refusal;

	(void)state;
	for (int i = 0; i < 2; i++) {
		level(3 + i, true, i ? "4\n" : "3\n");
		pm_refusal_of_open(&all, PM_REACH_CPU, -1, EACCES, &refusal);
		assert_says(refusal.change, "then CAP_PERFMON counts");
		assert_null(strstr(refusal.change, "SYS_ADMIN"));
		assert_null(strstr(refusal.change, "sys_admin"));
		assert_true(strstr(refusal.change, "perf_event_paranoid=2") <
			    strstr(refusal.change, "CAP_PERFMON"));
		pm_refusal_of_open(&user, PM_REACH_OWN, -1, EACCES, &refusal);
		assert_null(strstr(refusal.change, "PERFMON"));	/* 2 is enough */
	}
}

/* In a unit of systemd's the lines are of its file. */
static void a_unit_of_systemd(void **state)
{
	struct pm_refusal refusal;

	(void)state;
	level(2, false, "2\n");
	fake_file("/proc/self/cgroup", "0::/system.slice/my.service\n");
	pm_refusal_of_open(&all, PM_REACH_CPU, -1, EACCES, &refusal);
	/* What is permitted, as to this test where it runs as root, is not to be given. */
	if (pm_caps_permitted() == 0)
		assert_says(refusal.change, "systemctl edit my.service: [Service] "
			    "AmbientCapabilities=CAP_PERFMON");
	else
		assert_says(refusal.change, "CAP_PERFMON is permitted to this process and not in "
			    "effect");
	fake_kernel.always_errno = EPERM;
	pm_refusal_of_open(&all, PM_REACH_OWN, -1, EPERM, &refusal);
	assert_says(refusal.change, "systemctl edit my.service: [Service] ");
	assert_says(refusal.change, "Filter=perf_event_open");
	fake_file("/proc/self/cgroup", "0::/system.slice/_memory.service\n");
	pm_refusal_of_open(&all, PM_REACH_OWN, -1, EPERM, &refusal);
	assert_says(refusal.change, "systemctl edit memory.service: [Service] ");
	fake_file("/proc/self/cgroup", "0::/user.slice/user@1000.service/app.slice/my.service\n");
	pm_refusal_of_open(&all, PM_REACH_OWN, -1, EPERM, &refusal);
	assert_null(strstr(refusal.change, "systemctl"));
}

/* CAP_PERFMON (38, in the second word) of this thread; it is left permitted where we had it. */
static bool use_perfmon(bool on)
{
	struct { uint32_t version; int pid; } header = { 0x20080522, 0 };
	const uint32_t data[6] = { 0, 0, 0, on ? 1u << 6 : 0, 1u << 6, 0 };

	return capset(&header, data) == 0;
}

/* As Debian's kernels do: what CAP_PERFMON is for, they give to CAP_SYS_ADMIN only. */
static void a_vendors_level_and_perfmon(void **state)
{
	struct pm_refusal refusal;

	(void)state;
	if (!use_perfmon(true))
		skip();
	level(3, true, "3\n");
	pm_refusal_of_open(&all, PM_REACH_OWN, -1, EACCES, &refusal);
	assert_int_equal(refusal.cause, PM_CAUSE_PARANOID);
	assert_says(refusal.gate, "CAP_PERFMON does not count");
	assert_says(refusal.change, "perf_event_paranoid=2");
	/* Where the file says 2, it is another gate. */
	level(3, true, "2\n");
	pm_refusal_of_open(&all, PM_REACH_OWN, -1, EACCES, &refusal);
	assert_int_not_equal(refusal.cause, PM_CAUSE_PARANOID);
	assert_true(use_perfmon(false));
	level(3, true, "3\n");
	pm_refusal_of_open(&all, PM_REACH_OWN, -1, EACCES, &refusal);
	assert_says(refusal.gate, "CAP_SYS_ADMIN is missing");
}

/* Containers without root map a line for each range, more than anybody has room for. */
static void a_capability_of_a_user_namespace(void **state)
{
	struct pm_refusal refusal;
	char map[1024];
	int used = 0;

	(void)state;
	if (!use_perfmon(true))
		skip();
	level(2, false, "2\n");
	for (int i = 0; i < 20; i++)
		used += snprintf(map + used, sizeof(map) - (size_t)used, "%10d %10d %10d\n", i,
				 100000 + i, 1);
	fake_file("/proc/self/uid_map", map);
	pm_refusal_of_open(&all, PM_REACH_OWN, -1, EACCES, &refusal);
	assert_true(use_perfmon(false));
	assert_int_equal(refusal.cause, PM_CAUSE_PARANOID);
	assert_says(refusal.gate, "CAP_PERFMON of a user namespace does not count");
}

/* Mainline takes 3 for 2: what refuses user mode there is another gate. */
static void a_three_that_is_no_vendors(void **state)
{
	struct pm_refusal refusal;

	(void)state;
	level(3, false, "3\n");
	pm_refusal_of_open(&user, PM_REACH_OWN, -1, EACCES, &refusal);
	assert_int_not_equal(refusal.cause, PM_CAUSE_PARANOID);
	pm_refusal_of_open(&all, PM_REACH_OWN, -1, EACCES, &refusal);
	assert_int_equal(refusal.cause, PM_CAUSE_PARANOID);
	assert_null(strstr(refusal.gate, "vendor"));
}

static void a_level_that_cannot_be_read(void **state)
{
	struct pm_refusal refusal;

	(void)state;
	level(2, false, NULL);
	for (int i = 0; i < 2; i++) {
		fake_kernel.software_kinds = i ? PERF_COUNT_SW_DUMMY : 0;	/* before v3.12 */
		pm_refusal_of_open(&all, PM_REACH_OWN, -1, EACCES, &refusal);
		assert_int_equal(refusal.cause, PM_CAUSE_PARANOID);
		assert_says(refusal.gate, "(not readable here) acts as 2");
	}
	level(3, true, NULL);
	pm_refusal_of_open(&user, PM_REACH_OWN, -1, EACCES, &refusal);
	assert_says(refusal.gate, "acts as a vendor's level 3");
}

/* Before v5.8 there was no CAP_PERFMON to be given. */
static void the_capability_of_older_kernels(void **state)
{
	struct pm_refusal refusal;

	(void)state;
	level(2, false, "2\n");
	fake_file("/proc/sys/kernel/cap_last_cap", "37\n");
	pm_refusal_of_open(&all, PM_REACH_OWN, -1, EACCES, &refusal);
	assert_says(refusal.gate, "CAP_SYS_ADMIN is missing");
	assert_null(strstr(refusal.change, "PERFMON"));
}

/* --------------------------------------------------------------------------- not the level */

static void modules(void **state)
{
	struct pm_refusal refusal;

	(void)state;
	level(1, false, "1\n");
	pm_refusal_of_open(&all, PM_REACH_OWN, -1, EACCES, &refusal);
	assert_int_equal(refusal.cause, PM_CAUSE_UNKNOWN);
	fake_file("/sys/kernel/security/lsm", "capability,yama,selinux\n");
	pm_refusal_of_open(&all, PM_REACH_OWN, -1, EACCES, &refusal);
	assert_int_equal(refusal.cause, PM_CAUSE_LSM);
	assert_says(refusal.gate, "SELinux");
	fake_file("/sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
	pm_refusal_of_open(&all, PM_REACH_OWN, -1, EPERM, &refusal);
	assert_says(refusal.gate, "lockdown");
	pm_refusal_of_open(&all, PM_REACH_OTHER, -1, EACCES, &refusal);
	assert_says(refusal.gate, "may not be traced");
}

static void filters_and_no_perf(void **state)
{
	struct pm_refusal refusal;
	char status[64];

	(void)state;
	level(2, false, "2\n");
	fake_kernel.always_errno = EACCES;
	pm_refusal_of_open(&all, PM_REACH_OWN, -1, EACCES, &refusal);
	assert_int_equal(refusal.cause, PM_CAUSE_FILTER);
	assert_says(refusal.gate, "EACCES");
	assert_says(refusal.change, "seccomp");
	fake_teardown(state);
	fake_setup(state);
	fake_kernel.always_errno = ENOSYS;
	snprintf(status, sizeof(status), "/proc/self/task/%d/status", (int)pm_gettid());
	fake_file(status, "Name:\tx\nSeccomp:\t0\n");
	pm_refusal_of_open(&all, PM_REACH_OWN, -1, ENOSYS, &refusal);
	assert_int_equal(refusal.cause, PM_CAUSE_NOT_BUILT);
	assert_says(refusal.change, "CONFIG_PERF_EVENTS");
	/* Behind a filter it may be the filter's word. */
	fake_file(status, "Name:\tx\nSeccomp:\t2\n");
	pm_refusal_of_open(&all, PM_REACH_OWN, -1, ENOSYS, &refusal);
	assert_int_equal(refusal.cause, PM_CAUSE_UNKNOWN);
	assert_says(refusal.change, "filter");
	fake_file("/proc/kallsyms", "0 T __x64_sys_perf_event_open\n");
	pm_refusal_of_open(&all, PM_REACH_OWN, -1, ENOSYS, &refusal);
	assert_int_equal(refusal.cause, PM_CAUSE_FILTER);
}

/* EPERM, which is no policy: without the bit it opens. */
static void a_pmu_that_counts_all_modes(void **state)
{
	struct pm_event_spec spec = { .size = sizeof(spec), .type = PERF_TYPE_HARDWARE,
				      .flags = PM_SPEC_USER_ONLY };
	struct pm_diag diag = { .size = sizeof(diag) };

	(void)state;
	level(-1, false, "-1\n");
	fake_kernel.exclude_errno = EPERM;
	assert_int_equal(pm_diag_open(&diag, &spec, -1, EPERM), PM_CAUSE_UNSUPPORTED);
	assert_says(diag.text, "attr.exclude_kernel) is refused: its PMU counts all modes alike");
	/* Where it does not open either, it is not the bit. */
	fake_kernel.kernel_errno = EPERM;
	fake_kernel.mappable = true;
	assert_int_not_equal(pm_diag_open(&diag, &spec, -1, EPERM), PM_CAUSE_UNSUPPORTED);
}

/* Behind a filter that lets the impossible call pass, the filter may be it all the same. */
static void a_filter_that_looks_at_arguments(void **state)
{
	struct pm_refusal refusal;
	char status[64];

	(void)state;
	level(-1, false, "-1\n");
	pm_refusal_of_open(&all, PM_REACH_CPU, 0, EPERM, &refusal);
	assert_null(strstr(refusal.gate, "filter"));
	snprintf(status, sizeof(status), "/proc/self/task/%d/status", (int)pm_gettid());
	fake_file(status, "Name:\tx\nSeccomp:\t2\n");
	pm_refusal_of_open(&all, PM_REACH_CPU, 0, EPERM, &refusal);
	assert_says(refusal.gate, "or the system call filter of this process, by the arguments");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(mainline_levels), TEST(user_mode_that_tells_of_the_kernel),
		TEST(data_of_a_tracepoint),
		TEST(a_smaller_diagnosis),
		TEST(vendors_levels),
		TEST(the_capability_of_a_level),
		TEST(chains_of_the_kernel), TEST(the_way_down_from_a_vendors_level),
		TEST(a_unit_of_systemd),
		TEST(a_vendors_level_and_perfmon),
		TEST(a_capability_of_a_user_namespace),
		TEST(a_three_that_is_no_vendors),
		TEST(a_level_that_cannot_be_read),
		TEST(the_capability_of_older_kernels),
		TEST(modules),
		TEST(filters_and_no_perf),
		TEST(a_pmu_that_counts_all_modes),
		TEST(a_filter_that_looks_at_arguments),
	};
	struct { uint32_t version; int pid; } header = { 0x20080522, 0 };
	uint32_t none[6] = { 0 };

	/* What is asked about is a caller without capabilities in effect. */
	if (!use_perfmon(false) && capset(&header, none) != 0)
		return 1;
	return cmocka_run_group_tests_name("refusal", tests, NULL, NULL);
}
