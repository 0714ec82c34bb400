/* SPDX-License-Identifier: MIT */
/* What a consumer of traced asks for, as the configuration that the sampler reads. */
#define _GNU_SOURCE
#include "../test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../perfmodes.h"
#include "../../perfmodes_event.h"
#include "../../sampler/producer/demand.h"
#include "../../sampler/service/config.h"
#include "../../wire/packet.h"

/* Field numbers of perf_event_config.proto and perf_events.proto of protos/perfetto. */
enum { BUFFER = 2, PERF = 111 };
enum { RING_PAGES = 3, READ_MS = 8, TIMEOUT_MS = 9, CLEAR_MS = 10, MEMORY_KB = 13, TIMEBASE = 15,
       CALLSTACK = 16, QUEUE_KB = 17, FOLLOWERS_OF = 19, TARGET_CPU = 20, CPUID = 22 };
enum { PERIOD = 1, FREQUENCY = 2, TRACEPOINT = 3, COUNTER = 4, RAW = 5, POLL_MS = 6, NAME = 10,
       CLOCK = 11, MODIFIERS = 12 };
enum { SCOPE = 1, KERNEL_FRAMES = 2, USER_FRAMES = 3 };
enum { PID = 1, CMDLINE = 2, NO_PID = 3, NO_CMDLINE = 4, MORE = 5, SHARDS = 6 };

static void text(struct packet *packet, unsigned int field, const char *value)
{
	packet_text(packet, field, value, strlen(value));
}

static size_t open_perf(struct packet *packet)
{
	*packet = (struct packet){ .size = 0 };
	packet_number(packet, BUFFER, 5);
	return packet_begin(packet, PERF);
}

/* The configuration that stands for it. */
static struct source_config *read_all(struct packet *packet, size_t perf, struct config *config,
				      struct demand *demand)
{
	char error[512] = "";

	packet_end(packet, perf);
	assert_int_equal(packet->error, 0);
	assert_int_equal(demand_read(packet->bytes, packet->size, demand, error, sizeof(error)), 0);
	if (config_parse(demand->json, config, error, sizeof(error)) != 0)
		fail_msg("%s: %s", demand->json, error);
	assert_int_equal(demand->buffer, 5);
	assert_int_equal(config->source_count, 1);
	assert_int_equal(config->output_count, 1);
	assert_int_equal(config->outputs[0].format, FORMAT_PERFETTO);
	assert_string_equal(config->outputs[0].path, "/dev/stdout");
	return &config->sources[0];
}

static void done(struct packet *packet, struct config *config, struct demand *demand)
{
	config_free(config);
	free(demand->json);
	free(packet->bytes);
}

static void nothing_told_is_the_cpu_clock_of_all(void **state)
{
	struct packet packet;
	struct config config;
	struct demand demand;
	const size_t perf = open_perf(&packet);
	const struct source_config *source = read_all(&packet, perf, &config, &demand);

	(void)state;
	assert_string_equal(source->event, "cpu-clock");
	assert_int_equal(source->frequency, 100);
	assert_int_equal(source->stacks, STACKS_NONE);
	assert_int_equal(source->target_count, 1);
	assert_string_equal(source->targets[0], "any");
	assert_string_equal(demand.left_out, "");
	done(&packet, &config, &demand);
}

