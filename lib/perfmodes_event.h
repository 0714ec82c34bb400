/* SPDX-License-Identifier: MIT */
/*
 * Which event: constants and names. Part of perfmodes.h, which includes it and tells the
 * conventions. The numbers are the kernel's (perf_event_open(2)).
 */
#ifndef PERFMODES_H
#include "perfmodes.h"	/* includes this, too, at its place */
#endif
#ifndef PERFMODES_EVENT_H
#define PERFMODES_EVENT_H

struct pm_diag;
struct pm_event_spec;
struct pm_event_listed;

/* pm_event_spec.type. Other PMUs have numbers from the running kernel. (0.1) */
enum pm_event_type {
	PM_TYPE_HARDWARE = 0,	/* config: enum pm_hardware_event */
	PM_TYPE_SOFTWARE = 1,	/* config: enum pm_software_event */
	PM_TYPE_TRACEPOINT = 2,	/* config: pm_trace_event_id */
	PM_TYPE_CACHE = 3,	/* config: PM_CACHE_EVENT */
	PM_TYPE_RAW = 4,	/* config: as the CPU's manual numbers its events */
	PM_TYPE_BREAKPOINT = 5	/* config: enum pm_access, config1: address, config2: bytes */
};

/* Generic events of the CPU: PM_HW_CYCLES, PM_HW_INSTRUCTIONS... (0.1) */
enum pm_hardware_event {
#define PM_HARDWARE(name, config, text, other) PM_HW_##name = config,
#define PM_SOFTWARE(name, config, text, other)
#define PM_CACHE(name, number, text)
#include "perfmodes_event.def"
	PM_HW_MAX = 0x7fffffff	/* none: the list may grow */
};

/* Events of the kernel itself: PM_SW_CPU_CLOCK, PM_SW_PAGE_FAULTS... (0.1) */
enum pm_software_event {
#define PM_HARDWARE(name, config, text, other)
#define PM_SOFTWARE(name, config, text, other) PM_SW_##name = config,
#define PM_CACHE(name, number, text)
#include "perfmodes_event.def"
	PM_SW_MAX = 0x7fffffff
};

/* Caches: PM_CACHE_L1D, PM_CACHE_LL... (0.1) */
enum pm_cache {
#define PM_HARDWARE(name, config, text, other)
#define PM_SOFTWARE(name, config, text, other)
#define PM_CACHE(name, number, text) PM_CACHE_##name = number,
#include "perfmodes_event.def"
	PM_CACHE_MAX = 0x7fffffff
};

/* What is done to a cache, and what comes of it. (0.1) */
enum pm_cache_op { PM_CACHE_LOAD = 0, PM_CACHE_STORE = 1, PM_CACHE_PREFETCH = 2 };
enum pm_cache_result { PM_CACHE_ACCESS = 0, PM_CACHE_MISS = 1 };
#define PM_CACHE_EVENT(cache, op, result) ((cache) | (op) << 8 | (result) << 16)

/* What a breakpoint waits for. (0.1) */
enum pm_access { PM_ACCESS_R = 1, PM_ACCESS_W = 2, PM_ACCESS_RW = 3, PM_ACCESS_X = 4 };

/*
 * Side-band: what is told beside the samples, as perf_event_open(2) lists it. Option `side`: a
 * session hands whole records to listener.other, a sampler struct pm_side. (0.1)
 */
enum pm_side_kind {
	PM_SIDE_MMAP = 1,	/* executable mappings: MMAP2, MMAP before v3.16 */
	PM_SIDE_MMAP_DATA = 2,	/* of samplers: other mappings, too */
	PM_SIDE_COMM = 4,	/* of samplers: names of threads, and execs */
	PM_SIDE_TASK = 8,	/* of samplers: creations and ends of threads */
	PM_SIDE_SWITCH = 16,	/* threads going on and off a CPU (v4.3) */
	PM_SIDE_CGROUP = 32,	/* cgroups, with their ids (v5.7) */
	PM_SIDE_KSYMBOL = 64,	/* code that the kernel loads (v5.1) */
	PM_SIDE_THROTTLE = 128,	/* of samplers: always told */
	PM_SIDE_CHAIN = 256,	/* of samplers: user parts of chains that were put off, by cookie */
	PM_SIDE_BUILD_ID = 512,	/* of sessions: build ids in MMAP2 (v5.12), as samplers have them */
	PM_SIDE_EXEC = 1024	/* of sessions: the mark of an exec in COMM (v3.16) */
};

