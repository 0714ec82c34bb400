/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The format file of a tracepoint, for the probes that hold raw data against it. Its id may be
 * known to who may not read it. Included behind probe.h.
 */
#ifndef FORMATS_H
#define FORMATS_H

#include <stdio.h>

static void read_format(struct __test_metadata *_metadata, const char *system, const char *event,
			char *text, size_t size)
{
	char root[128], path[256];
	int error;

	require(REQUIRE_PERF | REQUIRE_TRACEFS);
	ASSERT_EQ(0, pm_tracefs_root(root, sizeof(root)));
	snprintf(path, sizeof(path), "%s/events/%s/%s/format", root, system, event);
	error = pm_read_text(path, text, size);
	if (error == -EACCES || error == -EPERM)
		say_blocked("the format of %s is not readable for this user", event);
	if (error <= 0)
		cannot_tell("the format of %s: %s", event, errno_name(error));
}

#endif
