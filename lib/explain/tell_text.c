/* SPDX-License-Identifier: MIT */
/* One screen for people: what was asked, with what became of it; each gate once; what is silent. */
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../doctor/flow.h"
#include "../policy/diagnosis/words.h"
#include "gates.h"
#include "load.h"
#include "silence.h"
#include "tell.h"
#include "words.h"

#define INDENT 9
#define GATES 64
#define NAMES 12		/* of events in a line */
#define LINES 40		/* of kinds of calls; the JSON has all */
#define SET_BPF 8		/* of REQUESTS */

struct gates {
	const struct reason *list[GATES];
	size_t count;
};

/* ---------------------------------------------------------------------------------- the verdict */

struct sums {
	unsigned long long calls, opened, refused, pretended;
};

static struct sums sum_up(void)
{
	struct sums ret = { .calls = shapes.beyond };

	for (size_t i = 0; i < shapes.count; i++) {
		ret.calls += shapes.list[i]->calls;
		ret.opened += shapes.list[i]->opened;
		ret.pretended += shapes.list[i]->pretended;
		for (size_t at = 0; at < ERRORS; at++)
			ret.refused += shapes.list[i]->errors[at].count;
	}
	return ret;
}

/* "tiptop, which timeout started,": the program alone, where it called itself. */
static void put_callers(struct flow *flow, const struct start *start)
{
	if (!callers_are_others()) {
		flow_put(flow, "%s", start->argv[0]);
		return;
	}
	for (size_t i = 0; i < callers.count; i++)
		flow_put(flow, "%s%s", i == 0 ? "" : " and ", callers.names[i]);
	flow_put(flow, ", which %s started,", start->argv[0]);
}

static void say_verdict(const struct start *start)
{
	const struct sums sums = sum_up();
	const unsigned long long calls = sums.calls, opened = sums.opened, refused = sums.refused;
	struct flow flow;

	flow_begin(&flow, "", 0);
	if (calls == 0 && remarks.filtered && !start->ptrace)
		flow_put(&flow, "No perf_event_open of %s was seen.", start->argv[0]);
	else if (calls == 0 && remarks.untold != 0)
		flow_put(&flow, "What %s asked is not known: this kernel does not tell a tracer "
			 "which calls are made (PTRACE_GET_SYSCALL_INFO, Linux 5.3).",
			 start->argv[0]);
	else if (calls == 0)
		flow_put(&flow, "%s%s %s perf_event_open.", start->argv[0], callers.started_others ?
			 " and what it started" : "", start->attached ? "has not called" :
			 "never called");
	else {
		put_callers(&flow, start);
		flow_put(&flow, " called perf_event_open %llu time%s, in %zu way%s: %llu opened, "
			 "%llu refused%s", calls, calls == 1 ? "" : "s",
			 shapes.count, shapes.count == 1 ? "" : "s", opened, refused,
			 calls > opened + refused ? "" : ".");
	}
	if (calls > opened + refused)
		flow_put(&flow, ", %llu not seen.", calls - opened - refused);
	flow_end(&flow);
}

/* --------------------------------------------------------------------------------------- shapes */

/* Behind the name of the event: shapes that agree in all of it share a line. */
struct line {
	char mode[120], target[160], outcome[400];
	const char *with;	/* of `mode`, what stands behind the events */
	const char *label;
	bool repeated;
};

static void put_outcome(const struct shape *shape, const struct reason *reason,
			const struct gates *gates, struct pm_words *words)
{
	const size_t number = gate_number(gates->list, gates->count, reason);
	const char *between = "";
	char at_gate[32] = "";

	if (number > 0)
		snprintf(at_gate, sizeof(at_gate), " [%zu]", number);
	for (size_t at = 0; at < ERRORS && shape->errors[at].count > 0; at++) {
		pm_put(words, "%s%s", between, pm_errno_name(shape->errors[at].error));
		if (shape->calls > 1)
			pm_put(words, " %u of %u", shape->errors[at].count, shape->calls);
		between = ", ";
	}
	if (words->length > 0)
		pm_put(words, "%s", at_gate);
	if (shape->opened > 0 && shape->calls > 1)
		pm_put(words, "%s%u opened", words->length ? ", " : "", shape->opened);
	if (shape->unseen > 0)
		pm_put(words, "%s%u %s (asked %s from here: %s)", words->length ? ", " : "",
		       shape->unseen, shape->unasked > 0 ? "of a pretended group" : "not seen",
		       shape->unasked > 0 ? "alone" : "again", reason == NULL ? "?" :
		       reason->again == 0 ? "opens" : pm_errno_name(reason->again));
	if (shape->pretended > shape->unasked)
		pm_put(words, ", %spretended", shape->pretended < shape->calls ? "in part " : "");
	put_rings(shape, at_gate, words);
}

