/* SPDX-License-Identifier: MIT */
/*
 * The doctor's findings for people: the verdict, each wish with its means, then each gate once,
 * with what it costs and how to lift it.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../policy/diagnosis/diag.h"
#include "filter.h"
#include "flow.h"
#include "tell.h"

#define INDENT 9	/* of the text of a wish, behind its verdict */

/* ---------------------------------------------------------------------------------------- gates */

/* Two refusals have the same gate when its words are the same. */
static bool is_of_gate(const struct pm_refusal *refusal, const struct pm_refusal *gate)
{
	return strstr(refusal->gate, gate->gate) != NULL;
}

static bool costs(const struct pm_refusal *gate, const struct outcome *outcome)
{
	for (int i = 0; i < outcome->refused; i++)
		if (is_of_gate(&outcome->refusals[i], gate))
			return true;
	return false;
}

struct gates {
	const struct pm_refusal *list[64];
	size_t count;
};

static void add_gate(struct gates *gates, const struct pm_refusal *refusal)
{
	for (size_t i = 0; i < gates->count; i++)
		if (is_of_gate(refusal, gates->list[i]))
			return;
	if (gates->count < sizeof(gates->list) / sizeof(gates->list[0]))
		gates->list[gates->count++] = refusal;
}

static void find_gates(const struct outcome *outcomes, size_t count, struct gates *ret)
{
	ret->count = 0;
	for (size_t i = 0; i < count; i++)
		for (int at = 0; at < outcomes[i].refused; at++)
			add_gate(ret, &outcomes[i].refusals[at]);
}

/* -------------------------------------------------------------------------------------- verdict */

static size_t count_of(const char *verdict, const struct outcome *outcomes, size_t count)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++)
		found += strcmp(outcomes[i].verdict, verdict) == 0;
	return found;
}

/* Whether this process has perf events at all, which is the first question. */
static void put_whether(struct flow *flow)
{
	static const struct perf_event_attr least = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK,
		.exclude_kernel = 1, .exclude_hv = 1, .disabled = 1,
	};
	struct pm_refusal refusal = { .gate = "" };
	int fd = -1;

	if (doctor_deadly)
		pm_refusal_of_signal(&refusal);
	else
		fd = doctor_open(&least, 0, -1, PM_REACH_OWN, "task-clock:u", &refusal);
	if (fd >= 0)
		close(fd);
	if (fd >= 0)
		flow_put(flow, "Perf events work here: ");
	else
		flow_put(flow, "Perf events do not work here: %s; ", refusal.gate);
}

static void say_verdict(const struct outcome *outcomes, size_t count)
{
	static const struct { const char *verdict, *how; } parts[] = {
		{ "works", "as asked" }, { "instead", "in another way" },
		{ "refused", "not at all" },
	};
	bool first = true;
	struct flow flow;

	flow_begin(&flow, "", 0);
	put_whether(&flow);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		size_t found = count_of(parts[i].verdict, outcomes, count);

		if (found == 0)
			continue;
		if (found == count && i == 2)
			flow_put(&flow, "none of %zu wishes can be met", count);
		else if (first)
			flow_put(&flow, "%zu of %zu wishes can be met %s", found, count,
				 parts[i].how);
		else
			flow_put(&flow, ", %zu %s", found, parts[i].how);
		first = false;
	}
	flow_put(&flow, ".");
	flow_end(&flow);
}

static void say_caller(void)
{
	struct utsname name;
	struct pm_env env;
	struct flow flow;

	(void)pm_env_read(&env);
	flow_begin(&flow, "", 0);
	if (uname(&name) == 0)
		flow_put(&flow, "%s %s %s; ", name.sysname, name.release, name.machine);
	flow_put(&flow, "uid %u, %s%s; kernel.perf_event_paranoid ", env.euid,
		 is_privileged(&env) ? "privileged" : "not privileged",
		 env.seccomp_mode == 2 ? ", behind a system call filter" : "");
	if (env.paranoid == INT_MIN)
		flow_put(&flow, "%s", env.paranoid_present ? "not readable" : "not there");
	else
		flow_put(&flow, "%d", env.paranoid);
	flow_end(&flow);
}

/* --------------------------------------------------------------------------------------- wishes */

