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
	static const struct { int error; enum pm_cause cause; const char *gate; } cases[] = {
		{ EMFILE, PM_CAUSE_DESCRIPTORS, "" }, { ENFILE, PM_CAUSE_DESCRIPTORS, "" },
		{ EINVAL, PM_CAUSE_UNSUPPORTED, "" },
		{ E2BIG, PM_CAUSE_UNSUPPORTED, "or so few bytes" },
		{ EOVERFLOW, PM_CAUSE_UNSUPPORTED, "kernel.perf_event_max_stack" },
		{ ESRCH, PM_CAUSE_NO_TARGET, "there is no such thread, or it has ended" },
		{ ENOENT, PM_CAUSE_NO_EVENT, "" }, { EOPNOTSUPP, PM_CAUSE_NO_EVENT, "" },
		/* Whose they are is not known: the caller's own, perhaps. */
		{ EBUSY, PM_CAUSE_NO_EVENT, "no counter or breakpoint is free" },
		{ ENOSPC, PM_CAUSE_NO_EVENT, "no counter or breakpoint is free" },
		{ EIO, PM_CAUSE_UNKNOWN, "" },
	};
	struct pm_refusal refusal;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pm_refusal_of_open(&all, PM_REACH_OWN, -1, cases[i].error, &refusal);
		assert_int_equal(refusal.cause, cases[i].cause);
		assert_int_not_equal(refusal.gate[0], '\0');
		assert_says(refusal.gate, cases[i].gate);
	}
	assert_int_equal(fake_kernel.calls, 0);		/* nothing had to be tried */
}

/* Who can pass a PMU on, in the words of each: another's would not help. */
static void a_pmu_that_the_host_keeps(void **state)
{
	static const struct { const char *hypervisor, *vendor, *release, *change; } cases[] = {
		{ "kvm\n", "QEMU\n", "6.1.0-56-amd64\n", "-cpu host,pmu=on" },
		{ "kvm\n", "Amazon EC2\n", "6.1.0-56-cloud-amd64\n", ".metal" },
		{ "kvm\n", "Google\n", "6.1.0-56-cloud-amd64\n", "--performance-monitoring-unit" },
		{ "xen\n", "Xen\n", "6.1.0-56-amd64\n", "boots Xen with vpmu=on" },
		{ "xen\n", "Amazon EC2\n", "6.1.0-56-amd64\n", ".metal" },
		{ "vmware\n", "VMware, Inc.\n", "6.1.0-56-amd64\n", "vpmc.enable" },
		{ "hyper-v\n", "Microsoft Corporation\n", "6.8.0-azure\n", "Set-VMProcessor NAME" },
		{ "hyper-v\n", "", "5.15.90.1-microsoft-standard-WSL2\n",
		  "hardwarePerformanceCounters" },
		{ "virtualbox\n", "innotek GmbH\n", "6.1.0-56-amd64\n", "passes no PMU on" },
		{ "acrn\n", "", "6.1.0\n", "or the PMU's driver is not loaded" },
	};
	const struct perf_event_attr attr = { .type = PERF_TYPE_HARDWARE };
	struct pm_refusal refusal;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fake_file("/sys/hypervisor/type", cases[i].hypervisor);
		fake_file("/sys/class/dmi/id/sys_vendor", cases[i].vendor);
		fake_file("/proc/sys/kernel/osrelease", cases[i].release);
		pm_refusal_of_attr(&attr, PM_REACH_OWN, -1, false, ENOENT, &refusal);
		assert_int_equal(refusal.cause, PM_CAUSE_NO_EVENT);
		for (size_t j = 0; j < sizeof(cases) / sizeof(cases[0]); j++)
			assert_int_equal(strstr(refusal.change, cases[j].change) != NULL,
					 strcmp(cases[i].change, cases[j].change) == 0);
	}
}

/* Their vendor says Xen, and its owner is Amazon. */
static void older_types_of_ec2(void **state)
{
	const struct perf_event_attr attr = { .type = PERF_TYPE_HARDWARE };
	struct pm_refusal refusal;

	(void)state;
	fake_file("/sys/hypervisor/type", "xen\n");
	fake_file("/sys/class/dmi/id/sys_vendor", "Xen\n");
	fake_file("/sys/class/dmi/id/bios_version", "4.4\n");
	pm_refusal_of_attr(&attr, PM_REACH_OWN, -1, false, ENOENT, &refusal);
	assert_says(refusal.change, "boots Xen with vpmu=on");
	fake_file("/sys/class/dmi/id/bios_version", "4.11.amazon\n");
	pm_refusal_of_attr(&attr, PM_REACH_OWN, -1, false, ENOENT, &refusal);
	assert_says(refusal.change, "EC2 passes a PMU");
}

/* gVisor and WSL 1 answer system calls without a kernel of Linux. */
static void what_stands_in_for_a_kernel(void **state)
{
	struct pm_refusal refusal;
	char status[64];

	(void)state;
	snprintf(status, sizeof(status), "/proc/self/task/%d/status", (int)pm_gettid());
	fake_file(status, "Name:\tx\nSeccomp:\t0\n");
	fake_kernel.always_errno = ENODEV;
	pm_refusal_of_open(&all, PM_REACH_OWN, -1, ENODEV, &refusal);
	assert_int_equal(refusal.cause, PM_CAUSE_NOT_BUILT);
	assert_says(refusal.gate, "as gVisor does");
	assert_says(refusal.change, "docker run --runtime=runc");
	fake_kernel.always_errno = ENOSYS;
	fake_file("/proc/sys/kernel/osrelease", "4.4.0-19041-Microsoft\n");
	pm_refusal_of_open(&all, PM_REACH_OWN, -1, ENOSYS, &refusal);
	assert_int_equal(refusal.cause, PM_CAUSE_NOT_BUILT);
	assert_says(refusal.change, "wsl --set-version DISTRIBUTION 2");
	fake_file("/proc/sys/kernel/osrelease", "6.1.0-tiny\n");
	pm_refusal_of_open(&all, PM_REACH_OWN, -1, ENOSYS, &refusal);
	/* lint: allow second-list: a test says what it expects */
	assert_string_equal(refusal.change, "a kernel with CONFIG_PERF_EVENTS=y");
	/* Where perf has its file, it is there, and a filter says so. */
	fake_file("/proc/sys/kernel/perf_event_paranoid", "2\n");
	fake_kernel.always_errno = ENODEV;
	pm_refusal_of_open(&all, PM_REACH_OWN, -1, ENODEV, &refusal);
	assert_int_equal(refusal.cause, PM_CAUSE_FILTER);
	assert_null(strstr(refusal.gate, "gVisor"));
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
		TEST(a_pmu_that_the_host_keeps), TEST(older_types_of_ec2),
		TEST(what_stands_in_for_a_kernel),
		TEST(tracefs),
		/* These lower limits for good. */
		TEST(locked_memory),
		TEST(no_advice_lowers_a_setting),
	};

	return cmocka_run_group_tests_name("missing", tests, NULL, NULL);
}
