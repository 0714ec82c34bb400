/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lies about perf_event_open(2).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "event.h"
#include "lies.h"

#define EVENTS 4096

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
int __real_close(int fd);
int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_close(int fd);

static struct event *events[EVENTS];
static int first = -1, last = -1;

struct event *event_of(int fd)
{
	return fd >= 0 && fd < EVENTS && events[fd] && events[fd]->open ? events[fd] : NULL;
}

int event_first(void)
{
	return event_of(first) ? first : -1;
}

int event_last(void)
{
	return event_of(last) ? last : -1;
}

static struct event pool[EVENTS / 8];
static unsigned int pooled;

static int count_open(void)
{
	int count = 0;

	for (unsigned int i = 0; i < pooled && i < EVENTS / 8; i++)
		count += pool[i].open && pool[i].opener == getpid();
	return count;
}

int event_last_sibling(int leader)
{
	int found = -1;

	for (int fd = 0; fd < EVENTS; fd++)
		if (event_of(fd) && event_of(fd)->leader == leader &&
		    (found < 0 || event_of(fd)->opened >= event_of(found)->opened))
			found = fd;
	return found;
}

/* Whether another process opened one of the events, and this one inherited it. */
static bool has_inherited(void)
{
	for (unsigned int i = 0; i < pooled && i < EVENTS / 8; i++)
		if (pool[i].open && pool[i].opener != getpid())
			return true;
	return false;
}

