/* SPDX-License-Identifier: MIT */
/*
 * Counts of events by hardware thread, over an hwloc topology: which core, cache, package or NUMA
 * node did the work. An optional library, libperfmodes-topology; the conventions of perfmodes.h
 * hold here, too.
 *
 * A set is some events of one thread or process. A reading attributes what they have counted to
 * hardware threads (PUs of hwloc, by their number in the operating system). Readings are kept, and
 * asked for by time and by CPU set, so that the set of any object of the topology rolls them up.
 */
#ifndef PERFMODES_TOPOLOGY_H
#define PERFMODES_TOPOLOGY_H

#include <hwloc.h>
#include <perfmodes.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* Events, and their readings. One thread at a time may use it. (0.1) */
struct pm_topology;

/* How counts get to hardware threads. (0.1) */
enum pm_topology_source {
	PM_TOPOLOGY_EXACT,	/* an event for each thread and CPU: the kernel itself tells */
	PM_TOPOLOGY_SAMPLED,	/* one event a thread, whose samples tell their CPU */
	PM_TOPOLOGY_LAST,	/* one event; the CPU is looked up at each reading */
	PM_TOPOLOGY_PAPI,	/* an event set of PAPI; else as PM_TOPOLOGY_LAST */
	PM_TOPOLOGY_PARTS	/* what pm_topology_put is given */
};

enum pm_topology_flags {
	PM_TOPOLOGY_SPLIT = 1,		/* not PM_TOPOLOGY_EXACT: fewer descriptors, but a guess */
	PM_TOPOLOGY_MAY_SPLIT = 2	/* the same where PM_TOPOLOGY_EXACT is refused */
};

/* 0 but for `size`. (0.1) */
struct pm_topology_opts {
	size_t size;		/* sizeof(struct pm_topology_opts) */
	unsigned int flags;	/* enum pm_topology_flags */
	unsigned int allow;	/* enum pm_allow, of a session */
	uint64_t period;	/* of PM_TOPOLOGY_SAMPLED: events from sample to sample, or ... */
	uint64_t frequency;	/* ... samples a second; both 0: PM_TOPOLOGY_LAST */
	size_t readings;	/* how many are kept, the oldest go first; 0: 1024 */
};

/* What hardware threads have counted. (0.1) */
struct pm_topology_value {
	size_t size;		/* sizeof(struct pm_topology_value) */
	uint64_t time;		/* of the reading: CLOCK_MONOTONIC, ns; never the same twice */
	uint64_t value;		/* events */
	uint64_t enabled, running;	/* ns, of PM_TOPOLOGY_EXACT and _PARTS; else 0 */
	uint64_t uncertain;	/* how many of `value` may be of other hardware threads */
	bool guess;		/* whether that is more than none */
};

#define PM_TOPOLOGY_LATEST UINT64_MAX	/* as a time */

/*
 * A set of these events, all with the same `tid`, not started. `period`, `frequency` and `want` of
 * a spec are 0. The topology is loaded, stays the caller's, and must outlive the set. `opts` may be
 * NULL.
 *
 * PM_TOPOLOGY_EXACT takes a descriptor for each event, thread and CPU, and is right whatever the
 * scheduler does. PM_TOPOLOGY_SAMPLED attributes a sample's period to the sample's CPU, so that a
 * migration puts at most one period in the wrong place (a thread of another process gets an event
 * for each CPU all the same); the caller must read often enough for the ring buffers. With a period
 * of 1 each occurrence is a sample: that is exact, and costs accordingly. PM_TOPOLOGY_LAST, of one
 * thread only,
 * attributes what was counted since the last reading to the CPU where the thread is. Both count
 * migrations where the kernel lets them (cpu-migrations, of kernel mode): where there was none the
 * result is exact, and says so.
 *
 * Returns the enum pm_topology_source; -EINVAL for invalid specs, or PM_TOPOLOGY_LAST of many
 * threads; -ENOMEM; else as pm_plan_make and pm_counters_open, with the diagnosis. (0.1)
 */
int pm_topology_open(hwloc_topology_t topology, const struct pm_event_spec *specs, size_t count,
		     const struct pm_topology_opts *opts, struct pm_diag *diag,
		     struct pm_topology **ret);

/*
 * A set over an event set of PAPI, which stays the caller's and is only read: never reset, and
 * started and stopped by the calls below only if it does not run yet. The hardware thread is the
 * CPU that the event set is attached to, or where the thread is that it counts. Returns
 * PM_TOPOLOGY_PAPI; -ENOSYS when the library was built without PAPI; -EINVAL with PAPI's sentence
 * for an invalid event set; -ENOMEM. (0.1)
 */
