/* SPDX-License-Identifier: MIT */
/* libpfm4 as the files here share it; not installed. */
#ifndef PM_PFM_INTERNAL_H
#define PM_PFM_INTERNAL_H

#include <perfmon/pfmlib_perf_event.h>

#include "../perfmodes_pfm.h"

#define PFM_NAME_MAX 255

/* What is used of libpfm4, with its own types. */
#define PFM_FUNCTIONS(X) \
	X(pfm_initialize) \
	X(pfm_strerror) \
	X(pfm_get_pmu_info) \
	X(pfm_get_event_next) \
	X(pfm_get_event_info) \
	X(pfm_get_os_event_encoding)

struct pfm {
#define PFM_MEMBER(function) __typeof__(function) *function;
	PFM_FUNCTIONS(PFM_MEMBER)
#undef PFM_MEMBER
};

/*
 * libpfm4, initialised, for the calling thread alone until pm_pfm_unlock: it says nothing of being
 * safe for several. NULL: it is not here or does not work, and the diagnosis says so; nothing is
 * locked then.
 */
const struct pfm *pm_pfm_lock(const char *name, struct pm_diag *diag);
void pm_pfm_unlock(void);

/* Fills a diagnosis, which may be NULL: `event "NAME": ...`. Returns -error. */
int pm_pfm_say(struct pm_diag *diag, int error, enum pm_cause cause, const char *name,
	       const char *format, ...) __attribute__((format(printf, 5, 6)));

/* What to say of a name that libpfm4 does not take, by its error. Returns -errno. */
int pm_pfm_advise(const struct pfm *pfm, const char *name, int error, struct pm_diag *diag);

#endif
