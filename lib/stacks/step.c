/* SPDX-License-Identifier: MIT */
/*
 * Steps that libdwfl (0.188) does not make well. In code without unwind information it takes each
 * frame for one that has not stored its return address yet. That holds for the innermost alone; the
 * others have records, and arm64 and Power know where. On arm64 the vDSO may have no unwind
 * information, and the code that returns from a signal never has: it is known by its instructions
 * (Linux 87676cfca141, v5.8). On Power a back chain of 0 is the end of a stack (ELFv2 ABI
 * 2.2.2.1), where libdwfl reads on above it.
 */
#include "unwinder.h"

#include <elfutils/version.h>
#include <stdlib.h>
#include <string.h>

#include "regs.h"

#if _ELFUTILS_PREREQ(0, 188) && (defined(__aarch64__) || defined(__powerpc64__))
#ifdef __aarch64__
#define HAVE_SIGNATURES 1
#define FP 29
#define LR 30
#define SP 31
#define SIGRETURN 0xd4000001d2801168ull		/* mov x8, #139; svc #0 */
/* In the frame of a signal: siginfo of 128 bytes, then a ucontext with its registers at 176. */
#define SIGNAL_REGISTERS (128 + 176 + 8)
#else
#define SP 1
#define DWARF_LINK 65
#define SAVED_LINK 16		/* above the back chain's target */
#define SIGRETURN 0		/* there it has unwind information */
#endif

static bool take_registers(struct step *step, Dwfl_Frame *state)
{
	step->valid = 0;
	for (unsigned int i = 0; i < 32; i++)
		if (dwfl_frame_reg(state, i, &step->regs[i]) == 0)
			step->valid |= 1u << i;
	return (step->valid >> SP & 1) != 0;
}

/* A return address of 0 is the outermost frame's. */
static bool end_or_go_on(struct pm_unwinder *unwinder)
{
	if (unwinder->step.wanted && unwinder->step.pc == 0) {
		unwinder->step.wanted = false;
		unwinder->end = PM_END_COMPLETE;
	}
	return true;
}

static bool covers(Dwarf_CFI *cfi, uint64_t address)
{
	Dwarf_Frame *frame;

	if (cfi == NULL || dwarf_cfi_addrframe(cfi, address, &frame) != 0)
		return false;
	free(frame);
	return true;
}

static bool has_frame_info(Dwfl *dwfl, uint64_t pc)
{
	Dwfl_Module *module = dwfl_addrmodule(dwfl, pc);
	Dwarf_Addr bias = 0;
	Dwarf_CFI *cfi;

	if (module == NULL)
		return false;
	cfi = dwfl_module_eh_cfi(module, &bias);
	if (covers(cfi, pc - bias))
		return true;
	cfi = dwfl_module_dwarf_cfi(module, &bias);
	return covers(cfi, pc - bias);
}

static enum seen_as look_at(struct pm_unwinder *unwinder, uint64_t address, uint64_t pc)
{
	uint64_t code;

	if (has_frame_info(unwinder->dwfl, pc))
		return SEEN_COVERED;
	return unwinder_read(unwinder, address, &code) && code == SIGRETURN ?
		SEEN_SIGRETURN : SEEN_BARE;
}

/* What is at an address stays while the maps do; code of a JIT has no unwind information ever. */
static enum seen_as see(struct pm_unwinder *unwinder, uint64_t address, uint64_t pc)
{
	const enum pm_stack_end end = unwinder->end;
	struct seen *seen = &unwinder->seen[(pc >> 2) % SEEN_COUNT];

	if (seen->pc != pc || seen->as == SEEN_NOT) {
		seen->as = look_at(unwinder, address, pc);
		seen->pc = pc;
		unwinder->end = end;
	}
	return seen->as;
}

/*
 * What was interrupted in code without unwind information is a stub that leads to another file, a
 * function of the vDSO, one of a JIT. Mostly it calls none, and its return address is in the link
 * register. Where that leads into the function itself it has called one, so it has a record.
 */
static bool has_called(struct pm_unwinder *unwinder, uint64_t pc, uint64_t link)
{
	struct pm_symbol here = { .size = sizeof(here) }, there = { .size = sizeof(there) };
	const struct map *map = maps_find(&unwinder->maps, pc);

	/* For what is not mapped, names would read the maps again, in the middle of a walk. */
	if (map == NULL || maps_find(&unwinder->maps, link - 1) == NULL)
		return true;
	pm_symbols_find(unwinder->symbols, unwinder, pc, 0, &here);
	pm_symbols_find(unwinder->symbols, unwinder, link, PM_FRAME_CALLER, &there);
	if (here.start != 0 && there.start != 0)
		return here.start == there.start;
	return unwinder_module(unwinder, pc) == NULL && link >= map->start && link < map->end;
}

#ifdef __aarch64__
/* ----------------------------------------------------------------------------------- arm64 */

/*
 * A signed return address (FEAT_PAuth) has its signature in the bits above what the process can
 * address, but for bit 55, which is 0 in user addresses. How many those are, a sample does not say;
 * no mapping ends above them, so nothing that is mapped loses a bit here.
 */
uint64_t step_plain(const struct pm_unwinder *unwinder, uint64_t value)
{
	const struct maps *maps = &unwinder->maps;
	const uint64_t top = maps->count ? maps->list[maps->count - 1].end - 1 : 0;
	const struct map *map;

	if (top == 0 || value <= top || value >> 55 & 1)
		return value;
	map = maps_find(maps, value & UINT64_MAX >> __builtin_clzll(top));
	return map != NULL && map->exec ? value & UINT64_MAX >> __builtin_clzll(top) : value;
}

