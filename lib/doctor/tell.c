/* SPDX-License-Identifier: MIT */
/* The doctor's findings for people and for programs. */
#include "tell.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "../policy/diagnosis/diag.h"

/* Words for enum pm_cause, in its order. */
static const char *const causes[] = {
	"none", "unknown", "not built", "filter", "paranoid", "security module", "descriptors",
	"locked memory", "no event", "unsupported", "no target", "input", "silence",
};

static const char *cause_of(const struct pm_refusal *refusal)
{
	size_t at = (size_t)refusal->cause;

	return at < sizeof(causes) / sizeof(causes[0]) ? causes[at] : "unknown";
}

/* The refusals worth telling: a repeated one is left out. */
static bool is_news(const struct outcome *outcome, int at)
{
	for (int i = 0; i < at; i++)
		if (strcmp(outcome->refusals[i].gate, outcome->refusals[at].gate) == 0 ||
		    strstr(outcome->refusals[at].gate, outcome->refusals[i].gate) != NULL)
			return false;
	return true;
}

static int refusal_count(const struct wish *wish, const struct outcome *outcome)
{
	int count = 0;

	while (count < outcome->worked && count < ATTEMPTS && wish->attempts[count].go != NULL)
		count++;
	return count;
}

/* ----------------------------------------------------------------------------------------- text */

static void say_caller(const struct pm_env *env)
{
	struct utsname name;

	if (uname(&name) == 0)
		printf("%s %s %s; ", name.sysname, name.release, name.machine);
	printf("uid %u, %s%s; kernel.perf_event_paranoid ", env->euid,
	       pm_env_has_cap(env, PM_CAP_PERFMON) || pm_env_has_cap(env, PM_CAP_SYS_ADMIN) ?
	       "privileged" : "not privileged",
	       env->seccomp_mode == 2 ? ", behind a system call filter" : "");
	if (env->paranoid == INT_MIN)
		printf("%s\n", env->paranoid_present ? "not readable" : "not there");
	else
		printf("%d\n", env->paranoid);
}

static void text_begin(void)
{
	struct pm_env env;

	(void)pm_env_read(&env);
	say_caller(&env);
}

static void say_refusal(const struct pm_refusal *refusal)
{
	printf("      refused: %s: %s\n", refusal->call, pm_errno_name(refusal->error));
	printf("           by: %s\n", refusal->gate);
	if (refusal->change[0] != '\0')
		printf("       change: %s\n", refusal->change);
}

static void say_remarks(const char *how)
{
	const char *line = strchr(how, '\n');

	for (; line != NULL; line = strchr(line + 1, '\n'))
		printf("         note: %.*s\n", (int)strcspn(line + 1, "\n"), line + 1);
}

static void say_means(const struct wish *wish, const struct outcome *outcome)
{
	int first = (int)strcspn(outcome->how, "\n");

	if (outcome->worked == ATTEMPTS)
		return;
	if (outcome->worked > 0)
		printf("      instead: %s%s%.*s\n", wish->attempts[outcome->worked].what,
		       first ? ", by " : "", first, outcome->how);
	say_remarks(outcome->how);
}

static void text_wish(const struct wish *wish, const struct outcome *outcome, bool first)
{
	const char *verdict = outcome->worked == 0 ? "works" :
		outcome->worked < ATTEMPTS ? "instead" : "refused";

	(void)first;
	printf("%-8s %s (%s)", verdict, wish->title, wish->name);
	if (outcome->worked == 0 && outcome->how[0] != '\0')
		printf(": %.*s", (int)strcspn(outcome->how, "\n"), outcome->how);
	printf("\n");
	for (int i = 0; i < refusal_count(wish, outcome); i++)
		if (is_news(outcome, i))
			say_refusal(&outcome->refusals[i]);
	say_means(wish, outcome);
	fflush(stdout);
}

static void text_end(void)
{
}

const struct teller tell_text = { text_begin, text_wish, text_end };

/* ----------------------------------------------------------------------------------------- JSON */

/* Names of kernels and the like are not ours: everything that is not plain is escaped. */
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

static void json_begin(void)
{
	struct utsname name = { .release = "" };
	struct pm_env env;

	(void)pm_env_read(&env);
	(void)uname(&name);
	printf("{\"format\": 1,\n \"caller\": {");
	put_member("release", name.release, ", ");
	put_member("machine", name.machine, ", ");
	printf("\"uid\": %u, \"privileged\": %s, \"seccomp\": %d, ", env.euid,
	       pm_env_has_cap(&env, PM_CAP_PERFMON) || pm_env_has_cap(&env, PM_CAP_SYS_ADMIN) ?
	       "true" : "false", env.seccomp_mode);
	if (env.paranoid != INT_MIN)
		printf("\"paranoid\": %d, ", env.paranoid);
	printf("\"memlock_kb\": %llu, \"nofile\": %llu},\n \"wishes\": [",
	       (unsigned long long)(env.memlock_bytes / 1024), (unsigned long long)env.nofile);
}

static void put_refusal(const struct wish *wish, const struct outcome *outcome, int at)
{
	const struct pm_refusal *refusal = &outcome->refusals[at];

	printf("%s\n   {", at ? "," : "");
	put_member("attempt", wish->attempts[at].what, ", ");
	put_member("call", refusal->call, ", ");
	put_member("errno", pm_errno_name(refusal->error), ", ");
	put_member("cause", cause_of(refusal), ",\n    ");
	put_member("gate", refusal->gate, ",\n    ");
	put_member("change", refusal->change, "}");
}

static void json_wish(const struct wish *wish, const struct outcome *outcome, bool first)
{
	printf("%s\n  {", first ? "" : ",");
	put_member("wish", wish->name, ", ");
	put_member("title", wish->title, ", ");
	put_member("verdict", outcome->worked == 0 ? "works" :
		   outcome->worked < ATTEMPTS ? "instead" : "refused", ",\n   ");
	if (outcome->worked < ATTEMPTS) {
		put_member("used", wish->attempts[outcome->worked].what, ", ");
		put_member("how", outcome->how, ",\n   ");
	}
	printf("\"refusals\": [");
	for (int i = 0; i < refusal_count(wish, outcome); i++)
		put_refusal(wish, outcome, i);
	printf("]}");
}

static void json_end(void)
{
	printf("]}\n");
}

const struct teller tell_json = { json_begin, json_wish, json_end };
