/* SPDX-License-Identifier: MIT */
/*
 * Several events in one text: commas between them, braces around a group, and patterns of
 * tracepoints. A comma between the slashes of terms, or in a quoted name there, is theirs.
 */
#include "event.h"

#include <errno.h>
#include <string.h>

#include "../diagnosis/diag.h"
#include "tracepoints.h"

#define TEXT_MOST 4095

struct list {
	struct pm_diag *diag;
	struct pm_event_spec *specs;
	struct pm_event_listed *listed;
	size_t room, count;
	unsigned int leader;		/* 1 + index of the group's first; 0: outside of groups */
	const char *letters;		/* modifiers of the group; NULL: none */
	size_t letters_length;
};

static int wrong(const struct list *list, const char *word, size_t length, const char *what)
{
	return pm_diag_say(list->diag, EINVAL, PM_CAUSE_INPUT, "events: \"%.*s\" %s",
			   (int)(length < 100 ? length : 100), word, what);
}

/* Modifiers of the group come on top; of D and e the leader's count alone. */
static int apply_group(const struct list *list, bool leads, struct parsing *parsing)
{
	struct modes *modes = &parsing->modes;
	const bool pinned = modes->pinned, exclusive = modes->exclusive;
	int err;

	if (list->letters == NULL)
		return 0;
	err = pm_event_modifiers(parsing, list->letters, list->letters_length, modes);
	if (!leads) {
		modes->pinned = pinned;
		modes->exclusive = exclusive;
	}
	return err;
}

static void put(struct list *list, const struct parsing *parsing)
{
	const struct common_terms *terms = &parsing->terms;
	struct pm_event_spec spec = { .size = sizeof(spec) };
	struct pm_event_listed listed = {
		.size = sizeof(listed), .stacks = terms->stacks, .stack_bytes = terms->stack_bytes,
		.flags = (parsing->modes.read ? PM_LISTED_READ : 0) |
			(parsing->modes.weak ? PM_LISTED_WEAK : 0),
	};

	if (list->leader != 0 && list->leader != list->count + 1)
		listed.leader = list->leader;
	if (terms->name != NULL)
		memcpy(listed.name, terms->name, terms->name_length);
	pm_event_fill(parsing, &spec);
	if (list->count < list->room) {
		pm_give_element(list->specs, list->count, &spec, sizeof(spec));
		pm_give_element(list->listed, list->count, &listed, sizeof(listed));
	}
	list->count++;
}

static int add_name(struct list *list, const char *name)
{
	struct parsing parsing = { .name = name, .at = name, .diag = list->diag };
	int err = pm_event_parse_one(&parsing);

	if (err == 0)
		err = apply_group(list, list->leader == list->count + 1, &parsing);
	if (err == 0)
		put(list, &parsing);
	return err;
}

static int add_matching(const char *name, void *context)
{
	return add_name(context, name);
}

static int add_event(struct list *list, const char *text, size_t length)
{
	char name[EVENT_NAME_MAX + 1];

	for (; length > 0 && strchr(" \t\n", *text) != NULL; length--)
		text++;
	while (length > 0 && strchr(" \t\n", text[length - 1]) != NULL)
		length--;
	if (length == 0)
		return wrong(list, text, 0, "is no event: there is nothing between two commas, or "
			     "at an end");
	if (length > EVENT_NAME_MAX)
		return wrong(list, text, length, "is too long for a name of an event");
	memcpy(name, text, length);
	name[length] = '\0';
	if (pm_tracepoints_is_pattern(name))
		return pm_tracepoints_each(name, list->diag, add_matching, list);
	return add_name(list, name);
}

/* Up to the next comma or brace that is of no event. A breakpoint has one slash, terms have two. */
static size_t length_of(const char *text)
{
	const char *at = text + strspn(text, " \t\n");
	const bool breakpoint = strncmp(at, "mem:", strlen("mem:")) == 0;
	bool terms = false, quoted = false;

	for (; *at != '\0'; at++) {
		if (terms && *at == '\'')
			quoted = !quoted;
		else if (*at == '/' && !breakpoint && !quoted)
			terms = !terms;
		else if (!terms && strchr(",{}", *at) != NULL)
			break;
	}
	return (size_t)(at - text);
}

/* The events of a group, behind its opening brace; *ret is its closing one. */
static int find_end(const struct list *list, const char *text, const char **ret)
{
	const char *at = text;

	for (;; at++) {
		at += length_of(at);
		if (*at == '}')
			break;
		if (*at == '{')
			return wrong(list, at, strlen(at), "begins a group within a group");
		if (*at == '\0')
			return wrong(list, text, strlen(text), "is a group without an end");
	}
	*ret = at;
	return 0;
}

static int add_group(struct list *list, const char **text)
{
	const char *at = *text + 1, *end = NULL, *behind;
	int err = find_end(list, at, &end);

	if (err < 0)
		return err;
	behind = end + 1;
	if (*behind == ':') {
		list->letters = behind + 1;
		list->letters_length = strcspn(behind + 1, ", \t\n");
		behind += 1 + list->letters_length;
	}
	*text = behind + strspn(behind, " \t\n");
	list->leader = (unsigned int)list->count + 1;
	for (; err == 0; at++) {
		const size_t length = length_of(at);

		err = add_event(list, at, length);
		at += length;
		if (at == end)
			break;
	}
	list->leader = 0;
	list->letters = NULL;
	return err;
}

static int add_all(struct list *list, const char *text)
{
	for (;; text++) {
		size_t length = length_of(text);
		int err;

		if (text[length] == '{' && strspn(text, " \t\n") == length) {
			text += length;
			err = add_group(list, &text);
			length = 0;
		} else if (text[length] == '{') {
			return wrong(list, text, length, "stands before a group, which has no "
				     "name");
		} else {
			err = add_event(list, text, length);
		}
		text += length;
		if (err < 0 || *text == '\0')
			return err;
		if (*text != ',')
			return wrong(list, text, strlen(text), "does not follow a comma");
	}
}

int pm_event_list(const char *text, struct pm_diag *diag, struct pm_event_spec *specs,
		  struct pm_event_listed *listed, size_t count)
{
	struct list list = { .diag = diag, .specs = specs, .listed = listed, .room = count };
	int err;

	if (count > 0 && (specs[0].size < offsetof(struct pm_event_spec, filter) ||
			  listed[0].size < offsetof(struct pm_event_listed, name)))
		return pm_diag_say(diag, EINVAL, PM_CAUSE_INPUT, "the size of the first spec or of "
				   "what is told beside it is not set");
	if (strnlen(text, TEXT_MOST + 1) > TEXT_MOST)
		return pm_diag_say(diag, EINVAL, PM_CAUSE_INPUT, "names of events have up to %d "
				   "characters together", TEXT_MOST);
	err = add_all(&list, text);
	return err < 0 ? err : (int)list.count;
}
