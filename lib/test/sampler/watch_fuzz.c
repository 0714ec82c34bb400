/* SPDX-License-Identifier: MIT */
/* Any bytes in the rings of two CPUs: nothing is read behind them, and the accounts agree. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../sampler/watch/records.h"
#include "../../sampler/watch/rings.h"
#include "no_kernel.h"

#define DATA_SIZE 4096
#define MOST 32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t told, watched;
static volatile uint64_t sum;	/* of all that was delivered, so that it is read */

static void on_sample(void *context, const struct pm_sampled *sample)
{
	(void)context;
	told++;
	if (sample->process == NULL || !sample->process->watched)
		abort();
	for (size_t i = 0; i < sample->chain_count; i++)
		sum += sample->chain[i];
	for (size_t i = 0; i < sample->stack_size; i++)
		sum += ((const uint8_t *)sample->stack)[i];
	for (size_t i = 0; i < sample->registers_count; i++)
		sum += sample->registers[i];
}

static void on_side(void *context, const struct pm_side *side)
{
	(void)context;
	sum += strlen(side->text);
	for (size_t i = 0; i < side->build_id_size; i++)
		sum += side->build_id[i];
}

static void add_ring(struct pm_sampler *sampler, const uint8_t *data, size_t size)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = page + DATA_SIZE;
	struct session_ring *ring = &sampler->rings.list[sampler->rings.count];
	struct perf_event_mmap_page *user = calloc(1, whole);

	if (size > DATA_SIZE)
		size = DATA_SIZE;
	memcpy((char *)user + page, data, size);
	user->data_head = size & ~7ull;
	if (pm_ring_borrow(user, whole, &ring->ring) < 0)
		abort();
	ring->cpu = (int)sampler->rings.count++;
}

static void check(const struct pm_sampler *sampler)
{
	const struct processes *processes = &sampler->processes;

	if (processes->count > MOST || processes->watched > processes->count ||
	    processes->serials < processes->count || sampler->stats.samples != told ||
	    sampler->stats.records < sampler->stats.samples)
		abort();
	watched += processes->watched;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pm_sampler *sampler = calloc(1, sizeof(*sampler));
	struct session_ring rings[2] = { { .fd = -1 } };
	void *heap[2];

	told = 0;
	set_up(sampler, PM_WANT_ADDRESS | PM_WANT_CALLCHAIN | PM_WANT_KERNEL_FRAMES |
	       PM_WANT_REGISTERS | PM_WANT_STACK | PM_WANT_GROUP);
	sampler->listener = (struct pm_sampler_listener){
		.size = sizeof(sampler->listener), .sample = on_sample, .side = on_side,
	};
	sampler->rings.list = rings;
	sampler->heap = heap;
	add_ring(sampler, data, size / 2);
	add_ring(sampler, data + size / 2, size - size / 2);
	(void)pm_watch_merge(sampler, 1ull << 39, 3);
	(void)pm_watch_merge(sampler, UINT64_MAX, 0);
	check(sampler);
	pm_processes_settle(&sampler->processes, UINT64_MAX);
	check(sampler);
	for (size_t i = 0; i < 2; i++) {
		free(rings[i].ring.base);
		free(rings[i].ring.scratch);
	}
	pm_ids_free(&sampler->ids);
	pm_processes_free(&sampler->processes);
	pm_plan_destroy(sampler->plan);
	free(sampler);
	return 0;
}
