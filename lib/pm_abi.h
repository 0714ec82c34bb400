/* SPDX-License-Identifier: MIT */
/*
 * The kernel's side of perf_event_open(2) as this project knows it: Linux 2.6.31 to 7.x, under
 * the names every perf program uses.
 *
 * The distribution's <linux/perf_event.h> is never included. It is as old as the build machine,
 * and a probe must ask for bits that are newer. Including it before this file is an error;
 * after this file it is empty.
 *
 * "vX.Y" says in which release a name appeared upstream. It dates the name and decides nothing:
 * stable trees backport.
 *
 * Bit fields are declared in the same order on every machine, as the kernel does. Bit 0 of a
 * 64-bit flag word is therefore its lowest bit on little-endian and its highest on big-endian.
 * Only perf_mem_data_src and perf_sample_weight have their order turned, which keeps their
 * numeric value the same everywhere.
 */
#ifndef PM_ABI_H
#define PM_ABI_H

#if defined(_LINUX_PERF_EVENT_H) || defined(_UAPI_LINUX_PERF_EVENT_H) || \
	defined(_LINUX_HW_BREAKPOINT_H) || defined(_UAPI_LINUX_HW_BREAKPOINT_H)
#error "pm_abi.h takes the place of <linux/perf_event.h> and <linux/hw_breakpoint.h>"
#endif
#define _LINUX_PERF_EVENT_H
#define _UAPI_LINUX_PERF_EVENT_H
#define _LINUX_HW_BREAKPOINT_H
#define _UAPI_LINUX_HW_BREAKPOINT_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>

#include "abi.def"

/* --------------------------------------------------------------------- attr.type, attr.config */

enum perf_type_id {
	PERF_TYPE_HARDWARE	= 0,
	PERF_TYPE_SOFTWARE	= 1,
	PERF_TYPE_TRACEPOINT	= 2,
	PERF_TYPE_HW_CACHE	= 3,
	PERF_TYPE_RAW		= 4,
	PERF_TYPE_BREAKPOINT	= 5,	/* v2.6.33; higher types are handed out at run time */
	PERF_TYPE_MAX
};

/* HARDWARE and HW_CACHE: config bits 63..32 name the PMU on hybrid machines (v5.13). */
#define PERF_PMU_TYPE_SHIFT	32
#define PERF_HW_EVENT_MASK	0xffffffffu

enum perf_hw_id {
	PERF_COUNT_HW_CPU_CYCLES		= 0,
	PERF_COUNT_HW_INSTRUCTIONS		= 1,
	PERF_COUNT_HW_CACHE_REFERENCES		= 2,
	PERF_COUNT_HW_CACHE_MISSES		= 3,
	PERF_COUNT_HW_BRANCH_INSTRUCTIONS	= 4,
	PERF_COUNT_HW_BRANCH_MISSES		= 5,
	PERF_COUNT_HW_BUS_CYCLES		= 6,
	PERF_COUNT_HW_STALLED_CYCLES_FRONTEND	= 7,	/* v3.0 */
	PERF_COUNT_HW_STALLED_CYCLES_BACKEND	= 8,	/* v3.0 */
	PERF_COUNT_HW_REF_CPU_CYCLES		= 9,	/* v3.3 */
	PERF_COUNT_HW_MAX
};

/* HW_CACHE config: cache | operation << 8 | result << 16. */
enum perf_hw_cache_id {
	PERF_COUNT_HW_CACHE_L1D		= 0,
	PERF_COUNT_HW_CACHE_L1I		= 1,
	PERF_COUNT_HW_CACHE_LL		= 2,
	PERF_COUNT_HW_CACHE_DTLB	= 3,
	PERF_COUNT_HW_CACHE_ITLB	= 4,
	PERF_COUNT_HW_CACHE_BPU		= 5,
	PERF_COUNT_HW_CACHE_NODE	= 6,	/* v3.1 */
	PERF_COUNT_HW_CACHE_MAX
};

enum perf_hw_cache_op_id {
	PERF_COUNT_HW_CACHE_OP_READ	= 0,
	PERF_COUNT_HW_CACHE_OP_WRITE	= 1,
	PERF_COUNT_HW_CACHE_OP_PREFETCH	= 2,
	PERF_COUNT_HW_CACHE_OP_MAX
};

enum perf_hw_cache_op_result_id {
	PERF_COUNT_HW_CACHE_RESULT_ACCESS	= 0,
	PERF_COUNT_HW_CACHE_RESULT_MISS		= 1,
	PERF_COUNT_HW_CACHE_RESULT_MAX
};

