/* SPDX-License-Identifier: MIT */
/* PERF_RECORD_SAMPLE in all its combinations. */
#include "test.h"

#include "builder.h"

#include <errno.h>

static struct builder b;
static struct pm_record rec;

/* What a sample is to hold. Each word is different, so that no field can pass for another. */
struct spec {
	struct pm_format format;
	uint64_t callchain_nr, branch_nr, regs_abi, stack_size, stack_used, aux_size, counters;
	uint32_t raw_size;
	bool no_branch_stack, no_branch_counters;
};

static const struct spec rich = {
	.format = {
		.sample_type = PERF_SAMPLE_MAX - 1,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_LOST |
			       PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_HW_INDEX |
				      PERF_SAMPLE_BRANCH_COUNTERS,
		.sample_regs_user = 0x8000000000000105,
		.sample_regs_intr = 0x3,
		.sample_id_all = true,
	},
	.callchain_nr = 5, .branch_nr = 3, .regs_abi = PERF_SAMPLE_REGS_ABI_64,
	.stack_size = 64, .stack_used = 40, .aux_size = 24, .counters = 2, .raw_size = 12,
};

static void put_run(uint64_t first, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		put64(&b, first + i);
}

static void put_fill(unsigned char value, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		put(&b, &value, 1);
}

static void put_read(const struct spec *spec)
{
	put64(&b, spec->counters);
	put64(&b, 501);
	put64(&b, 502);
	for (uint64_t i = 0; i < spec->counters; i++)
		put_run(510 + 10 * i, 3);
}

static void put_branches(const struct spec *spec)
{
	if (spec->no_branch_stack) {
		put64(&b, 0);
		return;
	}
	put64(&b, spec->branch_nr);
	if (spec->format.branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
		put64(&b, 600);
	put_run(610, 3 * spec->branch_nr);
	if ((spec->format.branch_sample_type & PERF_SAMPLE_BRANCH_COUNTERS) &&
	    !spec->no_branch_counters)
		put_run(650, spec->branch_nr);
}

static void put_regs(const struct spec *spec, uint64_t first, uint64_t count)
{
	put64(&b, spec->regs_abi);
	if (spec->regs_abi)
		put_run(first, count);
}

static void put_stack(const struct spec *spec)
{
	put64(&b, spec->stack_size);
	if (spec->stack_size == 0)
		return;
	put_fill(0xaa, spec->stack_size);
	put64(&b, spec->stack_used);
}

static void put_head(uint64_t type)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		put64(&b, 107);
	if (type & PERF_SAMPLE_IP)
		put64(&b, 101);
	if (type & PERF_SAMPLE_TID)
		put64(&b, IS_LITTLE_ENDIAN ? 103ull << 32 | 102 : 102ull << 32 | 103);
	if (type & PERF_SAMPLE_TIME)
		put64(&b, 104);
	if (type & PERF_SAMPLE_ADDR)
		put64(&b, 105);
	if (type & PERF_SAMPLE_ID)
		put64(&b, 107);
	if (type & PERF_SAMPLE_STREAM_ID)
		put64(&b, 108);
	if (type & PERF_SAMPLE_CPU) {
		put32(&b, 109);
		put32(&b, 110);
	}
	if (type & PERF_SAMPLE_PERIOD)
		put64(&b, 111);
}

static void put_middle(const struct spec *spec, uint64_t type)
{
	if (type & PERF_SAMPLE_READ)
		put_read(spec);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		put64(&b, spec->callchain_nr);
		put_run(300, spec->callchain_nr);
	}
	if (type & PERF_SAMPLE_RAW) {
		put32(&b, spec->raw_size);
		put_fill(0xbb, spec->raw_size);
	}
	if (type & PERF_SAMPLE_BRANCH_STACK)
		put_branches(spec);
	if (type & PERF_SAMPLE_REGS_USER)
		put_regs(spec, 700, 4);
	if (type & PERF_SAMPLE_STACK_USER)
		put_stack(spec);
}

static void put_tail(const struct spec *spec, uint64_t type)
{
	if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
		put64(&b, 112);
	if (type & PERF_SAMPLE_DATA_SRC)
		put64(&b, 113);
	if (type & PERF_SAMPLE_TRANSACTION)
		put64(&b, 114);
	if (type & PERF_SAMPLE_REGS_INTR)
		put_regs(spec, 800, 2);
	if (type & PERF_SAMPLE_PHYS_ADDR)
		put64(&b, 115);
	if (type & PERF_SAMPLE_CGROUP)
		put64(&b, 116);
	if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
		put64(&b, 117);
	if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
		put64(&b, 118);
	if (type & PERF_SAMPLE_AUX) {
		put64(&b, spec->aux_size);
		put_fill(0xcc, spec->aux_size);
	}
}

