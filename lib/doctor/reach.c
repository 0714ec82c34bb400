/* SPDX-License-Identifier: MIT */
/* Attempts with bare system calls, for what no plan does. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "doctor.h"
#include "observe.h"

#define WORK_NS 20000000

static const struct perf_event_attr clock_samples = {
	.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .sample_period = 500000,
	.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID, .disabled = 1,
};

/* ---------------------------------------------------------------------------------- call chains */

static bool has_kernel_address(const struct pm_sample *sample)
{
	for (uint64_t i = 0; i + 1 < sample->callchain_nr; i++)
		if (sample->callchain[i] == (uint64_t)PERF_CONTEXT_KERNEL &&
		    sample->callchain[i + 1] < (uint64_t)PERF_CONTEXT_MAX)
			return true;
	return false;
}

static bool is_kernel_chain(const struct pm_record *record)
{
	return record->type == PERF_RECORD_SAMPLE && has_kernel_address(&record->sample);
}

static bool is_user_chain(const struct pm_record *record)
{
	return record->type == PERF_RECORD_SAMPLE && record->sample.callchain_nr > 0;
}

/* Who hides the names (kernel/kallsyms.c, kallsyms_show_value). */
static const char *names_need(void)
{
	struct pm_env env;

	(void)pm_env_read(&env);
	if (env.kptr_restrict >= 2)
		return "kernel.kptr_restrict=1 or less (2 hides them from everybody)";
	if (env.kptr_restrict == 1)
		return "CAP_SYSLOG, or kernel.kptr_restrict=0 with kernel.perf_event_paranoid=1 "
			"or less";
	return "CAP_SYSLOG, or kernel.perf_event_paranoid=1 or less";
}

/* A call chain holds addresses; their names are another question. */
static void remark_names(char *how)
{
	char text[512];
	int err = pm_read_text("/proc/kallsyms", text, sizeof(text));

	if (err < 0 && err != -EFBIG)
		snprintf(how, HOW_SIZE, "addresses only\n/proc/kallsyms cannot be read, so they "
			 "have no names");
	else if (strspn(text, "0") >= 8)
		snprintf(how, HOW_SIZE, "addresses only\nnames need %s", names_need());
}

int go_kernel_chain(const struct attempt *attempt, struct pm_refusal *refusal, char *how)
{
	struct perf_event_attr attr = clock_samples;
	const struct observation see = {
		.attr = &attr, .cpu = -1, .reach = PM_REACH_OWN,
		.event = "cpu-clock with call chains",
		.is_it = attempt->kernel ? is_kernel_chain : is_user_chain, .ns = WORK_NS,
	};
	int err;

	attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	attr.exclude_kernel = attr.exclude_hv = attr.exclude_callchain_kernel = !attempt->kernel;
	err = doctor_observe(&see, refusal);
	if (err == 0 && attempt->kernel)
		remark_names(how);
	return err;
}

/* ------------------------------------------------------------------------------ others' threads */

int go_process(const struct attempt *attempt, struct pm_refusal *refusal, char *how)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK,
		.exclude_kernel = !attempt->kernel, .exclude_hv = !attempt->kernel,
	};
	const struct timespec pause = { 0, WORK_NS };
	uint64_t value = 0;
	int fd = doctor_open(&attr, doctor_target, -1, PM_REACH_OTHER,
			     attempt->kernel ? "task-clock" : "task-clock:u", refusal);
	int err;

	if (fd < 0)
		return fd;
	nanosleep(&pause, NULL);
	err = pm_read_count(fd, &value);
	close(fd);
	if (err == 0 && value == 0)
		snprintf(how, HOW_SIZE, "it slept meanwhile");
	return err;
}

static bool is_sample(const struct pm_record *record)
{
	return record->type == PERF_RECORD_SAMPLE;
}

int go_system(const struct attempt *attempt, struct pm_refusal *refusal, char *how)
{
	const struct observation see = {
		.attr = &clock_samples, .pid = -1, .cpu = 0, .reach = PM_REACH_CPU,
		.event = "cpu-clock", .is_it = is_sample, .ns = WORK_NS,
	};

	(void)attempt;
	(void)how;
	return doctor_observe(&see, refusal);
}

/* ---------------------------------------------------------------------------------- tracepoints */

static bool has_data(const struct pm_record *record)
{
	return record->type == PERF_RECORD_SAMPLE && record->sample.raw_size > 0;
}

static int find_tracepoint(struct pm_refusal *refusal)
{
	char root[64];
	int id = pm_tracepoint_id("sched", "sched_switch");
	int err = pm_tracefs_root(root, sizeof(root));

	if (id >= 0)
		return id;
	snprintf(refusal->call, sizeof(refusal->call), "open(%s/events/sched/sched_switch/id)",
		 err == 0 ? root : access("/sys/kernel/tracing", F_OK) == 0 ?
		 "/sys/kernel/tracing" : "/sys/kernel/debug/tracing");
	pm_refusal_of_tracefs(err < 0 ? -err : -id, refusal);
	return id;
}

/* Whether the data of a tracepoint would be refused, had its number been found. */
bool behind_tracefs(struct pm_refusal *refusal)
{
	static const struct pm_event_spec data = {
		.size = sizeof(data), .type = PERF_TYPE_TRACEPOINT, .want = PM_WANT_RAW,
	};

	pm_refusal_of_open(&data, PM_REACH_TRACE, -1, EACCES, refusal);
	snprintf(refusal->call, sizeof(refusal->call), "not tried yet: perf_event_open("
		 "sched:sched_switch, pid 0, cpu -1)");
	/* The others are told by the kernel's refusal alone, which is not known. */
	if (refusal->cause != PM_CAUSE_PARANOID && refusal->cause != PM_CAUSE_FILTER)
		refusal->gate[0] = '\0';
	return refusal->gate[0] != '\0';
}

