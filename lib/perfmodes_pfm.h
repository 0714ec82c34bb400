/* SPDX-License-Identifier: MIT */
/*
 * Events by the names of libpfm4, which has those of most CPUs' manuals. Optional:
 * libperfmodes-pfm.a beside libperfmodes. libpfm4 itself is loaded when the first name is parsed,
 * so a program that links this runs without it, and is told what to install. The conventions are
 * those of perfmodes.h.
 */
#ifndef PERFMODES_PFM_H
#define PERFMODES_PFM_H

#include "perfmodes.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/*
 * The event of that name, up to 255 bytes, as libpfm4 writes it,
 * [PMU::]EVENT[:UMASK...][:MODIFIER...]:
 *
 *	perf::PAGE-FAULTS:u			the kernel's generic events
 *	perf_raw::r1a8				the CPU's, by number
 *	ix86arch::UNHALTED_CORE_CYCLES		the CPU's, by name
 *	skl::MEM_LOAD_RETIRED:L3_MISS
 *
 * Of the modifiers "u" becomes PM_SPEC_USER_ONLY, "precise" PM_SPEC_PRECISE (as high as the CPU
 * has it, whichever number is asked for), "pinned" PM_SPEC_PINNED; "period" and "freq" set period
 * and frequency. Without "u" and "k" an event counts in every mode, as without ":u" in
 * pm_event_parse. libpfm4 leaves guests out unless it is told otherwise; that is not taken over, so
 * they are counted.
 *
 * Sets type, config, config1 and config2 of *ret, and what the modifiers say; its `size` is set by
 * the caller, all else stays as it is. To have pm_plan_explain tell what the name became, set
 * ret->name to it. Opens no event. The first call loads libpfm4 (libpfm.so.4) and lets it find out
 * which CPU this is; it stays loaded. May be called from any thread.
 *
 * Returns 0. -ENOSYS: libpfm4 is not here. -EINVAL: no name of libpfm4, an unknown or missing unit
 * mask, a modifier's value; -ENOENT: an event that the PMU does not have, or a PMU that this
 * machine does not have, or that libpfm4 does not know; -ENOTSUP: a modifier that is not taken over
 * ("k" alone, "mg", "mh", "excl", for which a spec has flags; "cpu"); -ENOMEM. The diagnosis says
 * which, and names what is near. (0.1)
 */
int pm_pfm_parse(const char *name, struct pm_diag *diag, struct pm_event_spec *ret);

/*
 * The full name that libpfm4 gives it, with the PMU and all modifiers: for "page-faults"
 * "perf::PERF_COUNT_SW_PAGE_FAULTS:u=1:k=1:excl=0:mg=0:mh=1". As snprintf(3): always terminated
 * when size > 0, returns the length without bound; or an error as pm_pfm_parse. (0.1)
 */
int pm_pfm_name(const char *name, char *buf, size_t size);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
