/* SPDX-License-Identifier: MIT */
/* What an event's user page tells without a system call; not installed. */
#ifndef PM_USER_PAGE_H
#define PM_USER_PAGE_H

#include "../../perfmodes.h"
#include "../../pm_sys.h"

/* Registers of a machine, NULL where no instruction reads them. Tests have their own machine. */
struct pm_registers {
	/* Counter number `index` (from 0); false: there is no instruction for it. */
	bool (*counter)(uint32_t index, uint64_t *ret);
	/* What time_mult and time_shift convert; false: there is none. */
	bool (*cycles)(uint64_t *ret);
};

extern const struct pm_registers pm_registers;	/* of this machine */

/*
 * Value and times of an event of the calling thread. -EAGAIN: use read(2), because the page says
 * so, is of before v3.12, or never stands still.
 */
int pm_user_value(const struct perf_event_mmap_page *page, const struct pm_registers *registers,
		  struct pm_value *ret);

/* From cycles to the perf clock. */
struct pm_user_time {
	uint64_t zero, cycles, mask;
	uint32_t mult;
	uint16_t shift;
};

/* -ENOTSUP without cap_user_time_zero. */
int pm_user_time(const struct perf_event_mmap_page *page, struct pm_user_time *ret);

uint64_t pm_user_time_at(const struct pm_user_time *time, uint64_t cycles);

#endif
