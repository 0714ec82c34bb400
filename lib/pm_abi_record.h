/* SPDX-License-Identifier: MIT */
/*
 * The records in a ring buffer: their types, flags and fixed parts. The second half of
 * pm_abi.h, which includes it; the layout of each record is written down where it is decoded,
 * in record.c.
 */
#ifndef PM_ABI_RECORD_H
#define PM_ABI_RECORD_H

#ifndef PM_ABI_H
#error "include pm_abi.h"
#endif

struct perf_event_header {
	uint32_t type;
	uint16_t misc;
	uint16_t size;		/* bytes, this header included, multiple of 8 */
};
_Static_assert(sizeof(struct perf_event_header) == 8, "perf_event_header");

enum perf_event_type {
	PERF_RECORD_MMAP		= 1,
	PERF_RECORD_LOST		= 2,
	PERF_RECORD_COMM		= 3,
	PERF_RECORD_EXIT		= 4,
	PERF_RECORD_THROTTLE		= 5,
	PERF_RECORD_UNTHROTTLE		= 6,
	PERF_RECORD_FORK		= 7,
	PERF_RECORD_READ		= 8,
	PERF_RECORD_SAMPLE		= 9,
	PERF_RECORD_MMAP2		= 10,	/* v3.16 */
	PERF_RECORD_AUX			= 11,	/* v4.1 */
	PERF_RECORD_ITRACE_START	= 12,	/* v4.1 */
	PERF_RECORD_LOST_SAMPLES	= 13,	/* v4.2 */
	PERF_RECORD_SWITCH		= 14,	/* v4.3 */
	PERF_RECORD_SWITCH_CPU_WIDE	= 15,	/* v4.3 */
	PERF_RECORD_NAMESPACES		= 16,	/* v4.12 */
	PERF_RECORD_KSYMBOL		= 17,	/* v5.1 */
	PERF_RECORD_BPF_EVENT		= 18,	/* v5.1 */
	PERF_RECORD_CGROUP		= 19,	/* v5.7 */
	PERF_RECORD_TEXT_POKE		= 20,	/* v5.9 */
	PERF_RECORD_AUX_OUTPUT_HW_ID	= 21,	/* v5.16 */
	PERF_RECORD_CALLCHAIN_DEFERRED	= 22,	/* v6.19 */
	PERF_RECORD_MAX
};

/* perf_event_header.misc: bits 0 to 2 say where the CPU was. */
#define PERF_RECORD_MISC_CPUMODE_MASK		7
#define PERF_RECORD_MISC_CPUMODE_UNKNOWN	0
#define PERF_RECORD_MISC_KERNEL			1
#define PERF_RECORD_MISC_USER			2
#define PERF_RECORD_MISC_HYPERVISOR		3
#define PERF_RECORD_MISC_GUEST_KERNEL		4	/* v2.6.35 */
#define PERF_RECORD_MISC_GUEST_USER		5	/* v2.6.35 */

/* Bits 12 to 15 mean something else in each kind of record. */
#define PERF_RECORD_MISC_PROC_MAP_PARSE_TIMEOUT	(1 << 12)	/* never set by the kernel */
#define PERF_RECORD_MISC_MMAP_DATA		(1 << 13)	/* MMAP, MMAP2; v3.10 */
#define PERF_RECORD_MISC_COMM_EXEC		(1 << 13)	/* COMM; v3.16 */
#define PERF_RECORD_MISC_FORK_EXEC		(1 << 13)	/* never set by the kernel */
#define PERF_RECORD_MISC_SWITCH_OUT		(1 << 13)	/* SWITCH*; v4.3 */
#define PERF_RECORD_MISC_EXACT_IP		(1 << 14)	/* SAMPLE; v2.6.35 */
#define PERF_RECORD_MISC_SWITCH_OUT_PREEMPT	(1 << 14)	/* SWITCH*; v4.18 */
#define PERF_RECORD_MISC_MMAP_BUILD_ID		(1 << 14)	/* MMAP2; v5.12 */
#define PERF_RECORD_MISC_EXT_RESERVED		(1 << 15)

/* PERF_RECORD_NAMESPACES: one entry each, in this order. */
struct perf_ns_link_info {
	uint64_t dev;
	uint64_t ino;
};

enum {
	NET_NS_INDEX	= 0,
	UTS_NS_INDEX	= 1,
	IPC_NS_INDEX	= 2,
	PID_NS_INDEX	= 3,
	USER_NS_INDEX	= 4,
	MNT_NS_INDEX	= 5,
	CGROUP_NS_INDEX	= 6,
	NR_NAMESPACES
};

