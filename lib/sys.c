/* SPDX-License-Identifier: MIT */
/*
 * The system call, ioctl(2) and read(2) on events, and the layout of what read(2) returns.
 */
#include "pm_sys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define BYTES(number, bytes, brought, since) bytes,
static const uint32_t attr_sizes[] = { PM_ATTR_VERSIONS(BYTES) };

int pm_open_raw(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
		unsigned long flags)
{
	long fd = syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, flags);

	if (fd < 0)
		return -errno;
	/* A filter that says 0 and does nothing gives us somebody else's descriptor: not ours. */
	return fd > STDERR_FILENO || pm_is_event((int)fd) ? (int)fd : -EPROTO;
}

bool pm_is_event(int fd)
{
	/* It writes to its own ring, as a fresh one does; on other files the request is unknown. */
	const int err = pm_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, (unsigned long)-1);

	return err != -ENOTTY && err != -EINVAL && err != -EBADF;
}

/*
 * A size that cuts a field in two would work as well; the published ones keep what other tools
 * show of a call familiar.
 */
uint32_t pm_attr_size_needed(const struct perf_event_attr *attr)
{
	const unsigned char *bytes = (const unsigned char *)attr;
	size_t used = sizeof(*attr);

	while (used > 0 && bytes[used - 1] == 0)
		used--;
	for (size_t i = 0; i < ARRAY_SIZE(attr_sizes); i++)
		if (attr_sizes[i] >= used)
			return attr_sizes[i];
	return sizeof(*attr);
}

int pm_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
	    unsigned long flags)
{
	struct perf_event_attr copy = *attr;
	int fd;

	copy.size = pm_attr_size_needed(attr);
	/* There is no second try without a field: the event is opened as asked for, or refused. */
	fd = pm_open_raw(&copy, pid, cpu, group_fd, flags);
	if (fd >= 0)
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	return fd;
}

int pm_open_try(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	int fd = pm_open(attr, pid, cpu, -1, 0);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int pm_attr_size_kernel(void)
{
	/* Every kernel refuses a size below VER0 and says its own, before it looks any further. */
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = 1 };
	int err = pm_open_raw(&attr, 0, -1, -1, 0);

	if (err >= 0) {
		close(err);
		return -EPROTO;
	}
	if (err != -E2BIG)
		return err;
	/* E2BIG without a size was not the kernel's: a filter in front of it answered. */
	if (attr.size < PERF_ATTR_SIZE_VER0 || attr.size > INT32_MAX)
		return -EPROTO;
	return (int)attr.size;
}

int pm_ioctl(int fd, unsigned long request, unsigned long arg)
{
	int ret = ioctl(fd, request, arg);

	return ret < 0 ? -errno : ret;
}

/*
 * read(2) for events: bytes, never 0. End-of-file is how the kernel says that a pinned event lost
 * its place on the PMU and counts no longer.
 */
static ssize_t read_event(int fd, void *buf, size_t size)
{
	ssize_t n = read(fd, buf, size);

	if (n < 0)
		return -errno;
	return n == 0 ? -ENODATA : n;
}

int pm_read_count(int fd, uint64_t *ret)
{
	uint64_t value;
	ssize_t n = read_event(fd, &value, sizeof(value));

	if (n < 0)
		return (int)n;
	if (n != sizeof(value))
		return -EBADMSG;
	*ret = value;
	return 0;
}

int pm_read_counts(int fd, uint64_t read_format, struct pm_counts *ret)
{
	uint64_t buf[3 + 3 * PM_COUNTS_MAX];
	struct pm_counts counts;
	ssize_t n = read_event(fd, buf, sizeof(buf));
	int used;

	if (n < 0)
		return (int)n;
	used = pm_counts_decode(buf, (size_t)n, read_format, &counts);
	if (used < 0)
		return used;
	if (used != n)
		return -EBADMSG;
	*ret = counts;
	return 0;
}

/*
 * One event:  value [enabled] [running] [id] [lost]
 * A group:    nr [enabled] [running] { value [id] [lost] } * nr
 */
struct counts_layout {
	bool group, enabled, running, id, lost;
};

static uint64_t take(const unsigned char **at)
{
	uint64_t word;

	memcpy(&word, *at, sizeof(word));
	*at += sizeof(word);
	return word;
}

static void take_member(const unsigned char **at, const struct counts_layout *has,
			struct pm_counts *counts, uint64_t index)
{
	uint64_t value = take(at);
	uint64_t id, lost;

	/* The times of a single event stand between its value and its id. */
	if (!has->group) {
		counts->time_enabled = has->enabled ? take(at) : 0;
		counts->time_running = has->running ? take(at) : 0;
	}
	id = has->id ? take(at) : 0;
	lost = has->lost ? take(at) : 0;
	if (index >= PM_COUNTS_MAX)
		return;
	counts->member[index].value = value;
	counts->member[index].id = id;
	counts->member[index].lost = lost;
}

int pm_counts_decode(const void *data, size_t size, uint64_t read_format, struct pm_counts *ret)
{
	const struct counts_layout has = {
		.group = read_format & PERF_FORMAT_GROUP,
		.enabled = read_format & PERF_FORMAT_TOTAL_TIME_ENABLED,
		.running = read_format & PERF_FORMAT_TOTAL_TIME_RUNNING,
		.id = read_format & PERF_FORMAT_ID,
		.lost = read_format & PERF_FORMAT_LOST,
	};
	const size_t fixed = sizeof(uint64_t) * (size_t)(has.group + has.enabled + has.running);
	const size_t each = sizeof(uint64_t) * (size_t)(1 + has.id + has.lost);
	const unsigned char *at = data;
	uint64_t nr = 1;

	if (read_format & ~(uint64_t)(PERF_FORMAT_MAX - 1))
		return -ENOTSUP;
	if (size < fixed)
		return -EBADMSG;
	if (has.group)
		nr = take(&at);
	/* In this order nothing overflows: the division bounds nr before it is multiplied. */
	if (nr > (size - fixed) / each || fixed + nr * each > INT32_MAX)
		return -EBADMSG;
	if (has.group) {
		ret->time_enabled = has.enabled ? take(&at) : 0;
		ret->time_running = has.running ? take(&at) : 0;
	}
	for (uint64_t i = 0; i < nr; i++)
		take_member(&at, &has, ret, i);
	ret->nr = nr < PM_COUNTS_MAX ? nr : PM_COUNTS_MAX;
	ret->dropped = nr - ret->nr;
	return (int)(fixed + nr * each);
}

pid_t pm_gettid(void)
{
	return (pid_t)syscall(SYS_gettid);
}
