/* SPDX-License-Identifier: MIT */
/* Functions of known weights, none of which is inlined: by N threads, for SECONDS. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define APART __attribute__((noinline, noclone))

static volatile uint64_t sink;
static double until;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static uint64_t mixed(uint64_t value, unsigned int rounds)
{
	for (unsigned int i = 0; i < rounds; i++)
		value = (value ^ (value >> 29)) * 0xbf58476d1ce4e5b9ull + i;
	return value;
}

#define WORK(name, rounds)                                                                         \
	static APART uint64_t name(uint64_t value)                                                 \
	{                                                                                          \
		value = mixed(value, rounds);                                                      \
		return value ^ sink;                                                               \
	}
WORK(one, 100)
WORK(two, 200)
WORK(three, 300)
WORK(four, 400)
WORK(five, 500)
WORK(six, 600)
WORK(seven, 700)
WORK(eight, 800)

static APART uint64_t deep(uint64_t value, unsigned int depth)
{
	value = depth == 0 ? eight(value) : deep(mixed(value, 20), depth - 1);
	return value + sink;
}

static APART uint64_t lower(uint64_t value)
{
	return one(two(three(four(value)))) + sink;
}

static APART uint64_t upper(uint64_t value)
{
	return five(six(seven(value))) + sink;
}

static void *work(void *argument)
{
	uint64_t value = (uint64_t)(uintptr_t)argument;

	while (now() < until) {
		for (int i = 0; i < 100; i++)
			value = lower(value) + upper(value) + deep(value, 40);
		sink = value & 1;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const long count = argc > 1 ? atol(argv[1]) : 1;
	pthread_t threads[64];

	until = now() + (argc > 2 ? atof(argv[2]) : 1);
	if (count < 1 || count > 64)
		return 2;
	for (long i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)(i + 1)) != 0)
			return 1;
	for (long i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
