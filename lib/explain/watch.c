/* SPDX-License-Identifier: MIT */
/* What is made of each call. */
#define _GNU_SOURCE
#include "attach.h"
#include "load.h"
#include "shape.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define REQUEST_RESULTS 64	/* of a shape and kind that are looked at; the rest is counted */

static void count_error(struct error_count *list, size_t room, int error)
{
	for (size_t i = 0; i < room; i++) {
		if (list[i].count == 0)
			list[i].error = error;
		if (list[i].error == error || i + 1 == room) {
			list[i].count++;
			return;
		}
	}
}

/* ------------------------------------------------------------------------------------- opens */

static bool is_of_process(pid_t process, const char *format, pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), format, process, pid);
	return access(path, F_OK) == 0;
}

static enum target target_of(pid_t tid, int pid, uint64_t flags)
{
	pid_t process, up = pid;

	if (flags & PERF_FLAG_PID_CGROUP)
		return TARGET_CGROUP;
	if (pid <= 0)
		return pid == 0 ? TARGET_SELF : TARGET_CPU;
	if (pid == tid)
		return TARGET_SELF;
	process = process_of(tid, true);
	if (is_of_process(process, "/proc/%d/task/%d", pid))
		return TARGET_THREAD;
	for (int i = 0; i < 16 && up > 1; i++) {
		up = parent_of(up);
		if (up == process)
			return TARGET_CHILD;
	}
	return TARGET_OTHER;
}

static uint32_t size_of(const struct call *call)
{
	uint32_t size;

	memcpy(&size, call->attr + offsetof(struct perf_event_attr, size), sizeof(size));
	size = size == 0 ? PERF_ATTR_SIZE_VER0 : size;
	return size < call->attr_read ? size : (uint32_t)call->attr_read;
}

static void read_attr(const struct call *call, struct perf_event_attr *ret)
{
	const uint32_t size = size_of(call);

	memset(ret, 0, sizeof(*ret));
	memcpy(ret, call->attr, size < sizeof(*ret) ? size : sizeof(*ret));
}

/* A probe in a program: the path stands behind config1, where the kernel looks for it. */
static bool has_text(const struct perf_event_attr *attr)
{
	return attr->config1 != 0 && attr->type >= PERF_TYPE_MAX &&
		((int64_t)attr->type == pm_pmu_type("uprobe") ||
		 (int64_t)attr->type == pm_pmu_type("kprobe"));
}

static void describe(const struct call *call, struct shape *ret)
{
	memset(ret, 0, sizeof(*ret));
	memcpy(&ret->size, call->attr + offsetof(struct perf_event_attr, size), sizeof(ret->size));
	ret->have = size_of(call);
	memcpy(ret->raw, call->attr, ret->have);
	read_attr(call, &ret->attr);
	ret->flags = call->args[4];
	ret->target = target_of(call->tid, (int)call->args[1], ret->flags);
	ret->on_cpu = (int)call->args[2] >= 0;
	ret->grouped = (int)call->args[3] >= 0;
	ret->narrow = call->narrow;
	if (!has_text(&ret->attr))
		return;
	memcpy(ret->text, call->text, sizeof(ret->text));
	ret->attr.config1 = 0;		/* an address, which differs from run to run */
	memset(ret->raw + offsetof(struct perf_event_attr, config1), 0, sizeof(uint64_t));
}

static bool before_open(struct call *call)
{
	const ssize_t got = memory_read(call->tid, call->args[0], call->attr, sizeof(call->attr));
	struct perf_event_attr attr;

	call->attr_read = got > 0 ? (size_t)got : 0;
	read_attr(call, &attr);
	memset(call->text, 0, sizeof(call->text));
	if (has_text(&attr))
		(void)memory_text(call->tid, attr.config1, call->text, sizeof(call->text));
	remarks.bad_memory |= call->attr_read < PERF_ATTR_SIZE_VER0;
	caller_note(call->tid);
	return true;
}