/* All that is about the event, and about resources. */
static void each_wish_is_a_key(void **state)
{
	struct packet packet;
	struct config config;
	struct demand demand;
	size_t perf = open_perf(&packet), inner = packet_begin(&packet, TIMEBASE), deeper;
	const struct source_config *source;

	(void)state;
	packet_number(&packet, PERIOD, 3);
	deeper = packet_begin(&packet, TRACEPOINT);
	text(&packet, 1, "sched/sched_switch");
	text(&packet, 2, "prev_pid > 42");
	packet_end(&packet, deeper);
	text(&packet, NAME, "switches");
	packet_number(&packet, CLOCK, 4);
	packet_number(&packet, MODIFIERS, 2);
	packet_end(&packet, inner);
	inner = packet_begin(&packet, FOLLOWERS_OF);
	packet_number(&packet, 1, 11);
	packet_end(&packet, inner);
	packet_number(&packet, TARGET_CPU, 3);
	packet_bytes(&packet, TARGET_CPU, "\x05\x06", 2);
	packet_number(&packet, RING_PAGES, 64);
	packet_number(&packet, READ_MS, 250);
	packet_number(&packet, TIMEOUT_MS, 2500);
	packet_number(&packet, QUEUE_KB, 2048);
	packet_number(&packet, MEMORY_KB, 65536);
	packet_number(&packet, CLEAR_MS, 1000);
	source = read_all(&packet, perf, &config, &demand);
	assert_string_equal(source->event, "sched:sched_switch/name=switches/k");
	assert_string_equal(source->filter, "prev_pid > 42");
	assert_int_equal(source->period, 3);
	assert_int_equal(source->clock, SOURCE_BOOTTIME);
	assert_int_equal(source->follower_count, 1);
	assert_string_equal(source->followers[0], "instructions");
	assert_string_equal(source->cpus, "3,5,6");
	assert_int_equal(source->ring_pages, 64);
	assert_int_equal(source->read_ms, 250);
	assert_int_equal(config.timeout_ms, 2500);
	assert_int_equal(config.queue_bytes, 2048 << 10);
	assert_int_equal(config.memory_bytes, 65536 << 10);
	assert_string_equal(demand.left_out, "unwind_state_clear_period_ms");
	done(&packet, &config, &demand);
}

static void counters_that_are_polled_have_no_stacks(void **state)
{
	struct packet packet;
	struct config config;
	struct demand demand;
	size_t perf = open_perf(&packet), inner = packet_begin(&packet, TIMEBASE);
	const struct source_config *source;

	(void)state;
	packet_number(&packet, POLL_MS, 20);
	packet_number(&packet, COUNTER, 2);
	packet_end(&packet, inner);
	inner = packet_begin(&packet, CALLSTACK);
	packet_number(&packet, KERNEL_FRAMES, 1);
	packet_end(&packet, inner);
	source = read_all(&packet, perf, &config, &demand);
	assert_string_equal(source->event, "page-faults");
	assert_int_equal(source->poll_ms, 20);
	assert_int_equal(source->frequency, 0);
	assert_int_equal(source->stacks, STACKS_NONE);
	assert_false(source->kernel);
	done(&packet, &config, &demand);
}

/* Numbers alone: those processes, and nobody else is interrupted. */
static void processes_by_number_are_watched_by_themselves(void **state)
{
	struct packet packet;
	struct config config;
	struct demand demand;
	size_t perf = open_perf(&packet), stacks = packet_begin(&packet, CALLSTACK);
	size_t scope = packet_begin(&packet, SCOPE);
	const struct source_config *source;

	(void)state;
	packet_number(&packet, PID, 42);
	packet_number(&packet, PID, 43);
	packet_end(&packet, scope);
	packet_number(&packet, KERNEL_FRAMES, 1);
	packet_number(&packet, USER_FRAMES, 3);
	packet_end(&packet, stacks);
	source = read_all(&packet, perf, &config, &demand);
	assert_int_equal(source->target_count, 2);
	assert_string_equal(source->targets[0], "pid:42");
	assert_string_equal(source->targets[1], "pid:43");
	assert_false(source->children);
	assert_int_equal(source->stack_target_count, 0);
	assert_int_equal(source->stacks, STACKS_FRAMES);
	assert_true(source->kernel);
	done(&packet, &config, &demand);
}

static void a_scope_says_whose_stacks(void **state)
{
	static const char *const wanted[] = { "pid:42", "cmd:/bin/e*", "cmd:/bin/e* *", "!pid:7",
					      "!cmd:sh" };
	struct packet packet;
	struct config config;
	struct demand demand;
	size_t perf = open_perf(&packet), stacks = packet_begin(&packet, CALLSTACK);
	size_t scope = packet_begin(&packet, SCOPE);
	const struct source_config *source;

	(void)state;
	packet_number(&packet, PID, 42);
	text(&packet, CMDLINE, "/bin/e*");
	packet_number(&packet, NO_PID, 7);
	text(&packet, NO_CMDLINE, "sh");
	packet_number(&packet, MORE, 4);
	packet_number(&packet, SHARDS, 3);
	packet_end(&packet, scope);
	packet_end(&packet, stacks);
	source = read_all(&packet, perf, &config, &demand);
	assert_int_equal(source->target_count, 1);
	assert_string_equal(source->targets[0], "any");
	assert_int_equal(source->stack_target_count, 5);
	for (size_t i = 0; i < 5; i++)
		assert_string_equal(source->stack_targets[i], wanted[i]);
	assert_int_equal(source->stack_programs, 4);
	assert_int_equal(source->shards, 3);
	assert_in_range(source->shard, 0, 2);
	assert_int_equal(source->stacks, STACKS_DWARF);
	done(&packet, &config, &demand);
}

