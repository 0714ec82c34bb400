/* SPDX-License-Identifier: MIT */
/* Clock maps: with simulated clocks, whose true times are known, and with this kernel's. */
#include "../test.h"
#include "../fake_files.h"
#include "../fake_kernel.h"

#include <sched.h>
#include <time.h>

#include "../../policy/count/clock_map.h"

#define S 1000000000ull
#define MS 1000000ull

static int setup(void **state)
{
	(void)state;
	(void)fake_kernel_setup(NULL);
	fake_kernel.on = false;
	return 0;
}

/* ------------------------------------------------------------------------ clocks of our own */

static uint64_t seed = 88172645463325252u;

static uint64_t below(uint64_t bound)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % bound;
}

/* time = stamp + offset + drift * stamp, and a slow swing of at most 10 ppm */
struct truth {
	int64_t offset;
	double drift;
};

static uint64_t true_time(const struct truth *truth, uint64_t stamp)
{
	double s = (double)stamp / 1e9, swing = 0;
	uint64_t phase = stamp / (10 * S) % 4;

	/* Speeds of +10, -10, -10 and +10 ppm in turn, 10 s each. */
	double into = s - (double)(stamp / (10 * S)) * 10;

	swing = phase == 0 ? into : phase == 1 ? 10 - into : phase == 2 ? -into : into - 10;
	return stamp + (uint64_t)truth->offset + (uint64_t)(int64_t)(truth->drift * (double)stamp) +
		(uint64_t)(int64_t)(swing * 1e4);
}

static void measure(struct clock_cpu *cpu, const struct truth *truth, uint64_t stamp)
{
	struct pm_clock_bracket caught[4];

	for (size_t i = 0; i < 4; i++) {
		uint64_t at = stamp + i * 5000, time = true_time(truth, at);

		caught[i] = (struct pm_clock_bracket){ time - below(2000), at,
						       time + below(2000) };
	}
	assert_int_equal(pm_clock_learn(cpu, caught, 4), 0);
}

static struct pm_clock_map one_cpu(struct clock_cpu *cpu)
{
	return (struct pm_clock_map){ .source = PM_CLOCK_RECORDS, .cpus = cpu, .cpu_count = 1,
				      .fd = -1 };
}

