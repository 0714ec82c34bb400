/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a format file and a record: the text, a zero, then the raw data. Whatever is
 * accepted must not let a read go outside the data, which lies in a block of exactly its size.
 */
#include <stdlib.h>
#include <string.h>

#include "../../perfmodes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned char sink;

static void touch(const void *bytes, int size, const unsigned char *raw, size_t raw_size)
{
	const unsigned char *at = bytes;

	if (size < 0)
		return;
	if (at < raw || at > raw + raw_size || size > raw + raw_size - at)
		abort();
	for (int i = 0; i < size; i++)
		sink ^= at[i];
}

static void read_field(const struct pm_trace_event *event, size_t index,
		       const unsigned char *raw, size_t size)
{
	struct pm_trace_member member = { .size = sizeof(member) };
	const char *text = (const char *)raw;
	const void *bytes = raw;
	int64_t number;
	int got;

	if (pm_trace_event_member(event, index, &member) != 0 || member.name[0] == '\0' ||
	    member.element_size == 0)
		abort();
	if (pm_trace_event_find(event, member.name) > (int)index)
		abort();
	got = pm_trace_bytes(event, index, raw, size, &bytes);
	touch(bytes, got, raw, size);
	got = pm_trace_text(event, index, raw, size, &text);
	touch(text, got, raw, size);
	for (size_t element = 0; element < 5; element++)
		(void)pm_trace_number(event, index, element, raw, size, &number);
}

/* It ends within its bounds. */
static void print(const struct pm_trace_event *event, const void *raw, size_t size)
{
	const struct pm_observed sample = { .size = sizeof(sample), .raw = raw, .raw_size = size };
	char *text = malloc(64);
	const int length = pm_trace_print(event, &sample, text, 64);

	if (length >= 0 && strlen(text) != (size_t)(length < 64 ? length : 63))
		abort();
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *zero = memchr(data, 0, size);
	size_t text_size = zero != NULL ? (size_t)(zero - data) : size;
	size_t raw_size = zero != NULL ? size - text_size - 1 : 0;
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_trace_event *event;
	unsigned char *raw;

	if (pm_trace_event_parse((const char *)data, text_size, &diag, &event) < 0) {
		if (diag.error == 0 || diag.text[0] == '\0')
			abort();
		return 0;
	}
	raw = malloc(raw_size + 1);
	if (raw_size > 0)
		memcpy(raw + 1, zero + 1, raw_size);
	(void)pm_trace_event_is(event, raw + 1, raw_size);
	print(event, raw + 1, raw_size);
	for (size_t i = 0; i < pm_trace_event_count(event); i++)
		read_field(event, i, raw + 1, raw_size);
	free(raw);
	pm_trace_event_destroy(event);
	return 0;
}
