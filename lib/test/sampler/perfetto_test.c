/* SPDX-License-Identifier: MIT */
/*
 * The writer of Perfetto traces. With a path it writes a trace that test_perfetto.py decodes with
 * protoc: `perfetto_test PATH MEMORY SAMPLES [EVENT FOLLOWER]`.
 */
#define _GNU_SOURCE
#include "../test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../../perfmodes.h"
#include "../../perfmodes_perfetto.h"
#include "../../sampler/perfetto/intern.h"
#include "../../wire/packet.h"

static const uint8_t build_id[] = { 0xab, 0xcd, 0xef, 0x01 };

static struct pm_perfetto *self;	/* of which processes are told whenever it begins anew */
static void on_anew(void *context);

static struct pm_perfetto *begin(int fd, size_t memory)
{
	static const char *const followers[] = { "page-faults", "context-switches" };
	struct pm_perfetto_opts opts = {
		.size = sizeof(opts), .fd = fd, .event = "cpu-clock", .frequency = 99,
		.shard = 1, .shards = 3, .followers = followers, .follower_count = 2,
		.memory = memory, .anew = on_anew, .context = &self,
	};
	struct pm_perfetto *trace = NULL;

	return pm_perfetto_open(&opts, &trace) == 0 ? trace : NULL;
}

/* Sample `number`: five frames, of which the innermost has one of 1,000 names. */
static int add(struct pm_perfetto *trace, unsigned int number)
{
	char name[300];
	struct pm_perfetto_frame frames[5] = {
		{ .size = sizeof(frames[0]), .function = name, .module = "/usr/bin/thing",
		  .address = 0x1000 + number % 1000,
		  .build_id = build_id, .build_id_size = sizeof(build_id),
		  .start = 0x400000, .end = 0x500000, .offset = 0x2000 },
		{ .function = "middle", .module = "/usr/bin/thing", .address = 0x5000,
		  .build_id = build_id, .build_id_size = sizeof(build_id),
		  .start = 0x400000, .end = 0x500000, .offset = 0x2000 },
		{ .function = "main", .module = "/lib/other.so", .address = 0x77 },
		{ .address = 0xdead0000 },
		{ .module = "[vdso]", .address = 0x10 },
	};
	uint64_t followers[2] = { number, 2 * number };
	struct pm_perfetto_sample sample = {
		.size = sizeof(sample), .time = 1000000 + number, .cpu = number % 4, .pid = 100,
		.tid = 100 + number % 7, .mode = 2, .count = 10 * number + 1,
		.followers = followers, .follower_count = 2, .frames = frames, .frame_count = 5,
		.unwind = number % 10 == 0 ? PM_PERFETTO_MEMORY : PM_PERFETTO_WHOLE,
	};

	(void)snprintf(name, sizeof(name), "%s_%03u", "inner", number % 1000);
	return pm_perfetto_add(trace, &sample);
}

/* The people of all samples but one, at the beginning and whenever numbers begin anew. */
static int tell_all(struct pm_perfetto *trace)
{
	int err = pm_perfetto_process(trace, 100, 1, 1000, "thing --with  two \xff\xc3\xa9");

	err |= pm_perfetto_thread(trace, 100, 103, "worker \xe2\x82\xac \xe2\x82\xc2\x9b");
	for (int tid = 100; tid < 107 && err == 0; tid++)
		if (tid != 103)
			err = pm_perfetto_thread(trace, 100, tid, "thing");
	return err;
}

static void on_anew(void *context)
{
	struct pm_perfetto **trace = context;

	if (*trace)
		(void)tell_all(*trace);
}

static int tell_more(struct pm_perfetto *trace)
{
	static const char arguments[] = "/bin/Text with blank\0two\nlines\0\0\xff\xc3\xa9";
	static const uint32_t inner[] = { 40, 1 };
	const struct pm_perfetto_who who = {
		.size = sizeof(who), .pid = 300, .parent = 7, .uid = -1, .arguments = arguments,
		.arguments_size = sizeof(arguments), .comm = "Text", .started = 12345678901,
		.kernel = 1, .inner_pids = inner, .inner_count = 2,
	};
	const struct pm_perfetto_who thread = {
		.size = sizeof(thread), .pid = 301, .parent = 2, .comm = "kworker", .kernel = 2,
	};
	struct pm_perfetto_frame frames[2] = {
		{ .size = sizeof(frames[0]), .function = "schedule", .module = "[kernel]",
		  .address = 0xffffffff81000010 },
		{ .function = "call", .module = "/usr/bin/thing", .address = 0x3010,
		  .start = 0x400000, .end = 0x500000, .offset = 0x2000, .bias = 0x1000,
		  .source = "/src/thing.c", .line = 42 },
	};
	const struct pm_perfetto_sample sample = { .size = sizeof(sample), .time = 9, .pid = 300,
						   .tid = 300, .mode = 1, .frames = frames,
						   .frame_count = 2 };
	int err = pm_perfetto_tell(trace, &who);

	err |= pm_perfetto_tell(trace, &thread);
	err |= pm_perfetto_rate(trace, 0, 12);
	return err | pm_perfetto_add(trace, &sample);
}

