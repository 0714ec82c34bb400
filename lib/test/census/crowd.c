/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "crowd.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { OLD = 8, YOUNG = 8, MAKERS = 2, PEOPLE = OLD + YOUNG + MAKERS, SLOTS = PEOPLE + 2 * MAKERS };

/* Memory of one thread at a time, whose pages it touches and gives back. */
struct slot {
	char *pages;
	_Atomic uint64_t caused;
	uint64_t told;			/* of the reader alone */
};

static struct slot slots[SLOTS];
static pthread_t people[PEOPLE];
static size_t page_size, started;
static char *area;
static atomic_bool going, ending;
static atomic_uint at_work;

static void do_round(struct slot *slot)
{
	for (size_t i = 0; i < ROUND_FAULTS; i++)
		((volatile char *)slot->pages)[i * page_size] = 1;
	slot->caused += ROUND_FAULTS;
	(void)madvise(slot->pages, ROUND_FAULTS * page_size, MADV_DONTNEED);
}

static void *work(void *context)
{
	while (!going)
		usleep(500);
	while (!ending) {
		do_round(context);
		usleep(2000);
	}
	atomic_fetch_sub(&at_work, 1);
	return NULL;
}

static void *live_briefly(void *context)
{
	struct slot *slot = context;
	pthread_t child;

	do_round(slot);
	/* Every other one has a child, which inherits from a thread that inherited. */
	if ((slot - slots) % 2 == 0 && pthread_create(&child, NULL, live_briefly, slot + 1) == 0)
		pthread_join(child, NULL);
	return NULL;
}

static void *make_others(void *context)
{
	struct slot *own = context, *for_them = &slots[PEOPLE + 2 * (own - &slots[OLD + YOUNG])];
	pthread_t other;

	while (!ending) {
		if (pthread_create(&other, NULL, live_briefly, for_them) == 0)
			pthread_join(other, NULL);
		do_round(own);
		usleep(1000);
	}
	atomic_fetch_sub(&at_work, 1);
	return NULL;
}

static int start(void *(*life)(void *), struct slot *slot)
{
	int err = pthread_create(&people[started], NULL, life, slot);

	if (err != 0)
		return -err;
	started++;
	atomic_fetch_add(&at_work, 1);
	return 0;
}

int crowd_begin(void)
{
	int err = 0;

	page_size = (size_t)sysconf(_SC_PAGESIZE);
	area = mmap(NULL, SLOTS * ROUND_FAULTS * page_size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED)
		return -errno;
	(void)madvise(area, SLOTS * ROUND_FAULTS * page_size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < SLOTS; i++) {
		slots[i].pages = area + i * ROUND_FAULTS * page_size;
		slots[i].caused = slots[i].told = 0;
	}
	going = ending = false;
	at_work = 0;
	started = 0;
	for (size_t i = 0; i < OLD && err == 0; i++)
		err = start(work, &slots[i]);
	return err;
}

void crowd_go(void)
{
	going = true;
	for (size_t i = OLD; i < PEOPLE; i++)
		(void)start(i < OLD + YOUNG ? work : make_others, &slots[i]);
}

void crowd_tell(uint64_t address)
{
	uint64_t at = address - (uintptr_t)area;

	if (address >= (uintptr_t)area && at < SLOTS * ROUND_FAULTS * page_size)
		slots[at / (ROUND_FAULTS * page_size)].told++;
}

uint64_t crowd_caused(uint64_t *ret_under_way)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < SLOTS; i++)
		sum += slots[i].caused;
	*ret_under_way = SLOTS * ROUND_FAULTS;
	return sum;
}

bool crowd_is_over(void)
{
	ending = true;
	return at_work == 0;
}

void crowd_end(struct tally *ret)
{
	memset(ret, 0, sizeof(*ret));
	going = ending = true;
	for (size_t i = 0; i < started; i++)
		pthread_join(people[i], NULL);
	for (size_t i = 0; i < SLOTS; i++) {
		const struct slot *slot = &slots[i];
		const uint64_t caused = slot->caused;
		uint64_t once = slot->told < caused ? slot->told : caused;

		ret->caused += caused;
		ret->told += once;
		ret->more += slot->told - once;
		ret->old_missing += i < OLD ? caused - once : 0;
	}
	ret->rounds = ret->caused / ROUND_FAULTS;
	munmap(area, SLOTS * ROUND_FAULTS * page_size);
}
