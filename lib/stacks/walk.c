/* SPDX-License-Identifier: MIT */
/*
 * The walk itself, by libdwfl: it interprets the unwind information of files and asks back for
 * registers, memory and files.
 */
#include "unwinder.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "regs.h"

#define ENTRY_BYTES 64		/* of code where a file is entered */

/* -------------------------------------------------------------------------------- what it asks */

static int find_elf(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
		    char **file_name, Elf **elf)
{
	const struct module *mine = *userdata;

	(void)module, (void)name, (void)base, (void)file_name;
	*elf = mine == NULL ? NULL : file_share(&mine->cached->file);
	return -1;
}

/* What unwinds is in the file itself; a file of debug information would be a large one more. */
static int find_debuginfo(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
			  const char *file_name, const char *link, GElf_Word crc, char **ret)
{
	(void)module, (void)userdata, (void)name, (void)base;
	(void)file_name, (void)link, (void)crc, (void)ret;
	return -1;
}

static uint64_t time_used(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

/* By this thread's own time: a machine that is busy with others makes no stack incomplete. */
static bool is_late(struct pm_unwinder *unwinder)
{
	if (++unwinder->steps % 16 != 0 || time_used() < unwinder->deadline)
		return false;
	unwinder->end = PM_END_TIME;
	return true;
}

/* A thread that is stopped can be read; of one that runs, only what does not change. */
static bool read_live(struct pm_unwinder *unwinder, uint64_t address, Dwarf_Word *ret)
{
	const struct map *map = maps_find(&unwinder->maps, address);
	uint64_t value;

	if (unwinder->sample->stack != NULL && (map == NULL || map->write)) {
		const struct map *stack = maps_find(&unwinder->maps, unwinder->sp);

		unwinder->end = map != NULL && map == stack ? PM_END_COPY : PM_END_MEMORY;
		return false;
	}
	if (unwinder->mem_fd < 0 || address > INT64_MAX ||
	    pread(unwinder->mem_fd, &value, sizeof(value), (off_t)address) != sizeof(value)) {
		unwinder->end = PM_END_MEMORY;
		return false;
	}
	*ret = value;
	return true;
}

bool unwinder_read(struct pm_unwinder *unwinder, uint64_t address, uint64_t *ret)
{
	const struct pm_stack_sample *sample = unwinder->sample;
	const uint64_t at = address - unwinder->sp;
	uint64_t value;

	if (is_late(unwinder))
		return false;
	if (sample->stack == NULL || at >= sample->stack_used ||
	    sample->stack_used - at < sizeof(value))
		return read_live(unwinder, address, ret);
	memcpy(&value, (const char *)sample->stack + at, sizeof(value));
	*ret = value;
	return true;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *ret, void *context)
{
	(void)dwfl;
	if (!unwinder_read(context, address, ret))
		return false;
	*ret = step_plain(context, *ret);
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *context)
{
	struct pm_unwinder *unwinder = context;

	return unwinder->step.wanted ? step_set(&unwinder->step, thread) :
		regs_set(unwinder->sample, thread) && step_begin(unwinder, thread);
}

static pid_t next_thread(Dwfl *dwfl, void *context, void **thread)
{
	(void)dwfl, (void)context, (void)thread;
	return 0;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *context, void **thread)
{
	(void)dwfl, (void)tid;
	*thread = context;
	return true;
}

static const Dwfl_Callbacks file_callbacks = {
	.find_elf = find_elf,
	.find_debuginfo = find_debuginfo,
};

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = read_memory,
	.set_initial_registers = set_registers,
};

/*
 * libdwfl learns the machine from an ELF file. That of the process may be any, or gone, so it gets
 * a bare header.
 */
int unwinder_begin(struct pm_unwinder *unwinder)
{
	Elf64_Ehdr head = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, 0, EV_CURRENT },
		.e_type = ET_DYN, .e_version = EV_CURRENT, .e_ehsize = sizeof(head),
		.e_machine = (Elf64_Half)regs_arch()->machine,
	};

	head.e_ident[EI_DATA] = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ?
		ELFDATA2LSB : ELFDATA2MSB;
	memcpy(unwinder->header, &head, sizeof(head));
	if (unwinder->machine == NULL)
		unwinder->machine = elf_memory(unwinder->header, sizeof(head));
	unwinder->dwfl = dwfl_begin(&file_callbacks);
	if (unwinder->machine == NULL || unwinder->dwfl == NULL)
		return -ENOMEM;
	if (!dwfl_attach_state(unwinder->dwfl, unwinder->machine, unwinder->pid, &thread_callbacks,
			       unwinder))
		return -ENOTSUP;
	return 0;
}

/* ------------------------------------------------------------------------------------ the walk */

