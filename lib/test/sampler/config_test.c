/* SPDX-License-Identifier: MIT */
/* The configuration of the service, its guardrails, and its pool of notes. */
#define _GNU_SOURCE
#include "../test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../sampler/service/config.h"
#include "../../sampler/service/guard.h"
#include "../../sampler/service/note.h"

#define SOURCE "\"name\": \"a\", \"event\": \"cycles\""

static void refused(const char *text, const char *why)
{
	struct config config;
	char error[512] = "";

	assert_true(config_parse(text, &config, error, sizeof(error)) < 0);
	if (!strstr(error, why))
		fail_msg("\"%s\" is not about \"%s\"", error, why);
	config_free(&config);
}

static void what_is_wrong_is_named(void **state)
{
	(void)state;
	refused("", "not JSON");
	refused("{", "not JSON");
	refused("[]", "in braces");
	refused("{}", "no source");
	refused("{ \"sources\": {} }", "list of up to 8");
	refused("{ \"sources\": [ 3 ] }", "in braces");
	refused("{ \"surces\": [] }", "unknown key \"surces\"");
	refused("{ \"sources\": [ { \"frequenzy\": 3 } ] }", "known are: name event");
	refused("{ \"sources\": [ { \"name\": \"a\" } ] }", "needs \"name\" and \"event\"");
	refused("{ \"sources\": [ { " SOURCE " } ] }", "one of \"frequency\"");
	refused("{ \"sources\": [ { " SOURCE ", \"period\": 1, \"frequency\": 1 } ] }", "one of");
	refused("{ \"sources\": [ { " SOURCE ", \"period\": \"1\" } ] }", "a number from 1");
	refused("{ \"sources\": [ { " SOURCE ", \"period\": 0 } ] }", "a number from 1");
	refused("{ \"sources\": [ { " SOURCE ", \"period\": 99999999999999999999 } ] }",
		"a number from 1");
	refused("{ \"sources\": [ { " SOURCE ", \"poll_ms\": 5, \"stacks\": \"dwarf\" } ] }",
		"have no stacks");
	refused("{ \"sources\": [ { " SOURCE ", \"period\": 1, \"stacks\": \"all\" } ] }",
		"must be \"none\" or \"frames\" or \"dwarf\"");
	refused("{ \"sources\": [ { " SOURCE ", \"period\": 1, \"kernel\": 1 } ] }", "true or");
	refused("{ \"sources\": [ { " SOURCE ", \"period\": 1, \"name\": \"\" } ] }", "not empty");
	refused("{ \"sources\": [ { " SOURCE ", \"period\": 1, \"targets\": [1] } ] }", "texts");
	refused("{ \"sources\": [ { " SOURCE ", \"period\": 1, \"targets\": [\"a\"] } ] }",
		"source \"a\": target \"a\": not any");
	refused("{ \"sources\": [ { " SOURCE ", \"period\": 1, \"targets\": [\"pid:0\"] } ] }",
		"such a number cannot be");
	refused("{ \"sources\": [ { " SOURCE ", \"period\": 1, \"targets\": [\"regex:(\"] } ] }",
		"Unmatched (");
	refused("{ \"sources\": [ { " SOURCE ", \"period\": 1, \"stack_targets\": [\"b\"] } ] }",
		"target \"b\": not any");
	refused("{ \"sources\": [ { " SOURCE ", \"period\": 1,"
		" \"stack_targets\": [\"cgroup:/a\"] } ] }", "name it in \"targets\"");
	refused("{ \"sources\": [ { " SOURCE ", \"period\": 1, \"targets\": [\"a\"],"
		" \"targets\": [\"b\"] } ] }", "twice");
	refused("{ \"sources\": [ { " SOURCE ", \"period\": 1, \"shard\": 2, \"shards\": 2 } ] }",
		"shards - 1");
	refused("{ \"sources\": [ { " SOURCE ", \"period\": 1, \"ring_pages\": 3 } ] }", "power");
	refused("{ \"sources\": [ { " SOURCE ", \"period\": 1, \"start_ms\": 5,"
		" \"stop_ms\": 5 } ] }",
		"before it starts");
	refused("{ \"sources\": [ { " SOURCE ", \"period\": 1 } ], \"outputs\": [ {} ] }",
		"needs \"path\"");
	refused("{ \"sources\": [ { " SOURCE ", \"period\": 1 } ], \"outputs\": [ "
		"{ \"path\": \"x\", \"format\": \"folded\", \"source\": \"b\" } ] }",
		"no source \"b\"");
	refused("{ \"sources\": [ { " SOURCE ", \"poll_ms\": 1 } ], \"outputs\": [ "
		"{ \"path\": \"x\", \"format\": \"folded\" } ] }", "polled go to");
}

