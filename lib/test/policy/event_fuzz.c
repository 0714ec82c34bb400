/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the name of an event and as a list of them, against the sysfs of this machine. What
 * is refused is told and leaves the spec alone; what is taken has a name. What is one event is the
 * same in a list.
 */
#include <stdlib.h>
#include <string.h>

#include "../../perfmodes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROOM 4

static void as_list(const char *text, int one, const struct pm_event_spec *alone)
{
	struct pm_event_spec specs[ROOM] = { { .size = sizeof(specs[0]) } };
	struct pm_event_listed listed[ROOM] = { { .size = sizeof(listed[0]) } };
	struct pm_diag diag = { .size = sizeof(diag) };
	int count = pm_event_list(text, &diag, specs, listed, ROOM);

	if (count == 0 || (count < 0 && (diag.error != -count || diag.text[0] == '\0')))
		abort();
	if (one == 0 && (count != 1 || specs[0].config != alone->config ||
			 specs[0].flags != alone->flags))
		abort();
	for (int i = 0; i < count && i < ROOM; i++)
		if (specs[i].size != sizeof(specs[0]) || (int)listed[i].leader > i ||
		    memchr(listed[i].name, '\0', sizeof(listed[i].name)) == NULL)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pm_event_spec spec = { .size = sizeof(spec), .period = 5 }, before = spec;
	struct pm_diag diag = { .size = sizeof(diag) };
	char *name = malloc(size + 1), text[64];
	int err;

	memcpy(name, data, size);
	name[size] = '\0';
	err = pm_event_parse(name, &diag, &spec);
	if (err < 0 && (diag.error != -err || diag.text[0] == '\0' ||
			memcmp(&spec, &before, sizeof(spec)) != 0))
		abort();
	if (err > 0 || (err == 0 && pm_event_name(&spec, text, sizeof(text)) <= 0))
		abort();
	if (err < 0 ? spec.period != 5 : spec.period == 0 && spec.frequency == 0)
		abort();
	as_list(name, err, &spec);
	free(name);
	return 0;
}
