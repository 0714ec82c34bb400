/* SPDX-License-Identifier: MIT */
/* A call as it was recorded, with the numbers and the tasks of this machine. See call.h. */
#define _GNU_SOURCE
#include "call.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../gate.h"

static const char own_program[] = "/proc/self/exe", kernel_function[] = "vfs_read";

void tell(struct told *ret, enum verdict verdict, const char *format, ...)
{
	va_list list;

	ret->verdict = verdict;
	va_start(list, format);
	vsnprintf(ret->reason, sizeof(ret->reason), format, list);
	va_end(list);
}

union raw *raw_new(size_t room)
{
	union raw *made = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);

	return made == MAP_FAILED ? NULL : made;
}

/* ------------------------------------------------------------------------------------ the event */

static void note_model(const char *key, const char *value, void *context)
{
	char *model = context;

	if (strcmp(key, "cpu_model") == 0 && model[0] == '\0')
		snprintf(model, 128, "%s", value);
}

/* Numbers of one model of CPU mean something else on another one. */
static bool is_other_cpu(const struct recording *of)
{
	char model[128] = "";

	(void)pm_identity_each(note_model, model);
	return strcmp(model, of->cpu_model) != 0;
}

static bool find_tracepoint(const struct call *call, struct told *told)
{
	const char *name = call->asked->tracepoint, *colon = strchr(name, ':');
	struct pm_refused refused = { .call = PM_CALL_TRACEFS, .env = call->env };
	struct pm_gate_words words;
	char system[80], root[128];
	int id;

	if (colon == NULL || (size_t)(colon - name) >= sizeof(system)) {
		tell(told, V_UNKNOWN, "which tracepoint it was is not recorded (%.40s)", name);
		return false;
	}
	snprintf(system, sizeof(system), "%.*s", (int)(colon - name), name);
	id = pm_tracepoint_id(system, colon + 1);
	call->raw->attr.config = (uint64_t)id;
	if (id >= 0)
		return true;
	refused.error = -pm_tracefs_root(root, sizeof(root));
	if (refused.error == 0 && id == -ENOENT) {
		tell(told, V_ABSENT, "this kernel has no tracepoint %s", name);
		return false;
	}
	refused.error = refused.error ? refused.error : -id;
	tell(told, pm_gate_find(&refused, &words)->verdict == PM_GATE_BLOCKED ? V_BLOCKED :
	     V_ABSENT, "%s", words.brief);
	return false;
}

static bool find_pmu(const struct call *call, const struct recording *of, struct told *told)
{
	const char *name = call->asked->type;
	const int type = pm_pmu_type(name);
	char core[64];

	if (type < 0) {
		tell(told, strcmp(name, "unknown") ? V_ABSENT : V_UNKNOWN, strcmp(name, "unknown") ?
		     "there is no PMU %s here" : "the PMU's name is not recorded (%s)", name);
		return false;
	}
	call->raw->attr.type = (uint32_t)type;
	if (pm_pmu_core(core, sizeof(core)) == 0 && strcmp(core, name) == 0 && is_other_cpu(of)) {
		tell(told, V_UNKNOWN, "0x%llx is an event of another CPU (%.60s)",
		     (unsigned long long)call->asked->config, of->cpu_model);
		return false;
	}
	return true;
}

static bool find_event(const struct call *call, const struct recording *of, struct told *told)
{
	const int type = asked_type(call->asked);

	call->raw->attr.config = call->asked->config;
	if (type < 0)
		return find_pmu(call, of, told);
	call->raw->attr.type = (uint32_t)type;
	if (type == PERF_TYPE_TRACEPOINT)
		return find_tracepoint(call, told);
	if (type == PERF_TYPE_RAW && is_other_cpu(of)) {
		tell(told, V_UNKNOWN, "0x%llx is an event of another CPU (%.60s)",
		     (unsigned long long)call->asked->config, of->cpu_model);
		return false;
	}
	return true;
}

/* ------------------------------------------------------------------------------------- the attr */

/* What stands in place of a value that is private to who was recorded. */
static uint64_t stand_in(const struct call *call, enum how how)
{
	const bool probe = asked_type(call->asked) < 0;

	if (how == NAME || probe)
		return (uint64_t)(uintptr_t)(strcmp(call->asked->type, "kprobe") ? own_program :
					     kernel_function);
	if (call->raw->attr.bp_type & HW_BREAKPOINT_X)
		return (uint64_t)(uintptr_t)watched_call;
	return (uint64_t)(uintptr_t)watched + (how == UNALIGNED);
}

