/* SPDX-License-Identifier: MIT */
/*
 * The privileges, limits and policies that this thread meets: what tells "blocked" from "no".
 */
#include "pm_sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef PR_GET_NO_NEW_PRIVS
#define PR_GET_NO_NEW_PRIVS 39
#endif

/* ------------------------------------------------------------------------------ /proc and /sys */

static int64_t number_or(const char *path, int64_t otherwise)
{
	int64_t value;

	return pm_read_number(path, &value) == 0 ? value : otherwise;
}

static void read_sysctls(struct pm_env *env)
{
	int64_t value;
	int err = pm_read_number("/proc/sys/kernel/perf_event_paranoid", &value);

	env->paranoid_present = err != -ENOENT;	/* else it is only not to be read */
	env->paranoid = err == 0 ? (int)value : INT_MIN;
	env->kptr_restrict = (int)number_or("/proc/sys/kernel/kptr_restrict", INT_MIN);
	env->mlock_kb = number_or("/proc/sys/kernel/perf_event_mlock_kb", -1);
	env->max_sample_rate = number_or("/proc/sys/kernel/perf_event_max_sample_rate", -1);
	env->cap_last = (int)number_or("/proc/sys/kernel/cap_last_cap", -1);
}

static int count_cpus(const char *path)
{
	char list[4096];
	int err = pm_read_text(path, list, sizeof(list));

	return err < 0 ? -1 : pm_cpulist_each(list, NULL, NULL);
}

/* "none [integrity] confidentiality": the word in brackets is in force. */
static void read_lockdown(char *ret, size_t size)
{
	char text[128], *end;
	const char *begin;

	ret[0] = '\0';
	if (pm_read_text("/sys/kernel/security/lockdown", text, sizeof(text)) < 0)
		return;
	begin = strchr(text, '[');
	end = begin ? strchr(begin, ']') : NULL;
	if (end == NULL)
		return;
	*end = '\0';
	if (strlen(begin + 1) < size)
		strcpy(ret, begin + 1);
}

static void read_lsm(char *ret, size_t size)
{
	if (pm_read_text("/sys/kernel/security/lsm", ret, size) < 0)
		ret[0] = '\0';
}

/* The number behind "\nSeccomp:"; older kernels (before v3.8) have no such line. */
static int read_seccomp_mode(void)
{
	char path[64], text[8192];
	const char *line;
	int err;

	/* Privileges belong to threads, so not /proc/self/status. */
	snprintf(path, sizeof(path), "/proc/self/task/%d/status", (int)pm_gettid());
	err = pm_read_text(path, text, sizeof(text));
	if (err < 0 && err != -EFBIG)
		return -1;
	line = strstr(text, "\nSeccomp:");
	return line ? (int)strtol(line + strlen("\nSeccomp:"), NULL, 10) : -1;
}

/* ------------------------------------------------------------------------------- system calls */

static void read_caps(uint64_t *effective, uint64_t *permitted)
{
	/* Version 3 of the interface: two 32-bit halves of each set. Own names for old headers. */
	struct { uint32_t version; int pid; } header = { 0x20080522, 0 };
	struct { uint32_t effective, permitted, inheritable; } data[2];

	memset(data, 0, sizeof(data));
	(void)syscall(SYS_capget, &header, data);
	*effective = data[0].effective | (uint64_t)data[1].effective << 32;
	*permitted = data[0].permitted | (uint64_t)data[1].permitted << 32;
}

static uint64_t effective_caps(void)
{
	uint64_t effective, permitted;

	read_caps(&effective, &permitted);
	return effective;
}

uint64_t pm_caps_permitted(void)
{
	uint64_t effective, permitted;

	read_caps(&effective, &permitted);
	return permitted;
}

static uint64_t soft_limit(int resource)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) != 0)
		return 0;
	return limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : (uint64_t)limit.rlim_cur;
}

static int count_allowed_cpus(void)
{
	unsigned long mask[65536 / (8 * sizeof(unsigned long))];
	long bytes = syscall(SYS_sched_getaffinity, 0, sizeof(mask), mask);
	int count = 0;

	if (bytes < 0)
		return -1;
	for (size_t i = 0; i < (size_t)bytes / sizeof(mask[0]); i++)
		count += __builtin_popcountl(mask[i]);
	return count;
}

/* Without a file. A filter that refuses the question is one, too; v2.6.23 and later answer. */
static int ask_seccomp_mode(void)
{
	int mode = prctl(PR_GET_SECCOMP, 0, 0, 0, 0);

	return mode >= 0 ? mode : errno == EINVAL ? 0 : 2;
}

void pm_env_read_thread(struct pm_env *ret)
{
	*ret = (struct pm_env){
		.uid = getuid(), .euid = geteuid(), .caps_effective = effective_caps(),
		.seccomp_mode = ask_seccomp_mode(),
	};
}

void pm_env_read_locked(struct pm_env *ret)
{
	pm_env_read_thread(ret);
	ret->paranoid = (int)number_or("/proc/sys/kernel/perf_event_paranoid", INT_MIN);
	ret->mlock_kb = number_or("/proc/sys/kernel/perf_event_mlock_kb", -1);
	ret->memlock_bytes = soft_limit(RLIMIT_MEMLOCK);
}

