/* SPDX-License-Identifier: MIT */
/* Probes planted at functions, and a BPF program on an event: whether they run is counted. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "doctor.h"
#include "filter.h"
#include "observe.h"

#define CALLS 9

/* ------------------------------------------------------------------------------------- kprobes */

/* Without a PMU of that name there are none: the kernel is older than v4.17, or built without. */
static int find_type(const char *pmu, struct pm_refusal *refusal)
{
	int type = pm_pmu_type(pmu);

	if (type >= 0)
		return type;
	refusal->error = ENOENT;
	refusal->cause = PM_CAUSE_NO_EVENT;
	snprintf(refusal->call, sizeof(refusal->call),
		 "open(/sys/bus/event_source/devices/%s/type)", pmu);
	if (access("/sys/bus/event_source/devices", F_OK) != 0) {
		snprintf(refusal->gate, sizeof(refusal->gate), "/sys is hidden here, and tells "
			 "the number of %ss", pmu);
		snprintf(refusal->change, sizeof(refusal->change), "as root: mount -t sysfs sysfs "
			 "/sys");
		return -ENOENT;
	}
	snprintf(refusal->gate, sizeof(refusal->gate), "this kernel has no %ss as events", pmu);
	snprintf(refusal->change, sizeof(refusal->change), "a kernel from v4.17 on, with "
		 "CONFIG_%s_EVENTS=y", strcmp(pmu, "kprobe") == 0 ? "KPROBE" : "UPROBE");
	return -ENOENT;
}

/* Opens, has the function called, and looks whether each call was counted. */
static int count_calls(const struct perf_event_attr *attr, void (*call)(void), const char *event,
		       struct pm_refusal *refusal)
{
	uint64_t before = 0, after = 0;
	int fd = doctor_open(attr, 0, -1, PM_REACH_OWN, event, refusal), err;

	if (fd < 0)
		return fd;
	err = pm_read_count(fd, &before);
	for (int i = 0; i < CALLS; i++)
		call();
	if (err == 0)
		err = pm_read_count(fd, &after);
	close(fd);
	return err == 0 && after - before < CALLS ? doctor_silence(refusal, event) : err;
}

static void write_nowhere(void)
{
	int fds[2];

	if (pipe(fds) < 0)
		return;
	if (write(fds[1], "", 1) < 0)
		errno = 0;
	close(fds[0]);
	close(fds[1]);
}

int go_kprobe(const struct attempt *attempt, struct pm_refusal *refusal, char *how)
{
	struct perf_event_attr attr = { .kprobe_func = (uintptr_t)"vfs_write" };
	int type = find_type("kprobe", refusal);

	(void)attempt;
	(void)how;
	if (type < 0)
		return type;
	attr.type = (uint32_t)type;
	return count_calls(&attr, write_nowhere, "kprobe at vfs_write", refusal);
}

/* ------------------------------------------------------------------------------------- uprobes */

static volatile int sink;

static void __attribute__((noinline)) watched(void)
{
	sink++;
	__asm__ volatile("" ::: "memory");
}

/* Through memory: on POWER a direct call enters a function behind where a pointer leads. */
static void (*volatile call_watched)(void) = watched;

static void call_it(void)
{
	call_watched();
}

/* The file that an address is mapped of, and where in it. Returns false for none. */
static bool find_file(uintptr_t address, char *path, size_t size, uint64_t *offset)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	bool found = false;
	char line[4200];

	while (maps && !found && fgets(line, sizeof(line), maps)) {
		const char *name = strchr(line, '/');
		unsigned long from, to;

		if (!name || sscanf(line, "%lx-%lx %*s %" SCNx64, &from, &to, offset) != 3 ||
		    address < from || address >= to)
			continue;
		*offset += address - from;
		found = snprintf(path, size, "%.*s", (int)strcspn(name, "\n"), name) < (int)size;
	}
	if (maps)
		fclose(maps);
	return found;
}

int go_uprobe(const struct attempt *attempt, struct pm_refusal *refusal, char *how)
{
	struct perf_event_attr attr = { .type = 0 };
	int type = find_type("uprobe", refusal);
	uintptr_t address = (uintptr_t)watched;
	uint64_t offset = 0;
	char path[4096];

	(void)attempt;
	(void)how;
	if (type < 0)
		return type;
#ifdef __arm__
	address &= ~(uintptr_t)1;
#endif
	if (!find_file(address, path, sizeof(path), &offset)) {
		snprintf(refusal->call, sizeof(refusal->call), "open(/proc/self/maps)");
		snprintf(refusal->gate, sizeof(refusal->gate), "/proc is hidden here, and tells "
			 "the file of the program of which a function was to be watched");
		snprintf(refusal->change, sizeof(refusal->change), "as root: mount -t proc proc "
			 "/proc");
		refusal->error = ENOENT;
		refusal->cause = PM_CAUSE_NO_TARGET;
		return -ENOENT;
	}
	attr.type = (uint32_t)type;
	attr.uprobe_path = (uintptr_t)path;
	attr.probe_offset = offset;
	return count_calls(&attr, call_it, "uprobe at a function of this program", refusal);
}

