/* SPDX-License-Identifier: MIT */
/*
 * Advice, as a function of what is known of the caller and of where it runs. Each call appends
 * clauses to what there is to change. The order of calls is that of privilege: what takes none or
 * concerns one program comes first, what changes the machine for all comes last.
 */
#ifndef PM_GATE_ADVICE_H
#define PM_GATE_ADVICE_H

#include "gate.h"

/* One clause. */
void pm_advise(struct pm_gate_words *ret, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* How this program gets a capability here that counts. */
void pm_advise_capability(const struct pm_refused *refused, enum pm_cap cap,
			  struct pm_gate_words *ret);

/* A setting of the machine, named in full ("kernel.perf_event_paranoid"), and whose it is. */
void pm_advise_sysctl(const struct pm_refused *refused, const char *name, long long value,
		      struct pm_gate_words *ret);

/* How perf_event_open(2) gets through the filter of system calls. */
void pm_advise_filter(const struct pm_refused *refused, struct pm_gate_words *ret);

/* How the owner of the machine under this one passes the PMU of its CPUs on. */
void pm_advise_pmu(const struct pm_refused *refused, struct pm_gate_words *ret);

/* Where what answers system calls has no perf events. */
void pm_advise_kernel(const struct pm_refused *refused, struct pm_gate_words *ret);

/*
 * How a container gets at the tracefs of its host. False: this is no container, or one that may
 * mount it itself.
 */
bool pm_advise_tracefs(const struct pm_refused *refused, bool mounted, struct pm_gate_words *ret);

/* A limit of ulimit(1) that root alone can raise: "nofile", in its own unit. */
void pm_advise_hard_limit(const struct pm_refused *refused, const char *limit,
			  unsigned long long value, struct pm_gate_words *ret);

#endif