static uint64_t gap(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static void check_at(const struct pm_clock_map *map, const struct truth *truth, uint64_t stamp,
		     uint64_t error_most)
{
	struct pm_instant time = { .size = sizeof(time) }, back = time;

	assert_int_equal(pm_clock_map_time(map, 0, stamp, &time), 0);
	assert_true(gap(time.ns, true_time(truth, stamp)) <= time.error);
	assert_true(time.error <= error_most);
	/* A bound that everything satisfies is none. */
	assert_true(gap(time.ns + 2 * time.error + 1, true_time(truth, stamp)) > time.error);
	assert_int_equal(pm_clock_map_stamp(map, 0, true_time(truth, stamp), &back), 0);
	assert_true(gap(back.ns, stamp) <= back.error);
	assert_true(back.error <= error_most + error_most / 100 + 10);
}

static void truth_lies_within(void **state)
{
	(void)state;
	for (int i = 0; i < 500; i++) {
		const struct truth truth = {
			.offset = (int64_t)below(1u << 30) * 1000000 - (int64_t)(1ull << 49),
			.drift = ((double)below(980) - 490) * 1e-6,
		};
		uint64_t stamp = (uint64_t)1 << 50 | below(S);
		struct clock_cpu cpu = { .points = 0 };
		struct pm_clock_map map = one_cpu(&cpu);

		measure(&cpu, &truth, stamp);
		check_at(&map, &truth, stamp + S / 2, 310000);
		check_at(&map, &truth, stamp - S / 2, 310000);
		for (int update = 0; update < 5; update++) {
			stamp += S / 2 + below(S);
			measure(&cpu, &truth, stamp);
			for (int j = 0; j < 20; j++)
				check_at(&map, &truth, stamp - S / 2 + below(S), 22000);
		}
	}
}

static void drift_is_told(void **state)
{
	const struct truth truth = { .offset = -77, .drift = 123e-6 };
	struct pm_clock_state known = { .size = sizeof(known) };
	struct clock_cpu cpu = { .points = 0 };
	struct pm_clock_map map = one_cpu(&cpu);

	(void)state;
	assert_int_equal(pm_clock_map_state(&map, 0, &known), -ENOENT);
	measure(&cpu, &truth, 100 * S);
	assert_int_equal(pm_clock_map_state(&map, 0, &known), 0);
	assert_false(known.drift_known);
	measure(&cpu, &truth, 102 * S);
	assert_int_equal(pm_clock_map_state(&map, 0, &known), 0);
	assert_true(known.drift_known);
	assert_true(known.drift > 110e-6 && known.drift < 136e-6);
	assert_true(known.half_width <= 2000 && known.jumps == 0);
	assert_int_equal(known.source, PM_CLOCK_RECORDS);
}

/* What the header says of an update each second, by measurements of 5 us more or less. */
static void an_update_each_second(void **state)
{
	const uint64_t half = 5000, then = 2 * half + 10000, late = 3 * half + 20000;
	struct clock_cpu cpu = { .points = 0 };
	struct pm_clock_map map = one_cpu(&cpu);
	struct pm_instant time = { .size = sizeof(time) };

	(void)state;
	for (uint64_t at = S; at <= 3 * S; at += S) {
		const struct pm_clock_bracket caught = { at - half, at, at + half };

		assert_int_equal(pm_clock_learn(&cpu, &caught, 1), 0);
	}
	for (uint64_t stamp = 2 * S; stamp <= 4 * S; stamp += 50 * MS) {
		assert_int_equal(pm_clock_map_time(&map, 0, stamp, &time), 0);
		assert_true(time.error <= 2 + (stamp <= 3 * S ? then : late));
	}
	assert_true(time.error > 20000);
}

/* NTP changes its mind by 15 ppm, right after a perfect measurement. */
static void a_drift_that_changes(void **state)
{
	struct clock_cpu cpu = { .points = 0 };
	struct pm_clock_map map = one_cpu(&cpu);
	const struct pm_clock_bracket first = { S, S, S }, second = { 2 * S, 2 * S, 2 * S };
	struct pm_instant time = { .size = sizeof(time) };

	(void)state;
	assert_int_equal(pm_clock_learn(&cpu, &first, 1), 0);
	assert_int_equal(pm_clock_learn(&cpu, &second, 1), 0);
	assert_int_equal(pm_clock_map_time(&map, 0, 3 * S, &time), 0);
	assert_true(gap(time.ns, 3 * S + 15000) <= time.error);
	assert_in_range(time.error, 15000, 25000);
	/* An hour later nobody knows better than 72 ms. */
	assert_int_equal(pm_clock_map_time(&map, 0, 3602 * S, &time), 0);
	assert_in_range(time.error, 70 * MS, 75 * MS);
}

static void a_jump_is_noticed(void **state)
{
	struct truth truth = { .offset = 5 };
	struct clock_cpu cpu = { .points = 0 };
	struct pm_clock_map map = one_cpu(&cpu);
	struct pm_clock_bracket after = { 23 * S, 20 * S, 23 * S + 100 };

	(void)state;
	measure(&cpu, &truth, 10 * S);
	measure(&cpu, &truth, 12 * S);
	assert_int_equal(pm_clock_learn(&cpu, &after, 1), 1);
	truth.offset = 3 * S;
	assert_int_equal(cpu.points, 1);
	assert_int_equal(cpu.jumps, 1);
	check_at(&map, &truth, 20 * S, 200);
}

static void nothing_caught(void **state)
{
	struct clock_cpu cpu = { .points = 0 };
	const struct pm_clock_bracket backward = { 20, 7, 10 };

	(void)state;
	assert_int_equal(pm_clock_learn(&cpu, NULL, 0), -EAGAIN);
	assert_int_equal(pm_clock_learn(&cpu, &backward, 1), -EAGAIN);
	assert_int_equal(cpu.points, 0);
}

/* Two points 1 ms apart would make a slope of noise. */
static void near_points_make_no_slope(void **state)
{
	struct clock_cpu cpu = { .points = 0 };
	const struct pm_clock_bracket wide = { S, S, S + 1000 }, tight = { S + MS, S + MS - 400,
									  S + MS + 10 };

	(void)state;
	assert_int_equal(pm_clock_learn(&cpu, &wide, 1), 0);
	assert_int_equal(pm_clock_learn(&cpu, &tight, 1), 0);
	assert_int_equal(cpu.points, 1);
	assert_int_equal(cpu.last.half_width, 5);
	assert_int_equal(pm_clock_learn(&cpu, &wide, 1), 0);
	assert_int_equal(cpu.last.half_width, 5);
}

static void each_cpu_its_own(void **state)
{
	struct clock_cpu cpus[3] = { { .points = 0 } };
	struct pm_clock_map map = { .source = PM_CLOCK_RECORDS, .cpus = cpus, .cpu_count = 3 };
	const struct pm_clock_bracket first = { S, S, S }, third = { S + 900, S, S + 900 };
	struct pm_instant one = { .size = sizeof(one) }, any = one;

	(void)state;
	assert_int_equal(pm_clock_map_time(&map, PM_CLOCK_ANY_CPU, S, &any), -ENOENT);
	assert_int_equal(pm_clock_learn(&cpus[0], &first, 1), 0);
	assert_int_equal(pm_clock_learn(&cpus[2], &third, 1), 0);
	assert_int_equal(pm_clock_map_time(&map, 0, S, &one), 0);
	assert_int_equal(one.ns, S);
	assert_int_equal(pm_clock_map_time(&map, 2, S, &one), 0);
	assert_int_equal(one.ns, S + 900);
	assert_int_equal(pm_clock_map_time(&map, 1, S, &one), -ENOENT);
	assert_int_equal(pm_clock_map_time(&map, 3, S, &one), -ENOENT);
	assert_int_equal(pm_clock_map_time(&map, PM_CLOCK_ANY_CPU, S, &any), 0);
	assert_true(any.ns - any.error <= S && any.ns + any.error >= S + 900);
	assert_in_range(any.error, 450, 455);
}

/* -------------------------------------------------------------------------- the user page */

static struct perf_event_mmap_page page;

/* A counter of 250 MHz that follows CLOCK_MONOTONIC. */
static bool slow_counter(uint64_t *ret)
{
	uint64_t ns;

	if (pm_clock_ns(CLOCK_MONOTONIC, &ns) < 0)
		return false;
	*ret = ns / 4;
	return true;
}

static void from_the_page(void **state)
{
	const struct pm_registers machine = { NULL, slow_counter };
	struct clock_cpu cpu = { .points = 0 };
	struct pm_clock_map map = { .records = PM_CLOCK_DEFAULT, .wanted = CLOCK_MONOTONIC,
				    .source = PM_CLOCK_PAGE, .cpus = &cpu, .cpu_count = 1,
				    .registers = &machine, .fd = -1, .pid = getpid(),
				    .ring.base = &page };
	struct pm_instant time = { .size = sizeof(time) };
	uint64_t now;

	(void)state;
	page = (struct perf_event_mmap_page){ .lock = 4, .time_mult = 4 << 10, .time_shift = 10,
					      .time_zero = 7000 };
	assert_int_equal(pm_clock_map_update(&map, NULL), -EAGAIN);
	page.cap_bit0_is_deprecated = page.cap_user_time = page.cap_user_time_zero = 1;
	assert_int_equal(pm_clock_map_update(&map, NULL), 0);
	assert_int_equal(pm_clock_ns(CLOCK_MONOTONIC, &now), 0);
	assert_int_equal(pm_clock_map_time(&map, 5, now + 7000, &time), 0);
	assert_true(gap(time.ns, now) <= time.error + 4);
	assert_true(time.error < MS);
	/* As in a forked child, where the page is not. */
	map.pid = getppid();
	assert_int_equal(pm_clock_map_update(&map, NULL), -ECHILD);
	assert_int_equal(pm_clock_map_time(&map, 5, now + 7000, &time), 0);
}

/* --------------------------------------------------------------------------- this kernel */

static struct pm_clock_map *must_make(int records, int wanted)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_clock_map *map;
	int err = pm_clock_map_make(records, wanted, NULL, &diag, &map);

	if (err < 0) {
		assert_true(diag.text[0] != '\0');
		if (diag.cause != PM_CAUSE_SILENCE)
			skip();
	}
	assert_int_equal(err, 0);
	return map;
}

