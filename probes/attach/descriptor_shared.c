/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does an event live in another process, or longer than its opener? Daemons open events with
 * privilege and hand them to workers. Observed: exact page faults, read through a descriptor that
 * was duplicated, inherited over fork(2), sent over a socket, or taken by pidfd_getfd(2).
 */
#include "probe.h"
#include <sys/socket.h>
#include <sys/syscall.h>

PROBE(TITLE("one event, several descriptors")
      SINCE("2.6.31")
      POINT(duplicate, "a duplicate counts on after the first descriptor was closed")
      POINT(duplicate_ring, "a ring mapped through the one descriptor shows what the other enabled")
      POINT(forked, "a forked child reads its parent's event")
      POINT(sent, "a descriptor sent over a socket reads the same event")
      POINT(opener_gone, "an event counts on when the process that opened it has ended")
      POINT(taken, "a descriptor taken by pidfd_getfd reads and maps the same event")
      SINCE("5.6")
      COMMIT("8649c322f75c"))

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

static pid_t target;

static struct perf_event_attr running_faults(void)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.disabled = 0;
	return attr;
}

static void want(struct __test_metadata *_metadata, uint64_t got, uint64_t wanted)
{
	if (got != wanted)
		broken("counted=%" PRIu64 " want=%" PRIu64, got, wanted);
}

TEST(duplicate)
{
	struct perf_event_attr attr = running_faults();
	int fd = must_open(&attr, 0, -1, -1, 0), copy = dup(fd);

	ASSERT_LE(0, copy);
	close(fd);
	want(_metadata, gain_of_faults(copy, NULL, 16), 16);
}

TEST(duplicate_ring)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);
	struct watch watch = must_watch(&attr, 0, -1, 4);
	int copy = dup(watch.fd), samples;

	ASSERT_LE(0, copy);
	must_ioctl(copy, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(16));
	must_ioctl(copy, PERF_EVENT_IOC_DISABLE, 0);
	samples = count_records(&watch.ring, PERF_RECORD_SAMPLE);
	if (samples < 16)
		broken("samples=%d want>=16", samples);
}

static int inherited_fd;

static int read_inherited(void *unused)
{
	uint64_t count = 0;
	int error = pm_read_count(inherited_fd, &count);

	(void)unused;
	return error < 0 ? error : (int)count;
}

TEST(forked)
{
	struct perf_event_attr attr = running_faults();
	struct worker child;
	int seen;

	inherited_fd = must_open(&attr, 0, -1, -1, 0);
	must_start(&child, WORKER_CHILD);
	ASSERT_EQ(0, cause_faults(16));
	must_ioctl(inherited_fd, PERF_EVENT_IOC_DISABLE, 0);
	seen = worker_do(&child, read_inherited, NULL);
	want(_metadata, seen, must_count(inherited_fd));
	if (seen < 16)
		broken("counted=%d want>=16", seen);
}

static int sockets[2];

/* Sends one descriptor, or receives one when fd is -1. Returns it or -errno. */
static int transfer(int fd)
{
	char token = 0, control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec part = { .iov_base = &token, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	if (fd < 0) {
		if (recvmsg(sockets[0], &message, 0) < 0)
			return -errno;
		header = CMSG_FIRSTHDR(&message);
		if (!header)
			return -ENOMSG;
		memcpy(&fd, CMSG_DATA(header), sizeof(fd));
		return fd;
	}
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	return sendmsg(sockets[1], &message, 0) < 0 ? -errno : fd;
}

static int open_and_send(void *unused)
{
	struct perf_event_attr attr = running_faults();
	int fd = pm_open(&attr, target, -1, -1, 0);

	(void)unused;
	return fd < 0 ? fd : transfer(fd);
}

/* An event on this thread, opened by a child and sent here. */
static int receive_event(struct __test_metadata *_metadata, struct worker *child)
{
	struct perf_event_attr attr = running_faults();
	int fd;

	close(must_open(&attr, 0, -1, -1, 0));
	target = pm_gettid();
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets));
	must_start(child, WORKER_CHILD);
	fd = worker_do(child, open_and_send, NULL);
	if (fd < 0)
		cannot_tell("a child cannot open and send: %s", errno_name(fd));
	fd = transfer(-1);
	if (fd < 0)
		broken("recvmsg: %s", errno_name(fd));
	return fd;
}

TEST(sent)
{
	struct worker child;

	want(_metadata, gain_of_faults(receive_event(_metadata, &child), NULL, 16), 16);
}

TEST(opener_gone)
{
	struct worker child;
	int fd = receive_event(_metadata, &child);

	ASSERT_EQ(0, worker_stop(&child));
	want(_metadata, gain_of_faults(fd, NULL, 16), 16);
}

static int open_sampling(void *unused)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);

	(void)unused;
	attr.disabled = 0;
	return pm_open(&attr, 0, -1, -1, 0);
}

TEST(taken)
{
	struct perf_event_attr attr = running_faults();
	struct pm_ring ring;
	struct worker child;
	int theirs, pidfd, fd;

	close(must_open(&attr, 0, -1, -1, 0));
	must_start(&child, WORKER_CHILD);
	theirs = worker_do(&child, open_sampling, NULL);
	ASSERT_LE(0, theirs);
	pidfd = syscall(SYS_pidfd_open, child.tid, 0);
	fd = pidfd < 0 ? -1 : syscall(SYS_pidfd_getfd, pidfd, theirs, 0);
	if (fd < 0 && errno == ENOSYS)
		say_no("ENOSYS: the kernel has no %s", pidfd < 0 ? "pidfd_open" : "pidfd_getfd");
	if (fd < 0)
		say_blocked("pidfd_getfd: %s", errno_name(errno));
	must_map(fd, 4, &ring);
	want(_metadata, gain_of_faults(fd, &child, 16), 16);
	if (count_records(&ring, PERF_RECORD_SAMPLE) < 16)
		broken("the mapped ring of a taken descriptor misses samples");
}

PROBE_MAIN