static const char *label_of(const struct shape *shape)
{
	const bool refused = shape->errors[0].count > 0;

	if (shape->opened == 0)
		return refused ? "refused" : "unseen";
	if (refused || shape->map_error.count > 0)
		return "partly";
	return is_silent(shape) ? "silent" : "opened";
}

static void make_line(const struct shape *shape, const struct reason *reason,
		      const struct gates *gates, struct line *ret)
{
	struct pm_words words = { .at = ret->outcome, .left = sizeof(ret->outcome) };

	memset(ret, 0, sizeof(*ret));
	name_mode(shape, ret->mode, sizeof(ret->mode));
	ret->with = "";
	if (strstr(ret->mode, " with ") != NULL) {
		char *with = strstr(ret->mode, " with ");

		*with = '\0';
		ret->with = with + 1;
	}
	ret->repeated = shape->calls > 1;
	name_target(shape, ret->target, sizeof(ret->target));
	put_outcome(shape, reason, gates, &words);
	put_silence(shape, &words);
	ret->label = label_of(shape);
}

static bool is_like(const struct line *one, const struct line *other)
{
	return strcmp(one->mode, other->mode) == 0 && strcmp(one->with, other->with) == 0 &&
		strcmp(one->target, other->target) == 0 &&
		strcmp(one->outcome, other->outcome) == 0 && one->label == other->label;
}

/*
 * The events of a line, each name once, the first of them in full; the JSON has all. Returns how
 * many there are.
 */
static size_t put_events(struct flow *flow, const struct line *lines, bool *told, size_t at)
{
	char names[NAMES][200];
	size_t count = 0, more = 0;

	for (size_t i = at; i < shapes.count; i++) {
		size_t same = 0;
		char name[200];

		if (told[i] || !is_like(&lines[i], &lines[at]))
			continue;
		told[i] = true;
		name_event(shapes.list[i], name, sizeof(name));
		while (same < count && strcmp(names[same], name) != 0)
			same++;
		if (same < count)
			continue;
		if (count == NAMES) {
			more++;
			continue;
		}
		memcpy(names[count], name, sizeof(name));
		flow_put(flow, "%s%s", count++ == 0 ? " " : ", ", name);
	}
	if (more > 0)
		flow_put(flow, " and %zu more", more);
	return count + more;
}

static void say_line(const struct line *lines, bool *told, size_t at)
{
	struct flow flow;
	size_t events;

	flow_begin(&flow, lines[at].label, INDENT);
	flow_put(&flow, "%s", lines[at].mode);
	events = put_events(&flow, lines, told, at);
	if (lines[at].with[0] != '\0')
		flow_put(&flow, " %s,", lines[at].with);
	flow_put(&flow, " %s%s%s%s", lines[at].target, lines[at].outcome[0] ? ": " : "",
		 events > 1 && lines[at].repeated ? "each " : "", lines[at].outcome);
	flow_end(&flow);
}

static bool is_plainly_open(const struct shape *shape)
{
	return shape->opened == shape->calls && shape->rings == 0 && shape->map_error.count == 0 &&
		!is_silent(shape);
}

static bool reads_alike(const struct shape *one, const struct shape *other)
{
	char names[2][200], modes[2][200], targets[2][200];
	const struct shape *const both[] = { one, other };

	for (int i = 0; i < 2; i++) {
		name_event(both[i], names[i], sizeof(names[i]));
		name_mode(both[i], modes[i], sizeof(modes[i]));
		name_target(both[i], targets[i], sizeof(targets[i]));
	}
	return strcmp(names[0], names[1]) == 0 && strcmp(modes[0], modes[1]) == 0 &&
		strcmp(targets[0], targets[1]) == 0;
}

/* Calls that differ in what is not told here, as a program's tries of a bit each, are one. */
static void join(size_t at, bool *told, struct shape *ret)
{
	*ret = *shapes.list[at];
	for (size_t i = at + 1; is_plainly_open(ret) && i < shapes.count; i++) {
		const struct shape *other = shapes.list[i];

		if (told[i] || other->attr.type != ret->attr.type ||
		    other->attr.config != ret->attr.config || !is_plainly_open(other) ||
		    !reads_alike(ret, other))
			continue;
		ret->calls += other->calls;
		ret->opened += other->opened;
		ret->looked += other->looked;
		ret->sum += other->sum;
		told[i] = true;
	}
}

