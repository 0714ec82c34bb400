/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "fake_files.h"
#include "fake_kernel.h"

#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

static struct pm_env read_env(void)
{
	struct pm_env env;

	memset(&env, 0xee, sizeof(env));
	assert_int_equal(pm_env_read(&env), 0);
	return env;
}

/* ---------------------------------------------------------------------------------- the files */

static void a_machine_without_any_of_the_files(void **state)
{
	struct pm_env env = read_env();

	(void)state;
	assert_false(env.paranoid_present);
	assert_int_equal(env.paranoid, INT_MIN);
	assert_int_equal(env.kptr_restrict, INT_MIN);
	assert_int_equal(env.mlock_kb, -1);
	assert_int_equal(env.max_sample_rate, -1);
	assert_int_equal(env.cap_last, -1);
	assert_int_equal(env.seccomp_mode, -1);
	assert_int_equal(env.cpus_online, -1);
	assert_int_equal(env.cpus_possible, -1);
	assert_string_equal(env.lockdown, "");
	assert_string_equal(env.lsm, "");
}

static void a_machine_with_all_of_them(void **state)
{
	struct pm_env env;

	(void)state;
	fake_file("/proc/sys/kernel/perf_event_paranoid", "-1\n");
	fake_file("/proc/sys/kernel/kptr_restrict", "2\n");
	fake_file("/proc/sys/kernel/perf_event_mlock_kb", "516\n");
	fake_file("/proc/sys/kernel/perf_event_max_sample_rate", "100000\n");
	fake_file("/proc/sys/kernel/cap_last_cap", "40\n");
	fake_file("/sys/devices/system/cpu/online", "0-2\n");
	fake_file("/sys/devices/system/cpu/possible", "0-7\n");
	fake_file("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
	fake_file("/sys/kernel/security/lsm", "capability,yama,apparmor\n");
	env = read_env();
	assert_true(env.paranoid_present);
	assert_int_equal(env.paranoid, -1);
	assert_int_equal(env.kptr_restrict, 2);
	assert_int_equal(env.mlock_kb, 516);
	assert_int_equal(env.max_sample_rate, 100000);
	assert_int_equal(env.cap_last, 40);
	assert_int_equal(env.cpus_online, 3);
	assert_int_equal(env.cpus_possible, 8);
	assert_string_equal(env.lockdown, "integrity");
	assert_string_equal(env.lsm, "capability,yama,apparmor");
}

static void paranoid_that_may_not_be_read_is_present(void **state)
{
	struct pm_env env;

	(void)state;
	fake_denied_path = "/proc/sys/kernel/perf_event_paranoid";
	fake_denied_errno = EACCES;
	env = read_env();
	assert_true(env.paranoid_present);
	assert_int_equal(env.paranoid, INT_MIN);
	fake_denied_errno = EPERM;
	assert_true(read_env().paranoid_present);
	fake_denied_errno = EMFILE;	/* of ours: no word about the file */
	assert_true(read_env().paranoid_present);
	fake_denied_errno = ENOENT;
	assert_false(read_env().paranoid_present);
}

static void lockdown_in_other_words(void **state)
{
	const char *const odd[] = { "", "none", "[", "]none[", "none [integrity",
				    "[a_word_that_is_longer_than_any_lockdown]" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
		fake_file("/sys/kernel/security/lockdown", odd[i]);
		assert_string_equal(read_env().lockdown, "");
	}
	fake_file("/sys/kernel/security/lockdown", "[abcdefghijklmnopqrstuvwx]");
	assert_string_equal(read_env().lockdown, "");
	fake_file("/sys/kernel/security/lockdown", "[abcdefghijklmnopqrstuvw]");
	assert_string_equal(read_env().lockdown, "abcdefghijklmnopqrstuvw");
	fake_file("/sys/kernel/security/lockdown", "[none] integrity confidentiality");
	assert_string_equal(read_env().lockdown, "none");
}

static void lists_too_long_are_unknown(void **state)
{
	char text[200];

	(void)state;
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	fake_file("/sys/kernel/security/lsm", text);
	fake_file("/sys/devices/system/cpu/online", "not a list");
	assert_string_equal(read_env().lsm, "");
	assert_true(read_env().cpus_online < 0);
}

static void seccomp_mode_of_this_thread(void **state)
{
	char path[64];

	(void)state;
	snprintf(path, sizeof(path), "/proc/self/task/%d/status", (int)pm_gettid());
	fake_file("/proc/self/status", "Name:\tx\nSeccomp:\t1\n");
	fake_file(path, "Name:\tSeccomp:\t7\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n");
	assert_int_equal(read_env().seccomp_mode, 2);
	fake_file(path, "Name:\tx\nCapEff:\t0\n");
	assert_int_equal(read_env().seccomp_mode, -1);
}

/* --------------------------------------------------------------------------- the system calls */

static void what_needs_no_file(void **state)
{
	struct pm_env env = read_env();
	struct rlimit limit;
	cpu_set_t allowed;

	(void)state;
	assert_int_equal(env.uid, getuid());
	assert_int_equal(env.euid, geteuid());
	assert_int_equal(env.page_size, sysconf(_SC_PAGESIZE));
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(env.nofile == limit.rlim_cur);
	assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	assert_int_equal(env.cpus_allowed, CPU_COUNT(&allowed));
	assert_int_equal(env.no_new_privs, prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
}

/* The same capabilities that /proc tells, which the library does not ask. */
static void capabilities_agree_with_proc(void **state)
{
	unsigned long long effective = 0;
	char line[256];
	FILE *file = fopen("/proc/self/status", "r");

	(void)state;
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "CapEff: %llx", &effective) == 1)
			break;
	fclose(file);
	assert_true(read_env().caps_effective == effective);
}