static void everything_has_its_place(void **state)
{
	static const char text[] = "{ // comment\n"
		"\"sources\": [ { " SOURCE ", \"frequency\": 99, \"followers\": [\"b\", \"c\"],"
		" \"targets\": [\"cmd:x\", \"!uid:3\"], \"stacks\": \"dwarf\", \"kernel\": true,"
		" \"stop\": \"abrupt\", \"children\": false }, { \"name\": \"z\","
		" \"event\": \"e\", \"poll_ms\": 7 } ], /* and */ \"outputs\": [ "
		"{ \"path\": \"p\", \"format\": \"perfetto\", \"source\": \"z\" } ],"
		" \"cpu_percent\": 20, \"queue_bytes\": 4096 }";
	struct config config;
	char error[512] = "";

	(void)state;
	if (config_parse(text, &config, error, sizeof(error)) != 0)
		fail_msg("%s", error);
	assert_true(config.source_count == 2 && config.output_count == 1);
	assert_true(config.sources[0].frequency == 99 && config.sources[0].follower_count == 2);
	assert_string_equal(config.sources[0].targets[1], "!uid:3");
	assert_true(config.sources[0].stacks == STACKS_DWARF && config.sources[0].kernel);
	assert_true(config.sources[0].abrupt && !config.sources[0].children);
	/* 99 a second with 16 KiB of stack, read ten times a second: over 300 KiB. */
	assert_true(config.sources[0].ring_pages == 128 && config.sources[1].children);
	assert_true(config.outputs[0].source_at == 1);
	assert_int_equal(config.outputs[0].format, FORMAT_PERFETTO);
	assert_true(config.cpu_percent == 20 && config.queue_bytes == 4096);
	assert_true(config.timeout_ms == 1000 && config.memory_bytes == 0);
	config_free(&config);
}

static void sized(const char *keys, int64_t read_ms, int64_t ring_pages)
{
	char text[400], error[512] = "";
	struct config config;

	(void)snprintf(text, sizeof(text), "{ \"sources\": [ { " SOURCE ", %s } ] }", keys);
	if (config_parse(text, &config, error, sizeof(error)) != 0)
		fail_msg("%s: %s", keys, error);
	if (config.sources[0].read_ms != read_ms || config.sources[0].ring_pages != ring_pages)
		fail_msg("%s: each %lld ms, %lld pages", keys, (long long)config.sources[0].read_ms,
			 (long long)config.sources[0].ring_pages);
	config_free(&config);
}

/* 4999 samples of 16 KiB and 512 bytes each second: 84 MB, of which 8 MiB are two readings. */
static void rings_hold_two_readings(void **state)
{
	(void)state;
	sized("\"frequency\": 99, \"stacks\": \"dwarf\"", 100, 128);
	sized("\"frequency\": 4999, \"stacks\": \"frames\"", 100, 128);
	/* Read more often, and yet there is room for 200 ms. */
	sized("\"frequency\": 499, \"stacks\": \"dwarf\", \"read_ms\": 20", 20, 512);
	sized("\"frequency\": 999, \"stacks\": \"dwarf\"", 100, 1024);
	sized("\"frequency\": 4999, \"stacks\": \"dwarf\"", 49, 2048);
	sized("\"frequency\": 4999, \"stacks\": \"dwarf\", \"read_ms\": 100", 100, 8192);
	sized("\"frequency\": 4999, \"stacks\": \"dwarf\", \"ring_pages\": 16", 49, 16);
	refused("{ \"sources\": [ { " SOURCE ", \"frequency\": 4999, \"stacks\": \"dwarf\", "
		"\"read_ms\": 1000 } ] }", "rings of 162 MiB, more than 64");
	/* How many come with a period is not known. */
	sized("\"period\": 1, \"stacks\": \"dwarf\", \"read_ms\": 60000", 60000, 16384);
	/* Terms of the event go before keys. */
	refused("{ \"sources\": [ { \"name\": \"a\", \"event\": "
		"\"cs/freq=4999,call-graph=dwarf/\", \"period\": 9, \"read_ms\": 1000 "
		"} ] }", "rings of 162 MiB");
}

/* ---------------------------------------------------------------------------------- guardrails */

static enum guard_verdict judge(struct guard *guard, uint64_t cpu, uint64_t memory,
				enum guard_why *why)
{
	struct guard_reading reading = { cpu, 100, memory };

	return guard_judge(guard, &reading, why);
}

static void work_is_shed_step_by_step(void **state)
{
	struct guard guard = { .cpu_limit = 20 };
	enum guard_why why;
	int admitted = 0;

	(void)state;
	assert_int_equal(judge(&guard, 20, 1 << 30, &why), GUARD_SAME);
	for (unsigned int level = 1; level <= GUARD_LEVELS; level++) {
		assert_int_equal(judge(&guard, 21, 0, &why), GUARD_MORE);
		assert_true(why == GUARD_CPU && guard.level == level);
	}
	for (int i = 0; i < 640; i++)
		admitted += guard_admits(&guard);
	assert_int_equal(admitted, 10);
	for (int i = 0; i < GUARD_PATIENCE; i++)
		assert_int_equal(judge(&guard, 21, 0, &why), GUARD_SAME);
	assert_int_equal(judge(&guard, 21, 0, &why), GUARD_STOP);
}