/* An event of these names instead of the one that is only named. */
static struct pm_perfetto *begin_of(int fd, char **names)
{
	struct pm_event_spec spec = { .size = sizeof(spec) }, follower = spec;
	struct pm_perfetto_opts opts = { .size = sizeof(opts), .fd = fd, .period = 7,
					 .spec = &spec, .follower_specs = &follower,
					 .follower_count = 1, .clock = 1 + CLOCK_MONOTONIC_RAW };
	struct pm_perfetto *trace = NULL;

	if (pm_event_parse(names[0], NULL, &spec) < 0 ||
	    pm_event_parse(names[1], NULL, &follower) < 0)
		return NULL;
	spec.name = names[0];
	spec.filter = spec.type == PM_TYPE_TRACEPOINT ? "prev_pid > 1" : NULL;
	return pm_perfetto_open(&opts, &trace) == 0 ? trace : NULL;
}

static int write_trace(const char *path, size_t memory, unsigned int samples, char **names)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0644), err = 0;
	struct pm_perfetto *trace = names ? begin_of(fd, names) : begin(fd, memory);
	struct pm_perfetto_sample bare = { .size = sizeof(bare), .time = 5, .pid = 200, .tid = 201,
					   .mode = 1, .skip = PM_PERFETTO_SKIP_QUEUE };

	if (!trace)
		return 1;
	self = trace;
	err |= tell_all(trace);
	for (unsigned int i = 0; i < samples; i++)
		err |= add(trace, i);
	err |= pm_perfetto_add(trace, &bare);
	bare.skip = PM_PERFETTO_SKIP_NONE;
	bare.unwind = PM_PERFETTO_UNKNOWN;
	err |= pm_perfetto_add(trace, &bare);
	err |= pm_perfetto_lost(trace, 7, 3, 42);
	err |= pm_perfetto_guardrail(trace, 8);
	err |= tell_more(trace);
	self = NULL;
	err |= pm_perfetto_destroy(trace);
	return err != 0;
}

/* Whether the functions of two frames, which begin so far apart, are in a trace. */
static bool has_both(const void *frames)
{
	FILE *file = tmpfile();
	struct pm_perfetto *trace = begin(fileno(file), 1 << 20);
	struct pm_perfetto_sample sample = { .size = sizeof(sample), .pid = 7, .tid = 7,
					     .frames = frames, .frame_count = 2 };
	char bytes[4096];
	size_t size;
	int err = pm_perfetto_add(trace, &sample);

	assert_int_equal(pm_perfetto_destroy(trace), 0);
	rewind(file);
	size = fread(bytes, 1, sizeof(bytes), file);
	(void)fclose(file);
	return err == 0 && memmem(bytes, size, "the_inner", 9) &&
		memmem(bytes, size, "the_outer", 9);
}

/* Programs of a later release, of an earlier one, and of none: the first frame tells the size. */
static void frames_of_other_releases(void **state)
{
	const size_t small = offsetof(struct pm_perfetto_frame, start);
	struct {
		struct pm_perfetto_frame frame;
		uint64_t later;
	} newer[2] = { { .later = 1,
			 .frame = { .size = sizeof(newer[0]), .function = "the_inner" } },
		       { .later = 2, .frame = { .function = "the_outer" } } };
	_Alignas(struct pm_perfetto_frame) char older[2 * sizeof(newer[0])];

	(void)state;
	assert_true(has_both(newer));
	newer[0].frame.size = small;
	memcpy(older, &newer[0].frame, small);
	memcpy(older + small, &newer[1].frame, small);
	assert_true(has_both(older));
	newer[0].frame.size = 0;
	assert_false(has_both(newer));
}

/* ---------------------------------------------------------------------------------- the pieces */

static void numbers_and_lengths(void **state)
{
	static const unsigned char want[] = { 0x08, 0x96, 0x01, 0x12, 0x02, 'h', 'i', 0x1a, 0x82,
					      0x80, 0x80, 0x00, 0x08, 0x00 };
	struct packet packet = { .bytes = NULL };
	size_t mark;

	(void)state;
	packet_number(&packet, 1, 150);
	packet_bytes(&packet, 2, "hi", 2);
	mark = packet_begin(&packet, 3);
	packet_number(&packet, 1, 0);
	packet_end(&packet, mark);
	assert_int_equal(packet.size, sizeof(want));
	assert_memory_equal(packet.bytes, want, sizeof(want));
	packet_bytes(&packet, 2, want, PACKET_MAX);
	assert_int_equal(packet.error, -E2BIG);
	free(packet.bytes);
}

