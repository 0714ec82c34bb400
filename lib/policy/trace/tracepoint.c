/* SPDX-License-Identifier: MIT */
/*
 * Finds format files and reads their frame. A format is a header ("name:", "ID:"), lines such as
 *	field:__data_loc char[] name;	offset:8;	size:4;	signed:0;
 * and a "print fmt" in C, which nobody here needs.
 */
#include "tracepoint.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../pm_sys.h"
#include "../diagnosis/diag.h"
#include "../diagnosis/refusal.h"

struct text {
	const char *at, *end;
};

/* The next line, without its end. */
static bool take_line(struct text *text, struct text *line)
{
	const char *end;

	if (text->at == text->end)
		return false;
	end = memchr(text->at, '\n', (size_t)(text->end - text->at));
	line->at = text->at;
	line->end = end != NULL ? end : text->end;
	text->at = end != NULL ? end + 1 : text->end;
	return true;
}

static void skip_blanks(struct text *text)
{
	while (text->at < text->end && (*text->at == ' ' || *text->at == '\t'))
		text->at++;
}

static bool take_word(struct text *text, const char *word)
{
	size_t size = strlen(word);

	if ((size_t)(text->end - text->at) < size || memcmp(text->at, word, size) != 0)
		return false;
	text->at += size;
	return true;
}

static bool take_number(struct text *text, uint32_t most, uint32_t *ret)
{
	const char *begin = text->at;
	uint64_t value = 0;

	for (; text->at < text->end && *text->at >= '0' && *text->at <= '9'; text->at++) {
		value = value * 10 + (uint64_t)(*text->at - '0');
		if (value > most)
			return false;
	}
	*ret = (uint32_t)value;
	return text->at > begin;
}

/* "offset:8;" and what is blank in front of it. */
static bool take_value(struct text *text, const char *key, uint32_t most, uint32_t *ret)
{
	skip_blanks(text);
	return take_word(text, key) && take_number(text, most, ret) && take_word(text, ";");
}

/* ------------------------------------------------------------------------------------ the frame */

static void note_type(struct pm_trace_event *event, const struct field *field)
{
	if (strcmp(field->name, "common_type") == 0 &&
	    (field->bytes == 1 || field->bytes == 2 || field->bytes == 4)) {
		event->type_offset = field->offset;
		event->type_bytes = field->bytes;
	}
}

/* A declaration that is not understood costs that field and not the event. */
static int add_field(struct pm_trace_event *event, const struct text *declaration,
		     const struct field *known)
{
	struct field *field = &event->fields[event->count];
	size_t used;

	if (event->count == FIELDS_MAX)
		return -E2BIG;
	*field = *known;
	used = pm_trace_declare(declaration->at, (size_t)(declaration->end - declaration->at),
				field, event->texts + event->texts_used);
	if (used == 0)
		return 0;
	event->texts_used += used;
	if (strncmp(field->name, "common_", 7) == 0)
		field->flags |= PM_TRACE_COMMON;
	note_type(event, field);
	event->count++;
	return 0;
}

/* The oldest kernels leave "signed" out. */
static int take_field(struct text *line, struct pm_trace_event *event)
{
	const char *end = memchr(line->at, ';', (size_t)(line->end - line->at));
	struct text declaration = { line->at, end };
	struct field known = { .name = NULL };
	uint32_t is_signed = 0;

	if (end == NULL || memchr(line->at, '\0', (size_t)(end - line->at)) != NULL)
		return -EBADMSG;
	line->at = end + 1;
	if (!take_value(line, "offset:", RECORD_BYTES_MAX, &known.offset) ||
	    !take_value(line, "size:", RECORD_BYTES_MAX, &known.bytes))
		return -EBADMSG;
	skip_blanks(line);
	if (line->at < line->end && !take_value(line, "signed:", 1, &is_signed))
		return -EBADMSG;
	skip_blanks(line);
	if (line->at != line->end || known.offset + known.bytes > RECORD_BYTES_MAX)
		return -EBADMSG;
	known.flags = is_signed ? PM_TRACE_SIGNED : 0;
	return add_field(event, &declaration, &known);
}

static int take_name(const struct text *line, struct pm_trace_event *event)
{
	size_t size = (size_t)(line->end - line->at);

	if (size == 0 || size >= sizeof(event->name))
		return -EBADMSG;
	for (size_t i = 0; i < size; i++)
		if (line->at[i] <= ' ' || line->at[i] > '~')
			return -EBADMSG;
	memcpy(event->name, line->at, size);
	event->name[size] = '\0';
	return 0;
}

