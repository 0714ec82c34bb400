/* SPDX-License-Identifier: MIT */
/*
 * The other end of the broker's socket, in a process that may open events. Whoever is connected
 * gets events on its own threads, made of harmless fields only, as many as the options say.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "broker.h"

#define EVENTS_DEFAULT 4096
#define CPU_MAX 65536
#define STACK_FRAMES_MAX 1024

/* -------------------------------------------------------------------------------------- request */

int pm_broker_parse(const void *packet, size_t size, int *ret_tid, int *ret_cpu,
		    struct perf_event_attr *ret)
{
	struct broker_request request;
	size_t head = offsetof(struct broker_request, attr);

	if (size < head || size > sizeof(request))
		return -EBADMSG;
	memset(&request, 0, sizeof(request));
	memcpy(&request, packet, size);
	if (request.magic != BROKER_MAGIC || request.version != BROKER_VERSION ||
	    request.zero != 0 || request.attr_size != size - head ||
	    request.attr_size < PERF_ATTR_SIZE_VER0 || request.attr_size % 8 != 0 ||
	    request.tid <= 0 || request.cpu < -1 || request.cpu > CPU_MAX)
		return -EBADMSG;
	for (size_t i = sizeof(*ret); i < request.attr_size; i++)
		if (request.attr[i] != 0)
			return -E2BIG;
	memcpy(ret, request.attr, sizeof(*ret));
	*ret_tid = request.tid;
	*ret_cpu = request.cpu;
	return 0;
}

#define SAMPLE_HARMLESS (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | \
	PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_ID | PERF_SAMPLE_CPU | \
	PERF_SAMPLE_PERIOD | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_IDENTIFIER)

#define READ_HARMLESS (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | \
	PERF_FORMAT_ID | PERF_FORMAT_LOST)

/* An attr like it of the fields that tell a thread of itself and nobody else. */
static void keep_harmless(const struct perf_event_attr *asked, struct perf_event_attr *ret)
{
	*ret = (struct perf_event_attr){
		.type = asked->type, .size = asked->size, .config = asked->config,
		.config1 = asked->config1, .config2 = asked->config2,
		.sample_period = asked->sample_period, .freq = asked->freq,
		.sample_type = asked->sample_type & SAMPLE_HARMLESS,
		.read_format = asked->read_format & READ_HARMLESS,
		.disabled = asked->disabled, .inherit = asked->inherit,
		.exclude_user = asked->exclude_user, .exclude_kernel = asked->exclude_kernel,
		.exclude_hv = asked->exclude_hv, .exclude_idle = asked->exclude_idle,
		.comm = asked->comm, .task = asked->task, .mmap = asked->mmap,
		.mmap2 = asked->mmap2, .watermark = asked->watermark,
		.sample_id_all = asked->sample_id_all,
		.exclude_callchain_kernel = asked->exclude_callchain_kernel,
		.exclude_callchain_user = asked->exclude_callchain_user,
		.use_clockid = asked->use_clockid, .clockid = asked->clockid,
		.wakeup_events = asked->wakeup_events, .sample_max_stack = asked->sample_max_stack,
	};
}

int pm_broker_permit(const struct perf_event_attr *asked, unsigned int allow,
		     struct perf_event_attr *ret)
{
	struct perf_event_attr kept;
	bool kernel = !asked->exclude_kernel || !asked->exclude_hv ||
		((asked->sample_type & PERF_SAMPLE_CALLCHAIN) && !asked->exclude_callchain_kernel);

	keep_harmless(asked, &kept);
	if (memcmp(&kept, asked, sizeof(kept)) != 0 || kept.sample_max_stack > STACK_FRAMES_MAX)
		return -EPERM;
	if (kernel && !(allow & PM_BROKER_KERNEL))
		return -EACCES;
	if (asked->type != PERF_TYPE_HARDWARE && asked->type != PERF_TYPE_SOFTWARE &&
	    asked->type != PERF_TYPE_HW_CACHE && !(allow & PM_BROKER_ANY_PMU))
		return -EACCES;
	*ret = kept;
	return 0;
}

/* ----------------------------------------------------------------------------------------- peer */

struct peer {
	int proc;		/* /proc/PID: this very process, even when its number is reused */
	struct ucred cred;
};