static void capability_bits(void **state)
{
	struct pm_env env = { .caps_effective = 1ull << 38 | 1ull << 14 };

	(void)state;
	assert_true(pm_env_has_cap(&env, PM_CAP_PERFMON));
	assert_true(pm_env_has_cap(&env, PM_CAP_IPC_LOCK));
	assert_false(pm_env_has_cap(&env, PM_CAP_BPF));
	assert_false(pm_env_has_cap(&env, PM_CAP_SYS_ADMIN));
	assert_false(pm_env_has_cap(&env, PM_CAP_SYSLOG));
	env.caps_effective = 1ull << 39 | 1ull << 34 | 1ull << 21 | 1ull << 19;
	assert_true(pm_env_has_cap(&env, PM_CAP_BPF));
	assert_true(pm_env_has_cap(&env, PM_CAP_SYSLOG));
	assert_true(pm_env_has_cap(&env, PM_CAP_SYS_ADMIN));
	assert_true(pm_env_has_cap(&env, PM_CAP_SYS_PTRACE));
}

/* A child that limits itself must see it. Exit status: which of the facts was wrong, 0 none. */
static int limited_child(void)
{
	struct sock_filter allow_all[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	const struct sock_fprog program = { 1, allow_all };
	const struct rlimit memlock = { 8192, 8192 };
	const bool filtered =
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
	struct pm_env env;

	setrlimit(RLIMIT_MEMLOCK, &memlock);
	fake_root[0] = '\0';
	pm_env_read(&env);
	if (!env.no_new_privs)
		return 1;
	if (env.memlock_bytes != 8192)
		return 2;
	return filtered && env.seccomp_mode != 2 ? 3 : 0;
}

static void limits_are_seen(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (child == 0)
		_exit(limited_child());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void unlimited_is_the_largest_number(void **state)
{
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	struct rlimit limit;
	pid_t child;
	int status;

	(void)state;
	getrlimit(RLIMIT_MEMLOCK, &limit);
	child = fork();
	if (child == 0) {
		/* raising a limit needs a privilege that the test may not have */
		if (setrlimit(RLIMIT_MEMLOCK, &unlimited) != 0)
			_exit(0);
		_exit(read_env().memlock_bytes == UINT64_MAX ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* ---------------------------------------------------------------------------------- the gate */

static enum pm_enosys who_says_enosys(int seccomp_mode, const char *call)
{
	const struct pm_env env = { .seccomp_mode = seccomp_mode };

	return pm_enosys_ask(&env, call);
}

static void enosys_without_a_filter_is_the_kernels(void **state)
{
	(void)state;
	fake_file("/proc/kallsyms", "0 T __x64_sys_bpf\n");
	assert_int_equal(who_says_enosys(0, "bpf"), PM_ENOSYS_KERNEL);
}

static void enosys_behind_a_filter_proves_nothing(void **state)
{
	static const char *const other[] = {
		"0 W __x64_sys_bpf\n", "0 t __sys_bpf\n", "0 T kern_sys_bpf\n",
		"0 T sys_bpf_x\n", "0 T __x64_sys_bp\n", "0 T bpf\n", "0 T \n", "sys_bpf\n", "",
	};

	(void)state;
	assert_int_equal(who_says_enosys(2, "bpf"), PM_ENOSYS_UNTOLD);
	for (size_t i = 0; i < ARRAY_SIZE(other); i++) {
		fake_file("/proc/kallsyms", other[i]);
		assert_int_equal(who_says_enosys(2, "bpf"), PM_ENOSYS_UNTOLD);
	}
}

static void a_filter_hides_what_the_kernel_lists(void **state)
{
	static const char *const lists[] = {
		"0 T sys_bpf\n", "ffffffff81000000 T __x64_sys_bpf\n", "0 T .sys_bpf\n",
		"0 T __arm64_sys_bpf\n0 T x\n", "0 T __ia32_compat_sys_bpf\n",
	};
	char text[20000];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		fake_file("/proc/kallsyms", lists[i]);
		assert_int_equal(who_says_enosys(2, "bpf"), PM_ENOSYS_FILTER);
	}
	/* Wherever the pieces end in which it is read. */
	for (size_t before = 4000; before < 4200; before++) {
		memset(text, 'x', before);
		strcpy(text + before, "\n0 T __x64_sys_bpf\n");
		memcpy(text + 1000, "\n0 W __x64_sys_bpf\n", 19);
		fake_file("/proc/kallsyms", text);
		assert_int_equal(who_says_enosys(2, "bpf"), PM_ENOSYS_FILTER);
	}
}

/* As without /proc: the call that tells is asked. */
static void a_filter_that_no_file_tells(void **state)
{
	const bool filtered = prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 0;

	(void)state;
	assert_int_equal(who_says_enosys(-1, "bpf"),
			 filtered ? PM_ENOSYS_UNTOLD : PM_ENOSYS_KERNEL);
}

static void gate_open(void **state)
{
	const struct pm_env env = { .paranoid_present = true };
	int decided = -1;

	(void)state;
	assert_int_equal(pm_perf_ask(&env, &decided), PM_PERF_ANSWERS);
	assert_int_equal(decided, 0);
}

/* A refusal by policy is perf's own word, so nothing stands in front of it. */
static void gate_open_though_policy_refuses(void **state)
{
	const struct pm_env env = { .paranoid_present = true };
	const int said[] = { EACCES, EPERM };
	int decided;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(said); i++) {
		fake_kernel.policy_errno = said[i];
		decided = -1;
		assert_int_equal(pm_perf_ask(&env, &decided), PM_PERF_ANSWERS);
		assert_int_equal(decided, 0);
	}
}

static void gate_filtered(void **state)
{
	const struct pm_env env = { .paranoid_present = true, .seccomp_mode = 2 };
	const int said[] = { EPERM, ENOSYS, EACCES, EINVAL, EFAULT };
	int decided;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(said); i++) {
		fake_kernel.always_errno = said[i];
		decided = -1;
		assert_int_equal(pm_perf_ask(&env, &decided), PM_PERF_FILTERED);
		assert_int_equal(decided, said[i]);
	}
}

/* It can say what perf says, but it cannot write into our memory. */
static void gate_where_nobody_writes_the_size(void **state)
{
	const struct pm_env env = { .paranoid_present = true, .seccomp_mode = 2 };
	int decided = -1;

	(void)state;
	fake_kernel.silent = true;
	assert_int_equal(pm_perf_ask(&env, &decided), PM_PERF_FILTERED);
	assert_int_equal(decided, EPROTO);
}

static void gate_not_built(void **state)
{
	struct pm_env env = { .paranoid_present = false };
	int decided = -1;

	(void)state;
	fake_kernel.always_errno = ENOSYS;
	assert_int_equal(pm_perf_ask(&env, &decided), PM_PERF_NOT_BUILT);
	assert_int_equal(decided, ENOSYS);
	fake_kernel.always_errno = EPERM;
	assert_int_equal(pm_perf_ask(&env, &decided), PM_PERF_FILTERED);
	assert_int_equal(decided, EPERM);
}

/* Behind a filter, and without the file that is the sign of perf events. */
static void gate_that_cannot_be_told(void **state)
{
	const struct pm_env env = { .paranoid_present = false, .seccomp_mode = 2 };
	int decided = -1;

	(void)state;
	fake_kernel_setup(NULL);
	fake_kernel.always_errno = ENOSYS;
	assert_int_equal(pm_perf_ask(&env, &decided), PM_PERF_UNTOLD);
	assert_int_equal(decided, ENOSYS);
	fake_file("/proc/kallsyms", "0 T __x64_sys_perf_event_open\n");
	assert_int_equal(pm_perf_ask(&env, &decided), PM_PERF_FILTERED);
	assert_int_equal(decided, ENOSYS);
	fake_kernel.on = false;
}

static void gate_where_something_opens(void **state)
{
	const struct pm_env env = { .paranoid_present = true };
	int lowest = open("/dev/null", O_RDONLY), decided = -1;

	(void)state;
	close(lowest);
	fake_kernel.accepts_anything = true;
	assert_int_equal(pm_perf_ask(&env, &decided), PM_PERF_FILTERED);
	assert_int_equal(decided, EPROTO);
	assert_int_equal(open("/dev/null", O_RDONLY), lowest);
	close(lowest);
}

#define FAKED(test) cmocka_unit_test_setup_teardown(test, fake_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKED(a_machine_without_any_of_the_files),
		FAKED(a_machine_with_all_of_them),
		FAKED(paranoid_that_may_not_be_read_is_present),
		FAKED(lockdown_in_other_words),
		FAKED(lists_too_long_are_unknown),
		FAKED(seccomp_mode_of_this_thread),
		cmocka_unit_test(what_needs_no_file),
		cmocka_unit_test(capabilities_agree_with_proc),
		cmocka_unit_test(capability_bits),
		cmocka_unit_test(limits_are_seen),
		cmocka_unit_test(unlimited_is_the_largest_number),
		FAKED(enosys_without_a_filter_is_the_kernels),
		FAKED(enosys_behind_a_filter_proves_nothing),
		FAKED(a_filter_hides_what_the_kernel_lists),
		FAKED(a_filter_that_no_file_tells),
		FAKED(gate_that_cannot_be_told),
		cmocka_unit_test_setup(gate_open, fake_kernel_setup),
		cmocka_unit_test_setup(gate_open_though_policy_refuses, fake_kernel_setup),
		cmocka_unit_test_setup(gate_filtered, fake_kernel_setup),
		cmocka_unit_test_setup(gate_where_nobody_writes_the_size, fake_kernel_setup),
		cmocka_unit_test_setup(gate_not_built, fake_kernel_setup),
		cmocka_unit_test_setup(gate_where_something_opens, fake_kernel_setup),
	};

	return cmocka_run_group_tests_name("env", tests, NULL, NULL);
}