/*
 * The event of that name, up to 255 bytes, as perf(1) writes it:
 *
 *	cycles, page-faults, L1-dcache-load-misses	a generic event, by any of perf's words
 *	r1a8						PM_TYPE_RAW, hexadecimal
 *	4:0x1a8						type and config, as the kernel numbers them
 *	sched:sched_switch				a tracepoint; tracefs tells its number
 *	mem:0x601040/8:rw				a breakpoint: address, bytes, access
 *	cpu_core/event=0xc0,umask=1/			terms of a PMU, as its folder "format" in
 *							sysfs names them, or names in "events"
 *	slots						such a name, where one PMU alone has it
 *	cpu_atom/cycles/				a generic event on one kind of cores
 *	cycles/period=1000/, cycles/freq=99/		any of them, with spec.period or frequency
 *
 * Without a kind of cores a generic event is of all of them: where they differ the plan makes it
 * one event each, adds what they count, and pm_plan_explain says so.
 *
 * Modifiers may stand behind a colon, or right behind a last slash: "u", "k" and "h", modes that
 * are wanted; "H" and "G", the host's or guests' share; "I", without idling; "p" up to three times
 * and "P", PM_SPEC_PRECISE_1 and so on; "D", PM_SPEC_PINNED; "e", PM_SPEC_EXCLUSIVE. Without "H"
 * and "G" guests count, whom perf(1) leaves out. The modifiers of groups and the terms name,
 * call-graph and stack-size are for pm_event_list; other terms of perf(1) are refused.
 * Names of libpfm4 ("skl::INST_RETIRED") are for pm_pfm_parse of perfmodes_pfm.h.
 *
 * Sets type, config, config1 and config2 of *ret, those flags, and the rate where it is told; its
 * `size` is set by the caller, all else stays as it is. Reads sysfs and tracefs, opens no event,
 * and looks at nothing but the name: whether this machine counts it, pm_plan_make finds out.
 *
 * Returns 0. -EINVAL for what is no name of an event; -ENOTSUP for what perf(1) has and a spec
 * cannot say, and for terms beyond config2; -ERANGE for a value that does not fit; -ENOENT for a
 * PMU, term or tracepoint that is not here; -EACCES where tracefs may not be read. The diagnosis
 * says which word. (0.1)
 */
int pm_event_parse(const char *name, struct pm_diag *diag, struct pm_event_spec *ret);

/* How an event stands to the others of its list. (0.1) */
enum pm_listed_flags {
	PM_LISTED_READ = 1,	/* modifier S: samples of the leader have the values of its group */
	PM_LISTED_WEAK = 2	/* modifier W: alone, where its group does not open */
};

/* Term "call-graph": where samples get their stacks from. (0.1) */
enum pm_listed_stacks {
	PM_LISTED_ANY_STACKS = 0,	/* nothing is said of it */
	PM_LISTED_NO_STACKS,
	PM_LISTED_FRAMES,		/* "fp": PM_WANT_CALLCHAIN */
	PM_LISTED_DWARF			/* "dwarf": PM_WANT_REGISTERS and PM_WANT_STACK */
};

/* What a list tells of an event beside its spec. (0.1) */
struct pm_event_listed {
	size_t size;		/* sizeof(struct pm_event_listed) */
	unsigned int leader;	/* 1 + index of its group's first; 0: it leads, or is alone */
	unsigned int flags;	/* enum pm_listed_flags */
	enum pm_listed_stacks stacks;
	unsigned int stack_bytes;	/* term "stack-size"; 0: nothing is said */
	char name[64];		/* term "name", terminated; "": none */
};

/*
 * The events of a text of up to 4095 bytes, as perf(1) takes one behind -e: names as of
 * pm_event_parse with commas between them, groups in braces, which may have modifiers, and patterns
 * of tracepoints ("sched:*"), which stand for all that match, by name. Blanks may stand around
 * names.
 *
 * Fills up to `count` of both arrays; the first of each tells the size of all (none of them: they
 * may be NULL). Returns how many events there are, which may be more; an error as pm_event_parse
 * has, and then what the arrays hold is not told. (0.1)
 */
int pm_event_list(const char *text, struct pm_diag *diag, struct pm_event_spec *specs,
		  struct pm_event_listed *listed, size_t count);

/*
 * The name of an event, with the modes that are told apart (":u", ":kH"); of types without names
 * "event 8:0x1f". A generic event of one kind of cores is "cpu_atom/cycles/", where sysfs says what
 * that PMU is called, else "cycles of PMU 10". As snprintf(3): always terminated when size > 0,
 * returns the length without bound. (0.1)
 */
int pm_event_name(const struct pm_event_spec *spec, char *buf, size_t size);

#endif