int go_tracepoint(const struct attempt *attempt, struct pm_refusal *refusal, char *how)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .sample_period = 1, .disabled = 1,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_RAW,
	};
	const struct observation see = {
		.attr = &attr, .cpu = -1, .reach = PM_REACH_TRACE, .event = "sched:sched_switch",
		.is_it = has_data, .ns = WORK_NS,
	};
	int id = find_tracepoint(refusal);

	(void)attempt;
	(void)how;
	if (id < 0)
		return id;
	attr.config = (uint64_t)id;
	return doctor_observe(&see, refusal);
}

static bool is_switch(const struct pm_record *record)
{
	return record->type == PERF_RECORD_SWITCH;
}

int go_switch_records(const struct attempt *attempt, struct pm_refusal *refusal, char *how)
{
	static const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .disabled = 1,
		.exclude_kernel = 1, .exclude_hv = 1, .context_switch = 1, .sample_id_all = 1,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
	};
	static const struct observation see = {
		.attr = &attr, .cpu = -1, .reach = PM_REACH_OWN,
		.event = "dummy with context_switch",
		.is_it = is_switch, .ns = WORK_NS,
	};

	(void)attempt;
	(void)how;
	return doctor_observe(&see, refusal);
}

/* ------------------------------------------------------------------------------------- counters */

static const struct perf_event_attr instructions = {
	.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_INSTRUCTIONS, .exclude_kernel = 1,
	.exclude_hv = 1,
};

/* Why the counter may not be read in user space, if the page tells. */
static void judge_page(const struct perf_event_mmap_page *page, struct pm_refusal *refusal)
{
	int64_t arm = -1, x86 = -1;

	if (page->cap_user_rdpmc && page->index != 0)
		return;
	snprintf(refusal->call, sizeof(refusal->call), "mmap(instructions:u)");
	refusal->error = EOPNOTSUPP;
	refusal->cause = PM_CAUSE_UNSUPPORTED;
	snprintf(refusal->gate, sizeof(refusal->gate), "the kernel lets no program read this "
		 "counter by itself (cap_user_rdpmc=%d, index=%u)", (int)page->cap_user_rdpmc,
		 page->index);
	if (pm_read_number("/proc/sys/kernel/perf_user_access", &arm) == 0 && arm == 0)
		snprintf(refusal->change, sizeof(refusal->change), "for all users of this machine, "
			 "as root: sysctl -w kernel.perf_user_access=1 until the next boot, for "
			 "programs that ask for such counters (config1=3)");
	else if (pm_read_number("/sys/bus/event_source/devices/cpu/rdpmc", &x86) == 0 && x86 == 0)
		snprintf(refusal->change, sizeof(refusal->change), "for all users of this machine, "
			 "as root: echo 1 >/sys/bus/event_source/devices/cpu/rdpmc until the next "
			 "boot");
}

/* A page may permit what then does not work, so one reading must succeed without read(2). */
static int read_without_call(struct pm_refusal *refusal)
{
	const struct pm_event_spec spec = {
		.size = sizeof(spec), .type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_INSTRUCTIONS, .flags = PM_SPEC_USER_ONLY,
	};
	struct pm_counters_stats stats = { .size = sizeof(stats) };
	struct pm_value value = { .size = sizeof(value) };
	struct pm_counters *counters;
	int err = pm_counters_open(&spec, 1, 0, NULL, NULL, &counters);

	if (err < 0)
		return doctor_silence(refusal, "rdpmc of instructions:u");
	(void)pm_counters_start(counters);
	doctor_work(1000000);
	err = pm_counters_read_one(counters, 0, &value);
	(void)pm_counters_stats(counters, &stats);
	pm_counters_destroy(counters);
	return err == 0 && value.value > 0 && stats.user_reads > 0 ? 0 :
		doctor_silence(refusal, "rdpmc of instructions:u");
}

static int rdpmc_here(const struct attempt *attempt, struct pm_refusal *refusal, char *how)
{
	int fd = doctor_open(&instructions, 0, -1, PM_REACH_OWN, "instructions:u", refusal), err;
	struct pm_ring page;

	(void)attempt;
	(void)how;
	if (fd < 0)
		return fd;
	err = doctor_map(fd, 1, 0, refusal, &page);
	if (err == 0) {
		err = read_without_call(refusal);
		if (err < 0)
			judge_page(page.base, refusal);
		pm_ring_close(&page);
	}
	close(fd);
	return err;
}

int go_rdpmc(const struct attempt *attempt, struct pm_refusal *refusal, char *how)
{
	return doctor_on_some_cpu(rdpmc_here, attempt, refusal, how);
}

static int read_here(const struct attempt *attempt, struct pm_refusal *refusal, char *how)
{
	struct perf_event_attr attr = instructions;
	uint64_t value = 0;
	int fd, err;

	(void)how;
	attr.type = attempt->spec.type;
	attr.config = attempt->spec.config;
	fd = doctor_open(&attr, 0, -1, PM_REACH_OWN, attempt->what + strlen("read(2) of "),
			 refusal);
	if (fd < 0)
		return fd;
	doctor_work(1000000);
	err = pm_read_count(fd, &value);
	close(fd);
	return err == 0 && value == 0 ? doctor_silence(refusal, attempt->what) : err;
}

int go_read(const struct attempt *attempt, struct pm_refusal *refusal, char *how)
{
	return doctor_on_some_cpu(read_here, attempt, refusal, how);
}
