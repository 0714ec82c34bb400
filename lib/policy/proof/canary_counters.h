/* SPDX-License-Identifier: MIT */
/* Counters have no ring: what the canary's thread does must be in the sums. Not installed. */
#ifndef PM_CANARY_COUNTERS_H
#define PM_CANARY_COUNTERS_H

#include "proof.h"

/*
 * Proves counters by a thread that inherits them, or by this one where nobody does: 0, or -EIO with
 * the reason. What other threads do is in the sums as well, so there may be more. A filter that
 * answers in place of ioctl(2) enables nothing; on some cores nothing is counted: big ones of some
 * phones, and those of virtual machines whose PMU only seems to be there.
 */
int pm_canary_counters(struct pm_session *session, bool inherited, bool patient, char *reason,
		       size_t size);

#endif
