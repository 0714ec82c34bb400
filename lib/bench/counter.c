/* SPDX-License-Identifier: MIT */
/*
 * Reading counters of the calling thread: the library, PAPI and the bare system call, all of the
 * same software event. The library asks for the times, too, without which a value cannot be scaled;
 * so the call is measured for the same answer, and for less and more.
 *
 *   counter [rounds]
 */
#include <errno.h>
#include <papi.h>
#include <stdbool.h>
#include <unistd.h>

#include "../perfmodes.h"
#include "../pm_sys.h"
#include "bench.h"

#define READINGS 2000

#define TIMES (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)
#define MEMBERS 3	/* of the group */

static struct pm_counters *counters;
static size_t count;
static bool with_papi;
static int papi = PAPI_NULL, fd, fd_value, fd_group;
static uint64_t sum;		/* so that nothing is optimised away */

static void read_ours(void)
{
	static struct pm_value value = { .size = sizeof(value) };

	if (pm_counters_read_one(counters, 0, &value) < 0)
		bench_fail("pm_counters_read_one", EIO);
	sum += value.value;
}

static void read_ours_all(void)
{
	static struct pm_value values[MEMBERS] = { { .size = sizeof(values[0]) } };

	if (pm_counters_read(counters, values, count) != (int)count)
		bench_fail("pm_counters_read", EIO);
	sum += values[0].value;
}

static void read_papi(void)
{
	long long value = 0;

	if (PAPI_read(papi, &value) != PAPI_OK)
		bench_fail("PAPI_read", EIO);
	sum += (uint64_t)value;
}

static void read_words(int from, size_t words)
{
	uint64_t values[3 + MEMBERS];

	if (read(from, values, words * sizeof(values[0])) != (ssize_t)(words * sizeof(values[0])))
		bench_fail("read", errno);
	sum += values[0];
}

static void read_bare(void)
{
	read_words(fd, 3);
}

static void read_value(void)
{
	read_words(fd_value, 1);
}

static void read_group(void)
{
	read_words(fd_group, 3 + count);
}

static void measure(const char *name, const char *subject, void (*reader)(void))
{
	uint64_t begin = bench_clock(CLOCK_THREAD_CPUTIME_ID);

	for (int i = 0; i < READINGS; i++)
		reader();
	bench_say(name, subject, "ns",
		  (double)(bench_clock(CLOCK_THREAD_CPUTIME_ID) - begin) / READINGS);
}

static int open_bare(uint64_t config, uint64_t format, int leader)
{
	const struct perf_event_attr attr = { .type = 1, .config = config, .read_format = format };
	int opened = pm_open(&attr, 0, -1, leader, 0);

	if (opened < 0)
		bench_fail("perf_event_open", opened);
	return opened;
}

static void open_ours(const uint64_t *configs)
{
	struct pm_event_spec specs[MEMBERS];
	struct pm_profile *empty = pm_profile_create();
	struct pm_diag diag = { .size = sizeof(diag) };

	for (size_t i = 0; i < count; i++)
		specs[i] = (struct pm_event_spec){ .size = sizeof(specs[i]), .type = 1,
						   .config = configs[i] };
	if (pm_counters_open(specs, count, 0, empty, &diag, &counters) < 0 ||
	    pm_counters_start(counters) < 0)
		bench_fail(diag.text, EIO);
	pm_profile_destroy(empty);
}

static void open_papi(const char *name)
{
	char copy[24];

	snprintf(copy, sizeof(copy), "%s", name);
	papi = PAPI_NULL;
	with_papi = PAPI_create_eventset(&papi) == PAPI_OK &&
		PAPI_add_named_event(papi, copy) == PAPI_OK && PAPI_start(papi) == PAPI_OK;
	if (!with_papi)
		fprintf(stderr, "bench: PAPI has no event %s here\n", name);
}

static void measure_one(uint64_t config, const char *name, const char *papi_name,
			unsigned int rounds)
{
	count = 1;
	open_ours(&config);
	open_papi(papi_name);
	fd = open_bare(config, TIMES, -1);
	fd_value = open_bare(config, 0, -1);
	fd_group = open_bare(config, TIMES | PERF_FORMAT_GROUP, -1);
	for (unsigned int i = 0; i < rounds; i++) {
		measure(name, "read(2), value and times", read_bare);
		measure(name, "perfmodes", read_ours);
		measure(name, "read(2), value alone", read_value);
		measure(name, "read(2), group of one", read_group);
		if (with_papi)
			measure(name, "PAPI_read", read_papi);
	}
	if (with_papi)
		PAPI_stop(papi, NULL);
	pm_counters_destroy(counters);
	close(fd);
	close(fd_value);
	close(fd_group);
}

static void measure_group(const char *name, unsigned int rounds)
{
	static const uint64_t configs[MEMBERS] = { 1, 2, 3 };
	int fds[MEMBERS];

	count = MEMBERS;
	open_ours(configs);
	for (size_t i = 0; i < count; i++)
		fds[i] = open_bare(configs[i], TIMES | PERF_FORMAT_GROUP, i ? fds[0] : -1);
	fd_group = fds[0];
	for (unsigned int i = 0; i < rounds; i++) {
		measure(name, "read(2), same group", read_group);
		measure(name, "perfmodes", read_ours_all);
	}
	pm_counters_destroy(counters);
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
}

int main(int argc, char **argv)
{
	unsigned int rounds = bench_argument(argc, argv, 1, 41);

	if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT)
		bench_fail("PAPI_library_init", EIO);
	measure_one(1, "read a counter, task-clock", "perf::TASK-CLOCK", rounds);
	measure_one(2, "read a counter, page-faults", "perf::PAGE-FAULTS", rounds);
	measure_group("read a group of 3 counters", rounds);
	return sum == 0;
}