static void numbers_of_bytes(void **state)
{
	struct intern intern;
	uint64_t iid;
	bool fresh;
	int err = 0;

	(void)state;
	assert_int_equal(intern_init(&intern, 4096), 0);
	assert_int_equal(intern_find(&intern, INTERN_FUNCTION, "a", 1, &iid, &fresh), 0);
	assert_true(iid == 1 && fresh);
	assert_int_equal(intern_find(&intern, INTERN_FUNCTION, "ab", 2, &iid, &fresh), 0);
	assert_true(iid == 2 && fresh);
	assert_int_equal(intern_find(&intern, INTERN_PATH, "a", 1, &iid, &fresh), 0);
	assert_true(iid == 1 && fresh);
	assert_int_equal(intern_find(&intern, INTERN_FUNCTION, "a", 1, &iid, &fresh), 0);
	assert_true(iid == 1 && !fresh);
	for (uint64_t i = 0; err == 0; i++)
		err = intern_find(&intern, INTERN_FRAME, &i, sizeof(i), &iid, &fresh);
	assert_int_equal(err, -ENOSPC);
	assert_true(intern_is_full(&intern));
	intern_clear(&intern);
	assert_false(intern_is_full(&intern));
	assert_int_equal(intern_find(&intern, INTERN_FUNCTION, "a", 1, &iid, &fresh), 0);
	assert_true(iid == 1 && fresh);
	intern_free(&intern);
}

/* ----------------------------------------------------------------------------------- the trace */

static void options_that_make_no_sense(void **state)
{
	struct pm_perfetto_opts opts = { .size = sizeof(opts), .fd = -1, .clock = 100 };
	struct pm_perfetto *trace = NULL;

	(void)state;
	assert_int_equal(pm_perfetto_open(&opts, &trace), -EINVAL);
	opts.clock = 0;
	opts.follower_count = 33;
	assert_int_equal(pm_perfetto_open(&opts, &trace), -EINVAL);
	opts.follower_count = 0;
	assert_int_equal(pm_perfetto_open(&opts, &trace), 0);
	assert_int_equal(pm_perfetto_destroy(trace), -EBADF);
	assert_int_equal(pm_perfetto_destroy(NULL), 0);
}

/* Whole top-level fields from the beginning to the end. Returns how many; -1 when one is cut. */
static int count_packets(const unsigned char *at, size_t size)
{
	size_t used = 0;
	int count = 0;

	while (used + 5 <= size) {
		if (at[used] != 0x0a)
			return -1;
		used += 5 + (at[used + 1] & 127u) + ((at[used + 2] & 127u) << 7) +
			((at[used + 3] & 127u) << 14) + ((at[used + 4] & 127u) << 21);
		count++;
	}
	return used == size ? count : -1;
}

/* RLIMIT_FSIZE stands for a full disk: a write is cut short, and the next one fails. */
static void a_file_that_is_full_ends_with_a_whole_packet(void **state)
{
	char path[] = "/tmp/perfmodes-trace-XXXXXX";
	static unsigned char bytes[400000];
	struct rlimit old, limit;
	int fd = mkstemp(path), err = 0, packets;
	struct pm_perfetto *trace;
	ssize_t size;

	(void)state;
	assert_true(fd >= 0 && unlink(path) == 0 && getrlimit(RLIMIT_FSIZE, &old) == 0);
	signal(SIGXFSZ, SIG_IGN);
	limit = (struct rlimit){ 300000, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	trace = begin(fd, 0);
	assert_non_null(trace);
	for (unsigned int i = 0; err == 0; i++)
		err = add(trace, i);
	assert_int_equal(err, -EFBIG);
	assert_int_equal(add(trace, 1), -EFBIG);
	assert_int_equal(pm_perfetto_lost(trace, 1, 1, 1), -EFBIG);
	assert_int_equal(pm_perfetto_destroy(trace), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	size = pread(fd, bytes, sizeof(bytes), 0);
	assert_true(size > 100000 && size < 300000);
	packets = count_packets(bytes, (size_t)size);
	assert_true(packets > 1000);
	close(fd);
}

/* A stack that no table holds: the sample stays, and says that its stack is missing. */
static void a_stack_larger_than_the_table(void **state)
{
	int fd = open("/dev/null", O_WRONLY);
	struct pm_perfetto *trace = begin(fd, 256);

	(void)state;
	assert_non_null(trace);
	for (unsigned int i = 0; i < 20; i++)
		assert_int_equal(add(trace, i), 0);
	assert_int_equal(pm_perfetto_destroy(trace), 0);
	close(fd);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_of_other_releases),
		cmocka_unit_test(numbers_and_lengths),
		cmocka_unit_test(numbers_of_bytes),
		cmocka_unit_test(options_that_make_no_sense),
		cmocka_unit_test(a_file_that_is_full_ends_with_a_whole_packet),
		cmocka_unit_test(a_stack_larger_than_the_table),
	};

	if (argc == 4 || argc == 6)
		return write_trace(argv[1], strtoul(argv[2], NULL, 0),
				   (unsigned int)strtoul(argv[3], NULL, 0),
				   argc == 6 ? argv + 4 : NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
