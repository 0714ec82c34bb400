/* SPDX-License-Identifier: MIT */
/* What a record says of processes, and to whom it is delivered. */
#include "records.h"

#include "../../policy/engine/layout.h"
#include "threads.h"

/* -------------------------------------------------------------------------------------- samples */

static size_t take_values(const struct pm_sample *sample, uint64_t *values)
{
	const uint64_t count = sample->read.nr < EVENTS_MAX ? sample->read.nr : EVENTS_MAX;

	for (uint64_t i = 0; i < count; i++)
		values[i] = sample->read.member[i].value;
	return (size_t)count;
}

/* The kernel leaves the size it copied at 0 when it could copy nothing. */
static void take_stack(const struct pm_sample *sample, struct pm_sampled *ret)
{
	ret->stack = sample->stack_user_dyn_size ? sample->stack_user : NULL;
	ret->stack_size = (size_t)sample->stack_user_dyn_size;
	ret->stack_cut = sample->stack_user_size != 0 &&
		sample->stack_user_dyn_size == sample->stack_user_size;
}

static void tell_sample(struct pm_sampler *sampler, const struct session_event *opened,
			const struct process *process, const struct pm_record *record)
{
	const struct plan_event *event = &sampler->plan->events[opened->spec];
	const struct pm_sample *sample = &record->sample;
	uint64_t values[EVENTS_MAX];
	struct pm_sampled told = {
		.size = sizeof(told), .event = opened->spec, .process = &process->told,
		.pid = sample->sid.pid, .tid = sample->sid.tid, .cpu = sample->sid.cpu,
		.mode = record->misc & PERF_RECORD_MISC_CPUMODE_MASK,
		.exact = record->misc & PERF_RECORD_MISC_EXACT_IP,
		.time = sample->sid.time, .ip = sample->ip, .address = sample->addr,
		.period = pm_watch_period(sampler, opened, sample),
		.chain = sample->callchain,
		.chain_count = (size_t)sample->callchain_nr,
		.registers_abi = sample->regs_user_abi, .registers = sample->regs_user,
		.registers_count = sample->regs_user_nr,
		.registers_mask = event->attr.sample_regs_user,
		.branches = sample->branches, .branches_count = (size_t)sample->branch_nr,
		.raw = sample->raw, .raw_size = sample->raw_size, .weight = sample->weight,
		.source = sample->data_src, .cgroup = sample->cgroup,
	};

	take_stack(sample, &told);
	if (event->attr.sample_type & PERF_SAMPLE_READ) {
		told.values = values;
		told.values_count = take_values(sample, values);
		told.enabled = sample->read.time_enabled;
		told.running = sample->read.time_running;
	}
	sampler->listener.sample(sampler->context, &told);
}

/* Listed threads have events of their own; what they have inherited besides tells it again. */
static bool is_duplicate(struct pm_sampler *sampler, const struct session_event *opened,
			 uint32_t tid)
{
	struct threads *threads = pm_watch_threads_on(sampler, opened->cpu);

	return sampler->way == WAY_THREADS && threads->rounds > 1 &&
		!pm_threads_is_source(threads, opened->tid, opened->round, (pid_t)tid);
}

/* The id may be that of another program's event (see plausible() in merge.c). */
static const struct session_event *find_event(struct pm_sampler *sampler, uint64_t id)
{
	const struct session_event *opened = pm_ids_find(&sampler->ids, &sampler->open, id);

	if (opened == NULL && sampler->count == 1)
		for (size_t i = 0; i < sampler->open.count; i++)
			if (sampler->open.list[i].spec == 0)
				return &sampler->open.list[i];
	return opened;
}

static bool is_whole(const struct pm_sampler *sampler, const struct perf_event_header *header,
		     size_t event, struct pm_record *ret)
{
	return pm_record_decode(header, &sampler->formats[event], ret) == 0 &&
		ret->trailing == 0;
}

/* The same thread's, on the same CPU. */
static const struct session_event *find_beside(const struct pm_sampler *sampler,
					const struct session_event *opened, size_t event)
{
	for (size_t i = 0; i < sampler->open.count; i++) {
		const struct session_event *other = &sampler->open.list[i];

		if (other->spec == event && other->cpu == opened->cpu && other->tid == opened->tid)
			return other;
	}
	return NULL;
}

/*
 * The id may also be that of another event of ours which the same occurrence hit. Where their
 * samples differ in what they hold, the one whose words add up is the right one.
 */
static const struct session_event *take_sample(const struct pm_sampler *sampler,
					const struct perf_event_header *header,
					const struct session_event *opened, struct pm_record *ret)
{
	if (opened == NULL || is_whole(sampler, header, opened->spec, ret))
		return opened;
	for (size_t i = 0; i < sampler->count; i++)
		if (i != opened->spec && sampler->plan->events[i].sampled &&
		    is_whole(sampler, header, i, ret) && find_beside(sampler, opened, i) != NULL)
			return find_beside(sampler, opened, i);
	return pm_record_decode(header, &sampler->formats[opened->spec], ret) == 0 ?
		opened : NULL;
}