static int open_peer(int socket, struct peer *ret)
{
	socklen_t size = sizeof(ret->cred);
	struct stat status;
	char path[32];

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &ret->cred, &size) != 0)
		return -errno;
	/* 0: of a PID namespace that we cannot look into. */
	if (ret->cred.pid <= 0)
		return -ESRCH;
	snprintf(path, sizeof(path), "/proc/%d", (int)ret->cred.pid);
	ret->proc = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ret->proc < 0)
		return -ESRCH;
	/* A process that made itself unreadable belongs to root here, and is not served. */
	if (fstat(ret->proc, &status) == 0 && status.st_uid == ret->cred.uid)
		return 0;
	close(ret->proc);
	return -EPERM;
}

static bool is_own_thread(const struct peer *peer, int tid)
{
	char path[32];

	snprintf(path, sizeof(path), "task/%d", tid);
	return faccessat(peer->proc, path, F_OK, 0) == 0;
}

static int open_for(const struct peer *peer, const struct pm_broker_opts *opts, int tid, int cpu,
		    const struct perf_event_attr *asked)
{
	struct perf_event_attr attr;
	int err = pm_broker_permit(asked, opts->allow, &attr), fd;

	if (err < 0)
		return err;
	if (!is_own_thread(peer, tid))
		return -ESRCH;
	fd = pm_open(&attr, tid, cpu, -1, 0);
	/* Its number may have been given to a stranger in between. */
	if (fd < 0 || is_own_thread(peer, tid))
		return fd;
	close(fd);
	return -ESRCH;
}

/* --------------------------------------------------------------------------------------- socket */

static int answer(int socket, int result)
{
	struct broker_reply reply = {
		.magic = BROKER_MAGIC, .version = BROKER_VERSION,
		.error = result < 0 ? -result : 0,
	};
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = { &reply, sizeof(reply) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t sent;

	if (result >= 0) {
		memset(&control, 0, sizeof(control));
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(result));
		memcpy(CMSG_DATA(&control.header), &result, sizeof(result));
	}
	do
		sent = sendmsg(socket, &message, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent == sizeof(reply) ? 0 : -errno;
}

/* A packet of whatever length; descriptors that come with it are not taken by the kernel. */
static ssize_t receive(int socket, void *buf, size_t size)
{
	ssize_t count;

	do
		count = recv(socket, buf, size, 0);
	while (count < 0 && errno == EINTR);
	return count < 0 ? -errno : count;
}

static int serve_one(int socket, const struct peer *peer, const struct pm_broker_opts *opts,
		     unsigned int *opened)
{
	/* One byte more than the largest request, so that a longer one shows. */
	unsigned char packet[sizeof(struct broker_request) + 1];
	struct perf_event_attr attr;
	int tid = 0, cpu = 0, result, err;
	ssize_t size = receive(socket, packet, sizeof(packet));

	if (size <= 0)
		return size == 0 ? -EPIPE : (int)size;
	result = pm_broker_parse(packet, (size_t)size, &tid, &cpu, &attr);
	if (result == -EBADMSG)
		return result;
	if (result == 0)
		result = *opened < opts->events ? open_for(peer, opts, tid, cpu, &attr) : -EMFILE;
	err = answer(socket, result);
	if (result >= 0) {
		close(result);
		++*opened;
	}
	return err;
}

int pm_broker_serve(int socket, const struct pm_broker_opts *from)
{
	struct pm_broker_opts opts = { .size = sizeof(opts) };
	unsigned int opened = 0;
	struct peer peer;
	int err;

	if (from != NULL && from->size != sizeof(opts))
		return -EINVAL;
	if (from != NULL)
		opts = *from;
	if (opts.events == 0)
		opts.events = EVENTS_DEFAULT;
	err = open_peer(socket, &peer);
	if (err < 0)
		return err;
	/* Refusals are bounded too: a peer that only asks for what it cannot have is sent off. */
	for (uint64_t requests = 0; err == 0 && requests < 64 + 2ull * opts.events; requests++)
		err = serve_one(socket, &peer, &opts, &opened);
	close(peer.proc);
	return err == -EBADMSG ? err : (int)opened;
}