bool step_begin(const struct pm_unwinder *unwinder, Dwfl_Thread *thread)
{
	uint64_t link;

	if (!regs_get(unwinder->sample, LR, &link))
		return false;
	link = step_plain(unwinder, link);
	return dwfl_thread_state_registers(thread, LR, 1, &link);
}

/* What was interrupted: all registers are in the signal's frame. */
static bool out_of_signal(struct pm_unwinder *unwinder, struct step *step)
{
	const uint64_t at = step->regs[SP] + SIGNAL_REGISTERS;

	for (unsigned int i = 0; i <= SP; i++)
		if (!unwinder_read(unwinder, at + 8 * i, &step->regs[i]))
			return false;
	step->regs[LR] = step_plain(unwinder, step->regs[LR]);
	step->valid = UINT32_MAX;
	step->caller = false;
	return unwinder_read(unwinder, at + 8 * (SP + 1), &step->pc);
}

/* By the record that the frame pointer leads to. */
static bool out_of_record(struct pm_unwinder *unwinder, struct step *step)
{
	const uint64_t record = step->regs[FP];
	uint64_t fp;

	if (!(step->valid >> FP & 1) || record < step->regs[SP] || record % 8 != 0 ||
	    !unwinder_read(unwinder, record, &fp) ||
	    !unwinder_read(unwinder, record + 8, &step->pc))
		return false;
	step->pc = step_plain(unwinder, step->pc);
	step->regs[FP] = fp;
	step->regs[LR] = step->pc;
	step->regs[SP] = record + 16;
	step->caller = true;
	return true;
}

static bool out_of_innermost(struct pm_unwinder *unwinder, struct step *step, uint64_t pc)
{
	if (!(step->valid >> LR & 1) || has_called(unwinder, pc, step->regs[LR]))
		return out_of_record(unwinder, step);
	step->pc = step->regs[LR];
	step->caller = true;
	return true;
}

bool step_is_needed(struct pm_unwinder *unwinder, Dwfl_Frame *state, uint64_t pc)
{
	const bool caller = unwinder->frames[unwinder->count - 1] & PM_FRAME_CALLER;
	const enum seen_as as = see(unwinder, unwinder->addresses[unwinder->count - 1], pc);
	struct step *step = &unwinder->step;

	if (as == SEEN_COVERED)
		return false;
	step->wanted = take_registers(step, state);
	if (step->wanted && as == SEEN_SIGRETURN)
		step->wanted = out_of_signal(unwinder, step);
	else if (step->wanted && caller)
		step->wanted = out_of_record(unwinder, step);
	else if (step->wanted)
		step->wanted = out_of_innermost(unwinder, step, pc);
	return end_or_go_on(unwinder);
}

#else
/* ----------------------------------------------------------------------------------- Power */

static bool out_of_record(struct pm_unwinder *unwinder, struct step *step, uint64_t above)
{
	if (above <= step->regs[SP] ||
	    !unwinder_read(unwinder, above + SAVED_LINK, &step->pc))
		return false;
	step->regs[SP] = above;
	step->caller = true;
	return true;
}

static bool out_of_innermost(struct pm_unwinder *unwinder, struct step *step, Dwfl_Frame *state,
			     uint64_t above, uint64_t pc)
{
	Dwarf_Word link;

	if (dwfl_frame_reg(state, DWARF_LINK, &link) != 0 || has_called(unwinder, pc, link))
		return out_of_record(unwinder, step, above);
	step->pc = link;
	step->caller = true;
	return true;
}

bool step_is_needed(struct pm_unwinder *unwinder, Dwfl_Frame *state, uint64_t pc)
{
	const bool caller = unwinder->frames[unwinder->count - 1] & PM_FRAME_CALLER;
	const enum seen_as as = see(unwinder, unwinder->addresses[unwinder->count - 1], pc);
	const enum pm_stack_end end = unwinder->end;
	struct step *step = &unwinder->step;
	uint64_t above;

	/* What was interrupted may have no frame of its own. */
	if ((!caller && as == SEEN_COVERED) || !take_registers(step, state))
		return false;
	if (!unwinder_read(unwinder, step->regs[SP], &above)) {
		unwinder->end = end;
		return false;
	}
	if (above != 0 && as == SEEN_COVERED)
		return false;
	step->pc = 0;
	if (caller)
		step->wanted = above == 0 || out_of_record(unwinder, step, above);
	else
		step->wanted = out_of_innermost(unwinder, step, state, above, pc);
	return end_or_go_on(unwinder);
}
#endif

bool step_set(const struct step *step, Dwfl_Thread *thread)
{
	for (unsigned int i = 0; i < 32; i++)
		if ((step->valid >> i & 1) &&
		    !dwfl_thread_state_registers(thread, (int)i, 1, &step->regs[i]))
			return false;
	/* The call's own instruction decides, as it does for each caller in libdwfl. */
	dwfl_thread_state_register_pc(thread, step->pc - step->caller);
#ifdef DWARF_LINK
	if (!dwfl_thread_state_registers(thread, DWARF_LINK, 1, &step->pc))
		return false;
#endif
	return true;
}

#else
bool step_is_needed(struct pm_unwinder *unwinder, Dwfl_Frame *state, uint64_t pc)
{
	(void)unwinder, (void)state, (void)pc;
	return false;
}

bool step_set(const struct step *step, Dwfl_Thread *thread)
{
	(void)step, (void)thread;
	return false;
}
#endif

#ifndef HAVE_SIGNATURES
uint64_t step_plain(const struct pm_unwinder *unwinder, uint64_t value)
{
	(void)unwinder;
	return value;
}

bool step_begin(const struct pm_unwinder *unwinder, Dwfl_Thread *thread)
{
	(void)unwinder, (void)thread;
	return true;
}
#endif