static void on_sample(struct pm_sampler *sampler, const struct perf_event_header *header,
		      uint64_t time)
{
	const struct session_event *opened;
	struct pm_record record;
	struct process *process;
	uint64_t id = 0;
	uint32_t pid;

	opened = pm_layout_id(header, sampler->formats[0].sample_type, &id) ?
		find_event(sampler, id) : NULL;
	opened = take_sample(sampler, header, opened, &record);
	if (opened == NULL) {
		sampler->stats.unknown++;
		return;
	}
	/* The idle task, and tasks of other PID namespaces: those are 0. Ending ones are -1. */
	pid = record.sample.sid.pid;
	record.sample.sid.time = time;
	process = pid == 0 || pid == UINT32_MAX ? NULL :
		pm_processes_find(&sampler->processes, pid, time);
	if (process != NULL)
		process->seen_at = time;
	if (process == NULL || !process->told.watched) {
		sampler->stats.skipped++;
		return;
	}
	if (is_duplicate(sampler, opened, record.sample.sid.tid)) {
		sampler->stats.duplicates++;
		return;
	}
	sampler->stats.samples++;
	if (sampler->listener.sample != NULL)
		tell_sample(sampler, opened, process, &record);
}

/* ------------------------------------------------------------------------------------ side-band */

static bool is_wanted(const struct pm_sampler *sampler, enum pm_side_kind kind)
{
	return sampler->listener.side != NULL &&
		((sampler->opts.side & kind) || kind == PM_SIDE_THROTTLE ||
		 (kind == PM_SIDE_CHAIN && (sampler->opts.want & PM_WANT_DEFERRED)));
}

/* Of a process: to be told only when that is watched. */
static void tell_of(struct pm_sampler *sampler, struct pm_side *side)
{
	const struct process *process;

	if (!is_wanted(sampler, side->kind) || side->pid == 0 || side->pid == UINT32_MAX)
		return;
	process = pm_processes_find(&sampler->processes, side->pid, side->time);
	if (process == NULL || !process->told.watched)
		return;
	side->process = &process->told;
	sampler->listener.side(sampler->context, side);
}

static void tell_all(struct pm_sampler *sampler, struct pm_side *side)
{
	if (is_wanted(sampler, side->kind))
		sampler->listener.side(sampler->context, side);
}

static void on_mapping(struct pm_sampler *sampler, const struct pm_record *record,
		       struct pm_side *side)
{
	const bool data = record->misc & PERF_RECORD_MISC_MMAP_DATA;

	if (data && !(sampler->opts.side & PM_SIDE_MMAP_DATA))
		return;
	side->kind = sampler->opts.side & PM_SIDE_MMAP ? PM_SIDE_MMAP : PM_SIDE_MMAP_DATA;
	side->exec = !data;
	side->pid = record->mmap.pid;
	side->tid = record->mmap.tid;
	side->address = record->mmap.addr;
	side->length = record->mmap.len;
	side->offset = record->mmap.pgoff;
	side->major = record->mmap.maj;
	side->minor = record->mmap.min;
	side->inode = record->mmap.ino;
	side->generation = record->mmap.ino_generation;
	side->protection = record->mmap.prot;
	side->map_flags = record->mmap.flags;
	side->build_id = record->mmap.build_id;
	side->build_id_size = record->mmap.build_id_size;
	side->text = record->mmap.filename;
	tell_of(sampler, side);
}

static void on_comm(struct pm_sampler *sampler, const struct pm_record *record,
		    struct pm_side *side)
{
	side->exec = record->misc & PERF_RECORD_MISC_COMM_EXEC;
	side->pid = record->comm.pid;
	side->tid = record->comm.tid;
	side->text = record->comm.comm;
	if (side->exec)
		pm_processes_exec(&sampler->processes, side->pid, side->text, side->time);
	else if (side->pid == side->tid)
		pm_processes_name(&sampler->processes, side->pid, side->text, side->time);
	tell_of(sampler, side);
}

static void on_task(struct pm_sampler *sampler, const struct pm_record *record,
		    struct pm_side *side)
{
	side->end = record->type == PERF_RECORD_EXIT;
	side->pid = record->task.pid;
	side->tid = record->task.tid;
	side->parent = record->task.ppid;
	side->parent_tid = record->task.ptid;
	if (!side->end)
		pm_processes_birth(&sampler->processes, side->pid, side->tid, side->parent,
				   side->time);
	tell_of(sampler, side);
	if (!side->end)
		return;
	pm_processes_end(&sampler->processes, side->pid, side->tid, side->time);
	if (sampler->way == WAY_THREADS)
		pm_watch_forget_thread(sampler, side->tid);
}