static void put_number(unsigned char *at, size_t bytes, uint64_t value)
{
	memcpy(at, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? (char *)&value + 8 - bytes :
	       (char *)&value, bytes);
}

static void put_fields(const struct call *call)
{
	const struct asked *asked = call->asked;

	call->raw->attr.bp_type = (uint32_t)asked_field(asked, "bp_type");
	for (size_t i = 0; i < FIELD_COUNT; i++) {
		uint64_t value = asked->value[i];

		if (asked->how[i] == UNSET)
			continue;
		if (asked->how[i] != NUMBER && strcmp(attr_fields[i].name, "sig_data") != 0)
			value = stand_in(call, asked->how[i]);
		put_number(call->raw->bytes + attr_fields[i].offset, attr_fields[i].bytes, value);
	}
	call->raw->attr.flag_bits = asked_flag_bits(asked);
	call->raw->attr.size = (uint32_t)asked->size;
	if (asked->beyond > sizeof(call->raw->attr) && asked->beyond <= call->room)
		call->raw->bytes[asked->beyond - 1] = 1;
}

/* ----------------------------------------------------------------------- whom, and on which CPU */

struct list { struct call *call; size_t most; };

static void add_cpu(unsigned int cpu, void *context)
{
	const struct list *list = context;

	if (list->call->cpu_count < list->most)
		list->call->cpus[list->call->cpu_count++] = (int)cpu;
}

static void find_cpus(struct call *call, const struct recording *of)
{
	const bool all = call->asked->cpus >= of->cpus_online && of->cpus_online > 1;
	struct list list = { call, all ? CPUS_MOST : (size_t)call->asked->cpus };
	char text[1024];

	call->cpu_count = 0;
	if (list.most == 0)
		list.most = 1;
	if (list.most > CPUS_MOST)
		list.most = CPUS_MOST;
	if (call->asked->on_cpu && pm_read_text("/sys/devices/system/cpu/online", text,
						sizeof(text)) > 0)
		(void)pm_cpulist_each(text, add_cpu, &list);
	if (call->cpu_count == 0) {
		call->cpus[0] = call->asked->on_cpu ? 0 : -1;
		call->cpu_count = 1;
	}
}

static bool find_target(struct call *call, struct tasks *tasks, struct told *told)
{
	struct task *const whom[] = {
		[THREAD] = &tasks->thread, [CHILD] = &tasks->child, [OTHER] = &tasks->other,
		[CGROUP] = NULL,
	};

	call->task = whom[call->asked->target];
	call->flags = call->asked->open_flags;
	call->pid = call->asked->target == CPU ? -1 : call->task != NULL ? call->task->tid : 0;
	if (call->task != NULL && call->task->died) {
		tell(told, V_UNKNOWN, "the task that is to be watched has ended");
		return false;
	}
	return true;
}

bool call_find(const struct asked *asked, const struct recording *of, struct tasks *tasks,
	       struct call *ret, struct told *told)
{
	ret->asked = asked;
	memset(ret->raw, 0, ret->room);
	if (asked->strange[0] != '\0') {
		tell(told, V_UNKNOWN, "this version does not know the recording's %s",
		     asked->strange);
		return false;
	}
	find_cpus(ret, of);
	put_fields(ret);
	return find_event(ret, of, told) && find_target(ret, tasks, told);
}

static int open_cgroup(void)
{
	static const char *const roots[] = {
		"/sys/fs/cgroup/perf_event", "/sys/fs/cgroup/perf_event,cpu", "/sys/fs/cgroup",
		"/sys/fs/cgroup/unified", "/dev/cg2_bpf",
	};

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		char file[80];

		snprintf(file, sizeof(file), "%s/cgroup.procs", roots[i]);
		if (access(file, F_OK) == 0)
			return open(roots[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	return -1;
}

int call_open(const struct call *call, const union raw *raw, size_t at, unsigned long flags)
{
	union raw *copy = raw_new(call->room);
	const bool cgroup = flags & PERF_FLAG_PID_CGROUP;
	int whom = call->pid, fd;

	if (copy == NULL)
		return -ENOMEM;
	memcpy(copy, raw, call->room);	/* the kernel may write its size there */
	if (call->asked->target == CGROUP)
		whom = cgroup ? open_cgroup() : -1;
	fd = pm_open_raw(&copy->attr, whom, call->cpus[at], call->leaders[at], flags);
	(void)munmap(copy, call->room);
	if (cgroup && whom >= 0)
		(void)close(whom);
	if (fd >= 0)
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	return fd;
}
