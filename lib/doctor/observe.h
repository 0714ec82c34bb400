/* SPDX-License-Identifier: MIT */
/* Opens one event and looks for one kind of record. */
#ifndef OBSERVE_H
#define OBSERVE_H

#include "doctor.h"

struct observation {
	const struct perf_event_attr *attr;
	pid_t pid;			/* 0: the calling thread */
	int cpu;
	enum pm_reach reach;
	const char *event;
	bool (*is_it)(const struct pm_record *record);
	uint64_t ns;			/* how long to work meanwhile */
};

/* Returns 0 when such a record came; else -errno and the refusal. */
/*
 * Where an event of the CPU counts nothing, the attempt is made on each CPU in turn: an event of
 * one kind of core counts nothing on the others.
 */
typedef int attempt_fn(const struct attempt *attempt, struct pm_refusal *refusal, char *how);
int doctor_on_some_cpu(attempt_fn *go, const struct attempt *attempt, struct pm_refusal *refusal,
		       char *how);
int doctor_observe(const struct observation *see, struct pm_refusal *refusal);

/* Maps one of so many rings of so many data pages, or fills the refusal. */
int doctor_map(int fd, size_t rings, size_t pages, struct pm_refusal *refusal,
	       struct pm_ring *ret);

#endif
