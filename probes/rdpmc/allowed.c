/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does the administrator's switch over reading counters from user space do what it says? arm64 and
 * riscv have kernel.perf_user_access, x86 a file `rdpmc` of its PMU. A library that reads counters
 * itself must see the answer in the user page, or it dies by a signal.
 * Observed: the switch is set to 1 and to 0; index, value and the bare instruction are tried.
 */
#include "probe.h"
#include "finding.h"
#include "privilege.h"
#include "rdpmc.h"

PROBE(TITLE("the switch over counters read from user space")
      SINCE("3.4")
      DISTURBS("perf_user_access or rdpmc for all tasks")
      NEEDS("pmu")
      NEEDS("root")
      POINT(on_reads, "switched on, the value read in user space lies between two read(2) around "
	    "it")
      POINT(on_unmapped_faults, "switched on, a task without an event dies of the bare instruction")
      SINCE("4.0")
      COMMIT("7911d3f7af14")
      POINT(off_says_so, "switched off, the index in the user page is 0 while read(2) counts")
      POINT(off_faults, "switched off, the bare instruction ends a task with a signal")
      FACT(file, string, "-", "which file or sysctl of this machine is the switch"))

static const char *path;

static void __attribute__((constructor)) choose_switch(void)
{
	for (unsigned int i = 0; i < ACCESS_FILES && !path; i++)
		if (!access(user_access[i], W_OK))
			path = user_access[i];
	if (path)
		restore_at_exit(path);
}

static void must_set(const char *value)
{
	int error;

	require(REQUIRE_CPU_PMU | REQUIRE_ROOT);
	if (!path)
		say_absent("no switch over user-space reading on this machine");
	fact_str("file", "%s", path);
	error = write_file(path, value);
	if (error)
		say_blocked("%s cannot be set to %s: %s", path, value, pm_errno_name(error));
}

/* Counting here; instructions, or cycles where there are none. */
static struct sampler must_count_something(void)
{
	struct perf_event_attr attr = attr_user_counter(PERF_COUNT_HW_INSTRUCTIONS);
	const bool known = !try_open(&attr);
	struct sampler sampler =
		watch_counter(known ? PERF_COUNT_HW_INSTRUCTIONS : PERF_COUNT_HW_CPU_CYCLES, -1);

	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	spin_ns(1000000);
	if (!must_count(sampler.fd))
		say_unknown("the event does not count");
	return sampler;
}

TEST(on_reads)
{
	struct sampler sampler;
	uint64_t value;

	must_set("1");
	sampler = must_count_something();
	if (!user_value(sampler.ring.base, &value))
		say_absent("this PMU lends no counter to user space, although the switch is on");
	must_lie_between(&sampler);
}

static int read_bare(void *unused)
{
	uint64_t value;

	(void)unused;
#ifdef __aarch64__
	return read_counter(31, &value) ? 0 : 1;
#else
	return read_counter(0, &value) ? 0 : 1;
#endif
}

/* Whether the bare instruction ends a task with a signal. */
static bool faults(void)
{
	int status = wait_child(start_child(read_bare, NULL));

	if (status == 1)
		say_absent("no such instruction on this machine");
	if (status < 0)
		say_unknown("no child: %s", pm_errno_name(status));
	return status >= 128;
}

/* On the first CPU that counts for this task, where its children stay as well. */
static void lend_a_counter(void)
{
	struct perf_event_attr attr = attr_user_counter(PERF_COUNT_HW_INSTRUCTIONS);

	if (try_open(&attr))
		attr = attr_user_counter(PERF_COUNT_HW_CPU_CYCLES);
	attr.disabled = 0;
	for (unsigned int nth = 0; move_to_nth_cpu(nth) >= 0; nth++) {
		const int fd = must_open(&attr, 0, -1, -1, 0);

		spin_ns(1000000);
		if (must_count(fd))
			return;
		close(fd);
	}
	say_unknown("the event counts on no CPU");
}

/*
 * Before v4.0 1 let every task read, as 2 does since. A CPU that has just lent a counter to another
 * task is where it would be forgotten.
 */
TEST(on_unmapped_faults)
{
	must_set("1");
	lend_a_counter();
	if (!faults())
		say_no("a task without an event read a counter, on a CPU that had lent one to "
		       "another");
}

TEST(off_says_so)
{
	struct sampler sampler;
	uint64_t value;

	must_set("0");
	sampler = must_count_something();
	if (user_value(sampler.ring.base, &value))
		say_broken("the user page offers a counter to read although the switch is off");
}

TEST(off_faults)
{
	must_set("0");
	must_count_something();
	if (!faults())
		say_broken("a task read a counter although the switch is off");
}

PROBE_MAIN
