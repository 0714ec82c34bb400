/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can a sample be a synchronous SIGTRAP in the very task that caused it? Then a program can watch
 * itself, and sig_data tells which of its events it was. The siginfo fields are newer than C
 * libraries, so they are read by their place.
 * Observed in a handler: code, type, data, address.
 * Linux commit 97ba62b27867 ("perf: Add support for SIGTRAP on perf events") (v5.13)
 */
#include "probe.h"
#include "breakpoint.h"
#include <sys/prctl.h>

PROBE(TITLE("SIGTRAP on samples")
      SINCE("5.13")
      COMMIT("97ba62b27867")
      POINT(breakpoint.each_sample, "each write to a watched variable raises one SIGTRAP")
      NEEDS("breakpoint")
      POINT(software.each_sample, "each page fault raises one SIGTRAP")
      POINT(breakpoint.fields_are_right, "the SIGTRAP of a breakpoint has code TRAP_PERF, the "
	    "event's type and its sig_data")
      NEEDS("breakpoint")
      POINT(software.fields_are_right, "the SIGTRAP of a page fault has code TRAP_PERF, the "
	    "event's type and its sig_data")
      POINT(breakpoint.address_is_right, "si_addr of a breakpoint's SIGTRAP is the address of the "
	    "watched variable")
      NEEDS("breakpoint")
      POINT(software.address_is_right, "si_addr of a page fault's SIGTRAP is the page that was "
	    "touched, or 0")
      FACT(breakpoint_flags, int, "-", "si_perf_flags of an unblocked breakpoint SIGTRAP")
      FACT(software_flags, int, "-", "si_perf_flags of an unblocked page fault SIGTRAP"))

#define TRAP_PERF_CODE 6
#define SIG_DATA ((unsigned long)0x9abcdef012345678ull)	/* of a word's width */
#define WORD sizeof(void *)
#define MANY 100

/* The kernel's siginfo behind si_signo, si_errno and si_code. */
static volatile struct {
	unsigned int count;
	int code;
	uintptr_t address;
	unsigned long data;
	uint32_t type, flags;
} seen;

static volatile uint64_t watched;
static volatile char *area;

static void on_trap(int number, siginfo_t *info, void *context)
{
	const char *at = (const char *)info + (WORD == 8 ? 16 : 12);
	uint32_t type, flags;
	unsigned long data;
	uintptr_t address;

	(void)number;
	(void)context;
	memcpy(&address, at, WORD);
	memcpy(&data, at + WORD, sizeof(data));
	memcpy(&type, at + 2 * WORD, sizeof(type));
	memcpy(&flags, at + 2 * WORD + 4, sizeof(flags));
	seen.code = info->si_code;
	seen.address = address;
	seen.data = data;
	seen.type = type;
	seen.flags = flags;
	/* Some kernels return to the write that trapped, and trap again, for ever. */
	if (++seen.count == MANY)
		prctl(PR_TASK_PERF_EVENTS_DISABLE);
}

FIXTURE(event)
{
	int fd;
	uint32_t type;
	int next;
};

FIXTURE_VARIANT(event)
{
	bool software;
};

FIXTURE_VARIANT_ADD(event, breakpoint)
{
	.software = false,
};

FIXTURE_VARIANT_ADD(event, software)
{
	.software = true,
};

static struct perf_event_attr trap_attr(bool software)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_ADDR);

	if (!software)
		attr = attr_access(HW_BREAKPOINT_W, &watched, HW_BREAKPOINT_LEN_4);
	attr.sample_period = 1;
	attr.remove_on_exec = 1;
	attr.sigtrap = 1;
	attr.sig_data = SIG_DATA;
	return attr;
}

FIXTURE_SETUP(event)
{
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	struct perf_event_attr with = trap_attr(variant->software), without = with;

	without.remove_on_exec = without.sigtrap = 0;
	without.sig_data = 0;
	self->fd = ask_open(&with, &without, 0, -1, "sigtrap");
	self->type = with.type;
	area = mmap(NULL, 64 * probe_env()->page_size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)area);
	madvise((void *)area, 64 * probe_env()->page_size, MADV_NOHUGEPAGE);
	sigaction(SIGTRAP, &action, NULL);
	raise(SIGTRAP);		/* the handler's own page faults are behind us */
	watched = 1;
	seen.count = 0;
}

FIXTURE_TEARDOWN(event)
{
	close(self->fd);
}

/* Cause so many samples and nothing else. Returns the address of the last. */
static uintptr_t cause(bool software, int fd, int *next, int samples)
{
	const size_t page = probe_env()->page_size;

	pm_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < samples; i++)
		if (software)
			area[(*next)++ * page] = 1;
		else
			watched = i;
	pm_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	return software ? (uintptr_t)&area[(*next - 1) * page] : (uintptr_t)&watched;
}

TEST_F(event, each_sample)
{
	cause(variant->software, self->fd, &self->next, 5);
	if (seen.count != 5)
		say_broken("SIGTRAPs=%u want=5", seen.count);
}

TEST_F(event, fields_are_right)
{
	cause(variant->software, self->fd, &self->next, 1);
	if (!seen.count)
		say_broken("no SIGTRAP");
	if (seen.count == MANY)
		say_broken("SIGTRAPs of one sample without end");
	fact_int(variant->software ? "software_flags" : "breakpoint_flags", seen.flags);
	if (seen.code != TRAP_PERF_CODE || seen.type != self->type || seen.data != SIG_DATA)
		say_broken("code=%d type=%u data=%#lx want=%d,%u,%#lx", seen.code, seen.type,
			   seen.data, TRAP_PERF_CODE, self->type, SIG_DATA);
}

TEST_F(event, address_is_right)
{
	uintptr_t address = cause(variant->software, self->fd, &self->next, 1);

	if (!seen.count)
		say_broken("no SIGTRAP");
	if (seen.address != address && !(variant->software && !seen.address))
		say_broken("si_addr=%#" PRIxPTR " want=%#" PRIxPTR, seen.address, address);
}

PROBE_MAIN
