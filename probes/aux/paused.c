/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can a trace start paused? With aux_start_paused the trace unit writes nothing until another event
 * of its group resumes it: tracing begins where it is of interest.
 * Observed: aux_head moves without the pause and does not with it.
 */
#include "probe.h"
#include "trace_unit.h"

PROBE(TITLE("a trace that starts paused")
      SINCE("6.13")
      NEEDS("aux")
      POINT(starts_paused, "with aux_start_paused nothing is traced until the trace is resumed"))

#define DATA_PAGES 8
#define AUX_PAGES 16

/* How far an event's trace gets in 3 ms of work. It is gone then: a trace unit has one event. */
static uint64_t trace(struct sampler *sampler)
{
	void *area = ask_aux(sampler, AUX_PAGES, PROT_READ | PROT_WRITE);
	uint64_t head;

	must_ioctl(sampler->fd, PERF_EVENT_IOC_ENABLE, 0);
	spin_ns(3000000);
	must_ioctl(sampler->fd, PERF_EVENT_IOC_DISABLE, 0);
	head = ((volatile struct perf_event_mmap_page *)sampler->ring.base)->aux_head;
	munmap(area, AUX_PAGES * probe_env()->page_size);
	pm_ring_close(&sampler->ring);
	must_close(sampler->fd);
	return head;
}

TEST(starts_paused)
{
	struct perf_event_attr without, with;
	struct sampler sampler;
	char name[64];
	uint64_t head;

	without = must_trace(name);
	sampler = must_sampler(&without, 0, -1, DATA_PAGES);
	if (!trace(&sampler))
		say_unknown("aux_head=0 after 3 ms of work without a pause");
	with = without;
	with.aux_start_paused = 1;
	sampler = ask_sampler(&with, &without, 0, -1, DATA_PAGES, "aux_start_paused");
	head = trace(&sampler);
	if (head)
		say_broken("aux_head=%" PRIu64 " although it starts paused", head);
}

PROBE_MAIN
