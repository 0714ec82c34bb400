/* SPDX-License-Identifier: MIT */
/*
 * What the benchmarks share. A benchmark prints measurements and judges nothing:
 *
 *   <case> TAB <subject> TAB <unit> TAB <value>
 *
 * one line a round. Subjects of a case take turns within a round, so that line n of one and line n
 * of another were measured under the same conditions; bench.py makes ratios of those. What one
 * thread does by itself is measured in its CPU time, which a busy machine disturbs less.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline uint64_t bench_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline void bench_say(const char *name, const char *subject, const char *unit, double value)
{
	printf("%s\t%s\t%s\t%.9g\n", name, subject, unit, value);
	fflush(stdout);
}

/* CPU time is that of all threads of the process, also of those that have ended. */
struct bench_watch { uint64_t wall, cpu; };

static inline struct bench_watch bench_start(void)
{
	return (struct bench_watch){ bench_clock(CLOCK_MONOTONIC),
				     bench_clock(CLOCK_PROCESS_CPUTIME_ID) };
}

/* Says "what, CPU time, name" and "what, wall time, name": each of `times` took so long. */
static inline void bench_stop(struct bench_watch since, const char *what, const char *name,
			      const char *subject, unsigned int times)
{
	uint64_t cpu = bench_clock(CLOCK_PROCESS_CPUTIME_ID) - since.cpu;
	uint64_t wall = bench_clock(CLOCK_MONOTONIC) - since.wall;
	char text[96];

	snprintf(text, sizeof(text), "%s, CPU time, %s", what, name);
	bench_say(text, subject, "us", (double)cpu / 1e3 / times);
	snprintf(text, sizeof(text), "%s, wall time, %s", what, name);
	bench_say(text, subject, "us", (double)wall / 1e3 / times);
}

static inline __attribute__((noreturn)) void bench_fail(const char *what, int err)
{
	fprintf(stderr, "bench: %s: %s\n", what, strerror(err < 0 ? -err : err));
	exit(2);
}

/* A number from the command line, or the default: rounds, and how much of everything. */
static inline unsigned int bench_argument(int argc, char **argv, int at, unsigned int otherwise)
{
	return argc > at ? (unsigned int)strtoul(argv[at], NULL, 10) : otherwise;
}

#endif