static void after_open(const struct call *call, int64_t result)
{
	const int cpu = (int)call->args[2];
	struct shape like, *shape;

	describe(call, &like);
	shape = shape_of(&like);
	if (shape == NULL)
		return;
	if (shape->calls++ == 0) {
		shape->first_pid = (pid_t)call->args[1];
		shape->first_cpu = cpu;
	}
	if (cpu >= 0 && cpu < 1024)
		shape->cpus[cpu / 64] |= (uint64_t)1 << cpu % 64;
	if (result == RESULT_UNASKED) {
		shape->unseen++;
		shape->unasked++;
	} else if (result <= RESULT_LAST) {
		shape->unseen++;
		remarks.unseen++;
		remarks.not_found += result == RESULT_NOT_FOUND;
		remarks.trapped += result == RESULT_TRAPPED;
	} else if (result >= 0) {
		shape->opened++;
		event_add(process_of(call->tid, false), (int)result, shape, false);
	} else {
		if (!shape->place.known)
			place_of(call->tid, &shape->place);
		count_error(shape->errors, ERRORS, (int)-result);
	}
}

bool watch_has_opened(const struct call *call)
{
	const struct shape *shape;
	struct shape like;

	describe(call, &like);
	shape = shape_find(&like);
	return shape != NULL && shape->opened == shape->calls;
}

void watch_pretended(const struct call *call, int fd)
{
	struct shape like, *shape;

	describe(call, &like);
	shape = shape_of(&like);
	if (shape == NULL)
		return;
	shape->pretended++;
	event_add(process_of(call->tid, false), fd, shape, true);
}

/* ------------------------------------------------------------------------------ other calls */

static struct shape *shape_at(const struct call *call, int fd)
{
	return event_possible(fd) ? event_find(process_of(call->tid, false), fd) : NULL;
}

static bool before_ioctl(const struct call *call)
{
	struct shape *shape = shape_at(call, (int)call->args[0]);
	const unsigned int number = call->args[1] & 0xff;

	if (shape == NULL || number >= REQUESTS)
		return false;
	shape->requests[number]++;
	if (shape->requests[number] <= REQUEST_RESULTS)
		return true;
	remarks.requests_unlooked++;
	return false;
}

static void after_ioctl(const struct call *call, int64_t result)
{
	struct shape *shape = shape_at(call, (int)call->args[0]);
	const unsigned int number = call->args[1] & 0xff;

	if (shape == NULL || number >= REQUESTS || result == RESULT_UNSEEN || result >= 0)
		return;
	shape->failed[number]++;
	shape->request_error[number] = (int)-result;
}

static void after_map(const struct call *call, int64_t result)
{
	struct shape *shape = shape_at(call, (int)call->args[4]);
	const uint64_t pages = call->args[1] / (uint64_t)sysconf(_SC_PAGESIZE);

	if (shape == NULL || result == RESULT_UNSEEN)
		return;
	if (result < 0 && result >= -4095) {
		if (!shape->place.known)
			place_of(call->tid, &shape->place);
		count_error(&shape->map_error, 1, (int)-result);
		shape->map_is_aux = call->args[5] != 0;
		shape->map_bytes = call->args[1];
		return;
	}
	shape->rings++;
	shape->ring_is_special |= call->args[5] != 0 || !(call->args[2] & PROT_WRITE);
	shape->most_pages = pages > shape->most_pages ? pages : shape->most_pages;
}

static void before_close(const struct call *call)
{
	const int fd = (int)call->args[0];
	const pid_t process = event_possible(fd) ? process_of(call->tid, false) : 0;
	struct shape *shape = process > 0 ? event_find(process, fd) : NULL;

	if (shape == NULL)
		return;
	if (!event_is_pretended(process, fd))
		look_at_event(process, fd, shape);
	event_remove(process, fd);
}

static void before_end(const struct call *call)
{
	const bool range = call->which == CALL_CLOSE_RANGE;

	if (range && (call->args[2] & 4))		/* CLOSE_RANGE_CLOEXEC */
		return;
	event_each(process_of(call->tid, true), range ? (unsigned int)call->args[0] : 0,
		   range ? (unsigned int)call->args[1] : UINT32_MAX,
		   range ? look_at_event : look_at_end);
}