enum perf_record_ksymbol_type {
	PERF_RECORD_KSYMBOL_TYPE_UNKNOWN	= 0,
	PERF_RECORD_KSYMBOL_TYPE_BPF		= 1,
	PERF_RECORD_KSYMBOL_TYPE_OOL		= 2,	/* v5.9: kprobe slots, trampolines */
	PERF_RECORD_KSYMBOL_TYPE_MAX
};
#define PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER	(1 << 0)

enum perf_bpf_event_type {
	PERF_BPF_EVENT_UNKNOWN		= 0,
	PERF_BPF_EVENT_PROG_LOAD	= 1,
	PERF_BPF_EVENT_PROG_UNLOAD	= 2,
	PERF_BPF_EVENT_MAX
};

/* PERF_RECORD_AUX flags. */
#define PERF_AUX_FLAG_TRUNCATED			0x01
#define PERF_AUX_FLAG_OVERWRITE			0x02
#define PERF_AUX_FLAG_PARTIAL			0x04	/* v4.12 */
#define PERF_AUX_FLAG_COLLISION			0x08	/* v4.15 */
#define PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK	0xff00	/* v5.13, as the two below */
#define PERF_AUX_FLAG_CORESIGHT_FORMAT_CORESIGHT	0x0000
#define PERF_AUX_FLAG_CORESIGHT_FORMAT_RAW		0x0100

/* ------------------------------------------------------------------------------- call chains */

#define PERF_MAX_STACK_DEPTH		127
#define PERF_MAX_CONTEXTS_PER_STACK	8

/* Markers between the addresses of a call chain; anything >= MAX is a marker. */
#define PERF_CONTEXT_HV			((uint64_t)-32)
#define PERF_CONTEXT_KERNEL		((uint64_t)-128)
#define PERF_CONTEXT_USER		((uint64_t)-512)
#define PERF_CONTEXT_USER_DEFERRED	((uint64_t)-640)	/* v6.19: a cookie follows */
#define PERF_CONTEXT_GUEST		((uint64_t)-2048)
#define PERF_CONTEXT_GUEST_KERNEL	((uint64_t)-2176)
#define PERF_CONTEXT_GUEST_USER		((uint64_t)-2560)
#define PERF_CONTEXT_MAX		((uint64_t)-4095)

/* ------------------------------------------------------------------------------ branch stacks */

struct perf_branch_entry {
	uint64_t from;
	uint64_t to;
	uint64_t mispred : 1,
		 predicted : 1,		/* both 0: not known */
		 in_tx : 1,		/* v3.11 */
		 abort : 1,		/* v3.11 */
		 cycles : 16,		/* since the last branch; v4.3 */
		 type : 4,		/* PERF_BR_*; v4.14 */
		 spec : 2,		/* PERF_BR_SPEC_*; v6.1 */
		 new_type : 4,		/* PERF_BR_NEW_*, with type EXTEND_ABI; v6.1 */
		 priv : 3,		/* PERF_BR_PRIV_*; v6.1 */
		 reserved : 31;
};
_Static_assert(sizeof(struct perf_branch_entry) == 24, "perf_branch_entry");
#define PERF_BRANCH_ENTRY_INFO_BITS_MAX	33

enum {
	PERF_BR_UNKNOWN		= 0,
	PERF_BR_COND		= 1,
	PERF_BR_UNCOND		= 2,
	PERF_BR_IND		= 3,
	PERF_BR_CALL		= 4,
	PERF_BR_IND_CALL	= 5,
	PERF_BR_RET		= 6,
	PERF_BR_SYSCALL		= 7,
	PERF_BR_SYSRET		= 8,
	PERF_BR_COND_CALL	= 9,
	PERF_BR_COND_RET	= 10,
	PERF_BR_ERET		= 11,	/* v5.18 */
	PERF_BR_IRQ		= 12,	/* v5.18 */
	PERF_BR_SERROR		= 13,	/* v6.1 */
	PERF_BR_NO_TX		= 14,	/* v6.1 */
	PERF_BR_EXTEND_ABI	= 15,	/* v6.1: see new_type */
	PERF_BR_MAX
};

enum {
	PERF_BR_SPEC_NA				= 0,
	PERF_BR_SPEC_WRONG_PATH			= 1,
	PERF_BR_NON_SPEC_CORRECT_PATH		= 2,
	PERF_BR_SPEC_CORRECT_PATH		= 3,
	PERF_BR_SPEC_MAX
};

