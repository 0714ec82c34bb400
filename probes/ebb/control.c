/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Power: what may user mode do with the registers of event-based branches (EBB) beyond keeping
 * values there? BESCRS and BESCRR change single bits, so that a handler and the program it
 * interrupts do not undo each other; registers stay readable when the event is closed, but for
 * those that Power ISA 3.1 hides; a handler at address 0 is no handler.
 * Observed: registers are written and read in user mode; what faults is counted, or ends a child.
 * Power ISA 2.07, Book II, Event-Based Branch Facility; 3.1, Book III, MMCR0[PMCCEXT].
 */
#include "probe.h"
#include "ebb.h"
#include "ebb_handler.h"

PROBE(TITLE("control registers of event-based branches")
      SINCE("3.10")
      NEEDS("arch:powerpc")
      POINT(set_and_reset, "BESCRS sets bits of BESCR, BESCRR resets them, and others stay")
      POINT(readable_after_close, "after the event is closed BESCR, EBBHR and EBBRR can be read")
      POINT(hidden_after_close, "after the event is closed, reading a counter is SIGILL on Power "
				"ISA 3.1")
      SINCE("5.10")
      POINT(kept_asleep, "BESCR, EBBHR, EBBRR, MMCR0[FC] and MMCR2 are as before after the task "
			 "slept")
      POINT(zero_handler, "with EBBHR 0 an overflow branches to address 0: SIGSEGV there")
      FACT(hidden, bool, "-", "a counter cannot be read without an event"))

#define SOMEWHERE (unsigned long)0x0100000000000000ull
#define ARCH_3_1 0x00040000

TEST(set_and_reset)
{
	unsigned long both, one;

	must_schedule();
	spr_write(SPR_BESCR, 0);
	spr_write(SPR_BESCRS, BESCR_PME);
	spr_write(SPR_BESCRS, BESCR_PMEO);
	both = spr_read(SPR_BESCR);
	spr_write(SPR_BESCRR, BESCR_PMEO);
	one = spr_read(SPR_BESCR);
	spr_write(SPR_BESCR, 0);
	if (!facility_is_whole() && !both)
		say_absent("emulator: its BESCRS and BESCRR do nothing");
	if (both != (BESCR_PME | BESCR_PMEO) || one != BESCR_PME)
		say_broken("BESCR=%#lx after two bits were set, %#lx after one was reset", both,
			   one);
}

TEST(readable_after_close)
{
	int fd = must_schedule();

	count_traps();
	spr_write(SPR_EBBHR, SOMEWHERE);
	spr_write(SPR_EBBRR, 2 * SOMEWHERE);
	spr_write(SPR_BESCR, BESCR_PME);
	must_close(fd);
	if (spr_read(SPR_EBBHR) != SOMEWHERE || spr_read(SPR_EBBRR) != 2 * SOMEWHERE ||
	    spr_read(SPR_BESCR) != BESCR_PME)
		say_broken("BESCR=%#lx EBBHR=%#lx EBBRR=%#lx", spr_read(SPR_BESCR),
			   spr_read(SPR_EBBHR), spr_read(SPR_EBBRR));
	spr_write(SPR_BESCR, 0);
	if (traps_taken())
		say_broken("%lu of their reads and writes gave SIGILL", traps_taken());
}

TEST(hidden_after_close)
{
	int fd = must_schedule();

	count_traps();
	spr_read(SPR_PMC1);
	if (traps_taken())
		say_broken("PMC1 cannot be read while the event is on it");
	must_close(fd);
	spr_read(SPR_PMC1);
	fact_bool("hidden", traps_taken() > 0);
	if (!(getauxval(AT_HWCAP2) & ARCH_3_1))
		say_absent("a CPU before Power ISA 3.1: counters can always be read");
	expect_whole(traps_taken(), "PMC1 can be read");
}

TEST(kept_asleep)
{
	const unsigned long freeze = (unsigned long)0x0020100804020000ull;
	unsigned long mmcr0, mmcr2;

	must_schedule();
	spr_write(SPR_EBBHR, SOMEWHERE);
	spr_write(SPR_EBBRR, 2 * SOMEWHERE);
	spr_write(SPR_BESCR, BESCR_PME);
	spr_write(SPR_MMCR0, MMCR0_FC);
	spr_write(SPR_MMCR2, freeze);
	cause_switches(5);
	mmcr0 = spr_read(SPR_MMCR0);
	mmcr2 = spr_read(SPR_MMCR2);
	spr_write(SPR_MMCR2, 0);
	if (spr_read(SPR_EBBHR) != SOMEWHERE || spr_read(SPR_EBBRR) != 2 * SOMEWHERE ||
	    spr_read(SPR_BESCR) != BESCR_PME || !(mmcr0 & MMCR0_FC) || mmcr2 != freeze)
		say_broken("BESCR=%#lx EBBHR=%#lx EBBRR=%#lx MMCR0=%#lx MMCR2=%#lx",
			   spr_read(SPR_BESCR), spr_read(SPR_EBBHR), spr_read(SPR_EBBRR), mmcr0,
			   mmcr2);
	disarm();
}

static void note_zero(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	_exit(info->si_addr ? 1 : 0);
}

/* Exit status: 0 for a SIGSEGV at address 0, 1 at another, 2 for none, 3 without an event. */
static int branch_to_zero(void *unused)
{
	const struct sigaction action = { .sa_sigaction = note_zero, .sa_flags = SA_SIGINFO };
	struct perf_event_attr attr = attr_ebb(CYCLES_1);
	uint64_t value;
	int fd;

	(void)unused;
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd < 0 || pm_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) || read(fd, &value, 8) != 8)
		return 3;
	sigaction(SIGSEGV, &action, NULL);
	arm(PERIOD);
	spr_write(SPR_EBBHR, 0);
	spin_ns(20000000);
	disarm();
	return 2;
}

TEST(zero_handler)
{
	int status;

	close(must_lead());
	status = wait_child(start_child(branch_to_zero, NULL));
	if (status == 3)
		say_unknown("the event is not scheduled");
	expect_whole(status != 2, "no branch to address 0 came");
	if (status)
		say_broken("the child ended with %d, want a SIGSEGV at address 0", status);
}

PROBE_MAIN