static void work_comes_back(void **state)
{
	struct guard guard = { .cpu_limit = 20, .level = 2 };
	enum guard_why why;

	(void)state;
	assert_int_equal(judge(&guard, 15, 0, &why), GUARD_SAME);	/* not far below */
	for (int i = 1; i < GUARD_PATIENCE; i++)
		assert_int_equal(judge(&guard, 5, 0, &why), GUARD_SAME);
	assert_int_equal(judge(&guard, 5, 0, &why), GUARD_LESS);
	assert_int_equal(guard.level, 1);
	guard.level = 0;
	assert_true(guard_admits(&guard) && guard_admits(&guard));
}

/* The rate gives way first, as far as it can; stacks come back before it does. */
static void rates_before_stacks(void **state)
{
	struct guard guard = { .cpu_limit = 20, .rate_most = 5 };
	enum guard_why why;

	(void)state;
	assert_int_equal(judge(&guard, 21, 0, &why), GUARD_SLOWER);
	assert_true(guard.rate == 1 && guard.level == 0 && why == GUARD_CPU);
	assert_int_equal(judge(&guard, 99, 0, &why), GUARD_SLOWER);	/* by no more at once */
	assert_int_equal(guard.rate, 3);
	assert_int_equal(judge(&guard, 99, 0, &why), GUARD_SLOWER);
	assert_int_equal(guard.rate, 5);
	assert_int_equal(judge(&guard, 21, 0, &why), GUARD_MORE);
	assert_true(guard.rate == 5 && guard.level == 1);
	for (int i = 0; i < GUARD_PATIENCE - 1; i++)
		assert_int_equal(judge(&guard, 5, 0, &why), GUARD_SAME);
	assert_int_equal(judge(&guard, 5, 0, &why), GUARD_LESS);
	for (int i = 0; i < GUARD_PATIENCE - 1; i++)
		assert_int_equal(judge(&guard, 5, 0, &why), GUARD_SAME);
	assert_int_equal(judge(&guard, 5, 0, &why), GUARD_FASTER);
	assert_true(guard.rate == 4 && guard.level == 0);
}

/* 1.9 % is more than 1 %. */
static void limits_of_a_percent(void **state)
{
	struct guard guard = { .cpu_limit = 1 };
	struct guard_reading reading = { .cpu_ns = 19000000, .wall_ns = 1000000000 };
	enum guard_why why;

	(void)state;
	assert_int_equal(guard_judge(&guard, &reading, &why), GUARD_MORE);
	reading.cpu_ns = 9900000;
	assert_int_equal(guard_judge(&guard, &reading, &why), GUARD_SAME);
}

static void memory_sheds_everything_at_once(void **state)
{
	struct guard guard = { .memory_limit = 1000 };
	enum guard_why why;

	(void)state;
	assert_int_equal(judge(&guard, 9999, 1000, &why), GUARD_SAME);
	assert_int_equal(judge(&guard, 0, 1011, &why), GUARD_MORE);
	assert_true(why == GUARD_MEMORY && guard.level == GUARD_LEVELS);
	for (int i = 0; i < GUARD_PATIENCE; i++)
		assert_int_equal(judge(&guard, 0, 1011, &why), GUARD_SAME);
	assert_int_equal(judge(&guard, 0, 1011, &why), GUARD_STOP);
	assert_true(guard_memory() > 100000);
}

static void a_pool_has_an_end(void **state)
{
	struct note *taken[3];
	struct notes notes;

	(void)state;
	assert_int_equal(notes_init(&notes, 2), 0);
	taken[0] = note_take(&notes, NOTE_SAMPLE);
	taken[1] = note_take(&notes, NOTE_PROCESS);
	assert_true(taken[0] && taken[1] && taken[1]->kind == NOTE_PROCESS);
	assert_null(note_take(&notes, NOTE_SAMPLE));
	taken[1]->text = strdup("freed with it");
	note_give(&notes, taken[1]);
	taken[2] = note_take(&notes, NOTE_LOST);
	assert_true(taken[2] == taken[1] && !taken[2]->text);
	taken[2]->text = strdup("freed with the pool");
	notes_free(&notes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_wrong_is_named),
		cmocka_unit_test(everything_has_its_place),
		cmocka_unit_test(work_is_shed_step_by_step),
		cmocka_unit_test(work_comes_back),
		cmocka_unit_test(rates_before_stacks),
		cmocka_unit_test(limits_of_a_percent),
		cmocka_unit_test(memory_sheds_everything_at_once),
		cmocka_unit_test(a_pool_has_an_end),
		cmocka_unit_test(rings_hold_two_readings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
