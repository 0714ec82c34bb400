/* SPDX-License-Identifier: MIT */
/*
 * A call made, and what comes of it. That it opens is no answer: work is done that must make it
 * count, or fill its ring, and an event that stays silent is told so.
 */
#include "call.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../gate.h"

#define SPIN_US 4000		/* of one piece of work */
#define SPIN_MOST_US 60000
#define ROUNDS 5

struct made {
	int fds[CPUS_MOST];
	struct pm_ring rings[CPUS_MOST];
	size_t count, ring_count;
	bool redirected;	/* into rings that were there before */
	uint64_t value, written;
	int read_error;
};

/* ---------------------------------------------------------------------- what the work must show */

static bool is_certain_tracepoint(const char *name)
{
	static const char *const names[] = {
		"sched:sched_switch", "raw_syscalls:sys_enter", "raw_syscalls:sys_exit",
		"syscalls:sys_enter_close", "syscalls:sys_enter_getppid",
		"sched:sched_process_fork",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

bool call_counts(const struct call *call)
{
	const struct asked *asked = call->asked;
	const bool user = !asked_flag(asked, "exclude_user");

	switch (asked_type(asked)) {
	case PERF_TYPE_SOFTWARE:
		return asked->config <= PERF_COUNT_SW_TASK_CLOCK ||
			asked->config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
			(asked->config == PERF_COUNT_SW_CPU_MIGRATIONS && !asked->on_cpu &&
			 call->env->cpus_allowed > 1) ||
			(user && (asked->config == PERF_COUNT_SW_PAGE_FAULTS ||
				  asked->config == PERF_COUNT_SW_PAGE_FAULTS_MIN));
	case PERF_TYPE_HARDWARE:
		return asked->config <= PERF_COUNT_HW_INSTRUCTIONS ||
			asked->config == PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
	case PERF_TYPE_TRACEPOINT: return is_certain_tracepoint(asked->tracepoint);
	case PERF_TYPE_BREAKPOINT: return user;
	default: return false;
	}
}

static bool counts_never(const struct asked *asked)
{
	return asked_type(asked) == PERF_TYPE_SOFTWARE && asked->config == PERF_COUNT_SW_DUMMY;
}

/* ------------------------------------------------------------------------------------- requests */

static bool ask_request(const struct made *made, size_t i, enum request request, unsigned long arg,
			struct told *ret)
{
	static const struct { unsigned long number; const char *name; } known[REQUESTS] = {
		[ENABLE] = { PERF_EVENT_IOC_ENABLE, "ENABLE" },
		[REFRESH] = { PERF_EVENT_IOC_REFRESH, "REFRESH" },
		[RESET] = { PERF_EVENT_IOC_RESET, "RESET" },
		[PERIOD] = { PERF_EVENT_IOC_PERIOD, "PERIOD" },
		[SET_OUTPUT] = { PERF_EVENT_IOC_SET_OUTPUT, "SET_OUTPUT" },
		[SET_FILTER] = { PERF_EVENT_IOC_SET_FILTER, "SET_FILTER" },
		[ID] = { PERF_EVENT_IOC_ID, "ID" },
	};
	const int err = pm_ioctl(made->fds[i], known[request].number, arg);

	if (err >= 0)
		return true;
	tell(ret, err == -ENOTTY ? V_NO : V_UNKNOWN, "it opens, and ioctl %s says %s",
	     known[request].name, pm_errno_name(err));
	return false;
}

static bool make_requests(const struct call *call, struct made *made, struct told *ret)
{
	static const char filter[] = "common_pid != 0";
	const struct asked *asked = call->asked;
	uint64_t id, period = asked_field(asked, "sample_period");

	for (size_t i = 0; i < made->count; i++) {
		if (asked->requests >> ID & 1 && !ask_request(made, i, ID, (unsigned long)&id, ret))
			return false;
		if (asked->requests >> PERIOD & 1 && period > 0 &&
		    !ask_request(made, i, PERIOD, (unsigned long)&period, ret))
			return false;
		if (asked->requests >> SET_FILTER & 1 &&
		    asked_type(asked) == PERF_TYPE_TRACEPOINT &&
		    !ask_request(made, i, SET_FILTER, (unsigned long)filter, ret))
			return false;
		if (asked->requests >> RESET & 1 && !ask_request(made, i, RESET, 0, ret))
			return false;
		if (asked->requests >> REFRESH & 1 && period > 0)
			(void)ask_request(made, i, REFRESH, 1000, ret);
	}
	return true;
}

/* ---------------------------------------------------------------------------------------- rings */

static void refused_ring(const struct call *call, size_t pages, size_t rings, int error,
			 struct told *ret)
{
	const struct pm_refused refused = {
		.call = PM_CALL_MAP, .error = error, .env = call->env, .rings = rings,
		.bytes = pages * call->env->page_size,
	};
	struct pm_gate_words words;
	const struct pm_gate *gate = pm_gate_find(&refused, &words);

	tell(ret, gate->verdict == PM_GATE_BLOCKED ? V_BLOCKED : V_UNKNOWN,
	     "it opens, and mmap of %zu pages says %.400s", pages, words.brief);
}

static bool map_rings(const struct call *call, const struct recording *of, struct made *made,
		      struct told *ret)
{
	const uint64_t page = call->env->page_size;
	uint64_t pages = call->asked->pages > 1 ? call->asked->pages - 1 : 0;
	const int backward = asked_flag(call->asked, "write_backward");

	if (call->asked->rings == 0)
		return true;
	if (pages > 1u << 16)
		pages = 1u << 16;
	pages = pages > 0 ? (pages * of->page_size + page - 1) / page : 0;
	for (size_t i = 0; i < made->count; i++) {
		const int err = pm_ring_open(made->fds[i], pages, backward ? PROT_READ :
					     PROT_READ | PROT_WRITE, &made->rings[i]);

		if (err < 0) {
			refused_ring(call, pages + 1, made->count, -err, ret);
			return false;
		}
		made->ring_count = i + 1;
	}
	return true;
}

static bool join_rings(const struct call *call, const struct asking *before, struct made *made,
		       struct told *ret)
{
	if ((call->asked->requests >> SET_OUTPUT & 1) == 0 || made->ring_count > 0)
		return true;
	for (size_t i = 0; i < made->count; i++)
		for (size_t j = 0; j < before->ring_count; j++) {
			if (before->ring_cpus[j] != call->cpus[i])
				continue;
			if (!ask_request(made, i, SET_OUTPUT, (unsigned long)before->rings[j], ret))
				return false;
			made->redirected = true;
		}
	return true;
}

static uint64_t written_to(const struct asking *before, const struct made *made)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < made->ring_count; i++)
		sum += made->rings[i].base != NULL ? pm_ring_head(&made->rings[i]) : 0;
	for (size_t i = 0; made->redirected && i < before->ring_count; i++)
		sum += pm_ring_head(&before->mapped[i]);
	return sum;
}

