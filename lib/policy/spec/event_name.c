/* SPDX-License-Identifier: MIT */
/* Names of events: the other way than pm_event_parse. */
#include "spec.h"

#include <stdio.h>

static const char *const hardware[] = {
#define PM_HARDWARE(id, config, name, other) [config] = name,
#define PM_SOFTWARE(id, config, name, other)
#define PM_CACHE(id, number, name)
#include "../../perfmodes_event.def"
};

static const char *const software[] = {
#define PM_HARDWARE(id, config, name, other)
#define PM_SOFTWARE(id, config, name, other) [config] = name,
#define PM_CACHE(id, number, name)
#include "../../perfmodes_event.def"
};

_Static_assert(sizeof(hardware) / sizeof(hardware[0]) == PM_HW_EVENTS, "PM_HW_EVENTS");
_Static_assert(sizeof(software) / sizeof(software[0]) == PM_SW_EVENTS, "PM_SW_EVENTS");

static const char *name_of(const struct pm_event_spec *spec)
{
	if (spec->type == PM_TYPE_SOFTWARE && spec->config < PM_SW_EVENTS)
		return software[spec->config];
	if (spec->type == PM_TYPE_HARDWARE && spec->config < PM_HW_EVENTS)
		return hardware[spec->config];
	return NULL;
}

int pm_event_name(const struct pm_event_spec *spec, char *buf, size_t size)
{
	const char *name = name_of(spec), *user = spec->flags & PM_SPEC_USER_ONLY ? ":u" : "";

	if (name != NULL)
		return snprintf(buf, size, "%s%s", name, user);
	return snprintf(buf, size, "event %u:0x%llx%s", spec->type,
			(unsigned long long)spec->config, user);
}
