/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many breakpoints fit into a task? Debug registers are few: 4 on x86, 4 to 16 on arm64, 1 or 2
 * on POWER. Observed: opens until ENOSPC, a slot given back by close, and what another thread still
 * has.
 */
#include "probe.h"
#include "breakpoint.h"
#include "call.h"
#include "write_slots.h"

PROBE(TITLE("breakpoint slots")
      SINCE("2.6.33")
      NEEDS("breakpoint")
      POINT(full, "one breakpoint more than there are slots is refused with ENOSPC")
      POINT(all_count, "breakpoints in all slots count at the same time")
      POINT(close_frees, "closing a breakpoint frees its slot")
      POINT(per_task, "each thread has its own full set of slots")
      FACT(data, int, "slots", "write breakpoints that one task can have")
      FACT(code, int, "slots", "execution breakpoints that one task can have")
      FACT(shared, bool, "-", "code and data breakpoints take the same slots"))

static volatile int64_t one_more;
static struct slots slots;

static void function(void)
{
	one_more++;
}

static struct perf_event_attr watch_one_more(void)
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, &one_more, 4);

	attr.disabled = 0;
	return attr;
}

static void must_fill(pid_t tid)
{
	struct perf_event_attr attr = watch_one_more();

	close(must_open(&attr, tid, -1, -1, 0));
	slots_fill(&slots, tid);
}

static void count_code_slots(void)
{
	struct perf_event_attr attr = attr_call(function);
	bool separate;
	int count = 0, fd = pm_open(&attr, 0, -1, -1, 0);

	separate = fd >= 0;	/* although no slot for data is left */
	slots_close(&slots);
	if (!separate)
		fd = pm_open(&attr, 0, -1, -1, 0);
	while (fd >= 0 && ++count < SLOTS_MOST)
		fd = pm_open(&attr, 0, -1, -1, 0);
	fact_int("code", count);
	if (count)
		fact_bool("shared", !separate);
}

TEST(full)
{
	must_fill(0);
	fact_int("data", slots.count);
	if (slots.error != ENOSPC)
		say_broken("errno=%s want=ENOSPC after %d", pm_errno_name(slots.error),
			   slots.count);
	count_code_slots();
}

TEST(all_count)
{
	must_fill(0);
	for (int i = 0; i < slots.count; i++)
		for (int write = 0; write <= i; write++)
			slots.words[i] = write;
	for (int i = 0; i < slots.count; i++)
		if (must_count(slots.fds[i]) != (uint64_t)i + 1)
			say_broken("breakpoint %d of %d: counted=%" PRIu64 " want=%d", i,
				   slots.count, must_count(slots.fds[i]), i + 1);
}

TEST(close_frees)
{
	struct perf_event_attr attr = watch_one_more();
	int fd;

	must_fill(0);
	if (slots.error != ENOSPC)
		say_unknown("not full: %s", pm_errno_name(slots.error));
	must_close(slots.fds[0]);
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		say_broken("after close: %s", pm_errno_name(fd));
	one_more = 1;
	expect_count(fd, 1);
}

TEST(per_task)
{
	struct worker worker;
	int mine;

	must_start_worker(&worker, WORKER_THREAD);
	must_fill(0);
	mine = slots.count;
	slots_fill(&slots, worker.tid);
	if (slots.error != ENOSPC)
		say_unknown("not full: %s", pm_errno_name(slots.error));
	if (mine != slots.count)
		say_broken("slots=%d, of another thread=%d", mine, slots.count);
}

PROBE_MAIN
