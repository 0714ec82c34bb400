/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does header.misc say in which mode the CPU was? A profiler picks the address space, kernel or
 * user, by it.
 * Observed: one page fault is caused by user code, another by the kernel on its behalf (a system
 * call that writes into an untouched page).
 */
#include "probe.h"
#include "pages.h"

PROBE(TITLE("the CPU mode in a record's header")
      SINCE("2.6.31")
      POINT(user, "a page fault of user code is a sample marked MISC_USER")
      POINT(kernel, "a page fault inside a system call is a sample marked MISC_KERNEL")
      NEEDS("root")
      POINT(kernel_excluded, "with exclude_kernel the fault inside the system call is no sample")
      POINT(user_excluded, "with exclude_user the fault of user code is no sample")
      NEEDS("root"))

struct modes {
	int user, kernel, other;
};

/* One fault from user mode, one from kernel mode; what modes the samples name. */
static struct modes fault_twice(bool user, bool kernel)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_ADDR);
	volatile char *mine = fresh_page();
	char *kernels = fresh_page();
	struct modes ret = { 0 };
	struct pm_record record;
	struct sampler sampler;
	int ends[2];

	ASSERT_EQ(0, pipe(ends));
	ASSERT_EQ(1, write(ends[1], "x", 1));
	attr.exclude_user = !user;
	attr.exclude_kernel = !kernel;
	sampler = must_run_sampler(&attr, 0, -1, 2);
	mine[0] = 1;
	if (read(ends[0], kernels, 1) != 1)
		say_unknown("read from a pipe: %s", pm_errno_name(errno));
	must_ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	while (find_record(&sampler, PERF_RECORD_SAMPLE, &record)) {
		const int mode = record.misc & PERF_RECORD_MISC_CPUMODE_MASK;

		if (record.misc & PERF_RECORD_MISC_EXACT_IP)
			say_broken("misc=%#x: the address of a software event's sample is said to "
				   "be exact, which nobody asked for", record.misc);

		if (record.sample.addr == (uintptr_t)mine)
			*(mode == PERF_RECORD_MISC_USER ? &ret.user : &ret.other) += 1;
		if (record.sample.addr == (uintptr_t)kernels)
			*(mode == PERF_RECORD_MISC_KERNEL ? &ret.kernel : &ret.other) += 1;
	}
	return ret;
}

static void expect(struct modes modes, int user, int kernel)
{
	if (modes.user != user || modes.kernel != kernel || modes.other)
		say_broken("samples marked user=%d kernel=%d otherwise=%d want=%d,%d,0", modes.user,
			   modes.kernel, modes.other, user, kernel);
}

TEST(user)
{
	expect(fault_twice(true, false), 1, 0);
}

TEST(kernel)
{
	expect(fault_twice(true, true), 1, 1);
}

TEST(kernel_excluded)
{
	struct modes modes = fault_twice(true, false);

	expect(modes, 1, 0);
}

TEST(user_excluded)
{
	expect(fault_twice(false, true), 0, 1);
}

PROBE_MAIN