int pm_env_read(struct pm_env *ret)
{
	struct pm_env env = { .uid = getuid(), .euid = geteuid() };

	read_sysctls(&env);
	env.caps_effective = effective_caps();
	env.seccomp_mode = read_seccomp_mode();
	env.no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
	env.memlock_bytes = soft_limit(RLIMIT_MEMLOCK);
	env.nofile = soft_limit(RLIMIT_NOFILE);
	env.cpus_online = count_cpus("/sys/devices/system/cpu/online");
	env.cpus_possible = count_cpus("/sys/devices/system/cpu/possible");
	env.cpus_allowed = count_allowed_cpus();
	env.page_size = (size_t)sysconf(_SC_PAGESIZE);
	read_lockdown(env.lockdown, sizeof(env.lockdown));
	read_lsm(env.lsm, sizeof(env.lsm));
	*ret = env;
	return 0;
}

bool pm_env_has_cap(const struct pm_env *env, enum pm_cap cap)
{
	return env->caps_effective >> cap & 1;
}

/*
 * The initial namespace maps all numbers, 0 to UINT32_MAX - 1, to themselves in one line. A map
 * that is not understood says nothing.
 */
static bool is_other_map(const char *map)
{
	static const unsigned long initial[] = { 0, 0, UINT32_MAX };
	bool other = false;

	for (size_t i = 0; i < sizeof(initial) / sizeof(initial[0]); i++) {
		char *end;

		other |= strtoul(map, &end, 10) != initial[i];
		if (end == map)
			return false;
		map = end;
	}
	return other;
}

bool pm_in_user_namespace(void)
{
	char text[256];
	int err = pm_read_text("/proc/self/uid_map", text, sizeof(text));

	return (err > 0 || err == -EFBIG) && is_other_map(text);
}

/* --------------------------------------------------------------------------------- the gate */

/*
 * A line of /proc/kallsyms is "ADDRESS TYPE NAME", and the function of a system call is T:
 * "sys_bpf", "__x64_sys_bpf". Where the kernel is built without the call, the name is W, a weak
 * alias of the function that says ENOSYS.
 */
static bool is_function_of(const char *line, const char *call)
{
	const char *name = strstr(line, " T ");
	const size_t length = strlen(call);
	size_t before;

	if (name == NULL || strlen(name += 3) < length + 4)
		return false;
	before = strlen(name) - length - 4;
	return strncmp(name + before, "sys_", 4) == 0 && strcmp(name + before + 4, call) == 0 &&
		(before == 0 || name[0] == '.' || strncmp(name, "__", 2) == 0);
}

/* Whether the kernel's list of its functions shows the call. An unreadable list shows nothing. */
static bool kernel_lists(const char *call)
{
	char text[4096], *line, *end;
	size_t kept = 0;
	bool found = false;
	ssize_t n;
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	while (!found && (n = read(fd, text + kept, sizeof(text) - 1 - kept)) > 0) {
		kept += (size_t)n;
		text[kept] = '\0';
		for (line = text; !found && (end = strchr(line, '\n')) != NULL; line = end + 1) {
			*end = '\0';
			found = is_function_of(line, call);
		}
		kept = strlen(line);
		memmove(text, line, kept);
	}
	close(fd);
	return found;
}

enum pm_enosys pm_enosys_ask(const struct pm_env *env, const char *call)
{
	if ((env->seccomp_mode >= 0 ? env->seccomp_mode : ask_seccomp_mode()) == 0)
		return PM_ENOSYS_KERNEL;
	return kernel_lists(call) ? PM_ENOSYS_FILTER : PM_ENOSYS_UNTOLD;
}

/* A flag that no kernel has. Below bit 32, because above it older kernels (< v3.15) look away. */
#define IMPOSSIBLE_FLAG (1UL << 30)

enum pm_perf_answer pm_perf_ask(const struct pm_env *env, int *ret_errno)
{
	static const enum pm_perf_answer without_file[] = {
		[PM_ENOSYS_KERNEL] = PM_PERF_NOT_BUILT, [PM_ENOSYS_FILTER] = PM_PERF_FILTERED,
		[PM_ENOSYS_UNTOLD] = PM_PERF_UNTOLD,
	};
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = PERF_ATTR_SIZE_VER0 };
	int flags_err = pm_open_raw(&attr, 0, -1, -1, IMPOSSIBLE_FLAG);
	int size_err;

	/* gVisor, which stands in for a kernel, says ENODEV to every such call. */
	if ((flags_err == -ENOSYS || flags_err == -ENODEV) && !env->paranoid_present) {
		*ret_errno = -flags_err;
		return without_file[pm_enosys_ask(env, "perf_event_open")];
	}
	if (flags_err != -EINVAL) {
		if (flags_err >= 0)
			close(flags_err);
		*ret_errno = flags_err < 0 ? -flags_err : EPROTO;
		return PM_PERF_FILTERED;
	}
	/*
	 * EINVAL was perf's, unless a filter answers EINVAL to everything. No filter can write the
	 * size of the kernel's attr into ours. (A null attr would be told by EFAULT, but Valgrind
	 * looks into it.) Permission comes first, so EACCES and EPERM come from the kernel here,
	 * too.
	 */
	size_err = pm_attr_size_kernel();
	if (size_err >= 0 || size_err == -EACCES || size_err == -EPERM) {
		*ret_errno = 0;
		return PM_PERF_ANSWERS;
	}
	*ret_errno = -size_err;
	return PM_PERF_FILTERED;
}