static void say_shapes(const struct gates *gates)
{
	static const char *const order[] = { "refused", "partly", "silent", "opened", "unseen" };
	struct line *lines = calloc(shapes.count + 1, sizeof(*lines));
	bool *told = calloc(shapes.count + 1, sizeof(*told));
	size_t said = 0, left = 0;
	struct shape joined;

	for (size_t i = 0; lines != NULL && told != NULL && i < shapes.count; i++) {
		if (told[i])
			continue;
		join(i, told, &joined);
		make_line(&joined, reasons[i], gates, &lines[i]);
	}
	for (size_t word = 0; word < sizeof(order) / sizeof(order[0]); word++)
		for (size_t i = 0; lines != NULL && told != NULL && i < shapes.count; i++)
			if (!told[i] && strcmp(lines[i].label, order[word]) == 0 &&
			    said++ < LINES)
				say_line(lines, told, i);
	for (size_t i = 0; told != NULL && i < shapes.count; i++)
		left += !told[i];
	if (left > 0)
		printf("and %zu more kinds of calls: --json FILE tells all\n", left);
	free(lines);
	free(told);
}

/* ---------------------------------------------------------------------------------------- gates */

/* The first gate of the same words: two differ in what stands behind them alone. */
static size_t first_of(const struct gates *gates, size_t at)
{
	size_t first = 0;

	while (strcmp(gates->list[first]->first.gate, gates->list[at]->first.gate) != 0)
		first++;
	return first;
}

/* What to change is told once, and not where it would be in vain. */
static bool has_change(const struct gates *gates, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (first_of(gates, i) == first_of(gates, at) && !gates->list[i]->in_vain &&
		    gate_advises(gates->list[i], gates->list[at]))
			return false;
	return !gates->list[at]->in_vain;
}

static void say_gate(const struct gates *gates, size_t at)
{
	const struct reason *reason = gates->list[at];
	const size_t first = first_of(gates, at);
	struct flow flow;
	char label[24];

	snprintf(label, sizeof(label), "[%zu]", at + 1);
	flow_begin(&flow, label, strlen(label) + 1);
	if (first == at)
		flow_put(&flow, "%s", reason->first.gate);
	else
		flow_put(&flow, "the same as [%zu]", first + 1);
	flow_end(&flow);
	if (reason->behind[0] != '\0') {
		flow_begin(&flow, "  behind", INDENT);
		flow_put(&flow, "%s%s", reason->behind, reason->in_vain ?
			 ": nothing that is set here brings these events" : "");
		flow_end(&flow);
	}
	if (has_change(gates, at))
		flow_changes("  change", reason->first.change, INDENT);
}

static void say_gates(const struct gates *gates)
{
	if (gates->count > 0)
		printf("\nWhy, and what to change:\n");
	for (size_t i = 0; i < gates->count; i++)
		say_gate(gates, i);
}

/* ------------------------------------------------------------------------------------- remarks */

static void say_own_filter(const struct start *start)
{
	const uint32_t action = remarks.own_filter & FILTER_ACTION;

	if (!remarks.filtered)
		return;
	if (action == SECCOMP_RET_ERRNO)
		note("a filter that the program set itself answers %s to perf_event_open%s",
		     pm_errno_name((int)(remarks.own_filter & SECCOMP_RET_DATA)), start->ptrace ?
		     "" : ": later calls are not seen here; --ptrace shows them");
	else if (action == RET_USER_NOTIF)
		note("the program answers perf_event_open itself, by a filter with a listener");
	else
		note("a filter that the program set itself ends or traps perf_event_open%s",
		     start->ptrace ? "" : ": later calls are not seen here; --ptrace shows them");
}

/* What such a program shows all the same, as a collector's zeros, looks like an answer. */
static void say_all_refused(const struct start *start)
{
	const struct sums sums = sum_up();

	if (sums.refused == 0 || sums.refused < sums.calls || sums.pretended > 0)
		return;
	if (!start->attached && WIFEXITED(start->status) && WEXITSTATUS(start->status) == 0)
		note("no event opened, and the program ended with 0 all the same: what it shows of "
		     "events was not measured");
	else
		note("no event opened: what the program shows of events was not measured");
}

/* Changes that bring a part alone. */
static void say_what_stays(const struct gates *gates)
{
	struct pm_words words;
	char text[200] = "";
	size_t stay = 0, help = 0;

	words = (struct pm_words){ .at = text, .left = sizeof(text) };
	for (size_t i = 0; i < gates->count; i++) {
		help += gates->list[i]->first.cause == PM_CAUSE_PARANOID &&
			!gates->list[i]->in_vain;
		if (gates->list[i]->in_vain)
			pm_put(&words, "%s[%zu]", stay++ ? ", " : "", i + 1);
	}
	if (stay > 0 && help > 0)
		note("whatever is changed here, %s stay%s refused", text, stay == 1 ? "s" : "");
}

