/* SPDX-License-Identifier: MIT */
/*
 * The canary: something is done on each CPU that must show in each ring. A kernel, a filter or a
 * wrong profile may let everything open and deliver nothing; this is where that shows. Not
 * installed.
 */
#ifndef PM_CANARY_H
#define PM_CANARY_H

#include "proof.h"

/*
 * Proves by the strategy's operation that records arrive; counts begin then, so that nothing the
 * canary did is in them. 0, or -EIO with the reason.
 */
int pm_canary(struct pm_session *session, char *reason, size_t size);

/* operations.prove by a thread that inherits the events: in rings, or in counters without any. */
int pm_canary_inherits(struct pm_session *session, bool patient, char *reason, size_t size);

/* operations.prove by the calling thread, which has events of its own and inherits nothing. */
int pm_canary_self(struct pm_session *session, bool patient, char *reason, size_t size);

/* A record in each ring, so that LOST records held back come out. */
void pm_canary_flush(struct pm_session *session);

/*
 * Proves counters by a thread that inherits them, or by this one where nobody does: 0, or -EIO with
 * the reason. What other threads do is in the sums as well, so there may be more. A filter that
 * answers in place of ioctl(2) enables nothing; on some cores nothing is counted: big ones of some
 * phones, and those of virtual machines whose PMU only seems to be there.
 */
int pm_canary_counters(struct pm_session *session, bool inherited, bool patient, char *reason,
		       size_t size);

#endif