static bool is_code(const struct pm_unwinder *unwinder, uint64_t address)
{
	const struct map *map = maps_find(&unwinder->maps, address);

	return map != NULL && map->exec;
}

static int stop(struct pm_unwinder *unwinder, enum pm_stack_end end)
{
	unwinder->end = end;
	return DWARF_CB_ABORT;
}

/* What returns from a signal is entered at its first instruction, by no call. */
static void add_frame(struct pm_unwinder *unwinder, uint64_t pc, bool exact)
{
	if (exact && unwinder->count > unwinder->first)
		unwinder->frames[unwinder->count - 1] = 0;
	unwinder->addresses[unwinder->count] = pc;
	unwinder->frames[unwinder->count] = !exact ? PM_FRAME_CALLER :
		unwinder->count > unwinder->first ? PM_FRAME_SIGNAL : 0;
	unwinder->count++;
}

/*
 * Called with each frame before libdwfl leaves it, so that what it needs for that can still come.
 * The question whether the address is exact makes it leave the frame, because the answer is in the
 * unwind information; the file has to be known before.
 */
static int on_frame(Dwfl_Frame *state, void *context)
{
	struct pm_unwinder *unwinder = context;
	Dwarf_Addr pc;
	bool exact;

	if (!dwfl_frame_pc(state, &pc, NULL))
		return stop(unwinder, PM_END_NO_INFO);
	if (unwinder->count == unwinder->room)
		return stop(unwinder, PM_END_FRAMES);
	if (is_late(unwinder))
		return DWARF_CB_ABORT;
	if (pc == 0 && unwinder->count > unwinder->first)
		return stop(unwinder, PM_END_COMPLETE);
	unwinder_tell_dwfl(unwinder, pc);
	unwinder_tell_dwfl(unwinder, pc - 1);
	unwinder->end = PM_END_NO_INFO;
	if (unwinder->step.wanted) {	/* the first frame after it, whose pc is one too low */
		unwinder->step.wanted = false;
		exact = !unwinder->step.caller;
		pc = unwinder->step.pc;
	} else {
		(void)dwfl_frame_pc(state, &pc, &exact);
	}
	if (!is_code(unwinder, exact ? pc : pc - 1))
		return stop(unwinder, PM_END_NO_MAPPING);
	add_frame(unwinder, pc, exact);
	return step_is_needed(unwinder, state, exact ? pc : pc - 1) ? DWARF_CB_ABORT : DWARF_CB_OK;
}

static enum pm_stack_end walk(struct pm_unwinder *unwinder)
{
	size_t before;
	int err;

	if (unwinder->dwfl == NULL && unwinder_begin(unwinder) < 0)
		return PM_END_MEMORY;
	unwinder->count = unwinder->first;
	unwinder->end = PM_END_NO_INFO;
	unwinder->step.wanted = false;
	do {
		before = unwinder->count;
		err = dwfl_getthread_frames(unwinder->dwfl, unwinder->pid, on_frame, unwinder);
	} while (err != 0 && unwinder->step.wanted && unwinder->count > before);
	if (err != 0)
		return unwinder->end;
	/* A return address that could not be read counts as none for libdwfl. */
	return unwinder->end == PM_END_NO_INFO ? PM_END_COMPLETE : unwinder->end;
}

/*
 * Whether the outermost frame is where its file is entered. The dynamic linker's entry has no
 * unwind information that says so: the kernel has left no return address there.
 */
static bool is_entered(struct pm_unwinder *unwinder)
{
	const uint64_t pc = unwinder->count > unwinder->first ?
		unwinder->addresses[unwinder->count - 1] : 0;
	const struct module *module = pc != 0 ? unwinder_module(unwinder, pc) : NULL;
	GElf_Ehdr head;

	return module != NULL && gelf_getehdr(module->cached->file.elf, &head) != NULL &&
		head.e_entry != 0 && pc - module->bias - head.e_entry < ENTRY_BYTES;
}

/* Code where nothing was mapped: the maps are read again, which is not done within a walk. */
enum pm_stack_end unwinder_walk(struct pm_unwinder *unwinder)
{
	enum pm_stack_end end;

	if (!regs_get(unwinder->sample, regs_arch()->sp, &unwinder->sp))
		return PM_END_REGISTERS;
	unwinder->deadline = time_used() + unwinder->time_limit;
	unwinder->first = unwinder->count;
	end = walk(unwinder);
	if (end == PM_END_NO_MAPPING && unwinder_reread(unwinder))
		end = walk(unwinder);
	if (end != PM_END_COMPLETE && end != PM_END_FRAMES && is_entered(unwinder))
		return PM_END_COMPLETE;
	return end == PM_END_NO_MAPPING && unwinder->gone ? PM_END_GONE : end;
}
