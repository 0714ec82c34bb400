/* SPDX-License-Identifier: MIT */
/*
 * Event sets of PAPI as a source. Without -DPM_HAVE_PAPI, which the build sets where pkg-config
 * finds PAPI, there is none.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "topology.h"

#ifdef PM_HAVE_PAPI
#include <papi.h>

static int refuse(struct pm_diag *diag, const char *call, int code)
{
	char text[256];

	snprintf(text, sizeof(text), "topology: %s: %s", call, PAPI_strerror(code));
	return pm_topology_refuse(diag, code == PAPI_ENOMEM ? -ENOMEM : -EINVAL, text);
}

static int read_events(struct pm_topology *set, uint64_t *ret)
{
	long long values[EVENTS_MAX];

	if (PAPI_read(set->event_set, values) != PAPI_OK)
		return -EIO;
	for (size_t i = 0; i < set->events; i++)
		ret[i] = (uint64_t)values[i];
	return 0;
}

/* Attached to a CPU, to a thread, or to the thread that uses it. */
static int find_thread(int event_set, int state, pid_t *tid, int *cpu)
{
	PAPI_option_t option;
	int code = PAPI_OK;

	memset(&option, 0, sizeof(option));
	if (state & PAPI_CPU_ATTACHED) {
		option.cpu.eventset = event_set;
		code = PAPI_get_opt(PAPI_CPU_ATTACH, &option);
		*cpu = (int)option.cpu.cpu_num;
	} else if (state & PAPI_ATTACHED) {
		option.attach.eventset = event_set;
		code = PAPI_get_opt(PAPI_ATTACH, &option);
		*tid = (pid_t)option.attach.tid;
	}
	return code;
}

static int start(struct pm_topology *set, struct pm_diag *diag)
{
	int state = 0, code = PAPI_state(set->event_set, &state), cpu = -1, err;
	pid_t tid = 0;

	if (code == PAPI_OK)
		code = find_thread(set->event_set, state, &tid, &cpu);
	set->papi_started = code == PAPI_OK && !(state & PAPI_RUNNING);
	if (set->papi_started)
		code = PAPI_start(set->event_set);
	if (code != PAPI_OK) {
		set->papi_started = false;
		return refuse(diag, "PAPI_start", code);
	}
	pm_where_begin(&set->where, tid, cpu);
	err = pm_last_begin(set, read_events);
	return err < 0 ? pm_topology_refuse(diag, err, "topology: PAPI_read fails, or the thread "
					    "is gone") : 0;
}

static int take(struct pm_topology *set)
{
	return pm_last_take(set, read_events);
}

static int stop(struct pm_topology *set)
{
	long long values[EVENTS_MAX];

	pm_where_end(&set->where);
	if (!set->papi_started)
		return 0;
	set->papi_started = false;
	return PAPI_stop(set->event_set, values) == PAPI_OK ? 0 : -EIO;
}

static void close_papi(struct pm_topology *set)
{
	if (set->papi_started)
		(void)stop(set);
}

static const struct source papi = {
	.kind = PM_TOPOLOGY_PAPI, .start = start, .take = take, .stop = stop,
	.close = close_papi,
};

static int name_events(struct pm_topology *set, const int *codes)
{
	char name[PAPI_MAX_STR_LEN + 1];

	for (size_t i = 0; i < set->events; i++) {
		int code = PAPI_event_code_to_name(codes[i], name);

		if (code != PAPI_OK)
			return code;
		snprintf(set->names[i], sizeof(set->names[i]), "%.*s", NAME_BYTES - 1, name);
	}
	return PAPI_OK;
}

int pm_topology_open_papi(hwloc_topology_t topology, int event_set,
			  const struct pm_topology_opts *opts, struct pm_diag *diag,
			  struct pm_topology **ret)
{
	int codes[EVENTS_MAX], count = EVENTS_MAX, code, err;
	struct pm_topology *set;

	code = PAPI_list_events(event_set, codes, &count);
	if (code != PAPI_OK)
		return refuse(diag, "PAPI_list_events", code);
	err = pm_topology_make(topology, (size_t)count, opts, &set);
	if (err < 0)
		return pm_topology_refuse(diag, err, "topology: 1 to 32 events are needed");
	set->event_set = event_set;
	code = name_events(set, codes);
	if (code != PAPI_OK) {
		pm_topology_destroy(set);
		return refuse(diag, "PAPI_event_code_to_name", code);
	}
	set->source = &papi;
	*ret = set;
	return PM_TOPOLOGY_PAPI;
}

#else

int pm_topology_open_papi(hwloc_topology_t topology, int event_set,
			  const struct pm_topology_opts *opts, struct pm_diag *diag,
			  struct pm_topology **ret)
{
	(void)topology;
	(void)event_set;
	(void)opts;
	(void)ret;
	return pm_topology_refuse(diag, -ENOSYS, "topology: the library was built without PAPI "
				  "(libpapi-dev)");
}

#endif
