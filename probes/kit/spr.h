/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Special purpose registers of Power that user mode may use: those of event-based branches and of
 * the performance monitor. Included behind probe.h. On other machines they read as 0, and writes do
 * nothing. Power ISA 2.07, Book II, Event-Based Branch Facility, and Book III, Performance Monitor.
 */
#ifndef SPR_H
#define SPR_H

enum spr {
	SPR_SIER = 768,
	SPR_MMCR2 = 769,
	SPR_MMCRA = 770,
	SPR_PMC1 = 771,			/* up to 776: the sixth counter */
	SPR_PMC6 = 776,
	SPR_MMCR0 = 779,
	SPR_SIAR = 780,
	SPR_SDAR = 781,
	SPR_BESCRS = 800,		/* sets bits of BESCR */
	SPR_BESCRR = 802,		/* resets bits of BESCR */
	SPR_EBBHR = 804,		/* address of the handler */
	SPR_EBBRR = 805,		/* where the handler returns to */
	SPR_BESCR = 806,
};

/* Read a special purpose register: a mfspr in user mode. */
unsigned long spr_read(enum spr spr);
/* Write a special purpose register: a mtspr in user mode. */
void spr_write(enum spr spr, unsigned long value);

#endif
