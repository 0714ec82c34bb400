/* SPDX-License-Identifier: MIT */
/* Gates that are no policy: what is not there, limits, memory and tracefs. */
#define _GNU_SOURCE
#include "refused.h"

static void cpus_that_are_not_there(void **state)
{
	struct pm_event_spec spec = all;
	struct pm_refusal refusal;
	struct pm_diag diag = { .size = sizeof(diag) };

	(void)state;
	spec.tid = PM_SYSTEM;
	fake_file("/sys/devices/system/cpu/online", "0-2\n");
	fake_file("/sys/devices/system/cpu/possible", "0-3\n");
	assert_int_equal(pm_diag_open(&diag, &spec, 3, ENODEV), PM_CAUSE_NO_TARGET);
	assert_says(diag.text, "no CPU 3 is online; those that are: 0-2; name one of these");
	assert_int_equal(pm_diag_open(&diag, &spec, 100000, EINVAL), PM_CAUSE_NO_TARGET);
	assert_says(diag.text, "no CPU 100000 is online");
	/* On one that is there, it is something else. */
	pm_refusal_of_open(&spec, PM_REACH_CPU, 2, ENODEV, &refusal);
	assert_int_equal(refusal.cause, PM_CAUSE_NO_EVENT);
	pm_refusal_of_open(&spec, PM_REACH_CPU, 3, EINVAL, &refusal);
	assert_int_equal(refusal.cause, PM_CAUSE_UNSUPPORTED);
	pm_refusal_of_open(&spec, PM_REACH_OWN, -1, ENODEV, &refusal);
	assert_int_equal(refusal.cause, PM_CAUSE_NO_EVENT);
}

static void no_descriptor_of_a_cgroup(void **state)
{
	struct pm_event_spec spec = all;
	struct pm_diag diag = { .size = sizeof(diag) };

	(void)state;
	spec.tid = PM_CGROUP;
	assert_int_equal(pm_diag_open(&diag, &spec, 0, EBADF), PM_CAUSE_NO_TARGET);
	assert_says(diag.text, "not of the directory of a cgroup");
	spec.tid = PM_SYSTEM;
	assert_int_equal(pm_diag_open(&diag, &spec, 0, EBADF), PM_CAUSE_UNKNOWN);
}

static void errors_that_say_it_all(void **state)
{
	static const struct { int error; enum pm_cause cause; } cases[] = {
		{ EMFILE, PM_CAUSE_DESCRIPTORS }, { ENFILE, PM_CAUSE_DESCRIPTORS },
		{ EINVAL, PM_CAUSE_UNSUPPORTED }, { E2BIG, PM_CAUSE_UNSUPPORTED },
		{ ESRCH, PM_CAUSE_NO_TARGET }, { ENOENT, PM_CAUSE_NO_EVENT },
		{ EOPNOTSUPP, PM_CAUSE_NO_EVENT }, { EBUSY, PM_CAUSE_NO_EVENT },
		{ EIO, PM_CAUSE_UNKNOWN },
	};
	struct pm_refusal refusal;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pm_refusal_of_open(&all, PM_REACH_OWN, -1, cases[i].error, &refusal);
		assert_int_equal(refusal.cause, cases[i].cause);
		assert_int_not_equal(refusal.gate[0], '\0');
	}
	assert_int_equal(fake_kernel.calls, 0);		/* nothing had to be tried */
}

/* ------------------------------------------------------------------------ memory and tracefs */

/* Soft and hard limit of locked memory in kB; the test runs as anybody, who may lower them. */
static void limit_memory(unsigned long long soft, unsigned long long hard)
{
	struct rlimit limit = { soft * 1024, hard * 1024 };

	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
}

