/* SPDX-License-Identifier: MIT */
/*
 * event_attrs LIST...: what each becomes, a line of JSON: the events with the fields of their attr,
 * or the error. test_event_grammar.py holds it against perf(1).
 */
#include <errno.h>
#include <stdio.h>

#include "../../perfmodes.h"
#include "../../policy/spec/spec.h"

#define ROOM 512

static struct pm_event_spec specs[ROOM];
static struct pm_event_listed listed[ROOM];

static void field(const char *name, unsigned long long value)
{
	if (value != 0)
		(void)printf(", \"%s\": %llu", name, value);
}

static void print(const struct pm_event_spec *spec, const struct pm_event_listed *of)
{
	const struct perf_event_attr attr = pm_spec_attr(spec, false);

	(void)printf("{\"type\": %u", attr.type);
	field("config", attr.config);
	field("config1", attr.config1);
	field("config2", attr.config2);
	field("bp_type", attr.bp_type);
	field("exclude_user", attr.exclude_user);
	field("exclude_kernel", attr.exclude_kernel);
	field("exclude_hv", attr.exclude_hv);
	field("exclude_idle", attr.exclude_idle);
	field("exclude_host", attr.exclude_host);
	field("exclude_guest", attr.exclude_guest);
	field("precise_ip", pm_spec_precise(spec));
	field("pinned", !!(spec->flags & PM_SPEC_PINNED));
	field("exclusive", !!(spec->flags & PM_SPEC_EXCLUSIVE));
	field("period", spec->period);
	field("freq", spec->frequency);
	field("leader", of->leader);
	field("read", !!(of->flags & PM_LISTED_READ));
	field("stacks", of->stacks);
	field("stack_bytes", of->stack_bytes);
	(void)printf("}");
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct pm_diag diag = { .size = sizeof(diag) };
		int count;

		specs[0].size = sizeof(specs[0]);
		listed[0].size = sizeof(listed[0]);
		count = pm_event_list(argv[i], &diag, specs, listed, ROOM);
		if (count < 0) {
			(void)printf("%d\n", count);
			continue;
		}
		(void)printf("[");
		for (int j = 0; j < count && j < ROOM; j++) {
			(void)printf("%s", j > 0 ? ", " : "");
			print(&specs[j], &listed[j]);
		}
		(void)printf("]\n");
	}
	return 0;
}
