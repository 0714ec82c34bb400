/* SPDX-License-Identifier: MIT */
/*
 * Reasons lie on each other: behind a level of perf_event_paranoid there may be no PMU at all. Each
 * refused call is asked again by who made it, then with one obstacle less: as who runs this
 * program, where that is more; of its own thread and user mode alone, which takes no privilege;
 * and without single parts of the attr.
 */
#define _GNU_SOURCE
#include "reason.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "part.h"
#include "tell.h"
#include "words.h"

struct reason *reasons[SHAPES];

/* ------------------------------------------------------------------------------ asking again */

static int raw_open(const void *attr, const struct shape *shape, int cgroup)
{
	const int pid = shape->target == TARGET_CGROUP ? cgroup : shape->target == TARGET_CPU ? -1 :
		shape->target == TARGET_OTHER && kill(shape->first_pid, 0) != -1 ?
		shape->first_pid : 0;
	const unsigned long flags = shape->flags & PERF_FLAG_PID_CGROUP;
	const long fd = syscall(__NR_perf_event_open, attr, pid, shape->on_cpu ? shape->first_cpu :
				-1, -1, flags);

	if (fd >= 0)
		(void)close((int)fd);
	return fd >= 0 ? 0 : errno;
}

int ask_again(const struct shape *shape, const struct perf_event_attr *attr)
{
	union { struct perf_event_attr attr; unsigned char bytes[ATTR_ROOM]; } asked;
	const uint32_t size = shape->size != 0 ? shape->size : PERF_ATTR_SIZE_VER0;
	int cgroup = -1, err;

	memcpy(asked.bytes, shape->raw, sizeof(asked.bytes));
	asked.attr = *attr;
	if (size < pm_attr_size_needed(attr))
		asked.attr.size = pm_attr_size_needed(attr);
	if (shape->text[0] != '\0')
		asked.attr.config1 = (uint64_t)(uintptr_t)shape->text;
	if (shape->target == TARGET_CGROUP)
		cgroup = open("/sys/fs/cgroup", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = raw_open(&asked, shape, cgroup);
	if (cgroup >= 0)
		(void)close(cgroup);
	return err;
}

static int ask_of_shape(const struct perf_event_attr *attr, const void *context)
{
	return ask_again(context, attr);
}

/* The same event with the least that can be asked of it. */
static int ask_least(const struct shape *shape, struct perf_event_attr *attr)
{
	struct shape less = *shape;

	less.target = TARGET_SELF;
	less.on_cpu = false;
	less.flags = 0;
	attr->exclude_kernel = attr->exclude_hv = 1;
	attr->exclude_callchain_kernel = 1;		/* some kernels take a privilege for it */
	attr->sample_type &= ~(uint64_t)PERF_SAMPLE_RAW;
	return ask_again(&less, attr);
}

/* --------------------------------------------------------------------------- who made the call */

static bool set_capabilities(const struct place *place)
{
	struct { uint32_t version; int pid; } head = { 0x20080522, 0 };
	struct { uint32_t effective, permitted, inheritable; } data[2] = {
		{ (uint32_t)place->caps_effective, (uint32_t)place->caps_permitted, 0 },
		{ (uint32_t)(place->caps_effective >> 32), (uint32_t)(place->caps_permitted >> 32),
		  0 },
	};

	return syscall(__NR_capset, &head, data) == 0;
}

static bool is_caller(const struct place *place)
{
	struct place here = { .known = false };

	place_of(getpid(), &here);
	return !place->known || (here.uid[1] == place->uid[1] && here.gid[1] == place->gid[1] &&
				 here.caps_effective == place->caps_effective);
}

bool become_caller(const struct place *place)
{
	if (is_caller(place))
		return true;
	if (!place->same_namespace)
		return false;
	(void)prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
	(void)setgroups(0, NULL);
	if (setresgid(place->gid[0], place->gid[1], place->gid[2]) != 0 ||
	    setresuid(place->uid[0], place->uid[1], place->uid[2]) != 0)
		return false;
	return set_capabilities(place);
}

/* ----------------------------------------------------------------------------------- the chain */

static enum pm_reach reach_of(const struct shape *shape)
{
	if (shape->attr.type == PERF_TYPE_TRACEPOINT && (shape->attr.sample_type & PERF_SAMPLE_RAW))
		return PM_REACH_TRACE;
	if (shape->target == TARGET_CPU || shape->target == TARGET_CGROUP)
		return PM_REACH_CPU;
	return shape->target == TARGET_OTHER ? PM_REACH_OTHER : PM_REACH_OWN;
}

static void gate_of(const struct shape *shape, const struct perf_event_attr *attr, int error,
		    struct pm_refusal *ret)
{
	pm_refusal_of_attr(attr, reach_of(shape), shape->on_cpu ? shape->first_cpu : -1,
			   shape->target == TARGET_CGROUP, error, ret);
}

/* The gate is one of rights: more of them would bring the call further. */
static bool is_of_rights(enum pm_cause cause)
{
	return cause == PM_CAUSE_PARANOID || cause == PM_CAUSE_LSM || cause == PM_CAUSE_UNKNOWN;
}

static void put_behind(struct reason *reason, const char *who, const char *what)
{
	const size_t used = strlen(reason->behind);

	snprintf(reason->behind + used, sizeof(reason->behind) - used, "%s%s: %s",
		 used ? "; " : "", who, what);
}

static void look_behind(const struct shape *shape, const char *who, int error,
			struct perf_event_attr *attr, struct reason *ret)
{
	struct pm_refusal gate = { .cause = PM_CAUSE_NONE };
	const char *part;
	char line[400];

	if (error == 0) {
		put_behind(ret, who, "it opens");
		return;
	}
	gate_of(shape, attr, error, &gate);
	if (strcmp(gate.gate, ret->first.gate) == 0)
		return;
	ret->in_vain = gate.cause == PM_CAUSE_NO_EVENT || gate.cause == PM_CAUSE_NOT_BUILT;
	part = find_part(attr, ask_of_shape, shape);
	snprintf(line, sizeof(line), "%s, %s%s%s", pm_errno_name(error), gate.gate,
		 part ? "; it opens without " : "", part ? part : "");
	put_behind(ret, who, line);
}

/* A filter around both cannot be taken away; what would come behind it is told by files alone. */
static void look_behind_filter(const struct shape *shape, struct reason *ret)
{
	const uint32_t type = shape->attr.type;
	struct pm_refusal level, event = { .cause = PM_CAUSE_NONE };
	char pmu[64];

	if (pm_refusal_by_level(&shape->attr, reach_of(shape),
				shape->on_cpu ? shape->first_cpu : -1,
				shape->target == TARGET_CGROUP, &level))
		put_behind(ret, "once that lets it pass", level.gate);
	if ((type != PERF_TYPE_HARDWARE && type != PERF_TYPE_HW_CACHE && type != PERF_TYPE_RAW) ||
	    pm_pmu_core(pmu, sizeof(pmu)) >= 0)
		return;
	gate_of(shape, &shape->attr, ENOENT, &event);
	put_behind(ret, ret->behind[0] ? "then" : "once that lets it pass", event.gate);
	ret->in_vain = true;
}

/* Rows of gates that say what it is; of the others the parts of the attr tell more. */
static bool is_told_by_gate(const struct pm_refusal *first)
{
	return first->name != NULL && strcmp(first->name, "too_often") == 0;
}

/* A security module perhaps: or a driver, as those of old Arm PMUs say EPERM to exclude_kernel. */
static bool is_without_rule(const struct pm_refusal *first)
{
	return first->cause == PM_CAUSE_UNKNOWN || first->cause == PM_CAUSE_LSM;
}

static bool blame_part(const struct shape *shape, struct perf_event_attr *attr, struct reason *ret)
{
	const char *part = find_part(attr, ask_of_shape, shape);

	if (part == NULL)
		return false;
	ret->first.cause = PM_CAUSE_UNSUPPORTED;
	PM_SAY(ret->first.gate, "%s is refused of this event", part);
	PM_SAY(ret->first.change, "leave it out: without it the event opens");
	return true;
}

static bool is_ring_refused(const struct shape *shape)
{
	return shape->errors[0].count == 0 && shape->map_error.count > 0;
}

/* Pages behind the first of each of so many rings, for which the limits do; 0: for none. */
static size_t pages_that_fit(size_t rings)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct pm_env env;
	uint64_t bytes;
	size_t ret = 1;

	if (pm_env_read(&env) < 0 || env.mlock_kb < 0 || env.cpus_online <= 0)
		return 0;
	bytes = (uint64_t)(env.mlock_kb * env.cpus_online) * 1024 + env.memlock_bytes;
	while ((1 + ret) * page <= bytes / rings)
		ret *= 2;
	return ret / 2;
}