static void locked_memory(void **state)
{
	struct pm_refusal refusal;

	(void)state;
	fake_file("/proc/sys/kernel/perf_event_mlock_kb", "0\n");
	fake_file("/sys/devices/system/cpu/online", "0-1\n");
	limit_memory(60, 64);
	pm_refusal_of_map(4, 8192, EPERM, &refusal);
	assert_int_equal(refusal.cause, PM_CAUSE_LOCKED_MEMORY);
	assert_says(refusal.gate, "kernel.perf_event_mlock_kb=0 ");
	assert_says(refusal.gate, "RLIMIT_MEMLOCK=60 kB");
	/* 32 kB would fit: something else is locked, so they come on top, above the hard limit. */
	assert_says(refusal.change, "--memlock=94208:94208");
	assert_null(strstr(refusal.change, "ulimit"));
	pm_refusal_of_map(4, 15872, EPERM, &refusal);
	assert_says(refusal.change, "ulimit -l 62");
	/* 61 kB and 4 bytes. */
	pm_refusal_of_map(4, 15617, EPERM, &refusal);
	assert_says(refusal.change, "ulimit -l 62");
	/* As much as may be locked, so it is locked. */
	pm_refusal_of_map(4, 15360, EPERM, &refusal);
	assert_says(refusal.change, "--memlock=122880:122880");
	pm_refusal_of_map(4, 528384, EPERM, &refusal);
	assert_says(refusal.gate, "4 rings of 516 kB are more");
	assert_says(refusal.change, "--memlock=2113536:2113536");
	assert_says(refusal.change, "kernel.perf_event_mlock_kb=1032");
	pm_refusal_of_map(4, 528384, EINVAL, &refusal);
	assert_int_equal(refusal.cause, PM_CAUSE_UNKNOWN);
}

/* What is advised is never below what stands: the present value is used up, so more is needed. */
static void no_advice_lowers_a_setting(void **state)
{
	struct rlimit limit = { 20000, 20000 }, before;
	struct pm_refusal refusal;

	(void)state;
	fake_file("/proc/sys/kernel/perf_event_mlock_kb", "516\n");
	fake_file("/sys/devices/system/cpu/online", "0-1\n");
	limit_memory(64, 64);
	pm_refusal_of_map(2, 8192, EPERM, &refusal);
	assert_says(refusal.change, "kernel.perf_event_mlock_kb=524");
	assert_says(refusal.change, "--memlock=81920:81920");
	fake_file("/proc/sys/fs/file-max", "3000000\n");
	pm_refusal_of_open(&all, PM_REACH_OWN, -1, ENFILE, &refusal);
	assert_says(refusal.change, "fs.file-max=6000000");
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	for (limit.rlim_max = 20000; limit.rlim_max >= 100; limit.rlim_max /= 200) {
		limit.rlim_cur = limit.rlim_max;
		if (limit.rlim_max > before.rlim_max)
			continue;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
		pm_refusal_of_open(&all, PM_REACH_OWN, -1, EMFILE, &refusal);
		assert_says(refusal.change, limit.rlim_max == 100 ? "nofile=4096:" :
			    "nofile=40000:");
		assert_null(strstr(refusal.change, "ulimit"));
	}
	limit = (struct rlimit){ 50, 100 };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	pm_refusal_of_open(&all, PM_REACH_OWN, -1, EMFILE, &refusal);
	assert_string_equal(refusal.change, "ulimit -n 100");
}

static void tracefs(void **state)
{
	struct pm_refusal refusal;

	(void)state;
	fake_file("/proc/filesystems", "nodev\tsysfs\nnodev\ttracefs\n");
	pm_refusal_of_tracefs(ENOENT, &refusal);
	assert_says(refusal.gate, "not mounted");
	pm_refusal_of_tracefs(EACCES, &refusal);
	assert_says(refusal.gate, "not readable");
	fake_file("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
	pm_refusal_of_tracefs(EPERM, &refusal);
	assert_says(refusal.gate, "lockdown is at integrity");
	pm_refusal_of_tracefs(EACCES, &refusal);
	assert_says(refusal.gate, "not readable");
	fake_file("/sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
	pm_refusal_of_tracefs(EACCES, &refusal);
	assert_says(refusal.gate, "lockdown is at confidentiality");
	/* Mounted, and empty since the boot: to mount it again is of no use. */
	pm_refusal_of_tracefs(ENOENT, &refusal);
	assert_int_equal(refusal.cause, PM_CAUSE_LSM);
	assert_says(refusal.gate, "lockdown is at confidentiality and empties tracefs");
	assert_null(strstr(refusal.change, "mount"));
	fake_file("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
	pm_refusal_of_tracefs(ENOENT, &refusal);
	assert_says(refusal.gate, "not mounted");
	fake_file("/proc/filesystems", "nodev\tsysfs\n");
	pm_refusal_of_tracefs(ENOENT, &refusal);
	assert_int_equal(refusal.cause, PM_CAUSE_NOT_BUILT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(cpus_that_are_not_there),
		TEST(no_descriptor_of_a_cgroup),
		TEST(errors_that_say_it_all),
		TEST(tracefs),
		/* These lower limits for good. */
		TEST(locked_memory),
		TEST(no_advice_lowers_a_setting),
	};

	return cmocka_run_group_tests_name("missing", tests, NULL, NULL);
}