/* A link is tried first, and without it the older ioctl(2) does the same. */
static bool is_bpf_set_otherwise(void)
{
	for (size_t i = 0; i < shapes.count; i++)
		if (shapes.list[i]->requests[SET_BPF] > shapes.list[i]->failed[SET_BPF])
			return true;
	return false;
}

static void say_pretended(const struct start *start)
{
	const unsigned long long pretended = sum_up().pretended;

	if (start->cannot_pretend)
		note("nothing was pretended: this kernel hands no descriptors over "
		     "(SECCOMP_IOCTL_NOTIF_ADDFD)");
	else if (pretended > 0)
		note("%llu calls were answered with events that count nothing (--pretend): what "
		     "the program told is not true; what it asked after the first of them it "
		     "would ask where that is allowed", pretended);
}

static void say_remarks(const struct start *start)
{
	say_pretended(start);
	if (start->why_ptrace != NULL)
		note("looked at by ptrace(2), which makes all system calls slow: %s",
		     start->why_ptrace);
	if (remarks.open_before > 0)
		note("%u event%s open already, and stayed out of sight: how %s asked for is not "
		     "known", remarks.open_before, remarks.open_before == 1 ? " was" : "s were",
		     remarks.open_before == 1 ? "it was" : "they were");
	for (size_t i = 0; i < remarks.changed_count; i++)
		note("%s ran without those rights because it was looked at: what it asked says "
		     "nothing; as root explain changes nothing", remarks.changed[i]);
	say_own_filter(start);
	if (remarks.listener_refused && !start->ptrace)
		note("the program wanted a listener of its own (seccomp), which is refused while "
		     "it is looked at; --ptrace leaves it one");
	if (remarks.handed_over > 0)
		note("the program traces others: %llu thread%s let go for that; what %s asked "
		     "from then on is not known%s", (unsigned long long)remarks.handed_over,
		     remarks.handed_over == 1 ? " was" : "s were",
		     remarks.handed_over == 1 ? "it" : "they",
		     start->by_choice ? "; without --ptrace their calls are seen" : "");
	else if (remarks.traces && start->ptrace)
		note("the program traces others, and may have met that it is traced itself");
	if (remarks.unseen > remarks.not_found + remarks.trapped)
		note("%llu results were not seen, as another program traces these threads",
		     (unsigned long long)(remarks.unseen - remarks.not_found - remarks.trapped));
	if (remarks.trapped > 0)
		note("%llu calls were ended or trapped by a filter of system calls (SIGSYS)",
		     (unsigned long long)remarks.trapped);
	if (remarks.not_found > 0)
		note("after many calls alike had opened events one was refused, or its descriptor "
		     "replaced at once: which was not seen");
	if (remarks.interrupted > 0)
		note("%llu calls met a signal before they were looked at: where its handler was "
		     "set without SA_RESTART, they ended with EINTR", (unsigned long long)
		     remarks.interrupted);
	if (remarks.requests_unlooked > 0)
		note("%llu more ioctl calls were counted; their results were not looked at",
		     (unsigned long long)remarks.requests_unlooked);
	if (shapes.beyond > 0)
		note("%llu calls of further kinds were counted only",
		     (unsigned long long)shapes.beyond);
	if (remarks.bpf.count > 0 && !is_bpf_set_otherwise())
		note("bpf(2) was refused with %s", pm_errno_name(remarks.bpf.error));
	if (remarks.bpf.count > 0 && pm_pmu_type("kprobe") < 0)
		note("where it wants probes in functions of the kernel: this kernel has none as "
		     "events (no kprobe in /sys/bus/event_source/devices), which takes Linux 4.17 "
		     "and CONFIG_KPROBE_EVENTS=y");
}

void tell_text(const struct start *start)
{
	struct gates gates;
	int load;

	(void)fflush(stdout);
	(void)dup2(STDERR_FILENO, STDOUT_FILENO);	/* the program's own output stays its own */
	gates.count = gates_find(gates.list, GATES);
	load = load_refused();
	printf("\n");
	say_verdict(start);
	if (start->attached && remarks.calls[CALL_OPEN] == 0 && remarks.untold == 0)
		note("that is while it was looked at; what it asked before, or asks later, is not "
		     "known");
	else if (remarks.calls[CALL_OPEN] == 0 && !remarks.filtered && remarks.untold == 0 &&
		 !(remarks.traces && start->ptrace))
		tell_files(load != 0);
	say_shapes(&gates);
	say_gates(&gates);
	say_what_stays(&gates);
	say_silence();
	say_all_refused(start);
	if (load != 0)
		load_tell(load);
	say_remarks(start);
	(void)fflush(stdout);
}
