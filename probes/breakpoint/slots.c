/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many breakpoints fit, and who shares them? Debug registers are few: 4 on x86, 4 to 16 on
 * arm64, 1 or 2 on POWER. Observed: opens until ENOSPC, a slot given back by close, what another
 * thread still has, and what a breakpoint for a whole CPU takes from every task.
 */
#include "probe.h"

PROBE(TITLE("breakpoint slots")
      SINCE("2.6.33")
      NEEDS("breakpoint")
      POINT(full, "one more than there are is refused with ENOSPC")
      POINT(all_count, "all of them count at the same time")
      POINT(close_frees, "a closed breakpoint leaves its slot to the next")
      POINT(per_task, "another thread has its own full set")
      POINT(cpu_wide_takes, "a breakpoint for all tasks of a CPU takes one slot from a task")
      POINT(cpu_wide_full, "with a full task no breakpoint for all tasks of a CPU fits")
      FACT(data, int, "slots", "write breakpoints that one task can have")
      FACT(code, int, "slots", "execution breakpoints that one task can have")
      FACT(shared, bool, "-", "code and data breakpoints take the same slots"))

#define MOST 64

static volatile int64_t cells[MOST + 1] __attribute__((aligned(8)));

struct slots {
	int count, error;
	int fds[MOST];
};

static void function(void)
{
	cells[MOST]++;
}

static struct perf_event_attr watch_cell(int index)
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, &cells[index], 4);

	attr.disabled = 0;
	return attr;
}

/* Open write breakpoints on a task until the kernel refuses. */
static void fill(pid_t tid, struct slots *slots)
{
	slots->count = slots->error = 0;
	while (slots->count < MOST) {
		struct perf_event_attr attr = watch_cell(slots->count);
		int fd = pm_open(&attr, tid, -1, -1, 0);

		if (fd < 0) {
			slots->error = -fd;
			return;
		}
		slots->fds[slots->count++] = fd;
	}
}

static void must_fill(struct __test_metadata *_metadata, pid_t tid, struct slots *slots)
{
	struct perf_event_attr attr = watch_cell(0);

	close(must_open(&attr, tid, -1, -1, 0));
	fill(tid, slots);
}

static void count_code_slots(const struct slots *data)
{
	struct perf_event_attr attr = attr_call(function);
	bool separate;
	int count = 0, fd = pm_open(&attr, 0, -1, -1, 0);

	separate = fd >= 0;	/* although no slot for data is left */
	for (int i = 0; i < data->count; i++)
		close(data->fds[i]);
	if (!separate)
		fd = pm_open(&attr, 0, -1, -1, 0);
	while (fd >= 0 && ++count < MOST)
		fd = pm_open(&attr, 0, -1, -1, 0);
	fact_int("code", count);
	if (count)
		fact_bool("shared", !separate);
}

TEST(full)
{
	struct slots slots;

	must_fill(_metadata, 0, &slots);
	fact_int("data", slots.count);
	if (slots.error != ENOSPC)
		broken("errno=%s want=ENOSPC after %d", errno_name(slots.error), slots.count);
	count_code_slots(&slots);
}

TEST(all_count)
{
	struct slots slots;

	must_fill(_metadata, 0, &slots);
	for (int i = 0; i < slots.count; i++)
		for (int write = 0; write <= i; write++)
			cells[i] = write;
	for (int i = 0; i < slots.count; i++)
		if (must_count(slots.fds[i]) != (uint64_t)i + 1)
			broken("breakpoint %d of %d: counted=%" PRIu64 " want=%d", i, slots.count,
			       must_count(slots.fds[i]), i + 1);
}

TEST(close_frees)
{
	struct perf_event_attr attr = watch_cell(MOST);
	struct slots slots;
	int fd;

	must_fill(_metadata, 0, &slots);
	if (slots.error != ENOSPC)
		cannot_tell("not full: %s", errno_name(slots.error));
	close(slots.fds[0]);
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		broken("after close: %s", errno_name(fd));
	cells[MOST] = 1;
	if (must_count(fd) != 1)
		broken("counted=%" PRIu64 " want=1", must_count(fd));
}

TEST(per_task)
{
	struct slots mine, theirs;
	struct worker worker;

	must_start(&worker, WORKER_THREAD);
	must_fill(_metadata, 0, &mine);
	must_fill(_metadata, worker.tid, &theirs);
	if (mine.count != theirs.count)
		broken("slots=%d, of another thread=%d", mine.count, theirs.count);
}

/* Other processes that have all slots of a task in use are in the way; they will not last. */
static int open_wide(struct __test_metadata *_metadata)
{
	struct perf_event_attr attr = watch_cell(MOST);
	const uint64_t end = now_ns() + 200000000;
	int fd, cpu = move_to_nth_cpu(0);

	while ((fd = pm_open(&attr, -1, cpu, -1, 0)) == -ENOSPC && now_ns() < end)
		sched_yield();
	return fd >= 0 ? fd : must_open(&attr, -1, cpu, -1, 0);
}

TEST(cpu_wide_takes)
{
	struct slots before, after;

	close(open_wide(_metadata));
	must_fill(_metadata, 0, &before);
	for (int i = 0; i < before.count; i++)
		close(before.fds[i]);
	open_wide(_metadata);
	must_fill(_metadata, 0, &after);
	if (after.count != before.count - 1 || after.error != ENOSPC)
		broken("slots=%d want=%d, errno=%s want=ENOSPC", after.count, before.count - 1,
		       errno_name(after.error));
}

TEST(cpu_wide_full)
{
	struct perf_event_attr attr = watch_cell(MOST);
	int cpu = move_to_nth_cpu(0);
	struct slots slots;

	close(open_wide(_metadata));
	must_fill(_metadata, 0, &slots);
	if (slots.error != ENOSPC)
		cannot_tell("not full: %s", errno_name(slots.error));
	hold_rule(pm_open(&attr, -1, cpu, -1, 0), ENOSPC, BROKEN, "one more for the CPU");
}

PROBE_MAIN