#define SAMPLE (PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU)

static int open_faults(struct pm_ring *ring)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS, .sample_period = 1,
		.sample_type = SAMPLE, .exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int fd = pm_open(&attr, 0, -1, -1, 0);

	assert_true(fd >= 0);
	assert_int_equal(pm_ring_open(fd, 8, PROT_READ | PROT_WRITE, ring), 0);
	return fd;
}

static volatile char *fresh_page(void)
{
	void *area = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(area != MAP_FAILED);
	return area;
}

/* Causes a fault, and holds its converted stamp against readings around it. */
static void check_fault(const struct pm_clock_map *map, struct pm_ring *ring, uint32_t cpu)
{
	const struct pm_format format = { .sample_type = SAMPLE };
	const struct perf_event_header *header;
	volatile char *area = fresh_page();
	struct pm_record record;
	struct pm_instant time = { .size = sizeof(time) };
	uint64_t before, after;

	(void)pm_ring_skip_all(ring);
	assert_int_equal(pm_clock_ns(CLOCK_MONOTONIC, &before), 0);
	*area = 1;
	assert_int_equal(pm_clock_ns(CLOCK_MONOTONIC, &after), 0);
	do {	/* the sanitizer may have faults of its own */
		assert_int_equal(pm_ring_next(ring, &header), 1);
		assert_int_equal(pm_record_decode(header, &format, &record), 0);
	} while (record.sample.addr != (uintptr_t)area);
	assert_int_equal(record.sample.sid.cpu, cpu);
	assert_int_equal(pm_clock_map_time(map, cpu, record.sample.sid.time, &time), 0);
	assert_true(time.ns + time.error >= before && time.ns - time.error <= after);
	assert_true(time.error < 10 * MS);
	/* The check would notice an offset that is wrong by more than bracket and error. */
	assert_false(time.ns + 100 * MS - time.error <= after);
	assert_int_equal(munmap((void *)(uintptr_t)area, (size_t)sysconf(_SC_PAGESIZE)), 0);
	pm_ring_release(ring);
}