/* The order of the manual page, with AUX behind the page sizes as kernels write it. */
static void build(const struct spec *spec)
{
	begin(&b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	put_head(spec->format.sample_type);
	put_middle(spec, spec->format.sample_type);
	put_tail(spec, spec->format.sample_type);
	end(&b);
}

/* -------------------------------------------------------------------------- what must come out */

static const struct pm_sample *s = &rec.sample;

static void expect_words(uint64_t type)
{
	const struct {
		uint64_t bits, value, want;
	} words[] = {
		{ PERF_SAMPLE_IP, s->ip, 101 },
		{ PERF_SAMPLE_TID, s->sid.pid, 102 },
		{ PERF_SAMPLE_TID, s->sid.tid, 103 },
		{ PERF_SAMPLE_TIME, s->sid.time, 104 },
		{ PERF_SAMPLE_ADDR, s->addr, 105 },
		{ PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER, s->sid.id, 107 },
		{ PERF_SAMPLE_STREAM_ID, s->sid.stream_id, 108 },
		{ PERF_SAMPLE_CPU, s->sid.cpu, 109 },
		{ PERF_SAMPLE_CPU, s->sid.cpu_reserved, 110 },
		{ PERF_SAMPLE_PERIOD, s->period, 111 },
		{ PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT, s->weight, 112 },
		{ PERF_SAMPLE_DATA_SRC, s->data_src, 113 },
		{ PERF_SAMPLE_TRANSACTION, s->transaction, 114 },
		{ PERF_SAMPLE_PHYS_ADDR, s->phys_addr, 115 },
		{ PERF_SAMPLE_CGROUP, s->cgroup, 116 },
		{ PERF_SAMPLE_DATA_PAGE_SIZE, s->data_page_size, 117 },
		{ PERF_SAMPLE_CODE_PAGE_SIZE, s->code_page_size, 118 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		assert_int_equal(words[i].value, type & words[i].bits ? words[i].want : 0);
	assert_memory_equal(&rec.sid, &s->sid, sizeof(rec.sid));
}

static void expect_run(const uint64_t *at, uint64_t first, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		assert_int_equal(at[i], first + i);
}

static void expect_fill(const void *at, unsigned char value, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		assert_int_equal(((const unsigned char *)at)[i], value);
}

static void expect_read(const struct spec *spec)
{
	assert_int_equal(s->read.nr, spec->counters);
	assert_int_equal(s->read.time_enabled, 501);
	assert_int_equal(s->read.time_running, 502);
	for (uint64_t i = 0; i < spec->counters; i++) {
		assert_int_equal(s->read.member[i].value, 510 + 10 * i);
		assert_int_equal(s->read.member[i].id, 511 + 10 * i);
		assert_int_equal(s->read.member[i].lost, 512 + 10 * i);
	}
}

static void expect_branches(const struct spec *spec)
{
	const uint64_t type = spec->format.branch_sample_type;
	const uint64_t nr = spec->no_branch_stack ? 0 : spec->branch_nr;

	assert_int_equal(s->branch_nr, nr);
	expect_run(s->branches, 610, 3 * nr);
	assert_int_equal(s->branch_hw_idx,
			 !spec->no_branch_stack && (type & PERF_SAMPLE_BRANCH_HW_INDEX) ? 600 : 0);
	if (nr > 0 && (type & PERF_SAMPLE_BRANCH_COUNTERS) && !spec->no_branch_counters)
		expect_run(s->branch_counters, 650, nr);
	else if (nr > 0)
		assert_null(s->branch_counters);
}

static void expect_stack(const struct spec *spec)
{
	assert_int_equal(s->stack_user_size, spec->stack_size);
	assert_int_equal(s->stack_user_dyn_size, spec->stack_size ? spec->stack_used : 0);
	if (spec->stack_size)
		expect_fill(s->stack_user, 0xaa, spec->stack_size);
	else
		assert_null(s->stack_user);
}

static void expect_regs(const struct spec *spec)
{
	const uint64_t type = spec->format.sample_type, abi = spec->regs_abi;

	if (type & PERF_SAMPLE_REGS_USER) {
		assert_int_equal(s->regs_user_abi, abi);
		assert_int_equal(s->regs_user_nr, abi ? 4 : 0);
		expect_run(s->regs_user, 700, s->regs_user_nr);
	}
	if (type & PERF_SAMPLE_REGS_INTR) {
		assert_int_equal(s->regs_intr_abi, abi);
		assert_int_equal(s->regs_intr_nr, abi ? 2 : 0);
		expect_run(s->regs_intr, 800, s->regs_intr_nr);
	}
	if (abi == 0 || !(type & PERF_SAMPLE_REGS_USER))
		assert_null(s->regs_user);
}

static void expect(const struct spec *spec)
{
	const uint64_t type = spec->format.sample_type;

	assert_int_equal(decode_bytes(&b, &spec->format, &rec), 0);
	assert_int_equal(rec.type, PERF_RECORD_SAMPLE);
	assert_int_equal(rec.misc, PERF_RECORD_MISC_USER);
	assert_int_equal(rec.trailing, 0);
	expect_words(type);
	expect_regs(spec);
	if (type & PERF_SAMPLE_READ)
		expect_read(spec);
	else
		assert_int_equal(s->read.nr, 0);
	assert_int_equal(s->callchain_nr, type & PERF_SAMPLE_CALLCHAIN ? spec->callchain_nr : 0);
	expect_run(s->callchain, 300, s->callchain_nr);
	assert_int_equal(s->raw_size, type & PERF_SAMPLE_RAW ? spec->raw_size : 0);
	expect_fill(s->raw, 0xbb, s->raw_size);
	if (type & PERF_SAMPLE_BRANCH_STACK)
		expect_branches(spec);
	else
		assert_null(s->branches);
	if (type & PERF_SAMPLE_STACK_USER)
		expect_stack(spec);
	assert_int_equal(s->aux_size, type & PERF_SAMPLE_AUX ? spec->aux_size : 0);
	expect_fill(s->aux, 0xcc, s->aux_size);
}

/* --------------------------------------------------------------------------------------- tests */

static void each_field_alone(void **state)
{
	struct spec spec = rich;

	(void)state;
	for (uint64_t bit = 0; bit < 25; bit++) {
		spec.format.sample_type = 1ull << bit;
		build(&spec);
		expect(&spec);
	}
	spec.format.sample_type = 0;
	build(&spec);
	expect(&spec);
}

static void any_fields_together(void **state)
{
	uint64_t seed = 88172645463325252;
	struct spec spec = rich;

	(void)state;
	build(&spec);
	expect(&spec);
	for (int i = 0; i < 5000; i++) {
		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		spec.format.sample_type = seed & (PERF_SAMPLE_MAX - 1);
		spec.callchain_nr = seed >> 30 & 7;
		spec.branch_nr = 1 + (seed >> 33 & 3);
		spec.raw_size = 4 + (seed >> 36 & 7) * 8;
		spec.stack_size = (seed >> 39 & 7) * 8;
		spec.stack_used = spec.stack_size / 2;
		spec.regs_abi = (seed >> 42 & 3) % 3;
		spec.aux_size = (seed >> 44 & 7) * 8;
		spec.counters = seed >> 47 & 7;
		build(&spec);
		expect(&spec);
	}
}

static void one_event_read_inside(void **state)
{
	const struct pm_format format = { .sample_type = PERF_SAMPLE_READ | PERF_SAMPLE_RAW,
					  .read_format = PERF_FORMAT_ID };

	(void)state;
	begin(&b, PERF_RECORD_SAMPLE, 0);
	put64(&b, 41);
	put64(&b, 42);
	put32(&b, 4);
	put32(&b, 43);
	end(&b);
	assert_int_equal(decode_bytes(&b, &format, &rec), 0);
	assert_int_equal(s->read.nr, 1);
	assert_int_equal(s->read.member[0].value, 41);
	assert_int_equal(s->read.member[0].id, 42);
	assert_int_equal(s->raw_size, 4);
	assert_int_equal(*(const uint32_t *)s->raw, 43);
}

/* The same format, four layouts: only the length of the record tells them apart. */
static void branch_stacks_that_look_alike(void **state)
{
	const uint64_t behind = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |
				PERF_SAMPLE_WEIGHT | PERF_SAMPLE_AUX;
	struct spec spec = rich;

	(void)state;
	for (int variant = 0; variant < 64; variant++) {
		spec.format.sample_type = PERF_SAMPLE_BRANCH_STACK | (variant & 1 ? behind : 0);
		spec.format.branch_sample_type =
			(variant & 2 ? PERF_SAMPLE_BRANCH_HW_INDEX : 0) |
			(variant & 4 ? PERF_SAMPLE_BRANCH_COUNTERS : 0);
		spec.no_branch_stack = variant & 8;
		spec.no_branch_counters = variant & 16;
		spec.branch_nr = variant & 32 ? 2 : 0;
		build(&spec);
		expect(&spec);
	}
}

static void cut_samples_are_refused(void **state)
{
	struct spec spec = rich;

	(void)state;
	spec.format.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
	build(&spec);
	for (uint16_t size = 8; size < b.size; size++)
		assert_int_equal(decode_cut(&b, size, &spec.format, &rec), -EBADMSG);
	build(&rich);
	for (uint16_t size = 8; size < b.size; size++)
		assert_int_equal(decode_cut(&b, size, &rich.format, &rec), -EBADMSG);
}

static void fields_of_a_newer_kernel_are_left_over(void **state)
{
	(void)state;
	for (uint64_t more = 1; more < 4; more++) {
		build(&rich);
		put_run(4711, more);
		end(&b);
		assert_int_equal(decode_bytes(&b, &rich.format, &rec), 0);
		assert_int_equal(rec.trailing, 8 * more);
		expect_words(rich.format.sample_type);
		expect_branches(&rich);
	}
}

static void unknown_sample_types_are_not_guessed(void **state)
{
	struct pm_format format = { .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_MAX };

	(void)state;
	begin(&b, PERF_RECORD_SAMPLE, 0);
	put_run(1, 4);
	end(&b);
	assert_int_equal(decode_bytes(&b, &format, &rec), -ENOTSUP);
	assert_int_equal(rec.type, PERF_RECORD_SAMPLE);
	format.sample_type = PERF_SAMPLE_IP | 1ull << 63;
	assert_int_equal(decode_bytes(&b, &format, &rec), -ENOTSUP);
}

/* A length word of each variable part, made to lie. */
static void lengths_are_not_believed(void **state)
{
	const uint64_t bits[] = { PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_BRANCH_STACK,
				  PERF_SAMPLE_STACK_USER, PERF_SAMPLE_AUX };
	const uint64_t lies[] = { 65, 72, 1000, 65536, 1ull << 32, 1ull << 60, 1ull << 61,
				  1ull << 63, UINT64_MAX - 7, UINT64_MAX };
	struct spec spec = rich;

	(void)state;
	spec.format.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
	for (size_t i = 0; i < ARRAY_SIZE(bits); i++)
		for (size_t j = 0; j < ARRAY_SIZE(lies); j++) {
			spec.format.sample_type = bits[i];
			build(&spec);
			memcpy(b.bytes + 8, &lies[j], 8);
			assert_int_equal(decode_bytes(&b, &spec.format, &rec), -EBADMSG);
		}
}

static void odd_lengths_are_refused(void **state)
{
	const uint32_t raw[] = { 0, 1, 3, 5, 8, 11 };
	struct spec spec = rich;

	(void)state;
	spec.format.sample_type = PERF_SAMPLE_RAW;
	for (size_t i = 0; i < ARRAY_SIZE(raw); i++) {
		build(&spec);
		memcpy(b.bytes + 8, &raw[i], 4);
		assert_int_equal(decode_bytes(&b, &spec.format, &rec), -EBADMSG);
	}
	spec.format.sample_type = PERF_SAMPLE_STACK_USER;
	spec.stack_size = 60;
	build(&spec);
	assert_int_equal(decode_bytes(&b, &spec.format, &rec), -EBADMSG);
	spec.stack_size = 64;
	spec.stack_used = 65;
	build(&spec);
	assert_int_equal(decode_bytes(&b, &spec.format, &rec), -EBADMSG);
	spec.stack_used = 64;
	build(&spec);
	assert_int_equal(decode_bytes(&b, &spec.format, &rec), 0);
	spec.format.sample_type = PERF_SAMPLE_AUX;
	spec.aux_size = 12;
	build(&spec);
	assert_int_equal(decode_bytes(&b, &spec.format, &rec), -EBADMSG);
}

static void all_registers(void **state)
{
	const struct pm_format format = { .sample_type = PERF_SAMPLE_REGS_USER,
					  .sample_regs_user = UINT64_MAX };

	(void)state;
	begin(&b, PERF_RECORD_SAMPLE, 0);
	put64(&b, PERF_SAMPLE_REGS_ABI_32);
	put_run(900, 64);
	end(&b);
	assert_int_equal(decode_bytes(&b, &format, &rec), 0);
	assert_int_equal(s->regs_user_nr, 64);
	expect_run(s->regs_user, 900, 64);
	assert_int_equal(decode_cut(&b, (uint16_t)(b.size - 8), &format, &rec), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_field_alone),
		cmocka_unit_test(any_fields_together),
		cmocka_unit_test(one_event_read_inside),
		cmocka_unit_test(branch_stacks_that_look_alike),
		cmocka_unit_test(cut_samples_are_refused),
		cmocka_unit_test(fields_of_a_newer_kernel_are_left_over),
		cmocka_unit_test(unknown_sample_types_are_not_guessed),
		cmocka_unit_test(lengths_are_not_believed),
		cmocka_unit_test(odd_lengths_are_refused),
		cmocka_unit_test(all_registers),
	};

	return cmocka_run_group_tests_name("sample", tests, NULL, NULL);
}