/* How many a program wants that ends at the first refusal: as perf, one for each CPU or event. */
static size_t rings_wanted(const struct shape *shape)
{
	const size_t each = shape->on_cpu ? cpus_of(shape) : shape->opened;

	return each > shape->rings ? each : (size_t)shape->rings + 1;
}

static void explain_ring(const struct shape *shape, struct pm_refusal *ret)
{
	const size_t rings = rings_wanted(shape), fits = pages_that_fit(rings);
	char change[sizeof(ret->change)];

	pm_refusal_of_map(rings, shape->map_bytes, shape->map_error.error, ret);
	if (ret->cause == PM_CAUSE_LOCKED_MEMORY && !shape->map_is_aux && fits > 0 &&
	    (1 + fits) * (uint64_t)sysconf(_SC_PAGESIZE) < shape->map_bytes) {
		PM_SAY(change, "%s", ret->change);
		PM_SAY(ret->change, "smaller rings: 1 + %zu pages fit, as many as perf's "
		       "--mmap-pages=%zu; %.800s", fits, fits, change);
	}
	if (!shape->map_is_aux || shape->map_error.error != EINVAL)
		return;
	/* kernel/events/core.c, perf_mmap */
	ret->cause = PM_CAUSE_UNSUPPORTED;
	PM_SAY(ret->gate, "an AUX area is a power of two of pages, as aux_offset and aux_size of "
	       "its ring say, of a unit that has one");
	PM_SAY(ret->change, "set both before it is mapped");
}

