// SPDX-License-Identifier: GPL-2.0-only
/*
 * A trace unit: a PMU whose event fills an AUX area. Its trace is one packet of 8 bytes, the clock,
 * for each microsecond that its modes ran. A timer writes what is due; stopping the event writes
 * the rest. Address filters hold for what a tick interrupts: outside all ranges nothing is written.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/slab.h>
#include <asm/irq_regs.h>

#include "compat.h"
#include "pmu.h"

#define PACKET sizeof(u64)
#define PACKET_NS 1000
#define TICK_NS 100000
#define MAX_RANGES 8

struct area {
	size_t size;
	bool overwrite;
	void *pages[];
};

struct tracer {
	struct perf_event *event;
	struct hrtimer timer;
	unsigned int modes;
	u64 since;
	size_t written;		/* bytes since perf_aux_output_begin() */
	struct area *area;	/* NULL while no output is open */
	bool paused;
	unsigned int ranges;
	struct perf_addr_filter_range range[MAX_RANGES];
};

static DEFINE_PER_CPU(struct perf_output_handle, outputs);

#define tracer_of(event) ((struct tracer *)(event)->pmu_private)

/* ---------------------------------------------------------------- output */

static bool open_output(struct tracer *tracer)
{
	struct perf_output_handle *output = this_cpu_ptr(&outputs);

	tracer->area = perf_aux_output_begin(output, tracer->event);
	tracer->written = 0;
	if (tracer->area && lies(LIE_TRACE_GAPS) && output->size > 256)
		perf_aux_output_skip(output, 64);
	return tracer->area;
}

static void close_output(struct tracer *tracer)
{
	struct perf_output_handle *output = this_cpu_ptr(&outputs);
	size_t size = tracer->written;

	if (!tracer->area)
		return;
	if (tracer->area->overwrite) {
		output->head += size;
		size = min(size, tracer->area->size);
	}
	tracer->area = NULL;
	perf_aux_output_end(output, size);
}

static void put(struct tracer *tracer, const struct perf_output_handle *output, u64 packet)
{
	const size_t at = (output->head + tracer->written) & (tracer->area->size - 1);

	memcpy(tracer->area->pages[at >> PAGE_SHIFT] + offset_in_page(at), &packet, PACKET);
	tracer->written += PACKET;
}

static bool full(const struct tracer *tracer, const struct perf_output_handle *output)
{
	return !tracer->area->overwrite && tracer->written + PACKET > output->size;
}

/* What is due by now. Returns whether there was room for all of it. */
static bool write_packets(struct tracer *tracer, bool inside)
{
	struct perf_output_handle *output = this_cpu_ptr(&outputs);
	u64 now = clock_read(tracer->modes), due;

	due = div_u64(now - min(tracer->since, now), PACKET_NS);
	if (tracer->paused || !inside || lies(LIE_TRACE_EMPTY)) {
		tracer->since = now;
		return true;
	}
	for (; due; due--, tracer->since += PACKET_NS) {
		if (full(tracer, output))
			return false;
		put(tracer, output, tracer->since);
	}
	return true;
}

/* A full area is told and, if the reader has made no room by now, ends the trace. */
static bool next_output(struct tracer *tracer, bool lost)
{
	struct perf_output_handle *output = this_cpu_ptr(&outputs);

	if (lost && !lies(LIE_TRACE_SILENT))
		perf_aux_output_flag(output, PERF_AUX_FLAG_TRUNCATED);
	close_output(tracer);
	if (!open_output(tracer))
		return false;
	tracer->since = clock_read(tracer->modes);
	return true;
}

/* ---------------------------------------------------------------- filters */

static bool inside_ranges(const struct tracer *tracer)
{
	struct pt_regs *regs = get_irq_regs();
	unsigned long ip;

	if (!tracer->ranges)
		return true;
	if (!regs)
		return false;
	ip = instruction_pointer(regs);
	for (unsigned int i = 0; i < tracer->ranges; i++)
		if (ip - tracer->range[i].start < tracer->range[i].size)
			return true;
	return false;
}

static int filters_validate(struct list_head *list)
{
	struct perf_addr_filter *filter;
	unsigned int count = 0;

	/* The core has room for this many and leaves it to the driver to count them. */
	list_for_each_entry(filter, list, entry)
		if (++count > trace_pmu.nr_addr_filters)
			return -EOPNOTSUPP;
	list_for_each_entry(filter, list, entry)
		if (filter->action != PERF_ADDR_FILTER_ACTION_FILTER || !filter->size)
			return -EOPNOTSUPP;
	return 0;
}

static void filters_sync(struct perf_event *event)
{
	struct perf_addr_filters_head *head = perf_event_addr_filters(event);
	struct tracer *tracer = tracer_of(event);
	struct perf_addr_filter *filter;
	unsigned int i = 0;

	tracer->ranges = 0;
	list_for_each_entry(filter, &head->list, entry) {
		if (i == MAX_RANGES)
			break;
		tracer->range[i] = event->addr_filter_ranges[i];
		i++;
	}
	tracer->ranges = i;
}

/* ---------------------------------------------------------------- the event */

static enum hrtimer_restart tick(struct hrtimer *timer)
{
	struct tracer *tracer = container_of(timer, struct tracer, timer);
	struct perf_output_handle *output = this_cpu_ptr(&outputs);
	bool room, go_on = true;