/* Returns 1 after the last line that matters. */
static int take_any(struct text *line, struct pm_trace_event *event, bool *has_id)
{
	skip_blanks(line);
	if (line->at == line->end || take_word(line, "format:"))
		return 0;
	if (take_word(line, "field:"))
		return take_field(line, event);
	if (take_word(line, "name: "))
		return take_name(line, event);
	if (take_word(line, "ID: ")) {
		*has_id = take_number(line, INT_MAX, &event->id) && line->at == line->end;
		return *has_id ? 0 : -EBADMSG;
	}
	return take_word(line, "print fmt:") ? 1 : -EBADMSG;
}

static int read_format(struct text text, struct pm_trace_event *event)
{
	bool has_id = false;
	struct text line;
	int err = 0;

	/* All of a declaration is kept at most, and "offset:" alone is longer than two bytes. */
	event->texts = malloc((size_t)(text.end - text.at) + 1);
	event->fields = calloc(FIELDS_MAX + 1, sizeof(*event->fields));
	if (event->texts == NULL || event->fields == NULL)
		return -ENOMEM;
	while (err == 0 && take_line(&text, &line))
		err = take_any(&line, event, &has_id);
	if (err < 0)
		return err;
	return has_id && event->name[0] != '\0' ? 0 : -EBADMSG;
}

/* ------------------------------------------------------------------------------------ the event */

int pm_trace_event_parse(const char *text, size_t size, struct pm_diag *diag,
			 struct pm_trace_event **ret)
{
	struct pm_trace_event *event;
	int err;

	if (size > FORMAT_BYTES_MAX)
		return pm_diag_say(diag, E2BIG, PM_CAUSE_INPUT, "a format of %zu bytes", size);
	event = calloc(1, sizeof(*event));
	if (event == NULL)
		return pm_diag_say(diag, ENOMEM, PM_CAUSE_UNKNOWN, "no memory");
	err = read_format((struct text){ text, text + size }, event);
	if (err < 0) {
		pm_trace_event_destroy(event);
		return pm_diag_say(diag, -err, PM_CAUSE_INPUT, "this is no format of a tracepoint "
				   "(%s)", strerror(-err));
	}
	*ret = event;
	return 0;
}

static int say_missing(struct pm_diag *diag, const char *system, const char *name, int err,
		       bool mounted)
{
	struct pm_refusal refusal;

	if (mounted && err != -EACCES && err != -EPERM)
		return pm_diag_say(diag, -err, PM_CAUSE_NO_EVENT, "tracepoint %s:%s: %s", system,
				   name, err == -ENOENT ? "this kernel has none of that name" :
				   strerror(-err));
	snprintf(refusal.call, sizeof(refusal.call), "tracepoint %.60s:%.60s", system, name);
	pm_refusal_of_tracefs(-err, &refusal);
	pm_diag_refusal(diag, &refusal);
	return err == -EPERM ? -EACCES : err;
}

int pm_trace_event_load(const char *system, const char *name, struct pm_diag *diag,
			struct pm_trace_event **ret)
{
	char root[64], path[PATH_MAX];
	char *text;
	int err = pm_tracefs_root(root, sizeof(root)), id, n;

	if (err < 0)
		return say_missing(diag, system, name, err, false);
	id = pm_tracepoint_id(system, name);	/* also refuses names that are no components */
	if (id < 0)
		return say_missing(diag, system, name, id, true);
	n = snprintf(path, sizeof(path), "%s/events/%s/%s/format", root, system, name);
	if (n < 0 || (size_t)n >= sizeof(path))
		return say_missing(diag, system, name, -ENAMETOOLONG, true);
	text = malloc(FORMAT_BYTES_MAX + 1);
	if (text == NULL)
		return pm_diag_say(diag, ENOMEM, PM_CAUSE_UNKNOWN, "no memory");
	n = pm_read_text(path, text, FORMAT_BYTES_MAX + 1);
	if (n == -EFBIG)	/* the "print fmt" comes last and is not needed */
		n = (int)strlen(text);
	err = n < 0 ? say_missing(diag, system, name, n, true) :
		pm_trace_event_parse(text, (size_t)n, diag, ret);
	free(text);
	return err;
}

void pm_trace_event_destroy(struct pm_trace_event *event)
{
	if (event == NULL)
		return;
	free(event->texts);
	free(event->fields);
	free(event);
}
