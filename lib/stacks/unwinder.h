/* SPDX-License-Identifier: MIT */
/* What the parts of an unwinder share. Not installed. */
#ifndef PM_STACKS_UNWINDER_H
#define PM_STACKS_UNWINDER_H

#include <elfutils/libdwfl.h>
#include <stdatomic.h>

#include "cache.h"
#include "jit.h"
#include "maps.h"

#define FRAMES_DEFAULT 512
#define FRAMES_MAX 8192
#define TIME_DEFAULT 100000000ull

/* A file where a process has it. */
struct module {
	struct module *next;
	uint64_t low, high, bias;
	uint64_t start, inode;		/* of the mapping that it was found by */
	struct cached *cached;
	bool told;			/* libdwfl knows it */
};

/* A frame that libdwfl did not find, from which it goes on: registers by their DWARF numbers. */
struct step {
	bool wanted;
	bool caller;			/* pc is where a call returns to; else it was interrupted */
	uint32_t valid;			/* a bit for each of regs */
	uint64_t regs[32], pc;
};

/* What the code at an address tells of itself, remembered by the lower bits of the address. */
#define SEEN_COUNT 128
enum seen_as {
	SEEN_NOT,			/* not looked at */
	SEEN_COVERED,			/* has unwind information */
	SEEN_BARE,			/* has none */
	SEEN_SIGRETURN,			/* has none, and returns from a signal */
};

struct seen {
	uint64_t pc;
	enum seen_as as;
};

struct pm_unwinder {
	pid_t pid;
	int maps_fd, mem_fd;
	unsigned int room;		/* frames */
	uint64_t time_limit;		/* ns */
	struct pm_symbols *symbols;
	bool own_symbols;
	struct maps maps;
	uint64_t read_at, read_took;	/* when the maps were read, and how long that took, ns */
	bool gone;
	bool sought;			/* `program` was looked for */
	uint64_t program;
	struct module *modules;
	struct seen seen[SEEN_COUNT];	/* forgotten when a mapping changes */
	struct jit jit;
	Dwfl *dwfl;
	Elf *machine;			/* a header that says which machine it is */
	char header[64];
	uint64_t *addresses;
	uint8_t *frames;
	/* a worker's */
	atomic_bool stale;		/* side-band was lost: the maps are to be read again */
	struct pm_unwinder *forgotten;	/* the next on its list */
	uint64_t forget_after;		/* when so many items are done */
	/* the stack that is being unwound */
	const struct pm_stack_sample *sample;
	size_t count, first;		/* frames so far; the first of the user's */
	uint64_t sp;
	uint64_t deadline, steps;	/* of the thread's CPU time, ns; questions so far */
	enum pm_stack_end end;		/* why memory or a frame was refused */
	struct step step;
};

uint64_t unwinder_now(void);

/* The file that is mapped at the address, opened at the first call; NULL when there is none. */
struct module *unwinder_module(struct pm_unwinder *unwinder, uint64_t address);

/*
 * Where the code of the program itself is mapped: of the file that /proc/PID/exe leads to, else,
 * where that is not told any more, of the first one that is no library. 0: not known.
 */
uint64_t unwinder_program(struct pm_unwinder *unwinder);

/* unwinder_module(), for libdwfl, which then knows it. */
bool unwinder_tell_dwfl(struct pm_unwinder *unwinder, uint64_t address);

/* Forgets all modules, or those whose mapping is not there any more. */
void unwinder_drop_modules(struct pm_unwinder *unwinder);
void unwinder_keep_modules(struct pm_unwinder *unwinder);

/* Makes the unwinder's Dwfl. -ENOMEM, -ENOTSUP. */
int unwinder_begin(struct pm_unwinder *unwinder);

/* The user's part of unwinder->sample behind what is there. */
enum pm_stack_end unwinder_walk(struct pm_unwinder *unwinder);

/* A word of the process's memory; false, and unwinder->end, when it is not to be had. */
bool unwinder_read(struct pm_unwinder *unwinder, uint64_t address, uint64_t *ret);

/*
 * Whether libdwfl would leave this frame wrongly. Then its walk is to end: with step.wanted, the
 * next one goes on from unwinder->step; without, unwinder->end says why there is no more.
 */
bool step_is_needed(struct pm_unwinder *unwinder, Dwfl_Frame *state, uint64_t pc);
bool step_set(const struct step *step, Dwfl_Thread *thread);

/* What libdwfl is to know of the innermost frame beyond its registers as they are. */
bool step_begin(const struct pm_unwinder *unwinder, Dwfl_Thread *thread);

/* A word of the stack; without its signature when it is a signed address of code. */
uint64_t step_plain(const struct pm_unwinder *unwinder, uint64_t value);

/* The maps again, where that is allowed by now. Returns whether they were read. */
bool unwinder_reread(struct pm_unwinder *unwinder);

#endif
