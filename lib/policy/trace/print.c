/* SPDX-License-Identifier: MIT */
/* A record of a tracepoint as text. */
#include <errno.h>
#include <inttypes.h>

#include "../../perfmodes.h"
#include "../diagnosis/words.h"

#define ELEMENTS_MAX 64		/* of an array that are shown */

/* A program chose it: what is no plain character is not to reach a terminal. */
static void put_characters(struct pm_words *text, const char *from, int size)
{
	for (int i = 0; i < size; i++)
		pm_put(text, "%c", from[i] > ' ' && from[i] <= '~' ? from[i] : '?');
}

static void put_numbers(struct pm_words *text, const struct pm_trace_event *event, size_t index,
			const struct pm_trace_member *field, const struct pm_observed *sample)
{
	int64_t number;

	for (size_t i = 0; i < ELEMENTS_MAX; i++) {
		if (pm_trace_number(event, index, i, sample->raw, sample->raw_size, &number) < 0) {
			pm_put(text, "%s", i == 0 ? "?" : "");
			return;
		}
		pm_put(text, "%s", i > 0 ? "," : "");
		if (field->flags & PM_TRACE_SIGNED)
			pm_put(text, "%" PRId64, number);
		else
			pm_put(text, "%" PRIu64, (uint64_t)number);
	}
	pm_put(text, ",...");
}

int pm_trace_print(const struct pm_trace_event *event, const struct pm_observed *sample, char *buf,
		   size_t size)
{
	struct pm_trace_member field = { .size = sizeof(field) };
	struct pm_words text = { buf, size, 0 };
	const char *word;

	if (size > 0)
		buf[0] = '\0';
	if (sample->raw == NULL || !pm_trace_event_is(event, sample->raw, sample->raw_size))
		return -EBADMSG;
	for (size_t i = 0; pm_trace_event_member(event, i, &field) == 0; i++) {
		int length;

		if (field.flags & PM_TRACE_COMMON)
			continue;
		pm_put(&text, "%s%s=", text.length > 0 ? " " : "", field.name);
		length = field.flags & PM_TRACE_TEXT ?
			pm_trace_text(event, i, sample->raw, sample->raw_size, &word) : -EINVAL;
		if (length >= 0)
			put_characters(&text, word, length);
		else
			put_numbers(&text, event, i, &field, sample);
	}
	return text.length;
}
