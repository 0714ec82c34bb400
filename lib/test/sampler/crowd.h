/* SPDX-License-Identifier: MIT */
/*
 * Processes of known work, for tests that watch them: their threads touch fresh pages of an area
 * whose address the test knows, so each page fault is one of a known number. Anything else they do
 * faults elsewhere.
 */
#ifndef TEST_SAMPLER_CROWD_H
#define TEST_SAMPLER_CROWD_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define AREA_PAGES 65536

/* Memory that a process touches page by page, at the same address in all; what is shared counts. */
static char *crowd_area;
static struct crowd {
	atomic_uint go;			/* steps that the children may take */
	atomic_uint done;		/* that were taken */
	atomic_ullong caused;		/* pages touched */
} *crowd;

static inline size_t crowd_page(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* Pages must come one by one, so huge ones are refused. */
static inline void crowd_begin(void)
{
	const size_t size = AREA_PAGES * crowd_page();

	crowd_area = mmap(NULL, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	crowd = mmap(NULL, crowd_page(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(crowd_area != MAP_FAILED && crowd != (void *)MAP_FAILED);
	(void)madvise(crowd_area, size, MADV_NOHUGEPAGE);
	*crowd = (struct crowd){ .go = 0 };
}

static inline void crowd_end(void)
{
	munmap(crowd_area, AREA_PAGES * crowd_page());
	munmap(crowd, crowd_page());
}

static inline bool crowd_has(uint64_t address)
{
	const uint64_t area = (uint64_t)(uintptr_t)crowd_area;

	return address >= area && address < area + AREA_PAGES * crowd_page();
}

/* Touches `count` pages from page `first` on, and gives them back: the next touch faults again. */
static inline void crowd_touch(size_t first, size_t count)
{
	volatile char *at = crowd_area + first * crowd_page();

	for (size_t i = 0; i < count; i++)
		at[i * crowd_page()] = 1;
	(void)madvise((void *)(uintptr_t)at, count * crowd_page(), MADV_DONTNEED);
	crowd->caused += count;
}

/* A step is waited for, but not for ever: the test may be killed. */
static inline void crowd_wait(unsigned int step)
{
	for (int i = 0; crowd->go < step; i++) {
		if (i > 3000000)
			_exit(8);
		usleep(200);
	}
}

static inline void crowd_step(unsigned int step, unsigned int done)
{
	crowd->go = step;
	while (crowd->done < done)
		usleep(200);
}

/* A child that lives by that; returns when it has taken its first step. */
static inline pid_t fork_into(void (*body)(void))
{
	const unsigned int before = crowd->done;
	pid_t child = fork();

	if (child == 0)
		body();
	assert_true(child > 0);
	while (crowd->done == before)
		usleep(200);
	return child;
}

#endif