/* ------------------------------------------------------------------------------- events, counts */

static unsigned int spin_for(const struct asked *asked)
{
	const uint64_t rate = asked_flag(asked, "freq") ? asked_field(asked, "sample_period") : 0;
	const uint64_t us = rate > 0 ? 3000000 / rate : 0;

	return us < SPIN_US ? SPIN_US : us > SPIN_MOST_US ? SPIN_MOST_US : (unsigned int)us;
}

/* Returns false where who is watched did not come back from its work. */
static bool cause_events(const struct call *call, bool first, unsigned int spin_us)
{
	bool done = false;

	if (call->task != NULL)
		return task_work(call->task, spin_us, first && call->asked->target != THREAD &&
				 asked_flag(call->asked, "enable_on_exec"));
	for (size_t i = 0; i < call->cpu_count; i++)
		done |= work_here(spin_us, call->cpus[i]);
	return done;
}

static uint64_t value_of(const struct pm_counts *counts, int fd)
{
	uint64_t id = 0;

	if (counts->nr > 1 && pm_ioctl(fd, PERF_EVENT_IOC_ID, (unsigned long)&id) >= 0)
		for (uint64_t i = 0; i < counts->nr && i < PM_COUNTS_MAX; i++)
			if (counts->member[i].id == id)
				return counts->member[i].value;
	/* Without ids the leader comes first, and who has just joined, last. */
	return counts->nr > 0 ? counts->member[(counts->nr - 1) % PM_COUNTS_MAX].value : 0;
}

