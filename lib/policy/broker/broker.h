/* SPDX-License-Identifier: MIT */
/* Events opened by a privileged process: what goes over the socket; not installed. */
#ifndef PM_BROKER_H
#define PM_BROKER_H

#include <sys/types.h>

#include "../../perfmodes.h"
#include "../../pm_sys.h"

#define BROKER_MAGIC 0x706d4252u	/* "pmBR" */
#define BROKER_VERSION 1
#define BROKER_ATTR_MAX 256

/* One packet of a SOCK_SEQPACKET socket, in the byte order of the machine. */
struct broker_request {
	uint32_t magic;
	uint32_t version;
	int32_t tid, cpu;
	uint32_t attr_size;		/* bytes that follow */
	uint32_t zero;
	unsigned char attr[BROKER_ATTR_MAX];
};

/* With the descriptor beside it when `error` is 0. */
struct broker_reply {
	uint32_t magic;
	uint32_t version;
	int32_t error;			/* a positive errno */
	uint32_t zero;
};

/*
 * A packet from a stranger: its header is right, its attr fits. -EBADMSG, or -E2BIG for an attr
 * with fields of a later version than this library knows.
 */
int pm_broker_parse(const void *packet, size_t size, int *ret_tid, int *ret_cpu,
		    struct perf_event_attr *ret);

/*
 * What of the attr a stranger may have: an attr made of the harmless fields. -EPERM when it asks
 * for more, -EACCES when that is only not allowed by the options.
 */
int pm_broker_permit(const struct perf_event_attr *asked, unsigned int allow,
		     struct perf_event_attr *ret);

/*
 * Asks the broker at the other end of `socket` for an event on a thread, or with tid -1 on all that
 * runs on a CPU. Returns the descriptor, or -errno as the broker's perf_event_open(2) or the broker
 * itself said it; -EPIPE when it is gone or says nothing, -EPROTO when it says nonsense. Both end
 * the connection: what it says later would be taken for the next answer. -EMFILE without room for
 * the descriptor.
 */
int pm_broker_open(int socket, const struct perf_event_attr *attr, pid_t tid, int cpu);

#endif
