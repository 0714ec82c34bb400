/* SPDX-License-Identifier: MIT */
/* The registers of a sample, as the kernel numbers them and as DWARF does. Not installed. */
#ifndef PM_STACKS_REGS_H
#define PM_STACKS_REGS_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdint.h>

#include "../perfmodes_stacks.h"

/* PERF_REG_* of this architecture's stack pointer and program counter, and its EM_*. */
struct regs_arch {
	unsigned int machine;
	unsigned int sp, pc;
	uint64_t mask;			/* what unwinding needs */
};

/* NULL where registers are not unwound. */
const struct regs_arch *regs_arch(void);

/* A register by its PERF_REG_* number. False when the sample has none. */
bool regs_get(const struct pm_stack_sample *sample, unsigned int number, uint64_t *ret);

/* Hands all registers to libdwfl. False when one is missing. */
bool regs_set(const struct pm_stack_sample *sample, Dwfl_Thread *thread);

#endif