/* ----------------------------------------------------------------------------------------- BPF */

#define BPF_ORDER_SIZE 48	/* of union bpf_attr in v4.1 */
#define BPF_PROG_LOAD 5
#define BPF_PROG_TYPE_PERF_EVENT 7
#define LIMIT_UP_TO_5_10 (64u << 20)

struct load {			/* the start of union bpf_attr, for BPF_PROG_LOAD */
	uint32_t type, count;
	uint64_t code, license;
	uint32_t log_level, log_size;
	uint64_t log;
	uint32_t version, flags;
};

/* A program that answers 0, which holds the sample back. */
static int load_program(void)
{
	/* r0 = 0; exit */
	static const struct { uint8_t code, registers; int16_t offset; int32_t value; } text[] = {
		{ 0xb7, 0, 0, 0 }, { 0x95, 0, 0, 0 },
	};
	const struct load load = {
		.type = BPF_PROG_TYPE_PERF_EVENT, .count = 2, .code = (uintptr_t)text,
		.license = (uintptr_t)"GPL",
	};
	struct rlimit old, more;
	int fd, err;

	/* Up to v5.10 programs are locked memory of the user's. */
	getrlimit(RLIMIT_MEMLOCK, &old);
	more = old;
	if (more.rlim_cur < LIMIT_UP_TO_5_10)
		more.rlim_cur = more.rlim_max < LIMIT_UP_TO_5_10 ? more.rlim_max : LIMIT_UP_TO_5_10;
	setrlimit(RLIMIT_MEMLOCK, &more);
	fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &load, BPF_ORDER_SIZE);
	err = errno;
	setrlimit(RLIMIT_MEMLOCK, &old);
	return fd < 0 ? -err : fd;
}

static void load_and_forget(void)
{
	(void)load_program();
}

/* Filters of sandboxes and of Android's apps end who calls bpf(2). A call like that is not made. */
static bool is_deadly(struct pm_refusal *refusal)
{
	struct pm_env env;

	(void)pm_env_read(&env);
	if (env.seccomp_mode == 0 || !doctor_ends(load_and_forget, true))
		return false;
	refusal->error = 0;
	refusal->cause = PM_CAUSE_FILTER;
	snprintf(refusal->call, sizeof(refusal->call), "bpf");
	snprintf(refusal->gate, sizeof(refusal->gate), "a system call filter ends a process that "
		 "calls bpf (SIGSYS)");
	snprintf(refusal->change, sizeof(refusal->change), "allow bpf in the filter, which who "
		 "started the program has set");
	return true;
}

static int refuse_bpf(int err, const char *call, struct pm_refusal *refusal)
{
	pm_refusal_of_call("bpf", -err, refusal);
	snprintf(refusal->call, sizeof(refusal->call), "%s", call);
	return err;
}

/* Whether the program would be refused, had the event been opened. */
bool behind_event(struct pm_refusal *refusal)
{
	pm_refusal_of_call("bpf", EPERM, refusal);
	snprintf(refusal->call, sizeof(refusal->call), "not tried yet: bpf(BPF_PROG_LOAD)");
	/* The others are told by the kernel's refusal alone, which is not known. */
	if (strcmp(refusal->name, "bpf") != 0)
		refusal->gate[0] = '\0';
	return refusal->gate[0] != '\0';
}

/* Page faults are counted and, because the program holds them back, no sample is in the ring. */
static int hold_back(int fd, struct pm_ring *ring, int program, struct pm_refusal *refusal)
{
	const struct perf_event_header *header;
	uint64_t count = 0;
	int err = pm_ioctl(fd, PERF_EVENT_IOC_SET_BPF, (unsigned long)program);

	if (err < 0)
		return refuse_bpf(err, "ioctl(PERF_EVENT_IOC_SET_BPF)", refusal);
	(void)pm_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	doctor_work(100000);
	(void)pm_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	err = pm_read_count(fd, &count);
	if (err == 0 && (count == 0 || pm_ring_next(ring, &header) == 1))
		return doctor_silence(refusal, "a BPF program on page-faults");
	return err;
}

int go_bpf(const struct attempt *attempt, struct pm_refusal *refusal, char *how)
{
	static const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS, .disabled = 1,
		.sample_period = 1, .sample_type = PERF_SAMPLE_TID, .exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int fd = doctor_open(&attr, 0, -1, PM_REACH_OWN, "page-faults:u", refusal), program, err;
	struct pm_ring ring;

	(void)attempt;
	(void)how;
	if (fd < 0)
		return fd;
	if (is_deadly(refusal)) {
		close(fd);
		return -EPERM;
	}
	program = load_program();
	err = program < 0 ? refuse_bpf(program, "bpf(BPF_PROG_LOAD)", refusal) :
		doctor_map(fd, 1, 1, refusal, &ring);
	if (err == 0) {
		err = hold_back(fd, &ring, program, refusal);
		pm_ring_close(&ring);
	}
	if (program >= 0)
		close(program);
	close(fd);
	return err < 0 ? err : 0;
}