enum {
	PERF_BR_NEW_FAULT_ALGN	= 0,
	PERF_BR_NEW_FAULT_DATA	= 1,
	PERF_BR_NEW_FAULT_INST	= 2,
	PERF_BR_NEW_ARCH_1	= 3,	/* arm64: FIQ */
	PERF_BR_NEW_ARCH_2	= 4,	/* arm64: debug halt */
	PERF_BR_NEW_ARCH_3	= 5,	/* arm64: debug exit */
	PERF_BR_NEW_ARCH_4	= 6,	/* arm64: debug instruction */
	PERF_BR_NEW_ARCH_5	= 7,	/* arm64: debug data */
	PERF_BR_NEW_MAX
};
#define PERF_BR_ARM64_FIQ		PERF_BR_NEW_ARCH_1
#define PERF_BR_ARM64_DEBUG_HALT	PERF_BR_NEW_ARCH_2
#define PERF_BR_ARM64_DEBUG_EXIT	PERF_BR_NEW_ARCH_3
#define PERF_BR_ARM64_DEBUG_INST	PERF_BR_NEW_ARCH_4
#define PERF_BR_ARM64_DEBUG_DATA	PERF_BR_NEW_ARCH_5

enum {
	PERF_BR_PRIV_UNKNOWN	= 0,
	PERF_BR_PRIV_USER	= 1,
	PERF_BR_PRIV_KERNEL	= 2,
	PERF_BR_PRIV_HV		= 3
};

/* --------------------------------------------- weight, transactions, data source of one access */

/* PERF_SAMPLE_WEIGHT fills `full`; PERF_SAMPLE_WEIGHT_STRUCT the three parts. */
union perf_sample_weight {
	uint64_t full;
	struct {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		uint32_t var1_dw;
		uint16_t var2_w;
		uint16_t var3_w;
#else
		uint16_t var3_w;
		uint16_t var2_w;
		uint32_t var1_dw;
#endif
	};
};
_Static_assert(sizeof(union perf_sample_weight) == 8, "perf_sample_weight");

#define PERF_TXN_ELISION	(1ULL << 0)
#define PERF_TXN_TRANSACTION	(1ULL << 1)
#define PERF_TXN_SYNC		(1ULL << 2)
#define PERF_TXN_ASYNC		(1ULL << 3)
#define PERF_TXN_RETRY		(1ULL << 4)
#define PERF_TXN_CONFLICT	(1ULL << 5)
#define PERF_TXN_CAPACITY_WRITE	(1ULL << 6)
#define PERF_TXN_CAPACITY_READ	(1ULL << 7)
#define PERF_TXN_MAX		(1ULL << 8)
#define PERF_TXN_ABORT_SHIFT	32
#define PERF_TXN_ABORT_MASK	(0xffffffffULL << PERF_TXN_ABORT_SHIFT)

union perf_mem_data_src {
	uint64_t val;
	struct {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		uint64_t mem_op : 5,
			 mem_lvl : 14,
			 mem_snoop : 5,
			 mem_lock : 2,
			 mem_dtlb : 7,
			 mem_lvl_num : 4,	/* v4.14, with mem_remote and mem_snoopx */
			 mem_remote : 1,
			 mem_snoopx : 2,
			 mem_blk : 3,		/* v5.12 */
			 mem_hops : 3,		/* v5.16 */
			 mem_region : 5,	/* v7.0 */
			 mem_rsvd : 13;
#else
		uint64_t mem_rsvd : 13,
			 mem_region : 5,
			 mem_hops : 3,
			 mem_blk : 3,
			 mem_snoopx : 2,
			 mem_remote : 1,
			 mem_lvl_num : 4,
			 mem_dtlb : 7,
			 mem_lock : 2,
			 mem_snoop : 5,
			 mem_lvl : 14,
			 mem_op : 5;
#endif
	};
};
_Static_assert(sizeof(union perf_mem_data_src) == 8, "perf_mem_data_src");

/* Values of the fields above; a _SHIFT is the field's place in `val`. */
#define PERF_MEM_OP_NA			0x01
#define PERF_MEM_OP_LOAD		0x02
#define PERF_MEM_OP_STORE		0x04
#define PERF_MEM_OP_PFETCH		0x08
#define PERF_MEM_OP_EXEC		0x10
#define PERF_MEM_OP_SHIFT		0

