/* SPDX-License-Identifier: MIT */
/*
 * PERF_RECORD_SAMPLE: one long sequence of optional fields, taken in the order of a table.
 */
#include "pm_sys.h"

#include <errno.h>

#include "reader.h"

static void sample_tid(struct reader *r, struct pm_sample *s)
{
	take_tid(r, &s->sid);
}

static void sample_cpu(struct reader *r, struct pm_sample *s)
{
	take_cpu(r, &s->sid);
}

static void sample_read(struct reader *r, struct pm_sample *s)
{
	take_counts(r, &s->read);
}

static void sample_callchain(struct reader *r, struct pm_sample *s)
{
	s->callchain_nr = take_u64(r);
	s->callchain = take_array(r, s->callchain_nr, sizeof(uint64_t));
}

/* The kernel pads so that size word and data together are a multiple of 8. */
static void sample_raw(struct reader *r, struct pm_sample *s)
{
	take_into(r, &s->raw_size, sizeof(s->raw_size));
	s->raw = take(r, s->raw_size);
	if (s->raw_size % 8 != 4)
		r->bad = true;
}

static void sample_branches(struct reader *r, struct pm_sample *s)
{
	const uint64_t type = r->format->branch_sample_type;

	s->branch_nr = take_u64(r);
	if ((type & PERF_SAMPLE_BRANCH_HW_INDEX) && !(s->branch_nr == 0 && r->bare_branches))
		s->branch_hw_idx = take_u64(r);
	s->branches = take_array(r, s->branch_nr, sizeof(struct perf_branch_entry));
	if ((type & PERF_SAMPLE_BRANCH_COUNTERS) && !r->no_counters)
		s->branch_counters = take_array(r, s->branch_nr, sizeof(uint64_t));
}

/* With abi NONE (a kernel thread, say) no registers follow. */
static const uint64_t *take_regs(struct reader *r, uint64_t mask, uint64_t *abi, unsigned int *nr)
{
	*abi = take_u64(r);
	if (*abi == PERF_SAMPLE_REGS_ABI_NONE)
		return NULL;
	*nr = (unsigned int)__builtin_popcountll(mask);
	return take_array(r, *nr, sizeof(uint64_t));
}

static void sample_regs_user(struct reader *r, struct pm_sample *s)
{
	s->regs_user = take_regs(r, r->format->sample_regs_user, &s->regs_user_abi,
				 &s->regs_user_nr);
}

static void sample_regs_intr(struct reader *r, struct pm_sample *s)
{
	s->regs_intr = take_regs(r, r->format->sample_regs_intr, &s->regs_intr_abi,
				 &s->regs_intr_nr);
}

/* Room for `size` bytes is always given; dyn_size of them are stack. Both absent when size is 0. */
static void sample_stack(struct reader *r, struct pm_sample *s)
{
	s->stack_user_size = take_u64(r);
	if (s->stack_user_size == 0)
		return;
	s->stack_user = take(r, s->stack_user_size);
	s->stack_user_dyn_size = take_u64(r);
	if (s->stack_user_size % 8 != 0 || s->stack_user_dyn_size > s->stack_user_size)
		r->bad = true;
}

static void sample_aux(struct reader *r, struct pm_sample *s)
{
	s->aux_size = take_u64(r);
	s->aux = take(r, s->aux_size);
	if (s->aux_size % 8 != 0)
		r->bad = true;
}

/* One u64 at `offset`, or what `take` makes of it. */
struct sample_field {
	uint64_t bits;
	size_t offset;
	void (*take)(struct reader *r, struct pm_sample *s);
};

/* The order is perf_output_sample()'s; AUX is last although CGROUP and the page sizes are newer. */
#define SAMPLE_ORDER(WORD, PART) \
	WORD(IDENTIFIER, sid.id) \
	WORD(IP, ip) \
	PART(TID, sample_tid) \
	WORD(TIME, sid.time) \
	WORD(ADDR, addr) \
	WORD(ID, sid.id) \
	WORD(STREAM_ID, sid.stream_id) \
	PART(CPU, sample_cpu) \
	WORD(PERIOD, period) \
	PART(READ, sample_read) \
	PART(CALLCHAIN, sample_callchain) \
	PART(RAW, sample_raw) \
	PART(BRANCH_STACK, sample_branches) \
	PART(REGS_USER, sample_regs_user) \
	PART(STACK_USER, sample_stack) \
	WORD(WEIGHT_TYPE, weight) \
	WORD(DATA_SRC, data_src) \
	WORD(TRANSACTION, transaction) \
	PART(REGS_INTR, sample_regs_intr) \
	WORD(PHYS_ADDR, phys_addr) \
	WORD(CGROUP, cgroup) \
	WORD(DATA_PAGE_SIZE, data_page_size) \
	WORD(CODE_PAGE_SIZE, code_page_size) \
	PART(AUX, sample_aux)

#define WORD(bit, member) { PERF_SAMPLE_##bit, offsetof(struct pm_sample, member), NULL },
#define PART(bit, function) { PERF_SAMPLE_##bit, 0, function },
static const struct sample_field sample_fields[] = { SAMPLE_ORDER(WORD, PART) };

#define BIT(bit, what) | PERF_SAMPLE_##bit
_Static_assert((0 SAMPLE_ORDER(BIT, BIT)) == PERF_SAMPLE_MAX - 1, "every field has its place");

static void take_sample(struct reader *r, struct pm_sample *s, bool bare_branches,
			bool no_counters)
{
	r->bare_branches = bare_branches;
	r->no_counters = no_counters;
	/* Everything but the counters' array, which is written as far as it is used. */
	memset(s, 0, offsetof(struct pm_sample, read.member));
	for (size_t i = 0; i < sizeof(sample_fields) / sizeof(sample_fields[0]); i++) {
		const struct sample_field *field = &sample_fields[i];

		if (!(r->format->sample_type & field->bits))
			continue;
		if (field->take != NULL)
			field->take(r, s);
		else
			take_into(r, (unsigned char *)s + field->offset, sizeof(uint64_t));
	}
}

/*
 * The format does not decide everything about a branch stack: without one the kernel writes a
 * count of 0 and no hardware index, with an empty one it writes the index, and a PMU may leave
 * out the counters that were asked for. The reading that uses up the record is the right one.
 */
int pm_sample_decode(struct reader *r, struct pm_sample *s)
{
	const struct pm_format *format = r->format;
	const uint64_t doubtful = PERF_SAMPLE_BRANCH_HW_INDEX | PERF_SAMPLE_BRANCH_COUNTERS;
	const struct reader start = *r;
	int readings = 1;

	if (format->sample_type & ~(uint64_t)(PERF_SAMPLE_MAX - 1))
		return -ENOTSUP;
	if ((format->sample_type & PERF_SAMPLE_BRANCH_STACK) &&
	    (format->branch_sample_type & doubtful))
		readings = 4;
	for (int i = 0; i < readings; i++) {
		take_sample(r, s, i & 1, i & 2);
		if (!r->bad && r->left == 0)
			return 0;
		*r = start;
	}
	/* None did, so fields that we do not know follow the ones that were asked for. */
	take_sample(r, s, false, false);
	return r->bad ? -EBADMSG : 0;
}
