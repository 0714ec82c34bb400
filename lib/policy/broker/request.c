/* SPDX-License-Identifier: MIT */
/* What a stranger sends to a broker: whether it is a request, and what of it may be had. */
#include <errno.h>
#include <string.h>

#include "broker.h"

#define CPU_MAX 65536
#define STACK_FRAMES_MAX 1024

static bool is_of_system(const struct broker_request *request)
{
	return request->tid == -1 && request->cpu >= 0;
}

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
	    (request.tid <= 0 && !is_of_system(&request)) ||
	    request.cpu < -1 || request.cpu > CPU_MAX)
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
		.inherit_thread = asked->inherit_thread,
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

/* What a watcher of others wants besides: programs, and where their code comes from. */
static void keep_for_watchers(const struct perf_event_attr *asked, unsigned int allow,
			      struct perf_event_attr *kept)
{
	if (allow & (PM_BROKER_OTHERS | PM_BROKER_SYSTEM)) {
		kept->comm_exec = asked->comm_exec;
		kept->build_id = asked->build_id;
		kept->mmap_data = asked->mmap_data;
		kept->context_switch = asked->context_switch;
		kept->cgroup = asked->cgroup;
		kept->sample_type |= asked->sample_type & PERF_SAMPLE_CGROUP;
	}
	if (allow & PM_BROKER_STACKS) {
		kept->sample_type |= asked->sample_type &
			(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
		kept->sample_regs_user = asked->sample_regs_user;
		kept->sample_stack_user = asked->sample_stack_user;
	}
}

int pm_broker_permit(const struct perf_event_attr *asked, unsigned int allow,
		     struct perf_event_attr *ret)
{
	struct perf_event_attr kept;
	bool kernel = !asked->exclude_kernel || !asked->exclude_hv ||
		((asked->sample_type & PERF_SAMPLE_CALLCHAIN) && !asked->exclude_callchain_kernel);

	keep_harmless(asked, &kept);
	keep_for_watchers(asked, allow, &kept);
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
