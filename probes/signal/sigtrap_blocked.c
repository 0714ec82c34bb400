/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What becomes of the SIGTRAP of a sample while SIGTRAP is blocked? Up to v5.17 it killed the
 * task, as any blocked synchronous signal does; since then it is kept, and marked as late.
 * Observed in a child that blocks, samples, and unblocks. The flag stands in a part of siginfo
 * that is newer than C libraries, so it is read by its place.
 */
#include "probe.h"
#include "breakpoint.h"

PROBE(TITLE("SIGTRAP on samples while SIGTRAP is blocked")
      SINCE("5.18")
      POINT(breakpoint.is_kept, "a breakpoint's SIGTRAP that is blocked is delivered when "
	    "unblocked, marked ASYNC")
      NEEDS("breakpoint")
      POINT(software.is_kept, "a page fault's SIGTRAP that is blocked is delivered when "
	    "unblocked, marked ASYNC"))

#define TRAP_PERF_CODE 6
#define FLAG_ASYNC 1
#define WORD sizeof(void *)

enum outcome { KEPT, AT_ONCE, LOST, CHANGED, UNMARKED, NOT_OPENED };

static volatile int watched;
static volatile sig_atomic_t count, code, flags;

/* si_perf_flags: behind an address, the event's data and its type. */
static void on_trap(int number, siginfo_t *info, void *context)
{
	uint32_t value;

	(void)number;
	(void)context;
	memcpy(&value, (const char *)info + (WORD == 8 ? 16 : 12) + 2 * WORD + 4, sizeof(value));
	flags = value;
	code = info->si_code;
	count++;
}

FIXTURE(event)
{
	struct perf_event_attr attr;
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

FIXTURE_SETUP(event)
{
	struct perf_event_attr without = attr_faults(PERF_SAMPLE_ADDR);

	if (!variant->software)
		without = attr_access(HW_BREAKPOINT_W, &watched, HW_BREAKPOINT_LEN_4);
	without.sample_period = 1;
	self->attr = without;
	self->attr.remove_on_exec = self->attr.sigtrap = 1;
	close(ask_open(&self->attr, &without, 0, -1, "sigtrap"));
}

FIXTURE_TEARDOWN(event)
{
}

static void block(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	pthread_sigmask(how, &set, NULL);
}

static int sample_blocked(void *attr)
{
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	int fd = pm_open(attr, 0, -1, -1, 0);

	if (fd < 0)
		return NOT_OPENED;
	sigaction(SIGTRAP, &action, NULL);
	raise(SIGTRAP);			/* the handler's own page faults are behind us */
	count = 0;
	block(SIG_BLOCK);
	pm_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	watched = cause_faults(1);
	pm_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	if (count)
		return AT_ONCE;
	block(SIG_UNBLOCK);
	if (!count)
		return LOST;
	return code != TRAP_PERF_CODE ? CHANGED : flags & FLAG_ASYNC ? KEPT : UNMARKED;
}

TEST_F(event, is_kept)
{
	static const char *const words[] = { "kept", "delivered at once", "lost", "changed",
					     "not marked ASYNC" };
	const int status = wait_child(start_child(sample_blocked, &self->attr));

	if (status == 128 + SIGTRAP)
		say_no("a blocked SIGTRAP kills the task");
	if (status < KEPT || status > UNMARKED)
		say_unknown("the child ended with status %d", status);
	if (status != KEPT)
		say_broken("a blocked SIGTRAP is %s", words[status]);
}

PROBE_MAIN
