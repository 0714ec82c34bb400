/* SPDX-License-Identifier: MIT */
/*
 * The server, in a process that may open events. Whoever is connected gets events on its own
 * threads, made of harmless fields only, as many as the options say, and on others if those say so.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../rights.h"
#include "broker.h"

#define EVENTS_DEFAULT 4096

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

/* Numbers of threads mean others in another PID namespace. */
static bool shares_pids(const struct peer *peer)
{
	struct stat ours, theirs;

	return stat("/proc/self/ns/pid", &ours) == 0 &&
		fstatat(peer->proc, "ns/pid", &theirs, 0) == 0 &&
		ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

static int open_own(const struct peer *peer, const struct perf_event_attr *attr, int tid, int cpu)
{
	struct perf_event_attr kept = *attr;
	int fd;

	if (!is_own_thread(peer, tid))
		return -ESRCH;
	fd = pm_open(&kept, tid, cpu, -1, 0);
	/* Its number may have been given to a stranger in between. */
	if (fd < 0 || is_own_thread(peer, tid))
		return fd;
	close(fd);
	return -ESRCH;
}

static int open_for(const struct peer *peer, const struct pm_broker_opts *opts, int tid, int cpu,
		    const struct perf_event_attr *asked)
{
	struct perf_event_attr attr;
	int err = pm_broker_permit(asked, opts->allow, &attr);

	if (err < 0)
		return err;
	if (tid == -1)
		return opts->allow & PM_BROKER_SYSTEM ? pm_open(&attr, -1, cpu, -1, 0) : -EACCES;
	if ((opts->allow & PM_BROKER_OTHERS) && shares_pids(peer))
		return pm_open(&attr, tid, cpu, -1, 0);
	return open_own(peer, &attr, tid, cpu);
}

/* --------------------------------------------------------------------------------------- socket */

static int answer(int socket, int result)
{
	struct broker_reply reply = {
		.magic = BROKER_MAGIC, .version = BROKER_VERSION,
		.error = result < 0 ? -result : 0,
	};

	return pm_rights_send(socket, &reply, sizeof(reply), &result, result >= 0);
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
