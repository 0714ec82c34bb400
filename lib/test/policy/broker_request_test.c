/* SPDX-License-Identifier: MIT */
/* What a broker takes from strangers, and what of it they may have. */
#include "../test.h"

#include <errno.h>
#include <string.h>

#include "../../policy/broker/broker.h"

static const struct perf_event_attr harmless = {
	.type = PERF_TYPE_SOFTWARE, .size = PERF_ATTR_SIZE_VER8,
	.config = PERF_COUNT_SW_PAGE_FAULTS, .sample_period = 1,
	.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN,
	.exclude_kernel = 1, .exclude_hv = 1, .exclude_callchain_kernel = 1, .inherit = 1,
};

static struct broker_request request_of(const struct perf_event_attr *attr, int tid)
{
	struct broker_request request = {
		.magic = BROKER_MAGIC, .version = BROKER_VERSION, .tid = tid, .cpu = -1,
		.attr_size = attr->size,
	};

	memcpy(request.attr, attr, attr->size < sizeof(*attr) ? attr->size : sizeof(*attr));
	return request;
}

#define SIZE_OF(request) (offsetof(struct broker_request, attr) + (request).attr_size)

static int parse(const struct broker_request *request, size_t size)
{
	struct perf_event_attr attr;
	int tid, cpu;

	return pm_broker_parse(request, size, &tid, &cpu, &attr);
}

static void a_packet_is_taken_apart(void **state)
{
	struct broker_request request = request_of(&harmless, 77);
	struct perf_event_attr attr;
	int tid = 0, cpu = 0;

	(void)state;
	assert_int_equal(pm_broker_parse(&request, SIZE_OF(request), &tid, &cpu, &attr), 0);
	assert_true(tid == 77 && cpu == -1);
	assert_memory_equal(&attr, &harmless, sizeof(attr));
}

static void packets_that_are_refused(void **state)
{
	struct broker_request good = request_of(&harmless, 77), bad;

	(void)state;
#define BAD(change) do { bad = good; change; \
	assert_int_equal(parse(&bad, SIZE_OF(bad)), -EBADMSG); } while (0)
	BAD(bad.magic++);
	BAD(bad.version = 2);
	BAD(bad.tid = 0);
	BAD(bad.tid = -1);
	BAD(bad.tid = -1; bad.cpu = -1);
	BAD(bad.tid = -2; bad.cpu = 0);
	BAD(bad.cpu = -2);
	BAD(bad.cpu = 1 << 20);
	BAD(bad.zero = 1);
	BAD(bad.attr_size = 56);
	BAD(bad.attr_size = 68);
	bad = good;
	bad.attr_size = UINT32_MAX;
	assert_int_equal(parse(&bad, sizeof(bad)), -EBADMSG);
	assert_int_equal(parse(&good, SIZE_OF(good) - 1), -EBADMSG);
	assert_int_equal(parse(&good, 3), -EBADMSG);
	/* Bytes of a later kernel: zeros are harmless, anything else is not understood. */
	bad = good;
	bad.attr_size = BROKER_ATTR_MAX;
	assert_int_equal(parse(&bad, SIZE_OF(bad)), 0);
	bad.attr[BROKER_ATTR_MAX - 1] = 1;
	assert_int_equal(parse(&bad, SIZE_OF(bad)), -E2BIG);
}

static int permit(const struct perf_event_attr *attr, unsigned int allow)
{
	struct perf_event_attr kept;
	int err = pm_broker_permit(attr, allow, &kept);

	if (err == 0)
		assert_memory_equal(&kept, attr, sizeof(kept));
	return err;
}

#define ALL (PM_BROKER_KERNEL | PM_BROKER_ANY_PMU | PM_BROKER_OTHERS | PM_BROKER_SYSTEM | \
	     PM_BROKER_STACKS)

static void what_strangers_may_have(void **state)
{
	struct perf_event_attr attr;

	(void)state;
	assert_int_equal(permit(&harmless, 0), 0);
#define WITH(change, allow, want) do { attr = harmless; change; \
	assert_int_equal(permit(&attr, allow), want); } while (0)
	WITH(attr.exclude_kernel = 0, 0, -EACCES);
	WITH(attr.exclude_kernel = 0, PM_BROKER_KERNEL, 0);
	WITH(attr.exclude_hv = 0, 0, -EACCES);
	WITH(attr.exclude_callchain_kernel = 0, 0, -EACCES);
	WITH(attr.type = 77, 0, -EACCES);
	WITH(attr.type = 77, PM_BROKER_ANY_PMU, 0);
	WITH(attr.type = PERF_TYPE_TRACEPOINT, PM_BROKER_KERNEL, -EACCES);
	WITH(attr.sample_type |= PERF_SAMPLE_PHYS_ADDR, 3, -EPERM);
	WITH(attr.sample_type |= PERF_SAMPLE_REGS_INTR, 3, -EPERM);
	WITH(attr.sample_type |= PERF_SAMPLE_RAW, 3, -EPERM);
	WITH(attr.sample_type |= PERF_SAMPLE_STACK_USER, 3, -EPERM);
	WITH(attr.read_format |= PERF_FORMAT_GROUP, 3, -EPERM);
	WITH(attr.pinned = 1, 3, -EPERM);
	WITH(attr.exclusive = 1, 3, -EPERM);
	WITH(attr.sigtrap = 1, 3, -EPERM);
	WITH(attr.text_poke = 1, 3, -EPERM);
	WITH(attr.ksymbol = 1, 3, -EPERM);
	WITH(attr.enable_on_exec = 1, 3, -EPERM);
	WITH(attr.aux_output = 1, 3, -EPERM);
	WITH(attr.sample_max_stack = 2000, 3, -EPERM);
	WITH(attr.precise_ip = 1, 3, -EPERM);
	WITH(attr.comm_exec = 1, 3, -EPERM);
	WITH(attr.context_switch = 1, 3, -EPERM);
	WITH(attr.context_switch = 1, PM_BROKER_OTHERS, 0);
	WITH(attr.build_id = 1, PM_BROKER_SYSTEM, 0);
	WITH(attr.ksymbol = 1, ALL, -EPERM);
	WITH(attr.sample_type |= PERF_SAMPLE_STACK_USER, ALL & ~PM_BROKER_STACKS, -EPERM);
	WITH(attr.sample_type |= PERF_SAMPLE_STACK_USER, PM_BROKER_STACKS, 0);
	WITH(attr.sample_type |= PERF_SAMPLE_RAW, ALL, -EPERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_packet_is_taken_apart),
		cmocka_unit_test(packets_that_are_refused),
		cmocka_unit_test(what_strangers_may_have),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