static uint64_t now(void)
{
	struct timespec time;

	__real_clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void remember(int fd, const struct perf_event_attr *attr, int task, int leader)
{
	if (fd < 0 || fd >= EVENTS)
		return;
	if (!events[fd]) {
		const unsigned int own = __atomic_fetch_add(&pooled, 1, __ATOMIC_RELAXED);

		if (own >= EVENTS / 8)
			return;
		events[fd] = &pool[own];
	}
	memset(events[fd], 0, sizeof(*events[fd]));
	events[fd]->attr = *attr;
	events[fd]->open = true;
	events[fd]->opener = getpid();
	events[fd]->number = count_open();
	events[fd]->thread = (int)__real_syscall(SYS_gettid);
	events[fd]->task = task;
	events[fd]->leader = leader;
	events[fd]->opened = now();
	events[fd]->off = attr->disabled;
	if (!event_of(first))
		first = fd;
	last = fd;
}

int __wrap_close(int fd)
{
	struct event *event = event_of(fd);

	if (event)
		event->open = false;
	if (event && event->opener == getpid() &&
	    (lie(LIE_close_kept) || (event->attr.inherit && lie(LIE_close_kept_inherit))))
		fcntl(fd, F_DUPFD_CLOEXEC, 700);
	return __real_close(fd);
}

/* ------------------------------------------------------------------------------- the attr */

static void swap_configs(struct perf_event_attr *attr, uint64_t a, uint64_t b)
{
	if (attr->config == a || attr->config == b)
		attr->config = attr->config == a ? b : a;
}

static bool is(const struct perf_event_attr *attr, uint64_t a, uint64_t b)
{
	return attr->config == a || attr->config == b;
}

static void change_software(struct perf_event_attr *attr)
{
	if (is(attr, PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_CPU_CLOCK) &&
	    lie(LIE_open_swapped_clocks))
		swap_configs(attr, PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_CPU_CLOCK);
	if (is(attr, PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_PAGE_FAULTS_MIN) &&
	    lie(LIE_open_swapped_faults))
		swap_configs(attr, PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_PAGE_FAULTS_MIN);
	if (attr->config == PERF_COUNT_SW_PAGE_FAULTS_MAJ && lie(LIE_open_major_minor))
		attr->config = PERF_COUNT_SW_PAGE_FAULTS_MIN;
	if (is(attr, PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_CPU_MIGRATIONS) &&
	    lie(LIE_open_swapped_switches))
		swap_configs(attr, PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_CPU_MIGRATIONS);
	if (attr->config == PERF_COUNT_SW_DUMMY && lie(LIE_open_counting_dummy))
		attr->config = PERF_COUNT_SW_PAGE_FAULTS;
}

static void change_breakpoint(struct perf_event_attr *attr)
{
	if (attr->bp_type != HW_BREAKPOINT_X && lie(LIE_open_bp_longer))
		attr->bp_len = 8, attr->bp_addr &= ~7ull;
	if (attr->bp_type != HW_BREAKPOINT_X && lie(LIE_open_bp_any))
		attr->bp_type = HW_BREAKPOINT_RW;
	if (attr->bp_type != HW_BREAKPOINT_X && lie(LIE_open_bp_write))
		attr->bp_type = HW_BREAKPOINT_W;
	if (lie(LIE_open_bp_page))
		attr->bp_addr += 4096;
	if (lie(LIE_open_bp_beside))
		attr->bp_addr += attr->bp_type == HW_BREAKPOINT_X ? 1 : attr->bp_len;
}

static void change_sampling(struct perf_event_attr *attr)
{
	if (attr->sample_period && lie(LIE_open_period_half))
		attr->sample_period = (attr->sample_period + 1) / 2;
	if (attr->sample_period && lie(LIE_open_period_twice))
		attr->sample_period *= 2;
	if (attr->sample_period && lie(LIE_open_period_more))
		attr->sample_period++;
	if (attr->wakeup_events && lie(LIE_open_wakeup_each))
		attr->wakeup_events = 1;
	if (attr->wakeup_events && lie(LIE_open_wakeup_more))
		attr->wakeup_events++;
	if (attr->sample_max_stack && lie(LIE_open_max_stack_half))
		attr->sample_max_stack = (uint16_t)((attr->sample_max_stack + 1) / 2);
	if (attr->sample_max_stack && lie(LIE_open_max_stack_more))
		attr->sample_max_stack++;
	if (attr->sample_stack_user && lie(LIE_open_stack_half))
		attr->sample_stack_user = attr->sample_stack_user / 2 & ~7u;
	if (attr->use_clockid && lie(LIE_open_other_clock))
		attr->clockid = attr->clockid == 1 ? 4 : 1;
	if (attr->sigtrap && lie(LIE_open_sig_data))
		attr->sig_data++;
	if (attr->aux_watermark && lie(LIE_open_aux_watermark_half))
		attr->aux_watermark /= 2;
	if (attr->aux_sample_size && lie(LIE_open_aux_sample_half))
		attr->aux_sample_size = attr->aux_sample_size / 2 & ~7u;
	if (attr->branch_sample_type && lie(LIE_open_filters_none))
		attr->branch_sample_type = PERF_SAMPLE_BRANCH_ANY |
					   (attr->branch_sample_type & 7);
	if (attr->freq && attr->sample_freq >= 10 && lie(LIE_open_freq_tenth))
		attr->sample_freq /= 10;
	if (attr->freq && lie(LIE_open_freq_twice))
		attr->sample_freq *= 2;
	if (attr->sigtrap && lie(LIE_open_sig_data_32))
		attr->sig_data = (uint32_t)attr->sig_data;
	if (attr->watermark && attr->wakeup_watermark > 1 && lie(LIE_open_watermark_half))
		attr->wakeup_watermark /= 2;
	if (attr->sample_stack_user > 256 && lie(LIE_open_stack_256))
		attr->sample_stack_user = 256;
}

/* What follows from what else is open. */
static void change_member(struct perf_event_attr *attr, int group)
{
	const struct event *leader = event_of(group);
	static unsigned int opens;
	bool dummy = has_inherited() && lie(LIE_open_forked_dummy);

	dummy |= lie(LIE_open_seventh_dummy) && ++opens % 7 == 0;
	if (dummy) {
		attr->type = PERF_TYPE_SOFTWARE;
		attr->config = PERF_COUNT_SW_DUMMY;
	}
	if (!leader)
		return;
	if (attr->disabled && lie(LIE_open_sibling_starts))
		attr->disabled = 0;
	if (attr->inherit && lie(LIE_open_sibling_inherits_not))
		attr->inherit = 0;
	if ((attr->use_clockid || leader->attr.use_clockid) && lie(LIE_open_sibling_clock)) {
		attr->use_clockid = leader->attr.use_clockid;
		attr->clockid = leader->attr.clockid;
	}
	if (attr->sample_period && leader->attr.sample_period && lie(LIE_open_sibling_period)) {
		attr->freq = leader->attr.freq;
		attr->sample_period = leader->attr.sample_period;
	}
}

static void change_attr(struct perf_event_attr *attr)
{
	if (attr->type == PERF_TYPE_SOFTWARE)
		change_software(attr);
	else if (attr->type == PERF_TYPE_BREAKPOINT)
		change_breakpoint(attr);
	else if (lie(LIE_open_next_config))
		attr->config++;
	change_sampling(attr);
	if (attr->enable_on_exec && lie(LIE_open_exec_early))
		attr->disabled = 0;
	if (attr->exclude_user != attr->exclude_kernel && lie(LIE_open_swapped_modes)) {
		attr->exclude_user = !attr->exclude_user;
		attr->exclude_kernel = !attr->exclude_kernel;
	}
}

/* Which fields and flags of the attr are used at all, each said once. */
static void note_used(const struct perf_event_attr *attr)
{
	static const struct { const char *name; size_t offset, size; } fields[] = {
#define FIELD(name, member, offset, bytes, since) { #name, offset, bytes },
		PM_ATTR_FIELDS(FIELD)
	};
	static const struct { const char *name; int bit; } flags[] = {
#define FLAG(bit, name, beside, since) { #name, bit },
#define PAIR(low, high, name, since) { #name "_1", low }, { #name "_2", high },
		PM_ATTR_FLAGS(FLAG, PAIR)
	};
	static const unsigned char zeros[8];
	static bool noted[sizeof(fields) / sizeof(*fields)], noted_flags[64];

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		const char *at = (const char *)attr + fields[i].offset;

		if (noted[i] || !memcmp(at, zeros, fields[i].size))
			continue;
		noted[i] = true;
		lies_use_attr(fields[i].name);
	}
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		if (noted_flags[i] || !(attr->flag_bits >> flags[i].bit & 1))
			continue;
		noted_flags[i] = true;
		lies_use_attr(flags[i].name);
	}
}

