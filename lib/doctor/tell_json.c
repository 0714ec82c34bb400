/* SPDX-License-Identifier: MIT */
/* The doctor's findings for programs. */
#include <limits.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../policy/diagnosis/diag.h"
#include "filter.h"
#include "tell.h"

/* The words of enum pm_cause, in its order. */
static const char *const causes[] = {
	"none", "unknown", "not built", "filter", "paranoid", "security module", "descriptors",
	"locked memory", "no event", "unsupported", "no target", "input", "silence",
};

static const char *cause_of(const struct pm_refusal *refusal)
{
	size_t at = (size_t)refusal->cause;

	return at < sizeof(causes) / sizeof(causes[0]) ? causes[at] : "unknown";
}

/* Names of kernels and the like come from outside: all but plain characters are escaped. */
static void put_string(const char *text)
{
	putchar('"');
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void put_member(const char *key, const char *value, const char *end)
{
	put_string(key);
	printf(": ");
	put_string(value);
	printf("%s", end);
}

static void put_caller(void)
{
	struct utsname name = { .release = "" };
	struct pm_env env;

	(void)pm_env_read(&env);
	(void)uname(&name);
	printf("{\"format\": 1,\n \"caller\": {");
	put_member("release", name.release, ", ");
	put_member("machine", name.machine, ", ");
	printf("\"uid\": %u, \"privileged\": %s, \"seccomp\": %d, ", env.euid,
	       is_privileged(&env) ? "true" : "false",
	       env.seccomp_mode);
	if (env.paranoid != INT_MIN)
		printf("\"paranoid\": %d, ", env.paranoid);
	printf("\"memlock_kb\": %llu, \"nofile\": %llu},\n \"wishes\": [",
	       (unsigned long long)(env.memlock_bytes / 1024), (unsigned long long)env.nofile);
}

const char *error_of(const struct pm_refusal *refusal)
{
	return refusal->error != 0 ? pm_errno_name(refusal->error) : "SIGSYS";
}

static void put_refusal(const struct outcome *outcome, int at, const struct pm_refusal *refusal)
{
	printf("%s\n   {", refusal != outcome->refusals ? "," : "");
	put_member("attempt", outcome->wish->attempts[at].what, ", ");
	put_member("call", refusal->call, ", ");
	put_member("errno", error_of(refusal), ", ");
	put_member("answer", doctor_answer_of(refusal->cause), ", ");
	put_member("cause", cause_of(refusal), ", ");
	put_member("name", refusal->name ? refusal->name : "", ",\n    ");
	put_member("gate", refusal->gate, ",\n    ");
	put_member("change", refusal->change, "}");
}

static void put_wish(const struct outcome *outcome)
{
	put_member("wish", outcome->wish->name, ", ");
	put_member("title", outcome->wish->title, ", ");
	put_member("verdict", outcome->verdict, ", ");
	put_member("answer", outcome->answer, ",\n   ");
	if (outcome->worked < ATTEMPTS) {
		put_member("used", outcome->wish->attempts[outcome->worked].what, ", ");
		put_member("how", outcome->how, ",\n   ");
	}
	printf("\"refusals\": [");
	for (int i = 0; i < outcome->refused; i++) {
		put_refusal(outcome, i, &outcome->refusals[i]);
		if (i == 0 && outcome->behind.gate[0] != '\0')
			put_refusal(outcome, i, &outcome->behind);
	}
	printf("]}");
}

bool is_privileged(const struct pm_env *env)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .disabled = 1,
	};

	if (!pm_env_has_cap(env, PM_CAP_PERFMON) && !pm_env_has_cap(env, PM_CAP_SYS_ADMIN))
		return false;
	if (access("/proc/self/uid_map", R_OK) == 0)
		return !pm_in_user_namespace();
	/* Without /proc only what it opens tells. */
	if (doctor_deadly)
		return false;
	return pm_open_try(&attr, -1, 0) == 0;
}

void tell_json(const struct outcome *outcomes, size_t count)
{
	put_caller();
	for (size_t i = 0; i < count; i++) {
		printf("%s\n  {", i ? "," : "");
		put_wish(&outcomes[i]);
	}
	printf("]}\n");
}
