/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Special purpose registers of Power in user mode.
 */
#include "spr.h"

#if defined(__powerpc64__)

/* An instruction names its register: each has one of its own. */
#define EACH_SPR(SPR)                                                                          \
	SPR(768) SPR(769) SPR(770) SPR(771) SPR(772) SPR(773) SPR(774) SPR(775) SPR(776)       \
	SPR(779) SPR(780) SPR(781) SPR(800) SPR(802) SPR(804) SPR(805) SPR(806)

unsigned long spr_read(enum spr spr)
{
	unsigned long value = 0;

	switch ((int)spr) {
#define READ(n) case n: __asm__ volatile("mfspr %0, " #n : "=r"(value)); break;
	EACH_SPR(READ)
	}
	return value;
}

void spr_write(enum spr spr, unsigned long value)
{
	switch ((int)spr) {
#define WRITE(n) case n: __asm__ volatile("mtspr " #n ", %0" : : "r"(value) : "memory"); break;
	EACH_SPR(WRITE)
	}
}

#else

unsigned long spr_read(enum spr spr)
{
	(void)spr;
	return 0;
}

void spr_write(enum spr spr, unsigned long value)
{
	(void)spr;
	(void)value;
}

#endif