/* ------------------------------------------------------------------------------- the call */

static int process_of(int thread)
{
	char path[48], line[128];
	int process = thread;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", thread);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "Tgid: %d", &process);
	if (file)
		fclose(file);
	return process;
}

static void change_place(long *pid, long *cpu, long *group, long *flags)
{
	if (*pid > 0 && lie(LIE_open_own_pid))
		*pid = 0;
	if (*pid > 0 && lie(LIE_open_own_thread))
		*pid = process_of((int)*pid);
	if (*pid != -1 && *cpu != -1 && lie(LIE_open_any_cpu))
		*cpu = -1;
	if (*pid != -1 && *cpu == -1 && lie(LIE_open_one_cpu))
		*cpu = sched_getcpu();
	if (*cpu != -1 && lie(LIE_open_other_cpu))
		*cpu = (*cpu + 1) % sysconf(_SC_NPROCESSORS_ONLN);
	if (*group != -1 && !(*flags & PERF_FLAG_FD_OUTPUT) && lie(LIE_open_no_group))
		*group = -1;
	if (*pid == 0 && __real_syscall(SYS_gettid) != getpid() && lie(LIE_open_first_thread))
		*pid = getpid();
	if (*cpu > 0 && lie(LIE_open_cpu_zero))
		*cpu = 0;
	if (*flags & PERF_FLAG_PID_CGROUP && lie(LIE_open_cgroup_all))
		*flags &= ~PERF_FLAG_PID_CGROUP, *pid = -1;
	if (*group != -1 && !(*flags & PERF_FLAG_FD_OUTPUT) &&
	    event_last_sibling((int)*group) >= 0 && lie(LIE_open_sibling_alone))
		*group = -1;
	if (*flags && lie(LIE_open_no_flags))
		*flags = 0;
	if (*flags & PERF_FLAG_FD_OUTPUT && lie(LIE_open_no_output))
		*flags &= ~PERF_FLAG_FD_OUTPUT, *group = -1;
	if (*flags & PERF_FLAG_FD_CLOEXEC && lie(LIE_open_not_cloexec))
		*flags &= ~PERF_FLAG_FD_CLOEXEC;
	if (!(*flags & PERF_FLAG_FD_CLOEXEC) && lie(LIE_open_cloexec))
		*flags |= PERF_FLAG_FD_CLOEXEC;
}

