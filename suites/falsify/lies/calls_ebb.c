/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lies about event-based branches of Power: the registers that user mode reads and writes, what
 * getauxval(3) promises, and which of their events are refused.
 */
#include <sys/auxv.h>

#include "../../../probes/kit/spr.h"
#include "lies.h"

unsigned long __real_spr_read(enum spr spr);
unsigned long __wrap_spr_read(enum spr spr);
void __real_spr_write(enum spr spr, unsigned long value);
void __wrap_spr_write(enum spr spr, unsigned long value);
unsigned long __real_getauxval(unsigned long type);
unsigned long __wrap_getauxval(unsigned long type);

#define BESCR_ON (unsigned long)0x8000000100000000ull
#define PMAE 0x04000000ul
#define PMAO 0x00000080ul
#define HWCAP2_EBB 0x10000000ul

static unsigned long kept[3];		/* EBBHR, EBBRR, BESCR, as this program wrote them */

static bool is_counter(enum spr spr)
{
	return spr >= SPR_PMC1 && spr <= SPR_PMC6;
}

static bool is_ebb(enum spr spr)
{
	return spr >= SPR_EBBHR && spr <= SPR_BESCR;
}

static unsigned long read_counter(enum spr spr)
{
	static unsigned long more;
	unsigned long value = __real_spr_read(spr);

	if (lie(LIE_ebb_runs_on))
		value += ++more;
	if (lie(LIE_ebb_counts_half))
		value /= 2;
	return value;
}

unsigned long __wrap_spr_read(enum spr spr)
{
	unsigned long value;

	if (is_counter(spr))
		return read_counter(spr);
	value = __real_spr_read(spr);
	if (spr == SPR_MMCR0 && lie(LIE_ebb_never_overflown))
		value &= ~PMAO;
	if (spr == SPR_MMCR2 && lie(LIE_ebb_mmcr2_reset))
		value = 0;
	if (is_ebb(spr) && lie(LIE_ebb_inherited))
		value = kept[spr - SPR_EBBHR];
	return value;
}

/* A counter that user mode must not write. */
static void trap(void)
{
#if defined(__powerpc64__)
	__asm__ volatile(".long 0");
#endif
}

static unsigned long change_written(enum spr spr, unsigned long value)
{
	if (spr == SPR_MMCR0 && lie(LIE_ebb_lost))
		value &= ~PMAE;
	if (spr == SPR_EBBHR && lie(LIE_ebb_no_handler))
		value = (unsigned long)-1 & ~3ul;
	if (spr == SPR_BESCR && lie(LIE_ebb_always_on))
		value |= BESCR_ON;
	if (is_ebb(spr) && lie(LIE_ebb_cut))
		value &= 0xffffffff;
	return value;
}

/* An emulator whose BESCRS and BESCRR do nothing is excused: where branches are lost, they work. */
static void set_or_reset(enum spr spr, unsigned long value)
{
	const unsigned long now = __real_spr_read(SPR_BESCR);

	__real_spr_write(SPR_BESCR, spr == SPR_BESCRS ? now | value : now & ~value);
}

void __wrap_spr_write(enum spr spr, unsigned long value)
{
	if (is_counter(spr) && lie(LIE_ebb_writable))
		return;
	if (is_counter(spr) && lie(LIE_ebb_unwritable)) {
		trap();
		return;
	}
	value = change_written(spr, value);
	if (is_ebb(spr))
		kept[spr - SPR_EBBHR] = value;
	if ((spr == SPR_BESCRS || spr == SPR_BESCRR) &&
	    (lie(LIE_ebb_lost) || lie(LIE_ebb_unwritable) || lie(LIE_ebb_counts_half) ||
	     lie(LIE_ebb_whole)))
		set_or_reset(spr, value);
	else
		__real_spr_write(spr, value);
}

bool lies_refuse_ebb(const struct perf_event_attr *attr, long pid, long group)
{
	const bool raw = attr->type == PERF_TYPE_RAW;

	if (!raw)
		return attr->type == PERF_TYPE_SOFTWARE && group >= 0 && lie(LIE_ebb_no_sibling);
	if (!(attr->config >> 16 & 15) && lie(LIE_ebb_ruled))
		return true;
	if (attr->config >> 62 & 1 && lie(LIE_ebb_no_history))
		return true;
	if (!(attr->config >> 63))
		return false;
	return lie(LIE_ebb_refused) || (group >= 0 && lie(LIE_ebb_no_sibling)) ||
	       (pid > 0 && lie(LIE_ebb_no_child));
}

unsigned long __wrap_getauxval(unsigned long type)
{
	unsigned long value = __real_getauxval(type);

	if (type == AT_HWCAP2 && lie(LIE_ebb_no_hwcap))
		value &= ~HWCAP2_EBB;
	if (type == AT_HWCAP2 && lie(LIE_ebb_hwcap))
		value |= HWCAP2_EBB;
	return value;
}
