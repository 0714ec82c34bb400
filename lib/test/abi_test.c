/* SPDX-License-Identifier: MIT */
#include "test.h"

/* Headers of the build machine must add nothing to the ABI and clash with nothing in it. */
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>

#include <string.h>
#include <sys/prctl.h>

/* The word in which only bit `n` of a bit field of `width` bits is set. */
static uint64_t bit(unsigned int n, unsigned int width)
{
	return 1ull << (IS_LITTLE_ENDIAN ? n : width - 1 - n);
}

#define IS(mask, member, all)                                                          \
	{                                                                              \
		struct perf_event_attr attr = { .member = all };                       \
										       \
		assert_true(attr.flag_bits == (mask));                                 \
	}
#define FLAG(n, name, beside, since) IS(bit(n, 64), name, 1)
#define PAIR(low, high, name, since) IS(bit(low, 64) | bit(high, 64), name, 3)

static void attr_flags_are_in_their_bits(void **state)
{
	(void)state;
	PM_ATTR_FLAGS(FLAG, PAIR)
}

static void reserved_flags_are_all_the_others(void **state)
{
	uint64_t known = 0, reserved = 0;

	(void)state;
#define KNOWN(n, name, beside, since) known |= 1ull << n;
#define KNOWN_PAIR(low, high, name, since) known |= 1ull << low | 1ull << high;
#define RESERVED(n) reserved |= 1ull << n;
	PM_ATTR_FLAGS(KNOWN, KNOWN_PAIR)
	PM_ATTR_RESERVED_FLAGS(RESERVED)
	assert_true((known & reserved) == 0 && (known | reserved) == UINT64_MAX);
}

static void wide_fields_are_in_their_bits(void **state)
{
	struct perf_event_attr attr = { .aux_start_paused = 1 };

	(void)state;
	assert_true(attr.aux_action == bit(0, 32));
	attr.aux_action = 0;
	attr.aux_pause = 1;
	assert_true(attr.aux_action == bit(1, 32));
	attr.aux_action = 0;
	attr.aux_resume = 1;
	assert_true(attr.aux_action == bit(2, 32));
}

static void page_capabilities_are_in_their_bits(void **state)
{
	struct perf_event_mmap_page page = { .capabilities = bit(2, 64) };

	(void)state;
	assert_true(page.cap_user_rdpmc && !page.cap_user_time);
	page.capabilities = bit(1, 64);
	assert_true(page.cap_bit0_is_deprecated && !page.cap_bit0);
	page.capabilities = bit(3, 64) | bit(4, 64);
	assert_true(page.cap_user_time && page.cap_user_time_zero && !page.cap_user_time_short);
	page.capabilities = bit(5, 64);
	assert_true(page.cap_user_time_short && !page.cap_user_time_zero);
}

static void branch_flags_are_in_their_bits(void **state)
{
	struct perf_branch_entry entry = { .mispred = 1 };
	uint64_t word[3];

	(void)state;
	memcpy(word, &entry, sizeof(word));
	assert_true(word[2] == bit(0, 64));
	entry = (struct perf_branch_entry){ .abort = 1 };
	memcpy(word, &entry, sizeof(word));
	assert_true(word[2] == bit(3, 64));
	if (IS_LITTLE_ENDIAN) {
		word[2] = 0x1234ull << 4 | 5ull << 20 | 2ull << 24 | 9ull << 26 | 6ull << 30;
		memcpy(&entry, word, sizeof(word));
		assert_int_equal(entry.cycles, 0x1234);
		assert_int_equal(entry.type, 5);
		assert_int_equal(entry.spec, 2);
		assert_int_equal(entry.new_type, 9);
		assert_int_equal(entry.priv, 6);
	}
}