/* In a child that has become who made the call; `ret` is of this process's parent. */
static void explain_as_caller(const struct shape *shape, struct reason *ret)
{
	struct perf_event_attr attr = shape->attr;

	if (is_ring_refused(shape)) {
		explain_ring(shape, &ret->first);
		return;
	}
	ret->again = ask_again(shape, &attr);
	if (shape->errors[0].count == 0)
		return;			/* not seen: what it says now is all that is known */
	ret->again_differs = ret->again != shape->errors[0].error;
	gate_of(shape, &attr, shape->errors[0].error, &ret->first);
	if (ret->again == EPERM && is_without_rule(&ret->first) && blame_part(shape, &attr, ret))
		return;
	if (is_of_rights(ret->first.cause)) {
		const int error = ask_least(shape, &attr);

		if (error != 0)
			look_behind(shape, "asked of its own user mode", error, &attr,
				    ret);
	} else if (ret->first.cause == PM_CAUSE_FILTER) {
		look_behind_filter(shape, ret);
	} else if (ret->again != 0 && !is_told_by_gate(&ret->first)) {
		(void)blame_part(shape, &attr, ret);
	}
}

/* With the rights of who runs this program, where who made the call had fewer. */
static void explain_as_self(const struct shape *shape, struct reason *ret)
{
	struct perf_event_attr attr = shape->attr;

	if (!is_of_rights(ret->first.cause) || is_caller(&shape->place))
		return;
	ret->behind[0] = '\0';
	ret->in_vain = false;
	look_behind(shape, geteuid() == 0 ? "as root" : "as who runs this", ask_again(shape, &attr),
		    &attr, ret);
}

/*
 * Where only ptrace(2) sees the call, a filter that the program set itself may have answered; from
 * here, without that filter, the call has another end.
 */
static void blame_own_filter(const struct shape *shape, struct reason *ret)
{
	const uint32_t action = remarks.own_filter & FILTER_ACTION;
	const int error = shape->errors[0].error;
	const bool by_listener = action == RET_USER_NOTIF;

	if (!remarks.filtered || !ret->again_differs || (!by_listener &&
	    (action != SECCOMP_RET_ERRNO ||
	     (int)(remarks.own_filter & SECCOMP_RET_DATA) != error)))
		return;
	ret->first.cause = PM_CAUSE_FILTER;
	PM_SAY(ret->first.gate, "a %s of system calls that the program set itself answers %s",
	       by_listener ? "listener" : "filter", pm_errno_name(error));
	PM_SAY(ret->first.change, "have the program allow perf_event_open in its filter, or open "
	       "its events before it sets it");
	ret->behind[0] = '\0';
	put_behind(ret, "without that filter", ret->again == 0 ? "it opens" :
		   pm_errno_name(ret->again));
}

/*
 * The kernel looks for the file in the mount namespace of who asks; from here that is another one
 * where the program is in a container.
 */
static void blame_file(const struct shape *shape, struct pm_refusal *ret)
{
	const unsigned long long at = shape->attr.config2;
	const char *path = shape->text;
	struct stat file;

	if (stat(path, &file) != 0) {
		PM_SAY(ret->gate, "the file of the probe cannot be had: %.200s: %s", path,
		       pm_errno_name(errno));
		PM_SAY(ret->change, "name it as the one who asks sees it: that of a process in a "
		       "container is /proc/PID/root and its path there");
	} else if (!S_ISREG(file.st_mode)) {
		PM_SAY(ret->gate, "a probe takes a regular file, which %.200s is not", path);
		PM_SAY(ret->change, "name the program or library itself");
	} else if (at >= (unsigned long long)file.st_size) {
		PM_SAY(ret->gate, "%.200s has %lld bytes, and the probe is to be at byte %llu",
		       path, (long long)file.st_size, at);
		PM_SAY(ret->change, "give an offset in the file, not an address in memory; where "
		       "the file has been replaced, one of the new file");
	} else {
		return;
	}
	ret->cause = PM_CAUSE_NO_TARGET;
}