/* Names the gates by their numbers in the list below. */
static void put_gates(struct flow *flow, const struct outcome *outcome, const struct gates *gates)
{
	const char *between = ", refused by ";

	for (size_t i = 0; i < gates->count; i++) {
		if (!costs(gates->list[i], outcome))
			continue;
		flow_put(flow, "%s[%zu]", between, i + 1);
		between = " ";
	}
}

/* A remark that repeats what a gate says is left to the gate. */
static bool is_told(const char *remark, const struct outcome *outcome)
{
	for (int i = 0; i < outcome->refused; i++)
		if (strstr(remark, outcome->refusals[i].gate) != NULL)
			return true;
	return false;
}

static void say_remarks(char *remarks, const struct outcome *outcome)
{
	struct flow flow;
	char *line, *rest;

	for (line = strtok_r(remarks, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (is_told(line, outcome))
			continue;
		flow_begin(&flow, "", INDENT);
		flow_put(&flow, "%s", line);
		flow_end(&flow);
	}
}

static void say_means(const struct outcome *outcome)
{
	char how[HOW_SIZE];
	size_t first;
	struct flow flow;

	if (outcome->worked == ATTEMPTS)
		return;
	memcpy(how, outcome->how, sizeof(how));
	first = strcspn(how, "\n");
	flow_begin(&flow, "", INDENT);
	if (outcome->worked > 0)
		flow_put(&flow, "%s%s", outcome->wish->attempts[outcome->worked].what,
			 first ? ", by " : "");
	flow_put(&flow, "%.*s", (int)first, how);
	flow_end(&flow);
	say_remarks(how + first, outcome);
}

static void say_wish(const struct outcome *outcome, const struct gates *gates)
{
	struct flow flow;

	flow_begin(&flow, outcome->verdict, INDENT);
	flow_put(&flow, "%s (%s)", outcome->wish->title, outcome->wish->name);
	put_gates(&flow, outcome, gates);
	flow_end(&flow);
	say_means(outcome);
}

static void say_wishes(const char *verdict, const struct outcome *outcomes, size_t count,
		       const struct gates *gates)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(outcomes[i].verdict, verdict) == 0)
			say_wish(&outcomes[i], gates);
}

/* ------------------------------------------------------------------------------- who refuses it */

static void say_cost(const struct pm_refusal *gate, const struct outcome *outcomes, size_t count)
{
	const char *between = "";
	struct flow flow;

	flow_begin(&flow, "  costs", INDENT);
	for (size_t i = 0; i < count; i++) {
		if (!costs(gate, &outcomes[i]))
			continue;
		flow_put(&flow, "%s%s", between, outcomes[i].wish->name);
		between = ", ";
	}
	flow_end(&flow);
}

/* A line, or more, for each thing that helps by itself. */
static void say_change(const char *change)
{
	const char *label = "  change";
	struct flow flow;

	while (change[0] != '\0') {
		const char *end = strstr(change, "; ");
		const int length = end ? (int)(end - change) : (int)strlen(change);

		flow_begin(&flow, label, INDENT);
		flow_put(&flow, "%.*s%s", length, change, end ? ";" : "");
		flow_end(&flow);
		label = "";
		change += length + (end ? 2 : 0);
	}
}

static void say_gate(size_t number, const struct pm_refusal *gate, const struct outcome *outcomes,
		     size_t count)
{
	struct flow flow;
	char label[32];

	snprintf(label, sizeof(label), "[%zu]", number);
	flow_begin(&flow, label, strlen(label) + 1);
	flow_put(&flow, "%s", gate->gate);
	flow_end(&flow);
	say_cost(gate, outcomes, count);
	flow_begin(&flow, "  seen", INDENT);
	flow_put(&flow, "%s: %s", gate->call, error_of(gate));
	flow_end(&flow);
	say_change(gate->change);
}

void tell_text(const struct outcome *outcomes, size_t count)
{
	struct gates gates;

	find_gates(outcomes, count, &gates);
	say_verdict(outcomes, count);
	say_caller();
	printf("\n");
	say_wishes("works", outcomes, count, &gates);
	say_wishes("instead", outcomes, count, &gates);
	say_wishes("refused", outcomes, count, &gates);
	if (gates.count > 0)
		printf("\nWho refuses, what that costs, and how to change it:\n");
	for (size_t i = 0; i < gates.count; i++)
		say_gate(i + 1, gates.list[i], outcomes, count);
}
