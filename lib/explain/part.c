/* SPDX-License-Identifier: MIT */
/* Which part of an attr is refused: each is left out, until the event opens. */
#include "part.h"

struct part {
	const char *name;
	/* Removes it. False: it was not there. */
	bool (*remove)(struct perf_event_attr *attr);
};

#define SAMPLE(name, bits, ...)                                                                \
	static bool remove_##name(struct perf_event_attr *attr)                                \
	{                                                                                      \
		const bool there = (attr->sample_type & (bits)) != 0;                          \
                                                                                               \
		attr->sample_type &= ~(uint64_t)(bits);                                        \
		__VA_ARGS__;                                                                   \
		return there;                                                                  \
	}

#define FIELD(name)                                                                            \
	static bool remove_##name(struct perf_event_attr *attr)                                \
	{                                                                                      \
		const bool there = attr->name != 0;                                            \
                                                                                               \
		attr->name = 0;                                                                \
		return there;                                                                  \
	}

SAMPLE(branches, PERF_SAMPLE_BRANCH_STACK, attr->branch_sample_type = 0)
SAMPLE(regs_user, PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER, attr->sample_regs_user = 0,
       attr->sample_stack_user = 0)
SAMPLE(regs_intr, PERF_SAMPLE_REGS_INTR, attr->sample_regs_intr = 0)
SAMPLE(aux, PERF_SAMPLE_AUX, attr->aux_sample_size = 0)
SAMPLE(weight, PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_DATA_SRC |
       PERF_SAMPLE_PHYS_ADDR, (void)0)
SAMPLE(read, PERF_SAMPLE_READ, (void)0)
FIELD(precise_ip) FIELD(inherit) FIELD(pinned) FIELD(exclusive) FIELD(exclude_hv)
FIELD(exclude_idle) FIELD(exclude_host) FIELD(exclude_guest) FIELD(exclude_kernel)
FIELD(exclude_user) FIELD(use_clockid) FIELD(aux_output) FIELD(sigtrap) FIELD(remove_on_exec)
FIELD(inherit_thread) FIELD(write_backward) FIELD(text_poke) FIELD(cgroup) FIELD(build_id)
FIELD(config1) FIELD(config2) FIELD(config3) FIELD(sample_max_stack) FIELD(aux_watermark)

/* perf's :u sets two of them, and a driver that can leave nothing out refuses each. */
static bool remove_modes(struct perf_event_attr *attr)
{
	const bool there = attr->exclude_kernel || attr->exclude_user || attr->exclude_hv ||
		attr->exclude_idle || attr->exclude_host || attr->exclude_guest;

	attr->exclude_kernel = attr->exclude_user = attr->exclude_hv = 0;
	attr->exclude_idle = attr->exclude_host = attr->exclude_guest = 0;
	return there;
}

static bool remove_sampling(struct perf_event_attr *attr)
{
	const bool there = attr->sample_period != 0;

	attr->sample_period = 0;
	attr->freq = 0;
	return there;
}

#define PART(name, words) { words, remove_##name }
static const struct part parts[] = {
	PART(precise_ip, "precise_ip (exact addresses)"),
	PART(branches, "branch stacks (PERF_SAMPLE_BRANCH_STACK)"),
	PART(aux, "PERF_SAMPLE_AUX"), PART(aux_output, "aux_output"),
	PART(regs_user, "user registers and stacks (--call-graph dwarf)"),
	PART(regs_intr, "registers at the interrupt"),
	PART(weight, "weights and data sources of memory accesses"),
	PART(use_clockid, "use_clockid (--clockid)"), PART(sigtrap, "sigtrap"),
	PART(remove_on_exec, "remove_on_exec"), PART(inherit_thread, "inherit_thread"),
	PART(write_backward, "write_backward"), PART(text_poke, "text_poke"),
	PART(cgroup, "cgroup records"), PART(build_id, "build_id"),
	PART(sample_max_stack, "sample_max_stack"), PART(aux_watermark, "aux_watermark"),
	PART(exclude_hv, "exclude_hv"), PART(exclude_idle, "exclude_idle"),
	PART(exclude_host, "exclude_host"), PART(exclude_guest, "exclude_guest"),
	PART(exclude_kernel, "exclude_kernel (:u)"), PART(exclude_user, "exclude_user (:k)"),
	PART(modes, "leaving any mode out (exclude_kernel and its like, :u)"),
	PART(pinned, "pinned"), PART(exclusive, "exclusive"),
	PART(read, "PERF_SAMPLE_READ"), PART(inherit, "inherit"),
	PART(config1, "config1"), PART(config2, "config2"), PART(config3, "config3"),
	PART(sampling, "sampling (it can be counted)"),
};

const char *find_part(struct perf_event_attr *attr,
		      int (*ask)(const struct perf_event_attr *attr, const void *context),
		      const void *context)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		struct perf_event_attr less = *attr;

		if (!parts[i].remove(&less) || ask(&less, context) != 0)
			continue;
		*attr = less;
		return parts[i].name;
	}
	return NULL;
}
