/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a recording that is to be asked again. What is read is bounded, and a point's name
 * is of small letters, digits and underscores.
 */
#include "../replay/read_json.c"
#include "../replay/recording.c"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_at_call(const struct asked *asked, size_t number)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
	char name[100], words[300];

	asked_name(asked, number, name, sizeof(name));
	asked_words(asked, words, sizeof(words));
	if (strlen(name) < 5 || strspn(name, allowed) != strlen(name) || name[0] > '9')
		abort();
	for (const char *at = words; *at != '\0'; at++)
		if (*at < ' ' || *at == 0x7f)
			abort();
	if (asked->target > CGROUP || asked->requests >> REQUESTS ||
	    asked_type(asked) >= PERF_TYPE_MAX)
		abort();
	for (size_t i = 0; i < FIELD_COUNT; i++)
		if (asked->how[i] > NAME || (attr_fields[i].bytes < 8 &&
					     asked->value[i] >> attr_fields[i].bytes * 8))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct asked calls[CALLS_MOST];
	struct recording recording = { .calls = calls };
	char *text = malloc(size > 0 ? size : 1);	/* so that a byte too far is seen */

	if (text == NULL)
		return 0;
	memcpy(text, data, size);
	if (recording_read(text, size, &recording) == NULL) {
		if (recording.count == 0 || recording.count > CALLS_MOST)
			abort();
		for (size_t i = 0; i < recording.count; i++)
			look_at_call(&calls[i], i + 1);
	}
	free(text);
	return 0;
}
