/* SPDX-License-Identifier: MIT */
/* The same as the screen, for programs. */
#include <string.h>
#include <sys/wait.h>

#include "gates.h"
#include "json.h"
#include "silence.h"
#include "tell.h"
#include "words.h"

#define GATES 256

static void put_counts(FILE *file, const struct shape *shape)
{
	fprintf(file, "\"looked\": %u, \"sum\": %llu, \"zero\": %u, \"never_enabled\": %u, "
		"\"never_ran\": %u, \"never_there\": %u, \"part_time\": %u, \"in_error\": %u, "
		"\"never_sampled\": %u, \"never_woken\": %u, "
		"\"lost\": %llu", shape->looked, (unsigned long long)shape->sum, shape->zero,
		shape->never_enabled, shape->never_ran, shape->never_there, shape->part_time,
		shape->in_error, shape->never_sampled, shape->never_woken,
		(unsigned long long)shape->lost);
}

static void put_shape(FILE *file, size_t at, size_t gate)
{
	const struct shape *shape = shapes.list[at];
	char text[300];

	fprintf(file, "%s\n  {", at ? "," : "");
	name_event(shape, text, sizeof(text));
	json_member(file, "event", text, ", ");
	name_mode(shape, text, sizeof(text));
	json_member(file, "mode", text, ", ");
	json_member(file, "target", target_word(shape->target), ", ");
	fprintf(file, "\"cpus\": %u, \"inherit\": %s, \"group\": %s, \"attr_size\": %u,\n   ",
		cpus_of(shape), shape->attr.inherit ? "true" : "false",
		shape->grouped ? "true" : "false", shape->size);
	fprintf(file, "\"calls\": %u, \"opened\": %u, \"unseen\": %u, \"pretended\": %u, ",
		shape->calls, shape->opened, shape->unseen, shape->pretended);
	json_errors(file, shape);
	fprintf(file, ", \"gate\": %zu,\n   \"rings\": %llu, \"pages\": %llu, \"silent\": %s, ",
		gate, (unsigned long long)shape->rings, (unsigned long long)shape->most_pages,
		is_silent(shape) ? "true" : "false");
	if (shape->map_error.count > 0)
		json_member(file, "ring_error", pm_errno_name(shape->map_error.error), ", ");
	put_counts(file, shape);
	fprintf(file, "}");
}

static void put_gate(FILE *file, const struct reason *reason, bool first)
{
	fprintf(file, "%s\n  {", first ? "" : ",");
	json_member(file, "name", reason->first.name ? reason->first.name : "", ", ");
	json_member(file, "gate", reason->first.gate, ",\n   ");
	json_member(file, "change", reason->first.change, ",\n   ");
	json_member(file, "behind", reason->behind, ", ");
	fprintf(file, "\"in_vain\": %s, \"again\": ", reason->in_vain ? "true" : "false");
	json_string(file, reason->again ? pm_errno_name(reason->again) : "");
	fprintf(file, "}");
}

static void put_remarks(FILE *file, const struct start *start)
{
	fprintf(file, "\"remarks\": {\"traces\": %s, \"listener_refused\": %s, \"own_filter\": %u, "
		"\"unseen\": %llu, \"untold\": %llu, \"interrupted\": %llu, "
		"\"beyond\": %llu, \"changed\": [",
		remarks.traces ? "true" : "false", remarks.listener_refused ? "true" : "false",
		remarks.own_filter, (unsigned long long)remarks.unseen,
		(unsigned long long)remarks.untold, (unsigned long long)remarks.interrupted,
		(unsigned long long)shapes.beyond);
	for (size_t i = 0; i < remarks.changed_count; i++) {
		fprintf(file, "%s", i ? ", " : "");
		json_string(file, remarks.changed[i]);
	}
	fprintf(file, "], \"files\": [");
	for (size_t i = 0; i < files.count; i++) {
		fprintf(file, "%s{", i ? ", " : "");
		json_member(file, "path", files.missing[i].path, ", ");
		json_member(file, "error", pm_errno_name(files.missing[i].error), "}");
	}
	fprintf(file, "], ");
	json_member(file, "ptrace", start->why_ptrace ? start->why_ptrace : "", "}");
}

void tell_json(const struct start *start, FILE *file)
{
	const struct reason *gates[GATES];
	const size_t count = gates_find(gates, GATES);

	fprintf(file, "{\"format\": 1, ");
	if (start->attached)
		fprintf(file, "\"pid\": %d, \"open_before\": %u", start->pid,
			remarks.open_before);
	else if (WIFSIGNALED(start->status))
		fprintf(file, "\"signal\": %d", WTERMSIG(start->status));
	else
		fprintf(file, "\"exit\": %d", WEXITSTATUS(start->status));
	fprintf(file, ",\n \"asked\": [");
	for (size_t i = 0; i < shapes.count; i++)
		put_shape(file, i, gate_number(gates, count, reasons[i]));
	fprintf(file, "],\n \"gates\": [");
	for (size_t i = 0; i < count; i++)
		put_gate(file, gates[i], i == 0);
	fprintf(file, "],\n ");
	put_remarks(file, start);
	fprintf(file, "}\n");
}