/* As before there were timebases. */
static void old_wishes_are_understood(void **state)
{
	struct packet packet;
	struct config config;
	struct demand demand;
	const size_t perf = open_perf(&packet);
	const struct source_config *source;

	(void)state;
	packet_number(&packet, 1, 1);
	packet_number(&packet, 2, 250);
	packet_number(&packet, 4, 42);
	packet_number(&packet, 12, 1);
	source = read_all(&packet, perf, &config, &demand);
	assert_int_equal(source->frequency, 250);
	assert_string_equal(source->targets[0], "pid:42");
	assert_int_equal(source->stacks, STACKS_DWARF);
	assert_true(source->kernel);
	done(&packet, &config, &demand);
}

/* Of a later Perfetto: it is told, and changes nothing else. */
static void what_is_not_known_is_left_out(void **state)
{
	struct packet packet;
	struct config config;
	struct demand demand;
	const size_t perf = open_perf(&packet);
	const struct source_config *source;

	(void)state;
	packet_number(&packet, 99, 1);
	source = read_all(&packet, perf, &config, &demand);
	assert_int_equal(source->stacks, STACKS_NONE);
	assert_string_equal(demand.left_out, "a field that is not known here");
	done(&packet, &config, &demand);
}

/* Every counter has a name that the library knows. */
static void each_counter_is_an_event(void **state)
{
	(void)state;
	for (unsigned int counter = 1; counter <= 20; counter++) {
		struct packet packet;
		struct config config;
		struct demand demand;
		struct pm_diag diag = { .size = sizeof(diag) };
		struct pm_event_spec spec = { .size = sizeof(spec) };
		size_t perf = open_perf(&packet), inner = packet_begin(&packet, TIMEBASE);
		const struct source_config *source;

		packet_number(&packet, COUNTER, counter);
		packet_end(&packet, inner);
		source = read_all(&packet, perf, &config, &demand);
		assert_int_equal(pm_event_parse(source->event, &diag, &spec), 0);
		assert_int_equal(spec.type, counter >= 10 && counter < 20 ? PM_TYPE_HARDWARE :
				 PM_TYPE_SOFTWARE);
		if (counter >= 10 && counter < 20)
			assert_int_equal(spec.config, counter - 10);
		done(&packet, &config, &demand);
	}
}

static void more_than_fits_is_refused(void **state)
{
	struct packet packet;
	struct demand demand;
	char error[256] = "";
	size_t perf = open_perf(&packet), stacks = packet_begin(&packet, CALLSTACK);
	size_t scope = packet_begin(&packet, SCOPE);

	(void)state;
	for (unsigned int i = 1; i < 1000; i++)
		packet_number(&packet, PID, i);
	packet_end(&packet, scope);
	packet_end(&packet, stacks);
	packet_end(&packet, perf);
	assert_int_equal(demand_read(packet.bytes, packet.size, &demand, error, sizeof(error)),
			 -EINVAL);
	assert_non_null(strstr(error, "more than 64 processes"));
	assert_null(demand.json);
	free(packet.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_told_is_the_cpu_clock_of_all),
		cmocka_unit_test(each_wish_is_a_key),
		cmocka_unit_test(counters_that_are_polled_have_no_stacks),
		cmocka_unit_test(processes_by_number_are_watched_by_themselves),
		cmocka_unit_test(a_scope_says_whose_stacks),
		cmocka_unit_test(old_wishes_are_understood),
		cmocka_unit_test(what_is_not_known_is_left_out),
		cmocka_unit_test(each_counter_is_an_event),
		cmocka_unit_test(more_than_fits_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