static void read_values(const struct call *call, struct made *made)
{
	made->value = 0;
	for (size_t i = 0; i < made->count; i++) {
		struct pm_counts counts = { .nr = 0 };
		const int err = pm_read_counts(made->fds[i], call->raw->attr.read_format, &counts);

		if (err < 0)
			made->read_error = err;
		else
			made->value += value_of(&counts, made->fds[i]);
	}
}

static void switch_on(const struct call *call, struct made *made)
{
	const struct asked *asked = call->asked;
	const bool by_exec = asked_flag(asked, "enable_on_exec") && call->task != NULL &&
		asked->target != THREAD;

	for (size_t i = 0; i < made->count; i++)
		if (asked_flag(asked, "disabled") && !by_exec)
			(void)pm_ioctl(made->fds[i], PERF_EVENT_IOC_ENABLE, 0);
}

/* ------------------------------------------------------------------------------------- verdicts */

/* Whether that which the program wants came: records where it has a ring for them, else a count. */
static bool has_come(const struct call *call, const struct made *made)
{
	const bool recorded = made->ring_count > 0 || made->redirected;

	if (recorded && (asked_field(call->asked, "sample_period") > 0 ||
			 counts_never(call->asked)))
		return made->written > 0;
	return made->value > 0 || counts_never(call->asked);
}

static void judge_silence(const struct call *call, const struct made *made, struct told *ret)
{
	const struct asked *asked = call->asked;
	const uint64_t period = asked_field(asked, "sample_period");
	const bool due = period > 0 && (asked_flag(asked, "freq") || made->value / period >= 2);

	if (asked_type(asked) == PERF_TYPE_SOFTWARE && call_counts(call) && made->value == 0 &&
	    (asked->config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
	     asked->config == PERF_COUNT_SW_CPU_MIGRATIONS) && asked_flag(asked, "exclude_kernel"))
		tell(ret, V_BROKEN, "opened, and counted 0 of what the work caused: it happens in "
		     "the kernel, which exclude_kernel leaves out");
	else if (made->value == 0 && call_counts(call))
		tell(ret, V_BROKEN, "opened, and counted nothing of work that causes it");
	else if (made->value > 0 && due)
		tell(ret, V_BROKEN, "opened, counted %llu, and no record came",
		     (unsigned long long)made->value);
	else if (made->value > 0)
		tell(ret, V_UNKNOWN, "opened, counted %llu: fewer than its period",
		     (unsigned long long)made->value);
	else
		tell(ret, V_UNKNOWN, "opened, and nothing came: the work here may not cause it");
}

static void judge(const struct call *call, const struct made *made, bool worked, struct told *ret)
{
	const struct asked *asked = call->asked;

	if (!worked)
		tell(ret, V_UNKNOWN, "opened, and who is watched did not come back from its work");
	else if (made->read_error == -ENODATA)
		tell(ret, V_BROKEN, "opened, pinned, and in error: the PMU has no counter for it");
	else if (made->read_error != 0)
		tell(ret, V_UNKNOWN, "opened, and read says %s", pm_errno_name(made->read_error));
	else if (asked->requests >> SET_BPF & 1)
		tell(ret, V_UNKNOWN, "opened; a BPF program was attached to it, which is not "
		     "asked here");
	else if (has_come(call, made))
		tell(ret, V_YES, "%s", "");
	else
		judge_silence(call, made, ret);
}

/* ------------------------------------------------------------------------------------ the whole */

static void let_go(struct made *made)
{
	for (size_t i = 0; i < made->ring_count; i++)
		if (made->rings[i].base != NULL)
			pm_ring_close(&made->rings[i]);
	for (size_t i = 0; i < made->count; i++)
		(void)close(made->fds[i]);
	made->count = made->ring_count = 0;
}