static void stamps_lie_in_their_brackets(void **state)
{
	struct pm_clock_map *map = must_make(PM_CLOCK_DEFAULT, CLOCK_MONOTONIC);
	struct pm_ring ring;
	int fd = open_faults(&ring), visited = 0;
	cpu_set_t old, one;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(old), &old), 0);
	for (uint32_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &old))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
		for (int i = 0; i < 50; i++)
			check_fault(map, &ring, cpu);
		visited++;
	}
	assert_int_equal(sched_setaffinity(0, sizeof(old), &old), 0);
	assert_true(visited > 0);
	pm_ring_close(&ring);
	close(fd);
	pm_clock_map_destroy(map);
}

/* Numbers of CPUs may have gaps, and be above any count. */
static void every_cpu_there_may_be(void **state)
{
	const struct pm_fact no_page = { .size = sizeof(no_page),
					 .key = "userpage.time_conversion.brackets",
					 .verdict = PM_BROKEN, .rank = PM_RANK_BUILD };
	struct pm_profile *profile = pm_profile_create();
	struct pm_clock_map *map;
	int err;

	(void)state;
	assert_int_equal(pm_profile_set(profile, &no_page), 1);
	assert_int_equal(fake_setup(NULL), 0);
	fake_file("/sys/devices/system/cpu/possible", "0-5,700\n");
	err = pm_clock_map_make(PM_CLOCK_DEFAULT, CLOCK_MONOTONIC, profile, NULL, &map);
	(void)fake_teardown(NULL);
	pm_profile_destroy(profile);
	if (err < 0)
		skip();
	assert_int_equal(map->source, PM_CLOCK_RECORDS);
	assert_int_equal(map->cpu_count, 701);
	assert_int_equal(map->cpus[700].points, 0);
	pm_clock_map_destroy(map);
}

