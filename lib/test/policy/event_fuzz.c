/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the name of an event, against the sysfs of this machine. What is refused is told and
 * leaves the spec alone; what is taken has a name.
 */
#include <stdlib.h>
#include <string.h>

#include "../../perfmodes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
	if (spec.period != 5 || (spec.flags & ~(unsigned int)PM_SPEC_USER_ONLY))
		abort();
	free(name);
	return 0;
}