static void blame_probe(const struct shape *shape, int error, struct pm_refusal *ret)
{
	const int64_t type = shape->attr.type;

	if (shape->text[0] == '\0')
		return;
	if (type == pm_pmu_type("uprobe") && shape->text[0] == '/') {
		if (ret->cause != PM_CAUSE_PARANOID && ret->cause != PM_CAUSE_FILTER)
			blame_file(shape, ret);
	} else if (type == pm_pmu_type("kprobe") && error == ENOENT) {
		ret->cause = PM_CAUSE_NO_TARGET;
		PM_SAY(ret->gate, "this kernel has no function %.100s that a probe can be set at",
		       shape->text);
		PM_SAY(ret->change, "look in /proc/kallsyms for what it is called here: it may be "
		       "inlined, renamed, left out, or of a module that is not loaded");
	}
}

/* kernel/events/core.c, perf_event_open; and the PMU's own look at the group */
static void blame_group(const struct shape *shape, struct reason *ret)
{
	if (!shape->grouped || shape->errors[0].error != EINVAL || !ret->again_differs ||
	    ret->again != 0)
		return;
	ret->first.cause = PM_CAUSE_UNSUPPORTED;
	PM_SAY(ret->first.gate, "alone the event opens, and not in its group: the group has more "
	       "events than the PMU has counters, or its leader is of another task, CPU or clock, "
	       "or a member itself");
	PM_SAY(ret->first.change, "make the group smaller, or open the event alone");
}

/* EINVAL and ENOENT have many reasons; of these events the reason can be seen. */
static void blame_event(const struct shape *shape, struct reason *ret)
{
	const int error = shape->errors[0].error;
	char name[200];

	blame_probe(shape, error, &ret->first);
	blame_group(shape, ret);
	if (shape->attr.type == PERF_TYPE_BREAKPOINT && error == EINVAL && is_unaligned(shape)) {
		ret->first.cause = PM_CAUSE_UNSUPPORTED;
		PM_SAY(ret->first.gate, "the breakpoint's address is no multiple of its length, "
		       "%llu", (unsigned long long)shape->attr.bp_len);
		PM_SAY(ret->first.change, "align the address, or watch fewer bytes");
	}
	if (shape->attr.type == PERF_TYPE_TRACEPOINT && (error == EINVAL || error == ENOENT) &&
	    pm_tracefs_root(name, sizeof(name)) >= 0 &&
	    !name_tracepoint(shape->attr.config, name, sizeof(name))) {
		ret->first.cause = PM_CAUSE_NO_EVENT;
		PM_SAY(ret->first.gate, "no tracepoint of this kernel has the id %llu",
		       (unsigned long long)shape->attr.config);
		PM_SAY(ret->first.change, "read the id in tracefs: it differs from kernel to "
		       "kernel");
	}
}

/* A child, so that nobody else loses rights; the words come back by a pipe. */
static void explain_one(const struct shape *shape, struct reason *ret)
{
	int line[2], status;
	pid_t child;

	if (pipe(line) != 0)
		return;
	child = fork();
	if (child == 0) {
		if (become_caller(&shape->place))
			explain_as_caller(shape, ret);
		(void)write(line[1], ret, sizeof(*ret));
		_exit(0);
	}
	(void)close(line[1]);
	(void)!read(line[0], ret, sizeof(*ret));	/* less than PIPE_BUF: whole, or nothing */
	(void)close(line[0]);
	if (child > 0)
		(void)waitpid(child, &status, 0);
	if (shape->errors[0].count == 0)
		return;
	if (ret->first.cause == PM_CAUSE_NONE)
		gate_of(shape, &shape->attr, shape->errors[0].error, &ret->first);
	explain_as_self(shape, ret);
	blame_event(shape, ret);
	blame_own_filter(shape, ret);
}

void find_reasons(void)
{
	for (size_t i = 0; i < shapes.count; i++) {
		reasons[i] = calloc(1, sizeof(*reasons[i]));
		if (reasons[i] != NULL && (shapes.list[i]->errors[0].count > 0 ||
					   shapes.list[i]->unseen > 0 ||
					   is_ring_refused(shapes.list[i])))
			explain_one(shapes.list[i], reasons[i]);
	}
}
