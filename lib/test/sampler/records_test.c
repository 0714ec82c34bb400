/* SPDX-License-Identifier: MIT */
/* Records that no machine of the tests gives, to the listener of a sampler. */
#include "../test.h"

#include <unistd.h>

#include "../../sampler/watch/records.h"
#include "../builder.h"
#include "no_kernel.h"

#define TIME 1000000
#define COOKIE 77
#define BUILT (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
	       PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)

static struct {
	unsigned int samples, sides;
	struct pm_sampled sample;
	struct pm_side side;
	uint64_t chain[2];
} heard;

static void on_sample(void *context, const struct pm_sampled *sample)
{
	(void)context;
	heard.samples++;
	heard.sample = *sample;
}

static void on_side(void *context, const struct pm_side *side)
{
	(void)context;
	heard.sides++;
	heard.side = *side;
	for (size_t i = 0; i < side->chain_count && i < ARRAY_SIZE(heard.chain); i++)
		heard.chain[i] = side->chain[i];
}

static struct session_event opened = { .fd = -1, .cpu = 0, .tid = -1 };

static int setup(void **state)
{
	struct pm_sampler *sampler = calloc(1, sizeof(*sampler));

	assert_non_null(sampler);
	set_up(sampler, 0);
	assert_int_equal(sampler->plan->events[0].attr.sample_type, BUILT);
	sampler->open = (struct event_list){ .list = &opened, .count = 1, .plan = sampler->plan };
	sampler->listener = (struct pm_sampler_listener){
		.size = sizeof(sampler->listener), .sample = on_sample, .side = on_side,
	};
	memset(&heard, 0, sizeof(heard));
	*state = sampler;
	return 0;
}

static int teardown(void **state)
{
	struct pm_sampler *sampler = *state;

	pm_ids_free(&sampler->ids);
	pm_processes_free(&sampler->processes);
	pm_plan_destroy(sampler->plan);
	free(sampler);
	return 0;
}

static void deliver(struct pm_sampler *sampler, struct builder *b)
{
	const struct session_ring ring = { .cpu = 0, .time = TIME };

	end(b);
	pm_watch_deliver(sampler, &ring, (const void *)b->bytes);
}

static void deliver_sample(struct pm_sampler *sampler, uint16_t misc)
{
	static struct builder b;

	begin(&b, PERF_RECORD_SAMPLE, misc);
	put64(&b, 5);			/* identifier */
	put64(&b, 0x1234);		/* ip */
	put32(&b, (uint32_t)getpid());
	put32(&b, (uint32_t)getpid());
	put64(&b, TIME);
	put32(&b, 3);			/* cpu */
	put32(&b, 0);
	put64(&b, 1);			/* period */
	deliver(sampler, &b);
}

/* Only a PMU with precise events gives the one bit, and no mode is that bit. */
static void a_sample_tells_mode_and_precision(void **state)
{
	deliver_sample(*state, PERF_RECORD_MISC_USER);
	assert_int_equal(heard.samples, 1);
	assert_false(heard.sample.exact);
	assert_int_equal(heard.sample.mode, PERF_RECORD_MISC_USER);
	deliver_sample(*state, PERF_RECORD_MISC_KERNEL | PERF_RECORD_MISC_EXACT_IP);
	assert_int_equal(heard.samples, 2);
	assert_true(heard.sample.exact);
	assert_int_equal(heard.sample.mode, PERF_RECORD_MISC_KERNEL);
	assert_int_equal(heard.sample.ip, 0x1234);
	assert_int_equal(heard.sample.cpu, 3);
	assert_int_equal(heard.sample.period, 1);
}

/* Linux 6.19 has them, or a later one. */
static void a_deferred_chain_is_told(void **state)
{
	static struct builder b;

	begin(&b, PERF_RECORD_CALLCHAIN_DEFERRED, PERF_RECORD_MISC_USER);
	put64(&b, COOKIE);
	put64(&b, 2);
	put64(&b, 11);
	put64(&b, 22);
	put32(&b, (uint32_t)getpid());
	put32(&b, (uint32_t)getpid());
	put64(&b, TIME);
	put32(&b, 0);			/* cpu */
	put32(&b, 0);
	put64(&b, 5);			/* identifier */
	deliver(*state, &b);
	assert_int_equal(heard.sides, 1);
	assert_int_equal(heard.side.kind, PM_SIDE_CHAIN);
	assert_int_equal(heard.side.id, COOKIE);
	assert_int_equal(heard.side.chain_count, 2);
	assert_int_equal(heard.chain[0], 11);
	assert_int_equal(heard.chain[1], 22);
	assert_int_equal(heard.side.process->pid, getpid());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_sample_tells_mode_and_precision, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_deferred_chain_is_told, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