enum perf_sw_ids {
	PERF_COUNT_SW_CPU_CLOCK		= 0,
	PERF_COUNT_SW_TASK_CLOCK	= 1,
	PERF_COUNT_SW_PAGE_FAULTS	= 2,
	PERF_COUNT_SW_CONTEXT_SWITCHES	= 3,
	PERF_COUNT_SW_CPU_MIGRATIONS	= 4,
	PERF_COUNT_SW_PAGE_FAULTS_MIN	= 5,
	PERF_COUNT_SW_PAGE_FAULTS_MAJ	= 6,
	PERF_COUNT_SW_ALIGNMENT_FAULTS	= 7,	/* v2.6.33 */
	PERF_COUNT_SW_EMULATION_FAULTS	= 8,	/* v2.6.33 */
	PERF_COUNT_SW_DUMMY		= 9,	/* v3.12 */
	PERF_COUNT_SW_BPF_OUTPUT	= 10,	/* v4.4 */
	PERF_COUNT_SW_CGROUP_SWITCHES	= 11,	/* v5.13 */
	PERF_COUNT_SW_MAX
};

/* attr.bp_type and attr.bp_len of PERF_TYPE_BREAKPOINT (v2.6.33). */
enum {
	HW_BREAKPOINT_LEN_1 = 1,
	HW_BREAKPOINT_LEN_2 = 2,
	HW_BREAKPOINT_LEN_3 = 3,	/* v4.10, with 5 to 7 */
	HW_BREAKPOINT_LEN_4 = 4,
	HW_BREAKPOINT_LEN_5 = 5,
	HW_BREAKPOINT_LEN_6 = 6,
	HW_BREAKPOINT_LEN_7 = 7,
	HW_BREAKPOINT_LEN_8 = 8
};

enum {
	HW_BREAKPOINT_EMPTY	= 0,
	HW_BREAKPOINT_R		= 1,
	HW_BREAKPOINT_W		= 2,
	HW_BREAKPOINT_RW	= HW_BREAKPOINT_R | HW_BREAKPOINT_W,
	HW_BREAKPOINT_X		= 4,
	HW_BREAKPOINT_INVALID	= HW_BREAKPOINT_RW | HW_BREAKPOINT_X
};

/* --------------------------------------------------------- attr.sample_type, attr.read_format */

enum perf_event_sample_format {
#define PM_SAMPLE_BIT(bit, NAME, name, since) PERF_SAMPLE_##NAME = 1 << bit,
	PM_SAMPLE_FIELDS(PM_SAMPLE_BIT)
#undef PM_SAMPLE_BIT
	PERF_SAMPLE_MAX = 1 << PM_SAMPLE_UNUSED
};
#define PERF_SAMPLE_WEIGHT_TYPE	(PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT)

enum perf_event_read_format {
	PERF_FORMAT_TOTAL_TIME_ENABLED	= 1 << 0,
	PERF_FORMAT_TOTAL_TIME_RUNNING	= 1 << 1,
	PERF_FORMAT_ID			= 1 << 2,
	PERF_FORMAT_GROUP		= 1 << 3,
	PERF_FORMAT_LOST		= 1 << 4,	/* v6.0 */
	PERF_FORMAT_MAX			= 1 << 5
};

enum perf_branch_sample_type_shift {
#define PM_BRANCH_SHIFT(bit, NAME, name, since) PERF_SAMPLE_BRANCH_##NAME##_SHIFT = bit,
	PM_BRANCH_FILTERS(PM_BRANCH_SHIFT)
#undef PM_BRANCH_SHIFT
	PERF_SAMPLE_BRANCH_MAX_SHIFT = PM_BRANCH_UNUSED
};

enum perf_branch_sample_type {
#define PM_BRANCH_BIT(bit, NAME, name, since) PERF_SAMPLE_BRANCH_##NAME = 1 << bit,
	PM_BRANCH_FILTERS(PM_BRANCH_BIT)
#undef PM_BRANCH_BIT
	PERF_SAMPLE_BRANCH_MAX		= 1 << PERF_SAMPLE_BRANCH_MAX_SHIFT
};
#define PERF_SAMPLE_BRANCH_PLM_ALL \
	(PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV)

/* The word in front of a register dump. */
enum perf_sample_regs_abi {
	PERF_SAMPLE_REGS_ABI_NONE	= 0,	/* no registers follow */
	PERF_SAMPLE_REGS_ABI_32		= 1,
	PERF_SAMPLE_REGS_ABI_64		= 2
};

/* ---------------------------------------------------------------------- struct perf_event_attr */

enum {
#define PM_ATTR_SIZE(number, bytes, brought, since) PERF_ATTR_SIZE_VER##number = bytes,
	PM_ATTR_VERSIONS(PM_ATTR_SIZE)
#undef PM_ATTR_SIZE
	PM_ATTR_SIZE_BEYOND
};

