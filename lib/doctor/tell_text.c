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

#define INDENT 10	/* of the text of a wish, behind its answer */

/* ---------------------------------------------------------------------------------------- gates */

/* Two refusals have the same gate when its words are the same. */
static bool is_of_gate(const struct pm_refusal *refusal, const struct pm_refusal *gate)
{
	return strstr(refusal->gate, gate->gate) != NULL;
}

static bool is_behind(const struct outcome *outcome, const struct pm_refusal *gate)
{
	return outcome->refused > 0 && outcome->behind.gate[0] != '\0' &&
		is_of_gate(&outcome->behind, gate);
}

static bool costs(const struct pm_refusal *gate, const struct outcome *outcome)
{
	for (int i = 0; i < outcome->refused; i++)
		if (is_of_gate(&outcome->refusals[i], gate))
			return true;
	return is_behind(outcome, gate);
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
	for (size_t i = 0; i < count; i++) {
		for (int at = 0; at < outcomes[i].refused; at++)
			add_gate(ret, &outcomes[i].refusals[at]);
		if (outcomes[i].refused > 0 && outcomes[i].behind.gate[0] != '\0')
			add_gate(ret, &outcomes[i].behind);
	}
}

/*
 * The first of the same row, which is one gate, and stands in the list for all of it: a level and a
 * limit are one however much a call asks of them.
 */
static size_t head_of(const struct gates *gates, size_t at)
{
	const char *name = gates->list[at]->name;
	size_t head = 0;

	if (name == NULL || (gates->list[at]->cause != PM_CAUSE_PARANOID &&
			     gates->list[at]->cause != PM_CAUSE_DESCRIPTORS))
		return at;
	while (gates->list[head]->name == NULL || strcmp(gates->list[head]->name, name) != 0)
		head++;
	return head;
}

/* As the list of gates numbers it. */
static size_t number_of(const struct gates *gates, size_t head)
{
	size_t number = 0;

	for (size_t i = 0; i <= head; i++)
		number += head_of(gates, i) == i;
	return number;
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

static bool costs_any(const struct gates *gates, size_t head, const struct outcome *outcome)
{
	for (size_t i = head; i < gates->count; i++)
		if (head_of(gates, i) == head && costs(gates->list[i], outcome))
			return true;
	return false;
}

/* Names the gates by their numbers in the list below. */
static void put_gates(struct flow *flow, const struct outcome *outcome, const struct gates *gates)
{
	const char *between = ", refused by ";

	for (size_t i = 0; i < gates->count; i++) {
		if (head_of(gates, i) != i || !costs_any(gates, i, outcome))
			continue;
		flow_put(flow, "%s[%zu]", between, number_of(gates, i));
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

	flow_begin(&flow, outcome->answer, INDENT);
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

/* The names of the wishes that a gate costs, with `before` in front of them. */
static void say_cost(const char *label, const char *before, const struct pm_refusal *gate,
		     const struct outcome *outcomes, size_t count)
{
	const char *between = before;
	struct flow flow;

	flow_begin(&flow, label, INDENT);
	for (size_t i = 0; i < count; i++) {
		if (!costs(gate, &outcomes[i]))
			continue;
		flow_put(&flow, "%s%s", between, outcomes[i].wish->name);
		between = ", ";
	}
	flow_end(&flow);
}

static void say_line(const char *label, size_t indent, const char *first, const char *second)
{
	struct flow flow;

	flow_begin(&flow, label, indent);
	flow_put(&flow, "%s%s", first, second);
	flow_end(&flow);
}

/* More that is asked of the same gate. */
static void say_more(const struct pm_refusal *gate, const struct outcome *outcomes, size_t count)
{
	char needs[120] = "other ways for ";

	if (gate->cause == PM_CAUSE_PARANOID)
		snprintf(needs, sizeof(needs), "kernel.perf_event_paranoid=%d or less, or the same "
			 "capability, for ", gate->level);
	say_cost("  also", needs, gate, outcomes, count);
}

static void say_gate(const struct gates *gates, size_t head, const struct outcome *outcomes,
		     size_t count)
{
	const struct pm_refusal *gate = gates->list[head];
	char label[32], seen[200];

	snprintf(label, sizeof(label), "[%zu]", number_of(gates, head));
	say_line(label, strlen(label) + 1, gate->gate, "");
	say_cost("  costs", "", gate, outcomes, count);
	snprintf(seen, sizeof(seen), "%s: ", gate->call);
	say_line("  seen", INDENT, seen, error_of(gate));
	flow_changes("  change", gate->change, INDENT);
	for (size_t i = head + 1; i < gates->count; i++)
		if (head_of(gates, i) == head)
			say_more(gates->list[i], outcomes, count);
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
		if (head_of(&gates, i) == i)
			say_gate(&gates, i, outcomes, count);
}
