/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which bits of the system call's own flags argument does this kernel know?
 *
 * Close-on-exec decides whether a library leaks descriptors into children started by others.
 * Every bit is asked by itself and the unknown ones must be EINVAL, up to the last bit of a long
 * (before v3.15 the upper half was not looked at on 64-bit machines).
 */
#include "probe.h"

PROBE(TITLE("the flags of the system call")
      SINCE("2.6.31")
      POINT(fd_no_group, "FD_NO_GROUP is accepted and leaves the group alone")
      SINCE("2.6.32")
      POINT(fd_output, "FD_OUTPUT without a group descriptor is accepted")
      SINCE("2.6.32")
      POINT(pid_cgroup, "PID_CGROUP is known: a bad cgroup descriptor is EBADF")
      SINCE("2.6.39")
      POINT(pid_cgroup_any_cpu, "PID_CGROUP without a CPU is EINVAL")
      SINCE("2.6.39")
      POINT(fd_cloexec, "FD_CLOEXEC makes the descriptor close-on-exec, and only it does")
      SINCE("3.14")
      POINT(unknown_low, "bits 4 to 31 are refused with EINVAL")
      POINT(unknown_high, "bits 32 to 63 are refused with EINVAL")
      SINCE("3.15"))

static int open_with(unsigned long flags, int cpu, int group)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.size = PERF_ATTR_SIZE_VER0;
	return pm_open_raw(&attr, 0, cpu, group, flags);
}

/* The plain call works, and so does the one with the flag; otherwise the test ends here. */
static int ask_flag(struct __test_metadata *_metadata, unsigned long flag, int group,
		    const char *name)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	struct finding finding;
	int fd;

	close(must_open(&attr, 0, -1, -1, 0));
	fd = open_with(flag, -1, group);
	if (fd >= 0)
		return fd;
	classify_asked(-fd, name, &attr, 0, -1, &finding);
	speak(&finding);
}

TEST(fd_no_group)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	uint64_t words[4];
	int leader;

	attr.read_format = PERF_FORMAT_GROUP;
	leader = must_open(&attr, 0, -1, -1, 0);
	ask_flag(_metadata, PERF_FLAG_FD_NO_GROUP, leader, "PERF_FLAG_FD_NO_GROUP");
	if (read(leader, words, sizeof(words)) < 8 || words[0] != 1)
		broken("members=%" PRIu64 " want=1", words[0]);
	open_with(0, -1, leader);
	if (read(leader, words, sizeof(words)) < 8 || words[0] != 2)
		broken("without the flag: members=%" PRIu64 " want=2", words[0]);
}

TEST(fd_output)
{
	close(ask_flag(_metadata, PERF_FLAG_FD_OUTPUT, -1, "PERF_FLAG_FD_OUTPUT"));
}

TEST(pid_cgroup)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int error;

	close(must_open(&attr, 0, -1, -1, 0));
	error = pm_open(&attr, 0x7ffffff, 0, -1, PERF_FLAG_PID_CGROUP);
	if (error == -EINVAL)
		say_no("EINVAL for a bad cgroup descriptor: no control groups in perf");
	hold_rule(error, EBADF, BROKEN, "a cgroup descriptor that is none");
}

TEST(pid_cgroup_any_cpu)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	close(must_open(&attr, 0, -1, -1, 0));
	hold_rule(open_with(PERF_FLAG_PID_CGROUP, -1, -1), EINVAL, BROKEN, "PID_CGROUP, cpu -1");
}

TEST(fd_cloexec)
{
	int fd = ask_flag(_metadata, PERF_FLAG_FD_CLOEXEC, -1, "PERF_FLAG_FD_CLOEXEC");
	int plain = open_with(0, -1, -1);

	if (fcntl(fd, F_GETFD) != FD_CLOEXEC || fcntl(plain, F_GETFD) != 0)
		broken("descriptor flags: with=%d without=%d", fcntl(fd, F_GETFD),
		       fcntl(plain, F_GETFD));
}

/* Asks the bits from..to one by one; returns a map of those that are not EINVAL. */
static uint64_t taken_bits(struct __test_metadata *_metadata, unsigned int from, unsigned int to)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	uint64_t taken = 0;

	close(must_open(&attr, 0, -1, -1, 0));
	for (unsigned int bit = from; bit <= to; bit++) {
		int fd = open_with(1ul << bit, -1, -1);

		if (fd != -EINVAL)
			taken |= 1ull << bit;
		if (fd >= 0)
			close(fd);
	}
	return taken;
}

TEST(unknown_low)
{
	uint64_t taken = taken_bits(_metadata, 4, 31);

	if (taken >> 16)		/* nothing grows that fast: bits are not looked at */
		broken("unknown flags accepted: %#" PRIx64, taken);
	if (taken)
		say_no("a newer kernel's flags: %#" PRIx64, taken);
}

TEST(unknown_high)
{
	uint64_t taken;

	if (sizeof(long) < 8)
		say_absent("a long has 32 bits here");
	taken = taken_bits(_metadata, 32, 8 * sizeof(long) - 1);
	if (taken)
		say_no("bits not looked at: %#" PRIx64, taken);
}

PROBE_MAIN