#define PM_ONE_BIT(bit, name, beside, since) uint64_t name : 1;
#define PM_TWO_BITS(low, high, name, since) uint64_t name : 2;
#define PM_COUNT(bit) + 1
struct perf_event_attr {
	uint32_t type;
	uint32_t size;			/* PERF_ATTR_SIZE_VERx; 0 means VER0 */
	uint64_t config;
	union {
		uint64_t sample_period;
		uint64_t sample_freq;	/* with .freq */
	};
	uint64_t sample_type;
	uint64_t read_format;
	union {
		/* all flags as one word, an addition of ours for tests of single bits */
		uint64_t flag_bits;
		struct {
			PM_ATTR_FLAGS(PM_ONE_BIT, PM_TWO_BITS)
			uint64_t __reserved_1 : PM_ATTR_RESERVED_FLAGS(PM_COUNT);
		};
	};
	union {
		uint32_t wakeup_events;
		uint32_t wakeup_watermark;	/* bytes, with .watermark */
	};
	uint32_t bp_type;
	union {
		uint64_t bp_addr;
		uint64_t kprobe_func;		/* v4.17, as the other kprobe and uprobe names */
		uint64_t uprobe_path;
		uint64_t config1;
	};
	union {
		uint64_t bp_len;
		uint64_t kprobe_addr;
		uint64_t probe_offset;
		uint64_t config2;
	};
	uint64_t branch_sample_type;
	uint64_t sample_regs_user;
	uint32_t sample_stack_user;		/* bytes, multiple of 8 */
	int32_t clockid;			/* v4.1, with .use_clockid */
	uint64_t sample_regs_intr;
	uint32_t aux_watermark;
	uint16_t sample_max_stack;		/* frames, v4.8 */
	uint16_t __reserved_2;
	uint32_t aux_sample_size;
	union {
		uint32_t aux_action;
		struct {
			uint32_t aux_start_paused : 1,
				 aux_pause : 1,
				 aux_resume : 1,
				 __reserved_3 : 29;
		};
	};
	uint64_t sig_data;			/* truncated to a long in si_perf_data */
	uint64_t config3;
	uint64_t config4;
};
#undef PM_ONE_BIT
#undef PM_TWO_BITS
#undef PM_COUNT

/* -------------------------------------------------------------------- flags, ioctl(2), prctl(2) */

#define PERF_FLAG_FD_NO_GROUP	(1UL << 0)
#define PERF_FLAG_FD_OUTPUT	(1UL << 1)
#define PERF_FLAG_PID_CGROUP	(1UL << 2)	/* v2.6.39: pid is a cgroup descriptor */
#define PERF_FLAG_FD_CLOEXEC	(1UL << 3)	/* v3.14 */

struct perf_event_query_bpf {
	uint32_t ids_len;	/* in: room in ids[] */
	uint32_t prog_cnt;	/* out: programs attached */
	uint32_t ids[];
};

/* The size encoded in several of these is that of a pointer, so 32-bit numbers differ. */
#define PERF_EVENT_IOC_ENABLE			_IO('$', 0)
#define PERF_EVENT_IOC_DISABLE			_IO('$', 1)
#define PERF_EVENT_IOC_REFRESH			_IO('$', 2)
#define PERF_EVENT_IOC_RESET			_IO('$', 3)
#define PERF_EVENT_IOC_PERIOD			_IOW('$', 4, uint64_t)
#define PERF_EVENT_IOC_SET_OUTPUT		_IO('$', 5)		/* v2.6.32 */
#define PERF_EVENT_IOC_SET_FILTER		_IOW('$', 6, char *)	/* v2.6.33 */
#define PERF_EVENT_IOC_ID			_IOR('$', 7, uint64_t *) /* v3.12 */
#define PERF_EVENT_IOC_SET_BPF			_IOW('$', 8, uint32_t)	/* v4.1 */
#define PERF_EVENT_IOC_PAUSE_OUTPUT		_IOW('$', 9, uint32_t)	/* v4.7 */
#define PERF_EVENT_IOC_QUERY_BPF /* v4.16 */	_IOWR('$', 10, struct perf_event_query_bpf *)
#define PERF_EVENT_IOC_MODIFY_ATTRIBUTES /* v4.17 */ _IOW('$', 11, struct perf_event_attr *)

enum perf_event_ioc_flags {
	PERF_IOC_FLAG_GROUP	= 1	/* argument of ENABLE, DISABLE and RESET */
};

#ifndef PR_TASK_PERF_EVENTS_DISABLE
#define PR_TASK_PERF_EVENTS_DISABLE	31
#define PR_TASK_PERF_EVENTS_ENABLE	32
#endif