/* Another descriptor in place of the one that the kernel gave. */
static long change_descriptor(long fd, long flags)
{
	const int duplicate = flags & PERF_FLAG_FD_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD;
	const bool high = lie(LIE_open_high_number), file = lie(LIE_open_other_file);
	long other = fd;

	if (high)
		other = fcntl((int)fd, duplicate, (int)fd + 20);
	else if (file)
		other = memfd_create("other", MFD_CLOEXEC);
	if (other != fd)
		__real_close((int)fd);
	return other;
}

/* By the kernel, which sees what cannot be read. */
static bool copy(const struct perf_event_attr *from, size_t size, struct perf_event_attr *ret)
{
	const struct iovec ours = { ret, size }, theirs = { (void *)from, size };

	return __real_syscall(SYS_process_vm_readv, getpid(), &ours, 1, &theirs, 1, 0) ==
	       (long)size;
}

/* An attr that cannot be read, or is of another size than any, is the kernel's to judge. */
static long open_event(struct perf_event_attr *asked, long pid, long cpu, long group, long flags)
{
	struct perf_event_attr attr = { 0 };
	uint32_t size = 0;
	long fd;
	int refused;

	if (copy(asked, PERF_ATTR_SIZE_VER0, &attr))
		size = attr.size;
	if (size < PERF_ATTR_SIZE_VER0 || size > sizeof(attr) || !copy(asked, size, &attr))
		return __real_syscall(SYS_perf_event_open, asked, pid, cpu, group, flags);
	lies_own_pages();
	note_used(&attr);
	change_attr(&attr);
	change_member(&attr, flags & PERF_FLAG_FD_OUTPUT ? -1 : (int)group);
	attr.size = size;
	change_place(&pid, &cpu, &group, &flags);
	refused = lies_refuse_ebb(&attr, pid, group) ? EINVAL :
		  lies_refuse(&attr, asked, pid, cpu, (unsigned long)flags);
	if (refused) {
		errno = refused;
		return -1;
	}
	fd = __real_syscall(SYS_perf_event_open, &attr, pid, cpu, group, flags);
	if (fd < 0 && errno == EINVAL && group >= 0 && attr.type == PERF_TYPE_RAW &&
	    lie(LIE_ebb_any_sibling))
		return open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == EINVAL && event_of((int)group) &&
	    event_of((int)group)->leader >= 0 && lie(LIE_open_own_leader))
		fd = __real_syscall(SYS_perf_event_open, &attr, pid, cpu,
				    event_of((int)group)->leader, flags);
	if (attr.size != size)
		asked->size = attr.size;
	if (lie(LIE_open_writes_attr))
		asked->sample_period++;
	fd = lies_answer(fd, &attr, pid, (unsigned long)flags);
	if (fd >= 0)
		fd = change_descriptor(fd, flags);
	if (fd >= 0)
		remember((int)fd, asked, flags & PERF_FLAG_PID_CGROUP ? -1 : (int)pid,
			 flags & PERF_FLAG_FD_OUTPUT ? -1 : (int)group);
	return fd;
}

long __wrap_syscall(long number, ...)
{
	long words[6];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		words[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_perf_event_open)
		return open_event((void *)words[0], (int)words[1], (int)words[2], (int)words[3],
				  words[4]);
	return __real_syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