static void forget_leader(struct asking *before)
{
	for (size_t i = 0; i < before->leader_count; i++)
		(void)close(before->leaders[i]);
	before->leader_count = 0;
	before->leader = NULL;
}

static void forget_rings(struct asking *before)
{
	for (size_t i = 0; i < before->ring_count; i++) {
		pm_ring_close(&before->mapped[i]);
		(void)close(before->rings[i]);
	}
	before->ring_count = 0;
}

/* A leader and rings are needed by those that follow; each has descriptors of its own. */
static void keep(const struct call *call, struct made *made, struct asking *before)
{
	if (!call->asked->group) {
		forget_leader(before);
		before->leader = call->asked;
		for (size_t i = 0; i < made->count; i++) {
			before->leaders[i] = dup(made->fds[i]);
			before->leader_cpus[i] = call->cpus[i];
			before->leader_count += before->leaders[i] >= 0;
			if (before->leaders[i] < 0)
				break;
		}
	}
	if (made->ring_count == 0)
		return;
	forget_rings(before);
	memcpy(before->mapped, made->rings, sizeof(before->mapped));
	memcpy(before->rings, made->fds, sizeof(before->rings));
	memcpy(before->ring_cpus, call->cpus, sizeof(before->ring_cpus));
	before->ring_count = made->ring_count;
	made->count = made->ring_count = 0;
}

static bool find_leaders(struct call *call, const struct asking *before, struct told *ret)
{
	for (size_t i = 0; i < call->cpu_count; i++)
		call->leaders[i] = -1;
	if (!call->asked->group)
		return true;
	if (before->leader == NULL || before->leader->target != call->asked->target) {
		tell(ret, V_UNKNOWN, "the leader of its group is not in the recording");
		return false;
	}
	if (before->leader_count == 0) {
		tell(ret, before->leader_said.verdict, "its leader: %.600s",
		     before->leader_said.reason);
		return false;
	}
	for (size_t i = 0; i < call->cpu_count; i++)
		for (size_t j = 0; j < before->leader_count; j++)
			if (before->leader_cpus[j] == call->cpus[i])
				call->leaders[i] = before->leaders[j];
	return true;
}

static bool open_all(const struct call *call, struct made *made, struct told *ret)
{
	for (size_t i = 0; i < call->cpu_count; i++) {
		const int fd = call_open(call, call->raw, i, call->flags);

		if (fd < 0) {
			call_refused(call, i, -fd, ret);
			return false;
		}
		made->fds[made->count++] = fd;
	}
	return true;
}

/*
 * A timer may find who works in the kernel each time, or a machine may be busy elsewhere: what
 * stays silent gets more work before that is told. Returns false where nobody came back from it.
 */
static bool watch(const struct call *call, const struct asking *before, struct made *made)
{
	const uint64_t written = written_to(before, made);
	unsigned int spin_us = spin_for(call->asked);
	bool worked = true;

	for (int i = 0; i < ROUNDS && worked && (i == 0 || !has_come(call, made)); i++) {
		worked = cause_events(call, i == 0, spin_us);
		read_values(call, made);
		made->written = written_to(before, made) - written;
		spin_us = spin_us * 2 < SPIN_MOST_US ? spin_us * 2 : SPIN_MOST_US;
		if (i == 0 && !call_counts(call) && made->value == 0)
			break;		/* which may be all that there is */
	}
	return worked;
}

void call_ask(struct call *call, const struct recording *of, struct asking *before,
	      struct told *ret)
{
	struct made made = { .count = 0 };

	if (!find_leaders(call, before, ret))
		return;
	if (open_all(call, &made, ret) && map_rings(call, of, &made, ret) &&
	    join_rings(call, before, &made, ret) && make_requests(call, &made, ret)) {
		switch_on(call, &made);
		judge(call, &made, watch(call, before, &made), ret);
		keep(call, &made, before);
	} else if (!call->asked->group) {
		forget_leader(before);
		before->leader = call->asked;
	}
	if (!call->asked->group)
		before->leader_said = *ret;
	let_go(&made);
}
