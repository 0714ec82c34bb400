/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can a task find tracepoints? Their ids come from tracefs, which most systems show to root alone;
 * without an id no other question about tracepoints can be asked.
 * Observed: where tracefs is, whether ids and formats can be read and agree, and which errno wrong
 * ids get. A task that cannot read ids may have been told them (PERFMODES_TRACEPOINTS): opens and
 * no_alias are then asked all the same.
 */
#include "probe.h"
#include "tracepoint.h"

PROBE(TITLE("tracepoint ids and formats")
      SINCE("2.6.31")
      POINT(readable, "the id of sched:sched_switch can be read")
      NEEDS("tracefs")
      POINT(opens, "an event with the id of sched:sched_switch opens and counts switches")
      NEEDS("tracefs")
      POINT(format, "the format file of sched:sched_switch has its id, and a 4-byte next_pid")
      NEEDS("tracefs")
      POINT(unknown_id, "ENOENT or EINVAL for an id that no tracepoint has")
      POINT(no_alias, "an id with bit 32 set is refused, and is no alias of the low bits")
      NEEDS("tracefs")
      SINCE("3.13")
      FACT(root, string, "-", "where tracefs is mounted")
      FACT(closed, bool, "-", "tracefs is there and this task cannot read it"))

TEST(readable)
{
	char root[128];
	int error = pm_tracefs_root(root, sizeof(root)), id;

	fact_bool("closed", error == -EACCES);
	if (!error)
		fact_str("root", "%s", root);
	require(REQUIRE_PERF | REQUIRE_TRACEFS);
	id = pm_tracepoint_id("sched", "sched_switch");
	if (id == -EACCES || id == -EPERM || id == -ENOENT)
		say_blocked("the id of sched:sched_switch is not readable for this user");
	if (id <= 0)
		say_broken("the id of sched:sched_switch is no number: %s", pm_errno_name(id));
}

TEST(opens)
{
	struct perf_event_attr attr = must_tracepoint("sched", "sched_switch");
	uint64_t switches, count;
	int fd = must_open(&attr, 0, -1, -1, 0);

	attr.exclude_kernel = attr.disabled = 0;
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd < 0)	/* who may not see the kernel counts no hit in it */
		return;
	switches = cause_switches(3);
	count = must_count(fd);
	if (switches < 3)
		say_unknown("this thread was switched away from %" PRIu64 " times of 3", switches);
	if (count < switches)
		say_broken("counted=%" PRIu64 " of %" PRIu64 " switches", count, switches);
}

TEST(format)
{
	char text[8192], want[32];
	struct pm_trace_field field;
	int id;

	id = must_tracepoint("sched", "sched_switch").config;
	must_read_format("sched", "sched_switch", text, sizeof(text));
	snprintf(want, sizeof(want), "\nID: %d\n", id);
	if (!strstr(text, want))
		say_broken("the format names another id than %d", id);
	if (pm_tracepoint_field(text, "next_pid", &field) < 0)
		say_broken("the format has no field next_pid");
	if (field.size != 4 || !field.is_signed || field.offset < 8 || field.offset % 4)
		say_broken("next_pid: offset=%u size=%u signed=%d", field.offset, field.size,
			   field.is_signed);
}

TEST(unknown_id)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int fd;

	close(must_open(&attr, 0, -1, -1, 0));
	attr = attr_of(PERF_TYPE_TRACEPOINT, 0xfffff);
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd >= 0)
		say_broken("tracepoint 1048575 is accepted");
	if (fd != -ENOENT && fd != -EINVAL)
		say_broken("errno=%s want=ENOENT or EINVAL", pm_errno_name(fd));
}

TEST(no_alias)
{
	struct perf_event_attr attr = must_tracepoint("sched", "sched_switch");
	int fd;

	close(must_open(&attr, 0, -1, -1, 0));
	attr.config |= UINT64_C(1) << 32;
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd >= 0)
		say_no("config %#" PRIx64 " is accepted: bit 32 is not read", attr.config);
	if (fd != -ENOENT && fd != -EINVAL)
		say_broken("errno=%s want=ENOENT or EINVAL", pm_errno_name(fd));
}

PROBE_MAIN
