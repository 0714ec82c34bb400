/* SPDX-License-Identifier: MIT */
/* The user pages of counters: mapped, and proven before anything is read by them. */
#include "counter.h"

#include <sys/mman.h>
#include <unistd.h>

#include "trial.h"
#include "../spec/spec.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18	/* v4.14 */
#endif

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* A word that is 1 here and 0 in a forked process; NULL where the kernel cannot do that. */
static const volatile uint32_t *map_parent(void)
{
	uint32_t *word = mmap(NULL, page_size(), PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (word == MAP_FAILED)
		return NULL;
	if (madvise(word, page_size(), MADV_WIPEONFORK) != 0) {
		(void)munmap(word, page_size());
		return NULL;
	}
	*word = 1;
	return word;
}

/* An event's page is not copied to a forked child: what is at that address there is its own. */
static void unmap_page(const struct pm_counters *counters, struct counter *counter)
{
	if (counter->page != NULL && *counters->parent != 0)
		(void)munmap((void *)(uintptr_t)counter->page, page_size());
	counter->page = NULL;
}

/* An event without a page, or without room for one, is read by read(2). Returns how many have. */
static size_t map_all(struct pm_counters *counters)
{
	size_t mapped = 0;

	for (size_t i = 0; i < counters->count; i++) {
		struct counter *counter = &counters->counters[i];
		void *page;

		if (pm_takes_no_turns(counters->specs[i].type))
			continue;
		if (counters->parent == NULL)
			counters->parent = map_parent();
		if (counters->parent == NULL)
			break;
		page = mmap(NULL, page_size(), PROT_READ, MAP_SHARED, counter->fd, 0);
		counter->page = page == MAP_FAILED ? NULL : page;
		mapped += counter->page != NULL;
	}
	return mapped;
}

/* ------------------------------------------------------------------------------------ the proof */

struct proof {
	struct pm_counters *counters;
	int fds[COUNTERS_MAX];
	void *pages[COUNTERS_MAX];	/* of the child, in the memory of both */
	bool proven[COUNTERS_MAX];
};

static void unmap_own(struct proof *proof, size_t index)
{
	if (proof->pages[index] != NULL)
		(void)munmap(proof->pages[index], page_size());
	proof->pages[index] = NULL;
}

/* Counts what the program's event counts, for the child. */
static void open_own(struct proof *proof, size_t index)
{
	const struct pm_counters *counters = proof->counters;
	const size_t leader = counters->counters[index].leader;
	struct perf_event_attr attr = pm_counters_attr(counters, index, index == leader);

	attr.config1 = counters->counters[index].config1;
	attr.pinned = 0;
	proof->fds[index] = pm_open(&attr, 0, -1, index == leader ? -1 : proof->fds[leader], 0);
}

static void prove_one(struct proof *proof, size_t index)
{
	struct pm_value value = { .size = sizeof(value) };
	void *page = mmap(NULL, page_size(), PROT_READ, MAP_SHARED, proof->fds[index], 0);

	if (page == MAP_FAILED)
		return;
	proof->pages[index] = page;
	proof->proven[index] =
		pm_user_value(page, proof->counters->registers, &value) == 0;
	unmap_own(proof, index);
}

/* The same counters are in use as in the program, and on arm64 each has an instruction. */
static void prove_group(struct proof *proof, size_t first)
{
	const struct pm_counters *counters = proof->counters;
	size_t end = first;

	for (; end < counters->count && counters->counters[end].leader == first; end++)
		open_own(proof, end);
	(void)pm_ioctl(proof->fds[first], PERF_EVENT_IOC_ENABLE, 0);
	for (size_t i = first; i < end; i++)
		if (counters->counters[i].page != NULL && proof->fds[i] >= 0)
			prove_one(proof, i);
	for (size_t i = first; i < end; i++)
		if (proof->fds[i] >= 0)
			(void)close(proof->fds[i]);
}

/*
 * In the child, whose thread is what is counted: arm64 permits the instructions to threads that
 * have such an event, and x86 to processes that have such a page.
 */
static void prove_all(void *context)
{
	struct proof *proof = context;

	for (size_t i = 0; i < proof->counters->count; i++)
		if (proof->counters->counters[i].leader == i)
			prove_group(proof, i);
}

/*
 * A page's promise is not enough: rdpmc may trap under a hypervisor, and the clock's instruction
 * after prctl(PR_SET_TSC), which the child inherits.
 */
void pm_counters_map_pages(struct pm_counters *counters)
{
	struct proof proof = { .counters = counters };
	bool survived;

	if (counters->registers->counter == NULL || map_all(counters) == 0)
		return;
	survived = pm_trial(prove_all, &proof);
	for (size_t i = 0; i < counters->count; i++) {
		unmap_own(&proof, i);
		if (!survived || !proof.proven[i])
			unmap_page(counters, &counters->counters[i]);
	}
}

void pm_counters_unmap_pages(struct pm_counters *counters)
{
	for (size_t i = 0; i < counters->count; i++)
		unmap_page(counters, &counters->counters[i]);
	if (counters->parent != NULL)
		(void)munmap((void *)(uintptr_t)counters->parent, page_size());
	counters->parent = NULL;
}