static void update_knows_the_drift(void **state)
{
	struct pm_clock_map *map = must_make(PM_CLOCK_DEFAULT, CLOCK_MONOTONIC);
	struct pm_clock_state known = { .size = sizeof(known) };
	struct timespec pause = { 0, 60 * MS };
	cpu_set_t set;
	uint32_t cpu = 0;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	while (!CPU_ISSET(cpu, &set))
		cpu++;
	assert_int_equal(nanosleep(&pause, NULL), 0);
	assert_int_equal(pm_clock_map_update(map, NULL), 0);
	assert_int_equal(pm_clock_map_state(map, cpu, &known), 0);
	assert_true(known.drift_known);
	assert_true(known.drift > -1e-3 && known.drift < 1e-3);
	assert_true(known.half_width < 5 * MS);
	pm_clock_map_destroy(map);
}

static void clocks_that_can_be_read(void **state)
{
	struct pm_clock_map *map = must_make(CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC);
	struct pm_instant time = { .size = sizeof(time) }, back = time;
	uint64_t before, raw, after;

	(void)state;
	assert_int_equal(map->source, PM_CLOCK_READ);
	assert_int_equal(pm_clock_ns(CLOCK_MONOTONIC, &before), 0);
	assert_int_equal(pm_clock_ns(CLOCK_MONOTONIC_RAW, &raw), 0);
	assert_int_equal(pm_clock_ns(CLOCK_MONOTONIC, &after), 0);
	assert_int_equal(pm_clock_map_time(map, 7, raw, &time), 0);
	assert_true(time.ns + time.error >= before && time.ns - time.error <= after);
	assert_int_equal(pm_clock_map_stamp(map, 7, time.ns, &back), 0);
	assert_true(gap(back.ns, raw) <= back.error);
	pm_clock_map_destroy(map);
}

static void nothing_to_convert(void **state)
{
	struct pm_clock_map *map = must_make(CLOCK_MONOTONIC, CLOCK_MONOTONIC);
	struct pm_clock_state known = { .size = sizeof(known) };
	struct pm_instant time = { .size = sizeof(time) };

	(void)state;
	assert_int_equal(pm_clock_map_time(map, 3, 4711, &time), 0);
	assert_true(time.ns == 4711 && time.error == 0);
	assert_int_equal(pm_clock_map_update(map, NULL), 0);
	assert_int_equal(pm_clock_map_state(map, 0, &known), 0);
	assert_int_equal(known.source, PM_CLOCK_SAME);
	pm_clock_map_destroy(map);
	assert_int_equal(pm_clock_map_make(PM_CLOCK_DEFAULT, 4711, NULL, NULL, &map), -EINVAL);
	assert_int_equal(pm_clock_map_make(4711, CLOCK_MONOTONIC, NULL, NULL, &map), -EINVAL);
}

static void refused(void **state)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_clock_map *map;

	(void)state;
	fake_kernel.on = true;
	fake_kernel.policy_errno = EACCES;
	assert_int_equal(pm_clock_map_make(PM_CLOCK_DEFAULT, CLOCK_MONOTONIC, NULL, &diag, &map),
			 -EACCES);
	assert_int_equal(diag.error, EACCES);
	/* An event that says nothing. */
	fake_kernel.policy_errno = 0;
	fake_kernel.mappable = true;
	assert_true(pm_clock_map_make(PM_CLOCK_DEFAULT, CLOCK_MONOTONIC, NULL, &diag, &map) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(truth_lies_within, setup),
		cmocka_unit_test_setup(drift_is_told, setup),
		cmocka_unit_test_setup(an_update_each_second, setup),
		cmocka_unit_test_setup(a_drift_that_changes, setup),
		cmocka_unit_test_setup(a_jump_is_noticed, setup),
		cmocka_unit_test_setup(nothing_caught, setup),
		cmocka_unit_test_setup(near_points_make_no_slope, setup),
		cmocka_unit_test_setup(each_cpu_its_own, setup),
		cmocka_unit_test_setup(from_the_page, setup),
		cmocka_unit_test_setup(stamps_lie_in_their_brackets, setup),
		cmocka_unit_test_setup(every_cpu_there_may_be, setup),
		cmocka_unit_test_setup(update_knows_the_drift, setup),
		cmocka_unit_test_setup(clocks_that_can_be_read, setup),
		cmocka_unit_test_setup(nothing_to_convert, setup),
		cmocka_unit_test_setup(refused, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
