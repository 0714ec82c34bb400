/* SPDX-License-Identifier: MIT */
/*
 * Steps that libdwfl (0.188) does not make well on Power. In code without unwind information it
 * takes each frame for one that has not stored its return address yet. That holds for the innermost
 * alone; the others have theirs in the frame above. And a back chain of 0 is the end of a stack
 * (ELFv2 ABI, 2.2.2.1), where libdwfl reads on above it.
 */
#include "unwinder.h"

#include <elfutils/version.h>

#if defined(__powerpc64__) && _ELFUTILS_PREREQ(0, 188)
#define SP 1
#define DWARF_LINK 65
#define SAVED_LINK 16		/* above the back chain's target */

static bool has_unwind_info(Dwfl *dwfl, uint64_t pc)
{
	Dwfl_Module *module = dwfl_addrmodule(dwfl, pc);
	Dwarf_Addr bias;

	return module != NULL && (dwfl_module_eh_cfi(module, &bias) != NULL ||
				  dwfl_module_dwarf_cfi(module, &bias) != NULL);
}

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

static bool out_of_record(struct pm_unwinder *unwinder, struct step *step, uint64_t above)
{
	if (above <= step->regs[SP] ||
	    !unwinder_read(unwinder, above + SAVED_LINK, &step->pc))
		return false;
	step->regs[SP] = above;
	step->caller = true;
	return true;
}

bool step_is_needed(struct pm_unwinder *unwinder, Dwfl_Frame *state, uint64_t pc)
{
	const bool caller = unwinder->frames[unwinder->count - 1] & PM_FRAME_CALLER;
	const enum pm_stack_end end = unwinder->end;
	struct step *step = &unwinder->step;
	uint64_t above;

	/* What was interrupted may have no frame of its own. */
	if (!caller || !take_registers(step, state))
		return false;
	if (!unwinder_read(unwinder, step->regs[SP], &above)) {
		unwinder->end = end;
		return false;
	}
	if (above != 0 && has_unwind_info(unwinder->dwfl, pc))
		return false;
	step->pc = 0;
	step->wanted = above == 0 || out_of_record(unwinder, step, above);
	return end_or_go_on(unwinder);
}

bool step_set(const struct step *step, Dwfl_Thread *thread)
{
	for (unsigned int i = 0; i < 32; i++)
		if ((step->valid >> i & 1) &&
		    !dwfl_thread_state_registers(thread, (int)i, 1, &step->regs[i]))
			return false;
	/* The call's own instruction decides, as it does for each caller in libdwfl. */
	dwfl_thread_state_register_pc(thread, step->pc - step->caller);
	return dwfl_thread_state_registers(thread, DWARF_LINK, 1, &step->pc);
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