#define PERF_MEM_LVL_NA			0x01
#define PERF_MEM_LVL_HIT		0x02
#define PERF_MEM_LVL_MISS		0x04
#define PERF_MEM_LVL_L1			0x08
#define PERF_MEM_LVL_LFB		0x10
#define PERF_MEM_LVL_L2			0x20
#define PERF_MEM_LVL_L3			0x40
#define PERF_MEM_LVL_LOC_RAM		0x80
#define PERF_MEM_LVL_REM_RAM1		0x100
#define PERF_MEM_LVL_REM_RAM2		0x200
#define PERF_MEM_LVL_REM_CCE1		0x400
#define PERF_MEM_LVL_REM_CCE2		0x800
#define PERF_MEM_LVL_IO			0x1000
#define PERF_MEM_LVL_UNC		0x2000
#define PERF_MEM_LVL_SHIFT		5

#define PERF_MEM_SNOOP_NA		0x01
#define PERF_MEM_SNOOP_NONE		0x02
#define PERF_MEM_SNOOP_HIT		0x04
#define PERF_MEM_SNOOP_MISS		0x08
#define PERF_MEM_SNOOP_HITM		0x10
#define PERF_MEM_SNOOP_SHIFT		19

#define PERF_MEM_LOCK_NA		0x01
#define PERF_MEM_LOCK_LOCKED		0x02
#define PERF_MEM_LOCK_SHIFT		24

#define PERF_MEM_TLB_NA			0x01
#define PERF_MEM_TLB_HIT		0x02
#define PERF_MEM_TLB_MISS		0x04
#define PERF_MEM_TLB_L1			0x08
#define PERF_MEM_TLB_L2			0x10
#define PERF_MEM_TLB_WK			0x20
#define PERF_MEM_TLB_OS			0x40
#define PERF_MEM_TLB_SHIFT		26

#define PERF_MEM_LVLNUM_L1		0x01
#define PERF_MEM_LVLNUM_L2		0x02
#define PERF_MEM_LVLNUM_L3		0x03
#define PERF_MEM_LVLNUM_L4		0x04
#define PERF_MEM_LVLNUM_L2_MHB		0x05
#define PERF_MEM_LVLNUM_MSC		0x06
#define PERF_MEM_LVLNUM_L0		0x07
#define PERF_MEM_LVLNUM_UNC		0x08
#define PERF_MEM_LVLNUM_CXL		0x09
#define PERF_MEM_LVLNUM_IO		0x0a
#define PERF_MEM_LVLNUM_ANY_CACHE	0x0b
#define PERF_MEM_LVLNUM_LFB		0x0c
#define PERF_MEM_LVLNUM_RAM		0x0d
#define PERF_MEM_LVLNUM_PMEM		0x0e
#define PERF_MEM_LVLNUM_NA		0x0f
#define PERF_MEM_LVLNUM_SHIFT		33

#define PERF_MEM_REMOTE_REMOTE		0x01
#define PERF_MEM_REMOTE_SHIFT		37

#define PERF_MEM_SNOOPX_FWD		0x01
#define PERF_MEM_SNOOPX_PEER		0x02
#define PERF_MEM_SNOOPX_SHIFT		38

#define PERF_MEM_BLK_NA			0x01
#define PERF_MEM_BLK_DATA		0x02
#define PERF_MEM_BLK_ADDR		0x04
#define PERF_MEM_BLK_SHIFT		40

#define PERF_MEM_HOPS_0			0x01
#define PERF_MEM_HOPS_1			0x02
#define PERF_MEM_HOPS_2			0x03
#define PERF_MEM_HOPS_3			0x04
#define PERF_MEM_HOPS_SHIFT		43

/* "Local" and "other" are from the point of view of the caching agent. */
#define PERF_MEM_REGION_NA		0x00
#define PERF_MEM_REGION_RSVD		0x01
#define PERF_MEM_REGION_L_SHARE		0x02
#define PERF_MEM_REGION_L_NON_SHARE	0x03
#define PERF_MEM_REGION_O_IO		0x04
#define PERF_MEM_REGION_O_SHARE		0x05
#define PERF_MEM_REGION_O_NON_SHARE	0x06
#define PERF_MEM_REGION_MMIO		0x07
#define PERF_MEM_REGION_MEM0		0x08
#define PERF_MEM_REGION_MEM1		0x09
#define PERF_MEM_REGION_MEM2		0x0a
#define PERF_MEM_REGION_MEM3		0x0b
#define PERF_MEM_REGION_MEM4		0x0c
#define PERF_MEM_REGION_MEM5		0x0d
#define PERF_MEM_REGION_MEM6		0x0e
#define PERF_MEM_REGION_MEM7		0x0f
#define PERF_MEM_REGION_SHIFT		46

#define PERF_MEM_S(field, value) \
	((uint64_t)PERF_MEM_##field##_##value << PERF_MEM_##field##_SHIFT)

#endif