static void values_do_not_depend_on_byte_order(void **state)
{
	union perf_sample_weight weight = { .full = 0x0003000200000001 };
	union perf_mem_data_src src = {
		.val = PERF_MEM_S(OP, STORE) | PERF_MEM_S(LVL, L3) | PERF_MEM_S(SNOOP, HITM) |
		       PERF_MEM_S(LOCK, LOCKED) | PERF_MEM_S(TLB, WK) | PERF_MEM_S(LVLNUM, RAM) |
		       PERF_MEM_S(REMOTE, REMOTE) | PERF_MEM_S(SNOOPX, PEER) |
		       PERF_MEM_S(BLK, ADDR) | PERF_MEM_S(HOPS, 3) | PERF_MEM_S(REGION, MEM1),
	};

	(void)state;
	assert_int_equal(weight.var1_dw, 1);
	assert_int_equal(weight.var2_w, 2);
	assert_int_equal(weight.var3_w, 3);
	assert_int_equal(src.mem_op, PERF_MEM_OP_STORE);
	assert_int_equal(src.mem_lvl, PERF_MEM_LVL_L3);
	assert_int_equal(src.mem_snoop, PERF_MEM_SNOOP_HITM);
	assert_int_equal(src.mem_lock, PERF_MEM_LOCK_LOCKED);
	assert_int_equal(src.mem_dtlb, PERF_MEM_TLB_WK);
	assert_int_equal(src.mem_lvl_num, PERF_MEM_LVLNUM_RAM);
	assert_int_equal(src.mem_remote, PERF_MEM_REMOTE_REMOTE);
	assert_int_equal(src.mem_snoopx, PERF_MEM_SNOOPX_PEER);
	assert_int_equal(src.mem_blk, PERF_MEM_BLK_ADDR);
	assert_int_equal(src.mem_hops, PERF_MEM_HOPS_3);
	assert_int_equal(src.mem_region, PERF_MEM_REGION_MEM1);
	assert_int_equal(src.mem_rsvd, 0);
}

static void highest_names_of_each_list(void **state)
{
	(void)state;
	assert_int_equal(PERF_COUNT_HW_MAX, 10);
	assert_int_equal(PERF_COUNT_SW_MAX, 12);
	assert_int_equal(PERF_COUNT_HW_CACHE_MAX, 7);
	assert_int_equal(PERF_SAMPLE_MAX, 1 << 25);
	assert_int_equal(PERF_FORMAT_MAX, 1 << 5);
	assert_int_equal(PERF_SAMPLE_BRANCH_MAX, 1 << 20);
	assert_int_equal(PERF_RECORD_MAX, 23);
	assert_int_equal(NR_NAMESPACES, 7);
	assert_true(PERF_CONTEXT_USER_DEFERRED == UINT64_MAX - 639);
	assert_true(PERF_CONTEXT_MAX == UINT64_MAX - 4094);
	assert_int_equal(PR_TASK_PERF_EVENTS_DISABLE, 31);
	assert_int_equal(PR_TASK_PERF_EVENTS_ENABLE, 32);
	assert_int_equal(TRAP_PERF, 6);
}

#if defined(__x86_64__) || defined(__aarch64__) || defined(__riscv)
static void ioctl_numbers(void **state)
{
	(void)state;
	assert_int_equal(PERF_EVENT_IOC_ENABLE, 0x2400);
	assert_int_equal(PERF_EVENT_IOC_DISABLE, 0x2401);
	assert_int_equal(PERF_EVENT_IOC_REFRESH, 0x2402);
	assert_int_equal(PERF_EVENT_IOC_RESET, 0x2403);
	assert_int_equal(PERF_EVENT_IOC_PERIOD, 0x40082404);
	assert_int_equal(PERF_EVENT_IOC_SET_OUTPUT, 0x2405);
	assert_int_equal(PERF_EVENT_IOC_SET_FILTER, 0x40082406);
	assert_int_equal(PERF_EVENT_IOC_ID, 0x80082407);
	assert_int_equal(PERF_EVENT_IOC_SET_BPF, 0x40042408);
	assert_int_equal(PERF_EVENT_IOC_PAUSE_OUTPUT, 0x40042409);
	assert_int_equal(PERF_EVENT_IOC_QUERY_BPF, 0xc008240a);
	assert_int_equal(PERF_EVENT_IOC_MODIFY_ATTRIBUTES, 0x4008240b);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attr_flags_are_in_their_bits),
		cmocka_unit_test(reserved_flags_are_all_the_others),
		cmocka_unit_test(wide_fields_are_in_their_bits),
		cmocka_unit_test(page_capabilities_are_in_their_bits),
		cmocka_unit_test(branch_flags_are_in_their_bits),
		cmocka_unit_test(values_do_not_depend_on_byte_order),
		cmocka_unit_test(highest_names_of_each_list),
#if defined(__x86_64__) || defined(__aarch64__) || defined(__riscv)
		cmocka_unit_test(ioctl_numbers),
#endif
	};

	return cmocka_run_group_tests_name("abi", tests, NULL, NULL);
}
