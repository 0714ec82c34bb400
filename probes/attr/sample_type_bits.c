/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which fields of a sample does this kernel know, each asked by itself?
 *
 * A reader that asks for one field too many gets no event at all. A field is unknown when the
 * open is EINVAL or E2BIG with it and ok without. Fields that need more of the attr (which
 * registers, how much stack, which branches) are given it. A field that is known but that no
 * software event can deliver is EOPNOTSUPP. What the fields hold is asked elsewhere.
 */
#include "probe.h"
#include "attr_bits.h"
#include "finding.h"

#define DECLARE(bit, NAME, name, since)                                                        \
	FACT(name, verdict, "-", "sample field " #name " (bit " #bit ") is known") SINCE(since)
PROBE(TITLE("the fields of a sample, one by one")
      SINCE("2.6.31")
      PM_SAMPLE_FIELDS(DECLARE)
      FACT(accepted_alone, string, "-", "bit map of the fields that open with nothing beside them")
      FACT(top, int, "bit", "highest bit that is known")
      POINT(known, "all fields have been asked, and those of the first release are there"))

static const struct field {
	unsigned int bit;
	const char *name;
} fields[] = {
#define ROW(bit, NAME, name, since) { bit, #name },
	PM_SAMPLE_FIELDS(ROW)
};
#define COUNT (sizeof(fields) / sizeof(*fields))

/* A sampling event with one field and, if wanted, what that field needs. */
static struct perf_event_attr with_field(unsigned int bit, bool company)
{
	struct perf_event_attr attr = attr_faults(1ull << bit);

	if (!company)
		return attr;
	if (attr.sample_type == PERF_SAMPLE_CALLCHAIN)
		attr.exclude_callchain_kernel = 1;
	if (attr.sample_type == PERF_SAMPLE_BRANCH_STACK)
		attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
	if (attr.sample_type == PERF_SAMPLE_REGS_USER)
		attr.sample_regs_user = 1;
	if (attr.sample_type == PERF_SAMPLE_STACK_USER)
		attr.sample_stack_user = 64;
	if (attr.sample_type == PERF_SAMPLE_REGS_INTR)
		attr.sample_regs_intr = 1;
	return attr;
}

static void ask(const struct field *field, struct finding *ret)
{
	struct perf_event_attr with = with_field(field->bit, true), without = with;

	/* What only this field needs lies beyond the attr of a kernel that is too old for it. */
	without.sample_type = without.branch_sample_type = without.sample_regs_user = 0;
	without.sample_stack_user = without.sample_regs_intr = 0;
	judge_known(&with, &without, field->name, ret);
}

TEST(known)
{
	struct perf_event_attr plain = attr_faults(0);
	struct finding first = { .verdict = YES }, finding;
	uint64_t accepted = 0;
	const char *lost = NULL;
	int fd = pm_open(&plain, 0, -1, -1, 0), top = -1;

	if (fd < 0)
		classify_setup(-fd, &plain, 0, -1, &first);
	for (size_t i = 0; i < COUNT; i++) {
		struct perf_event_attr alone = with_field(fields[i].bit, false);
		int single = pm_open(&alone, 0, -1, -1, 0);

		finding = first;
		if (fd >= 0)
			ask(&fields[i], &finding);
		fact_verdict(fields[i].name, finding.verdict, finding.reason);
		if (single >= 0)
			accepted |= 1ull << fields[i].bit;
		close(single);
		if (finding.verdict == YES || finding.verdict == BLOCKED)
			top = fields[i].bit;
		if (fields[i].bit <= 9 && finding.verdict == NO)
			lost = fields[i].name;
	}
	if (fd < 0)
		say(&first);
	fact_str("accepted_alone", "%#" PRIx64, accepted);
	fact_int("top", top);
	if (lost)
		say_broken("%s is as old as the system call, and refused", lost);
}

PROBE_MAIN