	if (!tracer->area)
		return HRTIMER_NORESTART;
	room = write_packets(tracer, inside_ranges(tracer));
	if (!room || output->head + tracer->written >= output->wakeup)
		go_on = next_output(tracer, !room);
	if (!go_on) {
		tracer->event->hw.state = PERF_HES_STOPPED;
		return HRTIMER_NORESTART;
	}
	hrtimer_forward_now(timer, ns_to_ktime(TICK_NS));
	return HRTIMER_RESTART;
}

static void start(struct perf_event *event, int flags)
{
	struct tracer *tracer = tracer_of(event);

	if (flags & PERF_EF_RESUME) {
		if (tracer->area)
			write_packets(tracer, false);
		tracer->paused = false;
		return;
	}
	event->hw.state = PERF_HES_STOPPED;
	if (filters)
		perf_event_addr_filters_sync(event);
	if (!open_output(tracer))
		return;
	event->hw.state = 0;
	tracer->since = clock_read(tracer->modes);
	hrtimer_start(&tracer->timer, ns_to_ktime(TICK_NS), HRTIMER_MODE_REL_PINNED_HARD);
}

static void stop(struct perf_event *event, int flags)
{
	struct tracer *tracer = tracer_of(event);

	if (flags & PERF_EF_PAUSE) {
		if (tracer->area)
			write_packets(tracer, !tracer->ranges);
		tracer->paused = !lies(LIE_TRACE_UNPAUSED);
		return;
	}
	if (tracer->area && !write_packets(tracer, !tracer->ranges) && !lies(LIE_TRACE_SILENT))
		perf_aux_output_flag(this_cpu_ptr(&outputs), PERF_AUX_FLAG_TRUNCATED);
	close_output(tracer);
	event->hw.state = PERF_HES_STOPPED;
	hrtimer_try_to_cancel(&tracer->timer);
}

static int add(struct perf_event *event, int flags)
{
	struct tracer *tracer = tracer_of(event);

	if (this_cpu_ptr(&outputs)->event)
		return -EBUSY;
	tracer->paused = starts_paused(event) && !lies(LIE_TRACE_UNPAUSED);
	event->hw.state = PERF_HES_STOPPED;
	if (!(flags & PERF_EF_START))
		return 0;
	start(event, 0);
	return event->hw.state & PERF_HES_STOPPED ? -EINVAL : 0;
}

static void del(struct perf_event *event, int flags)
{
	stop(event, PERF_EF_UPDATE);
}

static void read(struct perf_event *event)
{
}

/* The newest bytes of the area, for a sample of another event. Interrupts are off. */
static long snapshot(struct perf_event *event, struct perf_output_handle *sample,
		     unsigned long size)
{
	struct perf_output_handle *output = this_cpu_ptr(&outputs);
	struct tracer *tracer = tracer_of(event);
	unsigned long to;

	if (!tracer->area)
		return 0;
	write_packets(tracer, !tracer->ranges);
	to = output->head + tracer->written;
	/* As many bytes as are asked for, as the core wants it; older ones than the trace are 0. */
	size = min(size, (unsigned long)tracer->area->size - 1);
	return core_copy_aux(output, sample, to - size, to);
}

/* ---------------------------------------------------------------- opening */

static void *setup_aux(struct perf_event *event, void **pages, int count, bool overwrite)
{
	struct area *area = kzalloc(struct_size(area, pages, count), GFP_KERNEL);

	if (!area)
		return NULL;
	area->size = (size_t)count << PAGE_SHIFT;
	area->overwrite = overwrite;
	memcpy(area->pages, pages, count * sizeof(*pages));
	return area;
}

static void free_aux(void *area)
{
	kfree(area);
}

static void forget(struct perf_event *event)
{
	hrtimer_cancel(&tracer_of(event)->timer);
	kfree(event->pmu_private);
	event->pmu_private = NULL;
}

static int event_init(struct perf_event *event)
{
	struct tracer *tracer;

	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	if (event->attr.config)
		return -EINVAL;
	tracer = kzalloc(sizeof(*tracer), GFP_KERNEL);
	if (!tracer)
		return -ENOMEM;
	tracer->event = event;
	tracer->modes = (event->attr.exclude_user ? 0 : MODE_BIT(MODE_USER)) |
			(event->attr.exclude_kernel ? 0 : MODE_BIT(MODE_KERNEL));
	timer_setup_hard(&tracer->timer, tick);
	event->pmu_private = tracer;
	event->destroy = forget;
	return 0;
}

struct pmu trace_pmu = {
	.module = THIS_MODULE,
	.task_ctx_nr = perf_sw_context,
	.capabilities = PERF_PMU_CAP_EXCLUSIVE | PERF_PMU_CAP_ITRACE | PERF_PMU_CAP_AUX_NO_SG |
			PERF_PMU_CAP_AUX_PAUSE,
	.event_init = event_init,
	.add = add,
	.del = del,
	.start = start,
	.stop = stop,
	.read = read,
	.setup_aux = setup_aux,
	.free_aux = free_aux,
	.addr_filters_validate = filters_validate,
	.addr_filters_sync = filters_sync,
};

void trace_pmu_setup(void)
{
	trace_pmu.nr_addr_filters = min(filters, (unsigned int)MAX_RANGES);
	if (core_copy_aux)
		trace_pmu.snapshot_aux = snapshot;
}
