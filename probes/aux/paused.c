/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can a trace be paused and resumed by other events? With aux_start_paused a trace unit writes
 * nothing until an event of its group with aux_resume overflows; one with aux_pause stops it again.
 * So tracing is limited to what is of interest.
 * Observed: aux_head, while this thread works, and page faults are what pauses and resumes.
 */
#include "probe.h"
#include "finding.h"
#include "trace_unit.h"

PROBE(TITLE("traces that are paused and resumed")
      SINCE("6.13")
      NEEDS("aux")
      POINT(starts_paused, "with aux_start_paused nothing is traced until the trace is resumed")
      POINT(resumed, "an event with aux_resume resumes a trace that starts paused")
      POINT(paused, "an event with aux_pause pauses a trace"))

#define DATA_PAGES 8
#define AUX_PAGES 64
#define WORK_NS 3000000
#define TRIES 10

enum action { NONE, PAUSE, RESUME };

/* A page-fault event in the trace's group that pauses or resumes it. */
static int open_action(int leader, enum action action)
{
	struct perf_event_attr without = attr_faults(PERF_SAMPLE_TID), with;
	struct finding finding;
	int fd;

	without.disabled = 0;
	with = without;
	with.aux_pause = action == PAUSE;
	with.aux_resume = action == RESUME;
	close(must_open(&without, 0, -1, leader, 0));
	fd = pm_open(&with, 0, -1, leader, 0);
	if (fd >= 0)
		return fd;
	classify_asked(-fd, action == PAUSE ? "aux_pause" : "aux_resume", &with, 0, -1, &finding);
	say(&finding);
}

/*
 * How far an event's trace gets in 3 ms of work, at the begin of which a page fault may act on it:
 * the first write to a page that is mapped already, so that little is traced before it. The event
 * is gone then: a trace unit has one event.
 */
static uint64_t trace(struct sampler *sampler, enum action action)
{
	const size_t size = probe_env()->page_size;
	void *area = ask_aux(sampler, AUX_PAGES, PROT_READ | PROT_WRITE);
	int actor = action == NONE ? -1 : open_action(sampler->fd, action);
	volatile char *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				   -1, 0);
	uint64_t head;

	ASSERT_NE(MAP_FAILED, (void *)page);
	ASSERT_EQ(0, cause_faults(1));
	must_ioctl(sampler->fd, PERF_EVENT_IOC_ENABLE, 0);
	if (action != NONE)
		*page = 1;
	spin_ns(WORK_NS);
	must_ioctl(sampler->fd, PERF_EVENT_IOC_DISABLE, 0);
	head = ((volatile struct perf_event_mmap_page *)sampler->ring.base)->aux_head;
	munmap((void *)page, size);
	munmap(area, AUX_PAGES * size);
	pm_ring_close(&sampler->ring);
	if (actor >= 0)
		must_close(actor);
	must_close(sampler->fd);
	return head;
}

/* What an attr that starts paused needs, and how far a trace gets that does not. */
static uint64_t must_trace_plain(struct perf_event_attr *ret)
{
	struct sampler sampler;
	char name[64];
	uint64_t head;

	*ret = must_trace(name);
	sampler = must_sampler(ret, 0, -1, DATA_PAGES);
	head = trace(&sampler, NONE);
	if (!head)
		say_unknown("aux_head=0 after 3 ms of work without a pause");
	return head;
}

static struct sampler ask_paused(const struct perf_event_attr *without)
{
	struct perf_event_attr with = *without;

	with.aux_start_paused = 1;
	return ask_sampler(&with, without, 0, -1, DATA_PAGES, "aux_start_paused");
}

TEST(starts_paused)
{
	struct perf_event_attr attr;
	struct sampler sampler;
	uint64_t head;

	must_trace_plain(&attr);
	sampler = ask_paused(&attr);
	head = trace(&sampler, NONE);
	if (head)
		say_broken("aux_head=%" PRIu64 " although it starts paused", head);
}

TEST(resumed)
{
	struct perf_event_attr attr;
	struct sampler sampler;

	must_trace_plain(&attr);
	sampler = ask_paused(&attr);
	if (!trace(&sampler, RESUME))
		say_broken("aux_head=0 after 3 ms of work behind a page fault that resumes");
}

/*
 * On a busy machine this thread may be delayed between ENABLE and its page fault. Where a pause is
 * ignored no trace is shorter than the work.
 */
TEST(paused)
{
	struct perf_event_attr attr;
	const uint64_t all = must_trace_plain(&attr);
	uint64_t head = UINT64_MAX;

	for (int i = 0; i < TRIES && head > all / 4; i++) {
		struct sampler sampler = must_sampler(&attr, 0, -1, DATA_PAGES);

		head = trace(&sampler, PAUSE);
	}
	if (head > all / 4)
		say_broken("aux_head=%" PRIu64 " behind a page fault that pauses, %" PRIu64
			   " without", head, all);
}

PROBE_MAIN
