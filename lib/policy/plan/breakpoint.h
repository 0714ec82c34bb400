/* SPDX-License-Identifier: MIT */
/* Breakpoints that open and never fire. Not installed. */
#ifndef PM_BREAKPOINT_H
#define PM_BREAKPOINT_H

#include "../../perfmodes.h"

/*
 * -EIO and the diagnosis where `spec` is a breakpoint and none fires on this machine, whatever the
 * strategy: virtual machines without debug registers (seen with x86_64 guests of a paravirtual
 * hypervisor, 6.18) take such an event and count nothing. A breakpoint of the calling thread is
 * opened and hit for some microseconds. 0 else, also where that one is refused.
 */
int pm_breakpoint_try(const struct pm_event_spec *spec, struct pm_diag *diag);

#endif