static void on_switch(struct pm_sampler *sampler, const struct pm_record *record,
		      struct pm_side *side)
{
	side->end = record->misc & PERF_RECORD_MISC_SWITCH_OUT;
	side->preempted = side->end && (record->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
	if (record->type == PERF_RECORD_SWITCH_CPU_WIDE) {
		side->parent = record->switch_cpu_wide.next_prev_pid;
		side->parent_tid = record->switch_cpu_wide.next_prev_tid;
	}
	tell_of(sampler, side);
}

static void on_symbol(struct pm_sampler *sampler, const struct pm_record *record,
		      struct pm_side *side)
{
	side->address = record->ksymbol.addr;
	side->length = record->ksymbol.len;
	side->end = record->ksymbol.flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
	side->text = record->ksymbol.name;
	tell_all(sampler, side);
}

static void on_cgroup(struct pm_sampler *sampler, const struct pm_record *record,
		      struct pm_side *side)
{
	side->id = record->cgroup.id;
	side->text = record->cgroup.path;
	tell_all(sampler, side);
}

static void on_chain(struct pm_sampler *sampler, const struct pm_record *record,
		     struct pm_side *side)
{
	side->id = record->callchain_deferred.cookie;
	side->chain = record->callchain_deferred.ips;
	side->chain_count = (size_t)record->callchain_deferred.nr;
	tell_of(sampler, side);
}

static void on_throttle(struct pm_sampler *sampler, const struct pm_record *record,
			struct pm_side *side)
{
	side->end = record->type == PERF_RECORD_UNTHROTTLE;
	sampler->stats.throttled += !side->end;
	tell_all(sampler, side);
}

static void on_lost(struct pm_sampler *sampler, const struct pm_record *record,
		    struct pm_side *side)
{
	const bool ring_full = record->type == PERF_RECORD_LOST;
	const uint64_t count = ring_full ? record->lost.lost : record->lost_samples.lost;

	if (ring_full)
		sampler->stats.lost += count;
	else
		sampler->stats.lost_samples += count;
	if (sampler->listener.lost != NULL)
		sampler->listener.lost(sampler->context, side->cpu, count);
}

static const struct {
	uint32_t type;
	enum pm_side_kind kind;
	void (*take)(struct pm_sampler *sampler, const struct pm_record *record,
		     struct pm_side *side);
} kinds[] = {
	{ PERF_RECORD_MMAP, PM_SIDE_MMAP, on_mapping },
	{ PERF_RECORD_MMAP2, PM_SIDE_MMAP, on_mapping },
	{ PERF_RECORD_COMM, PM_SIDE_COMM, on_comm },
	{ PERF_RECORD_FORK, PM_SIDE_TASK, on_task },
	{ PERF_RECORD_EXIT, PM_SIDE_TASK, on_task },
	{ PERF_RECORD_SWITCH, PM_SIDE_SWITCH, on_switch },
	{ PERF_RECORD_SWITCH_CPU_WIDE, PM_SIDE_SWITCH, on_switch },
	{ PERF_RECORD_KSYMBOL, PM_SIDE_KSYMBOL, on_symbol },
	{ PERF_RECORD_CGROUP, PM_SIDE_CGROUP, on_cgroup },
	{ PERF_RECORD_CALLCHAIN_DEFERRED, PM_SIDE_CHAIN, on_chain },
	{ PERF_RECORD_THROTTLE, PM_SIDE_THROTTLE, on_throttle },
	{ PERF_RECORD_UNTHROTTLE, PM_SIDE_THROTTLE, on_throttle },
	{ PERF_RECORD_LOST, 0, on_lost },
	{ PERF_RECORD_LOST_SAMPLES, 0, on_lost },
};

static void on_side(struct pm_sampler *sampler, const struct pm_record *record,
		    struct pm_side *side)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].type == record->type) {
			side->kind = kinds[i].kind;
			kinds[i].take(sampler, record, side);
			return;
		}
	sampler->stats.unknown++;
}

void pm_watch_deliver(struct pm_sampler *sampler, const struct session_ring *ring,
		      const struct perf_event_header *header)
{
	struct pm_record record;
	struct pm_side side = { .size = sizeof(side), .text = "" };

	if (header->type == PERF_RECORD_SAMPLE) {
		on_sample(sampler, header, ring->time);
		return;
	}
	if (pm_record_decode(header, &sampler->formats[sampler->count], &record) < 0) {
		sampler->stats.unknown++;
		return;
	}
	side.time = ring->time;
	side.pid = record.sid.pid;
	side.tid = record.sid.tid;
	side.cpu = (uint32_t)ring->cpu;
	on_side(sampler, &record, &side);
}