int pm_topology_open_papi(hwloc_topology_t topology, int event_set,
			  const struct pm_topology_opts *opts, struct pm_diag *diag,
			  struct pm_topology **ret);

/*
 * A set whose readings pm_topology_put hands in: counts of another session, process or machine.
 * The names (up to 127 bytes) are copied. Returns PM_TOPOLOGY_PARTS; -EINVAL, -ENOMEM. (0.1)
 */
int pm_topology_open_parts(hwloc_topology_t topology, const char *const *names, size_t count,
			   const struct pm_topology_opts *opts, struct pm_topology **ret);

/* Stops and frees it. NULL is allowed. (0.1) */
void pm_topology_destroy(struct pm_topology *set);

/*
 * Counts from 0 from now on; readings are kept. Returns 0; -EALREADY; -errno of the attach, with
 * the diagnosis. (0.1)
 */
int pm_topology_start(struct pm_topology *set, struct pm_diag *diag);

/*
 * A reading: what was counted since start, or since the last pm_topology_accumulate. `ret`, the
 * time of it, may be NULL. Returns how many hardware threads have counted so far; -ENOTCONN when
 * not started; -errno of the reading. A thread that reads others does it while they run: each
 * event by itself is right, and nothing is counted twice or left out between two readings. (0.1)
 */
int pm_topology_read(struct pm_topology *set, uint64_t *ret);

/*
 * A reading of what all earlier calls of this function have read and what was counted since; the
 * next pm_topology_read begins from 0. Returns as pm_topology_read. (0.1)
 */
int pm_topology_accumulate(struct pm_topology *set, uint64_t *ret);

/* A last reading, as pm_topology_read, and no more counting; start begins anew. (0.1) */
int pm_topology_stop(struct pm_topology *set, uint64_t *ret);

/*
 * A reading of PM_TOPOLOGY_PARTS: counts by event and CPU as pm_session_read_parts gives them, each
 * at least as large as in the call before. Parts of one event and CPU are added up; those without a
 * CPU belong to no hardware thread. Returns as pm_topology_read; -EINVAL for an invalid event or
 * size; -E2BIG for a CPU beyond 65535; -ENOTSUP for other sets. (0.1)
 */
int pm_topology_put(struct pm_topology *set, const struct pm_part *parts, size_t count,
		    uint64_t *ret);

/* Where its readings come from. (0.1) */
enum pm_topology_source pm_topology_source(const struct pm_topology *set);

/* The plan behind it, to be explained; NULL for sets without a session. (0.1) */
const struct pm_plan *pm_topology_plan(const struct pm_topology *set);

/* The name of event `index`, as pm_event_name, PAPI or the caller gave it; NULL beyond. (0.1) */
const char *pm_topology_event(const struct pm_topology *set, size_t index);

/*
 * The times of the readings that are kept, between `from` and `to` inclusive, oldest first, `count`
 * at most. Returns how many there are. (0.1)
 */
int pm_topology_times(const struct pm_topology *set, uint64_t from, uint64_t to, uint64_t *ret,
		      size_t count);

/*
 * What the hardware threads of `cpus` had counted by the reading at `time`, or the last one before
 * it. `cpus` is the cpuset of any object of the topology, of a kind of CPUs, or the caller's own;
 * NULL stands for all that was counted, also on CPUs that the topology does not know. Returns 0;
 * -EINVAL for an invalid event or size; -ENODATA without such a reading. (0.1)
 */
int pm_topology_value(const struct pm_topology *set, size_t event, hwloc_const_cpuset_t cpus,
		      uint64_t time, struct pm_topology_value *ret);

/*
 * What they counted from the reading at `from` to that at `to`, each as above, whatever start and
 * accumulate did between. Returns and fails as pm_topology_value. (0.1)
 */
int pm_topology_window(const struct pm_topology *set, size_t event, hwloc_const_cpuset_t cpus,
		       uint64_t from, uint64_t to, struct pm_topology_value *ret);

/*
 * Adds the readings to each PU of `topology`, which may be a copy of the set's, as info attributes:
 * "perfmodes:EVENT" with the latest value; "perfmodes:EVENT:uncertain" where that is a guess; and
 * where several readings are kept, "perfmodes:EVENT@TIME" for each. The root object gets sums of
 * what was counted on CPUs without a PU as "perfmodes:EVENT:elsewhere". Returns how many
 * attributes; -EEXIST when the topology has them already; -ENODATA without a reading; -ENOMEM.
 * (0.1)
 */
int pm_topology_annotate(const struct pm_topology *set, hwloc_topology_t topology);

/*
 * Writes the topology with those attributes as XML, which hwloc loads again. Returns 0; as above;
 * -EIO when hwloc could not write the file. (0.1)
 */
int pm_topology_export(const struct pm_topology *set, const char *path);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
