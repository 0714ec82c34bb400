/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * identify: print what decides how this kernel answers, as key=value lines.
 *
 *   identify           identity of kernel and machine, and the settings they share
 *   identify --persona what belongs to the privileges this process runs under
 *
 * Nothing printed names a host, a serial number or a path of this machine.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "../../lib/pm_sys.h"

static void put(const char *key, const char *value, void *unused)
{
	(void)unused;
	printf("%s=%s\n", key, value);
}

static void put_number(const char *key, int64_t value, bool known)
{
	if (known)
		printf("%s=%" PRId64 "\n", key, value);
}

static void put_machine(const struct pm_env *env)
{
	pm_identity_each(put, NULL);
	if (!env->paranoid_present)
		puts("paranoid=absent");
	put_number("paranoid", env->paranoid, env->paranoid_present && env->paranoid != INT_MIN);
	put_number("mlock_kb", env->mlock_kb, env->mlock_kb >= 0);
	put_number("max_sample_rate", env->max_sample_rate, env->max_sample_rate >= 0);
	put_number("kptr_restrict", env->kptr_restrict, env->kptr_restrict != INT_MIN);
	if (env->lockdown[0])
		put("lockdown", env->lockdown, NULL);
}

static void put_persona(const struct pm_env *env)
{
	int error = 0;
	static const char *const gates[] = { "open", "filtered", "not built", "untold" };

	put_number("uid", env->uid, true);
	printf("caps=%016" PRIx64 "\n", env->caps_effective);
	put_number("cap_last", env->cap_last, env->cap_last >= 0);
	put_number("seccomp", env->seccomp_mode, env->seccomp_mode >= 0);
	put_number("no_new_privs", env->no_new_privs, true);
	if (env->memlock_bytes == UINT64_MAX)
		puts("rlimit_memlock=unlimited");
	else
		printf("rlimit_memlock=%" PRIu64 "\n", env->memlock_bytes);
	printf("rlimit_nofile=%" PRIu64 "\n", env->nofile);
	put_number("cpus_allowed", env->cpus_allowed, true);
	put("gate", gates[pm_perf_ask(env, &error)], NULL);
}

int main(int argc, char **argv)
{
	struct pm_env env;

	if (argc > 2 || (argc == 2 && strcmp(argv[1], "--persona"))) {
		fputs("usage: identify [--persona]\n", stderr);
		return 2;
	}
	pm_env_read(&env);
	if (argc == 2)
		put_persona(&env);
	else
		put_machine(&env);
	return fflush(stdout) == 0 ? 0 : 3;
}