/* si_code of the SIGTRAP that attr.sigtrap sends (v5.13), and what follows si_addr there. */
#ifndef TRAP_PERF
#define TRAP_PERF	6
#endif
#ifndef TRAP_PERF_FLAG_ASYNC
#define TRAP_PERF_FLAG_ASYNC	1u	/* v5.18: the signal came late */
#endif
struct perf_sigtrap_info {	/* lies over siginfo_t from si_addr on */
	void *addr;
	unsigned long data;	/* attr.sig_data */
	uint32_t type;		/* attr.type */
	uint32_t flags;		/* v5.18 */
};

/* ----------------------------------------------------------------------------- the user page */

struct perf_event_mmap_page {
	uint32_t version;
	uint32_t compat_version;
	uint32_t lock;			/* odd or changed: read again */
	uint32_t index;			/* counter number + 1, 0: use read(2) */
	int64_t offset;			/* add to the counter */
	uint64_t time_enabled;
	uint64_t time_running;
	union {
		uint64_t capabilities;
		struct {
			uint64_t cap_bit0 : 1,			/* 0 since v3.12 */
				 cap_bit0_is_deprecated : 1,	/* 1 since v3.12: trust the rest */
				 cap_user_rdpmc : 1,		/* v3.12 */
				 cap_user_time : 1,		/* v3.12 */
				 cap_user_time_zero : 1,	/* v3.12 */
				 cap_user_time_short : 1,	/* v5.9 */
				 cap_____res : 58;
		};
	};
	uint16_t pmc_width;		/* bits */
	uint16_t time_shift;
	uint32_t time_mult;
	uint64_t time_offset;
	uint64_t time_zero;		/* v3.12 */
	uint32_t size;			/* bytes in use up to the hole, v3.12 */
	uint32_t __reserved_1;
	uint64_t time_cycles;		/* v5.9 */
	uint64_t time_mask;		/* v5.9 */
	uint8_t __reserved[928];
	uint64_t data_head;
	uint64_t data_tail;
	uint64_t data_offset;		/* v4.1; 0 before: one page */
	uint64_t data_size;		/* v4.1; 0 before: the rest of the mapping */
	uint64_t aux_head;		/* v4.1, as all of aux_* */
	uint64_t aux_tail;
	uint64_t aux_offset;
	uint64_t aux_size;
};

#include "pm_abi_record.h"

/* ------------------------------------------------------------------------ the layout, checked */

#define PM_AT(type, field, offset) \
	_Static_assert(offsetof(struct type, field) == (offset), #type "." #field)

#define PM_FIELD_AT(name, member, offset, bytes, since) \
	PM_AT(perf_event_attr, member, offset); \
	_Static_assert(sizeof(((struct perf_event_attr *)0)->member) == (bytes), #member);
PM_ATTR_FIELDS(PM_FIELD_AT)
#undef PM_FIELD_AT
PM_AT(perf_event_attr, sample_freq, 16);
PM_AT(perf_event_attr, wakeup_watermark, 48);
PM_AT(perf_event_attr, bp_addr, 56);
PM_AT(perf_event_attr, bp_len, 64);
_Static_assert(sizeof(struct perf_event_attr) + 1 == PM_ATTR_SIZE_BEYOND, "perf_event_attr");

PM_AT(perf_event_mmap_page, compat_version, 4);
PM_AT(perf_event_mmap_page, lock, 8);
PM_AT(perf_event_mmap_page, index, 12);
PM_AT(perf_event_mmap_page, offset, 16);
PM_AT(perf_event_mmap_page, time_enabled, 24);
PM_AT(perf_event_mmap_page, time_running, 32);
PM_AT(perf_event_mmap_page, capabilities, 40);
PM_AT(perf_event_mmap_page, pmc_width, 48);
PM_AT(perf_event_mmap_page, time_shift, 50);
PM_AT(perf_event_mmap_page, time_mult, 52);
PM_AT(perf_event_mmap_page, time_offset, 56);
PM_AT(perf_event_mmap_page, time_zero, 64);
PM_AT(perf_event_mmap_page, size, 72);
PM_AT(perf_event_mmap_page, time_cycles, 80);
PM_AT(perf_event_mmap_page, time_mask, 88);
PM_AT(perf_event_mmap_page, __reserved, 96);
PM_AT(perf_event_mmap_page, data_head, 1024);
PM_AT(perf_event_mmap_page, data_tail, 1032);
PM_AT(perf_event_mmap_page, data_offset, 1040);
PM_AT(perf_event_mmap_page, data_size, 1048);
PM_AT(perf_event_mmap_page, aux_head, 1056);
PM_AT(perf_event_mmap_page, aux_tail, 1064);
PM_AT(perf_event_mmap_page, aux_offset, 1072);
PM_AT(perf_event_mmap_page, aux_size, 1080);
_Static_assert(sizeof(struct perf_event_mmap_page) == 1088, "perf_event_mmap_page");

#undef PM_AT

#endif
