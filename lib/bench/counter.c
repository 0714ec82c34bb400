/* SPDX-License-Identifier: MIT */
/*
 * Reading one counter of the calling thread: the library, PAPI and the bare system call, all of the
 * same software event, value and times each.
 *
 *   counter [rounds]
 */
#include <errno.h>
#include <papi.h>
#include <unistd.h>

#include "../perfmodes.h"
#include "../pm_sys.h"
#include "bench.h"

#define READINGS 2000

static struct pm_counters *counters;
static int papi = PAPI_NULL, fd;
static uint64_t sum;		/* so that nothing is optimised away */

static void read_ours(void)
{
	struct pm_value value = { 0, 0, 0 };

	if (pm_counters_read_one(counters, 0, &value) < 0)
		bench_fail("pm_counters_read_one", EIO);
	sum += value.value;
}

static void read_ours_all(void)
{
	struct pm_value value = { 0, 0, 0 };

	if (pm_counters_read(counters, &value, 1) != 1)
		bench_fail("pm_counters_read", EIO);
	sum += value.value;
}

static void read_papi(void)
{
	long long value = 0;

	if (PAPI_read(papi, &value) != PAPI_OK)
		bench_fail("PAPI_read", EIO);
	sum += (uint64_t)value;
}

static void read_bare(void)
{
	uint64_t values[3];

	if (read(fd, values, sizeof(values)) != sizeof(values))
		bench_fail("read", errno);
	sum += values[0];
}

static void measure(const char *name, const char *subject, void (*reader)(void))
{
	uint64_t begin = bench_clock(CLOCK_THREAD_CPUTIME_ID);

	for (int i = 0; i < READINGS; i++)
		reader();
	bench_say(name, subject, "ns",
		  (double)(bench_clock(CLOCK_THREAD_CPUTIME_ID) - begin) / READINGS);
}

static void open_all(uint64_t config, char *papi_name)
{
	const struct pm_event_spec spec = { .size = sizeof(spec), .type = 1, .config = config };
	const struct perf_event_attr attr = {
		.type = 1, .config = config,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	struct pm_profile *empty = pm_profile_create();
	struct pm_diag diag = { .size = sizeof(diag) };

	if (pm_counters_open(&spec, 1, 0, empty, &diag, &counters) < 0 ||
	    pm_counters_start(counters) < 0)
		bench_fail(diag.text, EIO);
	pm_profile_destroy(empty);
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		bench_fail("perf_event_open", fd);
	papi = PAPI_NULL;
	if (PAPI_create_eventset(&papi) != PAPI_OK ||
	    PAPI_add_named_event(papi, papi_name) != PAPI_OK || PAPI_start(papi) != PAPI_OK)
		bench_fail(papi_name, ENOENT);
}

static void close_all(void)
{
	PAPI_stop(papi, NULL);
	pm_counters_close(counters);
	close(fd);
}

int main(int argc, char **argv)
{
	static const struct { uint64_t config; const char *name; char papi[24]; } events[] = {
		{ 1, "read a counter, task-clock", "perf::TASK-CLOCK" },
		{ 2, "read a counter, page-faults", "perf::PAGE-FAULTS" },
	};
	unsigned int rounds = bench_argument(argc, argv, 1, 41);

	if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT)
		bench_fail("PAPI_library_init", EIO);
	for (size_t e = 0; e < sizeof(events) / sizeof(events[0]); e++) {
		char papi_name[24];

		memcpy(papi_name, events[e].papi, sizeof(papi_name));
		open_all(events[e].config, papi_name);
		for (unsigned int i = 0; i < rounds; i++) {
			measure(events[e].name, "read(2)", read_bare);
			measure(events[e].name, "perfmodes", read_ours);
			measure(events[e].name, "PAPI_read", read_papi);
			measure(events[e].name, "pm_counters_read", read_ours_all);
		}
		close_all();
	}
	return sum == 0;
}