/* Whether nobody else is asked, or another listener. */
static bool takes_the_call(uint32_t answer)
{
	switch (answer & FILTER_ACTION) {
	case SECCOMP_RET_ALLOW:
	case SECCOMP_RET_LOG:
	case SECCOMP_RET_TRACE: return false;
	default: return true;
	}
}

/*
 * What a filter would answer that the program sets itself; it may be gone behind the call. Fills
 * whether it may wake a tracer.
 */
static uint32_t read_filter(const struct call *call, uint64_t address, bool *ret_wakes)
{
	static struct sock_filter code[FILTER_MOST];
	unsigned char head[16] = { 0 };
	uint16_t count;
	uint64_t at = 0;

	if (memory_read(call->tid, address, head, call->narrow ? 8 : 16) < 8)
		return SECCOMP_RET_ALLOW;
	memcpy(&count, head, sizeof(count));
	memcpy(&at, head + (call->narrow ? 4 : 8), call->narrow ? 4 : 8);
	if (count > FILTER_MOST || memory_read(call->tid, at, code, count * sizeof(code[0])) !=
	    (ssize_t)(count * sizeof(code[0])))
		return SECCOMP_RET_ALLOW;
	*ret_wakes = filter_may_wake(code, count);
	return filter_answer(code, count);
}

static bool before_filter(struct call *call)
{
	const bool sets = call->which == CALL_SECCOMP ?
		call->args[0] == SECCOMP_SET_MODE_FILTER :
		call->args[0] == PR_SET_SECCOMP && call->args[1] == SECCOMP_MODE_FILTER;

	if (sets)
		call->answer = read_filter(call, call->args[2], &call->wakes);
	return sets;
}

/*
 * From then on its answer comes before ours is asked. Where the result is not seen, it is taken to
 * be set; with TSYNC the id of a thread is a refusal.
 */
static void after_filter(const struct call *call, int64_t result)
{
	const uint64_t flags = call->which == CALL_SECCOMP ? call->args[1] : 0;
	const bool listener = flags >> 3 & 1, together = flags & 1;

	remarks.listener_refused |= listener && (result == -EBUSY || result == RESULT_UNSEEN);
	if (takes_the_call(call->answer) && (result == RESULT_UNSEEN ? !listener : result == 0 ||
					     (result > 0 && (listener || !together)))) {
		remarks.filtered = true;
		remarks.own_filter = call->answer;
	}
}

static bool before_prctl(struct call *call)
{
	remarks.disabled_all += call->args[0] == PR_TASK_PERF_EVENTS_DISABLE;
	remarks.enabled_all += call->args[0] == PR_TASK_PERF_EVENTS_ENABLE;
	return before_filter(call);
}

bool watch_call(struct call *call)
{
	remarks.calls[call->which]++;
	switch (call->which) {
	case CALL_OPEN: return before_open(call);
	case CALL_IOCTL: return before_ioctl(call);
	case CALL_MMAP: return shape_at(call, (int)call->args[4]) != NULL;
	case CALL_CLOSE: before_close(call); return false;
	case CALL_CLOSE_RANGE:
	case CALL_EXIT_GROUP: before_end(call); return false;
	case CALL_PRCTL: return before_prctl(call);
	case CALL_BPF: return load_call(call);
	case CALL_EXEC:
	case CALL_EXEC_AT: exec_look(call); return false;
	case CALL_SECCOMP: return before_filter(call);
	case CALL_PTRACE: remarks.traces = true; return false;
	default: return call->which >= CALL_FILE_OPEN && before_file(call);
	}
}

void watch_result(const struct call *call, int64_t result)
{
	if (call->which == CALL_OPEN)
		after_open(call, result);
	else if (call->which == CALL_IOCTL)
		after_ioctl(call, result);
	else if (call->which == CALL_MMAP)
		after_map(call, result);
	else if (call->which == CALL_SECCOMP || call->which == CALL_PRCTL)
		after_filter(call, result);
	else if (call->which >= CALL_FILE_OPEN)
		after_file(call, result);
	else if (call->which == CALL_BPF && result < 0 && result != RESULT_UNSEEN)
		count_error(&remarks.bpf, 1, (int)-result);
}
