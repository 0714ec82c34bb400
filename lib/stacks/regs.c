/* SPDX-License-Identifier: MIT */
/*
 * Registers: a sample has those of sample_regs_user, lowest bit first, in the kernel's order
 * (<asm/perf_regs.h>); libdwfl wants them by their number in the architecture's DWARF ABI.
 */
#include "regs.h"

#include <elf.h>
#include <stddef.h>

/* The kernel's number for each number of DWARF, from 0 on. */
#if defined(__x86_64__)
#define SP 7
#define PC 8
#define MASK 0xff01ffull
static const unsigned char order[] = { 0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8 };
static const struct regs_arch arch = { EM_X86_64, SP, PC, MASK };
#elif defined(__aarch64__)
#define SP 31
#define PC 32
#define MASK 0x1ffffffffull
static const unsigned char order[] = {
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
	24, 25, 26, 27, 28, 29, 30, 31,
};
static const struct regs_arch arch = { EM_AARCH64, SP, PC, MASK };
#elif defined(__powerpc64__)
#define SP 1
#define PC 32
#define LINK 36
#define DWARF_LINK 65
#define MASK 0x19ffffffffull	/* with CTR and LINK */
static const unsigned char order[] = {
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
	24, 25, 26, 27, 28, 29, 30, 31,
};
static const struct regs_arch arch = { EM_PPC64, SP, PC, MASK };
#elif defined(__s390x__)
#define SP 15
#define PC 33
#define MASK 0x2ffffffffull	/* with floating-point registers: leaf functions save in them */
static const unsigned char order[] = {
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
	16, 18, 20, 22, 17, 19, 21, 23, 24, 26, 28, 30, 25, 27, 29, 31,
};
static const struct regs_arch arch = { EM_S390, SP, PC, MASK };
#else
#define MASK 0ull
static const unsigned char order[] = { 0 };
#endif

#if defined(__x86_64__)
#define PC_HAS_A_NUMBER true	/* 16, the last in `order` */
#else
#define PC_HAS_A_NUMBER false
#endif

const struct regs_arch *regs_arch(void)
{
#ifdef SP
	return &arch;
#else
	return NULL;
#endif
}

bool regs_get(const struct pm_stack_sample *sample, unsigned int number, uint64_t *ret)
{
	const uint64_t bit = (uint64_t)1 << number;

	if (sample->regs == NULL || !(sample->regs_mask & bit))
		return false;
	*ret = sample->regs[__builtin_popcountll(sample->regs_mask & (bit - 1))];
	return true;
}

static bool set_pc(const struct pm_stack_sample *sample, Dwfl_Thread *thread)
{
#ifdef SP
	uint64_t pc;

	if (!regs_get(sample, PC, &pc))
		return false;
	dwfl_thread_state_register_pc(thread, pc);
	return true;
#else
	(void)sample, (void)thread;
	return false;
#endif
}

static bool set_link(const struct pm_stack_sample *sample, Dwfl_Thread *thread)
{
#ifdef LINK
	uint64_t link;

	return regs_get(sample, LINK, &link) &&
		dwfl_thread_state_registers(thread, DWARF_LINK, 1, &link);
#else
	(void)sample, (void)thread;
	return true;
#endif
}

bool regs_set(const struct pm_stack_sample *sample, Dwfl_Thread *thread)
{
	Dwarf_Word values[sizeof(order)];

	for (size_t i = 0; i < sizeof(order); i++) {
		uint64_t value;

		if (!regs_get(sample, order[i], &value))
			return false;
		values[i] = value;
	}
	return dwfl_thread_state_registers(thread, 0, sizeof(order), values) &&
		set_link(sample, thread) && (PC_HAS_A_NUMBER || set_pc(sample, thread));
}
