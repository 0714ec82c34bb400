/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the lines of a plan and of its catalogue mean. See plan.h.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "personas.h"
#include "plan.h"

/* Letters, digits, `_` and one dot: such an id stays below the folder of the probes. */
static bool good_id(const char *id)
{
	const char *dot = strchr(id, '.');

	return dot && dot > id && dot[1] && !strchr(dot + 1, '.') &&
	       id[strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789_.")] == '\0';
}

/* Say what is wrong with a line, without its control characters. */
static const struct persona *refuse_line(char *line)
{
	line[strcspn(line, "\n")] = '\0';
	for (char *at = line; *at; at++)
		if (*at < ' ' || *at > '~')
			*at = '?';
	fprintf(stderr, "launch: not 'persona probe' in the plan: %.80s\n", line);
	return NULL;
}

const struct persona *plan_line(char *line, char id[PLAN_ID_SIZE])
{
	char name[PERSONA_NAME_SIZE], excess;
	const struct persona *persona;

	if (sscanf(line, "%15s %100s %c", name, id, &excess) != 2 || !good_id(id))
		return refuse_line(line);
	persona = personas_find(name);
	return persona ? persona : refuse_line(line);
}

enum beside plan_beside(const char *line)
{
	if (!strncmp(line, "alone=", 6) ||
	    (!strncmp(line, "disturbs=", 9) && getenv("PERFMODES_MAY_DISTURB")) ||
	    (!strncmp(line, "hazard=", 7) && getenv("PERFMODES_HAZARDS")))
		return NOTHING;
	if (!strncmp(line, "needs=", 6) &&
	    (strstr(line, "tracefs") || strstr(line, "kprobe") || strstr(line, "uprobe")))
		return NO_SECOND;
	return ANYTHING;
}
