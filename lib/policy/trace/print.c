/* SPDX-License-Identifier: MIT */
/* A record of a tracepoint as text. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "../../perfmodes.h"

#define ELEMENTS_MAX 64		/* of an array that are shown */

struct text {
	char *at;
	size_t left;
	int length;
};

static void __attribute__((format(printf, 2, 3))) put(struct text *text, const char *format, ...)
{
	va_list list;
	int n;

	va_start(list, format);
	n = vsnprintf(text->at, text->left, format, list);
	va_end(list);
	if (n < 0)
		return;
	text->length += n;
	if (text->left > 0) {
		const size_t used = (size_t)n < text->left ? (size_t)n : text->left - 1;

		text->at += used;
		text->left -= used;
	}
}

/* A program chose it: what is no plain character is not to reach a terminal. */
static void put_characters(struct text *text, const char *from, int size)
{
	for (int i = 0; i < size; i++)
		put(text, "%c", from[i] > ' ' && from[i] <= '~' ? from[i] : '?');
}

static void put_numbers(struct text *text, const struct pm_trace_event *event, size_t index,
			const struct pm_trace_member *field, const struct pm_observed *sample)
{
	int64_t number;

	for (size_t i = 0; i < ELEMENTS_MAX; i++) {
		if (pm_trace_number(event, index, i, sample->raw, sample->raw_size, &number) < 0) {
			put(text, "%s", i == 0 ? "?" : "");
			return;
		}
		put(text, "%s", i > 0 ? "," : "");
		if (field->flags & PM_TRACE_SIGNED)
			put(text, "%" PRId64, number);
		else
			put(text, "%" PRIu64, (uint64_t)number);
	}
	put(text, ",...");
}

int pm_trace_print(const struct pm_trace_event *event, const struct pm_observed *sample, char *buf,
		   size_t size)
{
	struct pm_trace_member field = { .size = sizeof(field) };
	struct text text = { buf, size, 0 };
	const char *word;

	if (size > 0)
		buf[0] = '\0';
	if (sample->raw == NULL || !pm_trace_event_is(event, sample->raw, sample->raw_size))
		return -EBADMSG;
	for (size_t i = 0; pm_trace_event_member(event, i, &field) == 0; i++) {
		int length;

		if (field.flags & PM_TRACE_COMMON)
			continue;
		put(&text, "%s%s=", text.length > 0 ? " " : "", field.name);
		length = field.flags & PM_TRACE_TEXT ?
			pm_trace_text(event, i, sample->raw, sample->raw_size, &word) : -EINVAL;
		if (length >= 0)
			put_characters(&text, word, length);
		else
			put_numbers(&text, event, i, &field, sample);
	}
	return text.length;
}
