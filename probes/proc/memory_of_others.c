/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * May a profiler read the memory map and the memory of a process that it samples? Foreign stacks
 * are unwound from both, and perf events give neither: where they may be opened, these may still
 * be closed.
 * Observed: a child writes down where a known pattern lies; maps, mem and process_vm_readv(2) are
 * asked for it.
 */
#include "probe.h"
#include "finding.h"
#include "worker.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/uio.h>

PROBE(TITLE("memory of other processes")
      SINCE("3.2")
      POINT(maps, "/proc/PID/maps of a child names the mapping that a pattern lies in")
      POINT(mem, "/proc/PID/mem of a child gives the pattern")
      POINT(call, "process_vm_readv gives the pattern")
      POINT(after_end, "maps and mem that were opened before the process ended give nothing more")
      POINT(not_dumpable, "of a child that is not dumpable, mem and process_vm_readv are open or "
			  "closed together, and never open where an event on it is refused")
      FACT(hidden_maps, bool, "-", "maps of a child that is not dumpable can be opened"))

static unsigned char pattern[4096] __attribute__((aligned(4096)));

static int write_pattern(void *unused)
{
	(void)unused;
	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = (unsigned char)(31 + 7 * i);
	return 0;
}

static int hide(void *unused)
{
	(void)unused;
	return prctl(PR_SET_DUMPABLE, 0) ? -errno : 0;
}

static int open_of(pid_t pid, const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The child's pattern is written in the child alone. */
static pid_t must_have_child(void)
{
	static struct worker child;

	must_start_worker(&child, WORKER_CHILD);
	ASSERT_EQ(0, worker_do(&child, write_pattern, NULL));
	ASSERT_EQ(0, pattern[1]);
	return child.tid;
}

static bool is_pattern(const unsigned char *copy)
{
	for (size_t i = 0; i < sizeof(pattern); i++)
		if (copy[i] != (unsigned char)(31 + 7 * i))
			return false;
	return true;
}

/* What an open answered that only settings may refuse: blocked, or a descriptor. */
static int must_be_open(int answer, const char *what)
{
	if (answer == -EACCES || answer == -EPERM)
		say_blocked("%s is refused: %s", what, pm_errno_name(answer));
	errno = -answer;
	if (answer == -ENOSYS)			/* CONFIG_CROSS_MEMORY_ATTACH=n, or a filter */
		must_call(-1, what);
	if (answer < 0)
		say_unknown("%s: %s", what, pm_errno_name(answer));
	return answer;
}

TEST(maps)
{
	FILE *file = fdopen(must_be_open(open_of(must_have_child(), "maps"), "maps"), "r");
	const unsigned long long at = (uintptr_t)pattern;
	unsigned long long start, end;
	char line[512], mode[5];

	ASSERT_NE(NULL, file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "%llx-%llx %4s", &start, &end, mode) == 3 && start <= at &&
		    at < end) {
			if (mode[0] != 'r' || mode[1] != 'w')
				say_broken("%s", mode);
			return;
		}
	say_broken("no line of maps has %#llx", at);
}

TEST(mem)
{
	int fd = must_be_open(open_of(must_have_child(), "mem"), "mem");
	unsigned char copy[sizeof(pattern)] = { 0 };
	ssize_t got = pread(fd, copy, sizeof(copy), (off_t)(uintptr_t)pattern);

	if (got != sizeof(copy) || !is_pattern(copy))
		say_broken("pread gives %zd of %zu bytes, or others", got, sizeof(copy));
}

static int read_by_call(pid_t pid, unsigned char *copy)
{
	const struct iovec here = { copy, sizeof(pattern) }, there = { pattern, sizeof(pattern) };
	ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);

	return got < 0 ? -errno : (int)got;
}

TEST(call)
{
	unsigned char copy[sizeof(pattern)] = { 0 };
	int got = must_be_open(read_by_call(must_have_child(), copy), "process_vm_readv");

	if (got != sizeof(copy) || !is_pattern(copy))
		say_broken("it gives %d of %zu bytes, or others", got, sizeof(copy));
}

TEST(after_end)
{
	struct worker child;
	char text[64];
	int maps, mem;
	ssize_t got[2];

	must_start_worker(&child, WORKER_CHILD);
	maps = must_be_open(open_of(child.tid, "maps"), "maps");
	mem = must_be_open(open_of(child.tid, "mem"), "mem");
	worker_stop(&child);
	got[0] = read(maps, text, sizeof(text));
	got[1] = pread(mem, text, sizeof(text), (off_t)(uintptr_t)pattern);
	if (got[0] > 0 || got[1] > 0)
		say_broken("maps gives %zd bytes, mem %zd, of a process that has ended", got[0],
			   got[1]);
}

TEST(not_dumpable)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	unsigned char copy[sizeof(pattern)];
	struct worker child;
	int event, mem, call;

	must_start_worker(&child, WORKER_CHILD);
	close(must_open(&attr, child.tid, -1, -1, 0));
	must_be_open(read_by_call(child.tid, copy), "process_vm_readv");
	close(must_be_open(open_of(child.tid, "mem"), "mem"));
	ASSERT_EQ(0, worker_do(&child, hide, NULL));
	event = pm_open(&attr, child.tid, -1, -1, 0);
	mem = open_of(child.tid, "mem");
	call = read_by_call(child.tid, copy);
	fact_bool("hidden_maps", open_of(child.tid, "maps") >= 0);
	if ((mem < 0) != (call < 0))
		say_broken("mem=%d process_vm_readv=%d", mem, call);
	if (event < 0 && mem >= 0)
		say_broken("the event is refused with %s, the memory is not",
			   pm_errno_name(event));
}

PROBE_MAIN
