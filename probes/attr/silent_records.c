/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does an event write side-band records only when its attr asks for them?
 *
 * A ring with records that nobody asked for fills up with what the reader throws away.
 * Observed: two dummy events of this thread, one with the bit and one without, while a thread comes
 * and goes, the name of this one changes, memory is mapped executable, or the CPU is given up. The
 * event with the bit must have the record, so that the other could have had it.
 */
#include <sys/prctl.h>

#include "probe.h"

PROBE(TITLE("records that no bit asks for")
      SINCE("2.6.31")
      POINT(task, "no FORK and EXIT without attr.task, which come with it")
      POINT(comm, "no COMM without attr.comm, which comes with it")
      POINT(mapping, "no MMAP and MMAP2 without attr.mmap, which come with it")
      POINT(context_switch, "no SWITCH without attr.context_switch, which comes with it")
      SINCE("4.3"))

static void *do_nothing(void *unused)
{
	return unused;
}

static void thread_comes_and_goes(void)
{
	ASSERT_EQ(0, run_in_thread(do_nothing, NULL));
}

static void change_name(void)
{
	ASSERT_EQ(0, prctl(PR_SET_NAME, "renamed"));
}

static void map_executable(void)
{
	void *base = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (base == MAP_FAILED)
		say_unknown("memory cannot be mapped executable: %s", pm_errno_name(errno));
	munmap(base, 4096);
}

static void give_up_cpu(void)
{
	if (!cause_switches(1))
		say_unknown("this thread was never switched away from");
}

/* How many records of the types are unread. All are dropped. */
static int count_of(struct sampler *sampler, uint64_t types)
{
	struct pm_record record;
	int found = 0;

	while (find_record(sampler, 0, &record))
		found += record.type < 64 && types >> record.type & 1;
	return found;
}

/* `with` differs from a plain dummy event in the bit alone. */
static void compare(const struct perf_event_attr *with, const char *bit, uint64_t types,
		    void (*cause)(void))
{
	const struct perf_event_attr without = attr_sideband();
	struct sampler asking = ask_run_sampler(with, &without, 0, -1, 4, bit);
	struct sampler silent = must_run_sampler(&without, 0, -1, 4);
	int wanted, found;

	count_of(&asking, 0);
	count_of(&silent, 0);
	cause();
	wanted = count_of(&asking, types);
	found = count_of(&silent, types);
	if (found)
		say_broken("records=%d without %s, %d with it", found, bit, wanted);
	if (!wanted)
		say_unknown("no record with %s either", bit);
}

TEST(task)
{
	struct perf_event_attr with = attr_sideband();

	with.task = 1;
	compare(&with, "attr.task", 1 << PERF_RECORD_FORK | 1 << PERF_RECORD_EXIT,
		thread_comes_and_goes);
}

TEST(comm)
{
	struct perf_event_attr with = attr_sideband();

	with.comm = 1;
	compare(&with, "attr.comm", 1 << PERF_RECORD_COMM, change_name);
}

TEST(mapping)
{
	struct perf_event_attr with = attr_sideband();

	with.mmap = 1;
	compare(&with, "attr.mmap", 1 << PERF_RECORD_MMAP | 1 << PERF_RECORD_MMAP2, map_executable);
}

TEST(context_switch)
{
	struct perf_event_attr with = attr_sideband();

	with.context_switch = 1;
	compare(&with, "attr.context_switch", 1 << PERF_RECORD_SWITCH, give_up_cpu);
}

PROBE_MAIN
