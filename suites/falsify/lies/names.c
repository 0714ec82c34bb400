/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The names of all lies. See lies.h.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "fields.def"
#include "lies.h"

#define NAME_SIZE 48
#define MOST 1024

static char names[MOST][NAME_SIZE];
static int count;

static const struct { const char *group, *name, *ways; } fields[] = {
#define FIELD(record, name, member, bit, ways) { #record, #name, ways },
	SAMPLE_CONTENTS(FIELD)
	TRAILER_CONTENTS(FIELD)
	RECORD_CONTENTS(FIELD)
#define COUNT(name, member, bit, ways) { "COUNT", #name, ways },
	COUNT_CONTENTS(COUNT)
#define MARK(record, name, bits, ways) { "MISC." #record, #name, ways },
	MISC_CONTENTS(MARK)
};
#define FIELDS ((int)(sizeof(fields) / sizeof(*fields)))

static int first_of[FIELDS];

static void add(const char *group, const char *name, const char *way)
{
	char *to = names[count++];

	snprintf(to, NAME_SIZE, "%s.%s%s%s", group, name, *way ? "." : "", way);
	for (; *to; to++)
		*to = (char)tolower((unsigned char)*to);
}

static void add_ways(const char *group, const char *name, const char *ways)
{
	static const struct { char letter; const char *word; } words[] = {
		{ 'p', "more" }, { 'z', "zero" }, { 'm', "less" }, { 'h', "half" },
		{ 'd', "double" }, { 'k', "thousandfold" }, { 'f', "first" }, { 'b', "last" },
		{ 's', "cut" }, { 'g', "huge" },
	};
	const bool mark = !strncmp(group, "MISC", 4);

	for (; *ways; ways++)
		for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
			if (words[i].letter != *ways)
				continue;
			add(group, name, !mark ? words[i].word : *ways == 'p' ? "set" :
			    *ways == 'z' ? "clear" : "turned");
			if (*ways == 'k')
				add(group, name, "thousandth");
		}
}

static void make(void)
{
#define ADD(area, name, text) add(#area, #name, "");
#define ADD_TYPE(type) add("none", #type, ""); add("twice", #type, "");
	EVERY_LIE(ADD)
	RECORD_TYPES(ADD_TYPE)
	for (int i = 0; i < FIELDS; i++) {
		first_of[i] = count;
		add_ways(fields[i].group, fields[i].name, fields[i].ways);
	}
}

int lies_count(void)
{
	if (!count)
		make();
	return count;
}

const char *lie_name(int number)
{
	return number < lies_count() ? names[number] : "";
}

int lie_number(const char *name)
{
	for (int i = 0; i < lies_count(); i++)
		if (!strcmp(name, names[i]))
			return i;
	return -1;
}

int lie_of_field(int field, const char **ret_ways)
{
	lies_count();
	*ret_ways = fields[field].ways;
	return first_of[field];
}
