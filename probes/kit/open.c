/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Opening, mapping and ordering events in tests. See open.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attrs.h"
#include "cgroup.h"
#include "open.h"
#include "privilege.h"
#include "say.h"
#include "verdict.h"

int must_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group,
	      unsigned long flags)
{
	struct finding finding;
	int fd = pm_open(attr, pid, cpu, group, flags);

	if (fd >= 0)
		return fd;
	classify_setup(-fd, attr, pid, cpu, &finding);
	say(&finding);
}

struct perf_event_attr must_open_plain(void)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	close(must_open(&attr, 0, -1, -1, 0));
	return attr;
}

int ask_open(const struct perf_event_attr *with, const struct perf_event_attr *without, pid_t pid,
	     int cpu, const char *what)
{
	struct finding finding;
	int fd = pm_open(with, pid, cpu, -1, 0);

	if (fd >= 0)
		return fd;
	probe_pair(with, without, pid, cpu, what, &finding);
	if (finding.verdict == YES)
		say_unknown("%s: refused once (%s), then accepted", what, pm_errno_name(fd));
	say(&finding);
}

void ask_legal(const struct perf_event_attr *attr, const char *what)
{
	struct perf_event_attr plain = attr_faults(0);

	close(ask_open(attr, &plain, 0, -1, what));
}

void expect_refused(int got, int want, enum verdict accepted, const char *what)
{
	struct finding finding;

	probe_rule(got, want, accepted, what, &finding);
	if (finding.verdict != YES)
		say(&finding);
}

void must_map(int fd, size_t pages, struct pm_ring *ring)
{
	struct finding finding;
	int error = pm_ring_open(fd, pages, PROT_READ | PROT_WRITE, ring);

	if (error) {
		classify_map(-error, pages, &finding);
		say(&finding);
	}
}

void must_ioctl(int fd, unsigned long request, unsigned long arg)
{
	int error = pm_ioctl(fd, request, arg);

	if (error < 0)
		say_unknown("ioctl %#lx: %s", request, pm_errno_name(error));
}

void must_pair(const struct perf_event_attr *leader, struct perf_event_attr sibling, int *fds)
{
	sibling.disabled = 0;
	close(must_open(&sibling, 0, -1, -1, 0));
	fds[0] = must_open(leader, 0, -1, -1, 0);
	fds[1] = pm_open(&sibling, 0, -1, fds[0], 0);
	if (fds[1] < 0)
		say_broken("type %u joins no leader of type %u: %s", sibling.type, leader->type,
			   pm_errno_name(fds[1]));
	must_ioctl(fds[0], PERF_EVENT_IOC_ENABLE, 0);
}

void ask_ioctl(int fd, unsigned long request, unsigned long arg, const char *what)
{
	struct finding finding;
	int error = pm_ioctl(fd, request, arg);

	if (error >= 0)
		return;
	must_ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	classify_asked(-error, what, NULL, 0, -1, &finding);
	say(&finding);
}

void must_close(int fd)
{
	if (close(fd) < 0 || fcntl(fd, F_GETFD) >= 0)
		say_unknown("descriptor %d is still open after close", fd);
}

struct perf_event_attr must_tracepoint(const char *system, const char *event)
{
	int id = tracepoint_id(system, event);

	if (id < 0)
		require(REQUIRE_PERF | REQUIRE_TRACEFS);
	if (id == -EACCES)
		say_blocked("the id of %s:%s is not readable for this user", system, event);
	if (id < 0)
		say_absent("no tracepoint %s:%s (%s)", system, event, pm_errno_name(id));
	return attr_of(PERF_TYPE_TRACEPOINT, id);
}

struct perf_event_attr must_pmu(const char *name)
{
	int type = pm_pmu_type(name);

	require(REQUIRE_PERF);
	if (type < 0)
		say_absent("no %s PMU (%s)", name, pm_errno_name(type));
	return attr_of(type, 0);
}

void visit_pmus(int (*each)(const char *, void *), void *context)
{
	int error = pm_pmu_each(each, context);

	if (error == -ENOENT)
		say_absent("sysfs has no event_source bus");
	if (error < 0)
		say_blocked("sysfs event_source: %s", pm_errno_name(error));
}

void ask_setting(const char *path)
{
	if (access(path, F_OK) == 0)
		return;
	if (errno == ENOENT && access("/proc/sys/kernel/ostype", F_OK) == 0)
		say_no("no %s, while other files of /proc/sys/kernel are there", path);
	say_blocked("%s is not to be seen here", path);
}

void must_place(const char *pmu, const char *field, uint64_t value, struct perf_event_attr *attr)
{
	char path[160], text[64];
	int error;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/format/%s", pmu, field);
	error = pm_read_text(path, text, sizeof(text));
	if (error == -ENOENT)
		say_no("sysfs has no format %s for %s", field, pmu);
	if (error < 0)
		say_blocked("format %s of %s: %s", field, pmu, pm_errno_name(error));
	error = pm_pmu_place(text, value, attr);
	if (error < 0)
		say_broken("format %s of %s: \"%s\"", field, pmu, text);
}

struct perf_event_attr must_uprobe(int (*function)(int))
{
	struct perf_event_attr attr = must_pmu("uprobe");
	static char path[512];
	uintptr_t address = (uintptr_t)function;

#ifdef __arm__
	address &= ~1ul;
#endif
	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		say_unknown("readlink: %s", pm_errno_name(errno));
	attr.uprobe_path = (uintptr_t)path;
	attr.probe_offset = file_offset((const volatile void *)address);
	attr.exclude_kernel = attr.disabled = 0;
	if (!attr.probe_offset)
		say_unknown("the function is not in a mapped file");
	return attr;
}

int open_uprobe(const struct perf_event_attr *attr)
{
	int fd = pm_open(attr, 0, -1, -1, 0);

	if (fd == -EIO || fd == -ENOTSUP)
		say_absent("no uprobe can be placed in this program (%s)", pm_errno_name(fd));
	return fd >= 0 ? fd : must_open(attr, 0, -1, -1, 0);
}

void must_cgroup_root(int cpu, char *path, size_t size)
{
	const struct perf_event_attr attr = attr_counter(false);
	int error;

	close(must_open(&attr, -1, cpu, -1, 0));
	error = cgroup_root(cpu, path, size);
	if (error == -ENOENT)
		say_absent("no cgroup file system is mounted at a usual place");
	if (error == -ENODEV)
		say_absent("no cgroup here takes part in perf (CONFIG_CGROUP_PERF)");
	if (error)
		say_blocked("cgroup event: %s", pm_errno_name(error));
}

void must_modify(int fd, const struct perf_event_attr *attr)
{
	int error = modify_breakpoint(fd, attr);

	if (error == -ENOTTY)
		say_no("ENOTTY: no such ioctl; others work on the same descriptor");
	if (error < 0)
		say_broken("a legal change: errno=%s", pm_errno_name(error));
}

int ask_unprivileged(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	int answer = open_unprivileged(attr, pid, cpu);

	require(REQUIRE_PERF);
	if (answer > 0)
		say_blocked("without privilege there are no events at all (perf_event_paranoid=%d)",
			    probe_env()->paranoid);
	return answer;
}
