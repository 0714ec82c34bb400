/* SPDX-License-Identifier: MIT */
/* Shapes of attachments that this process has proven, whoever attached; not installed. */
#ifndef PM_KNOWN_H
#define PM_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pm_session;

/*
 * The shape of an attachment whose rings are mapped: strategy, events as they were opened, CPUs,
 * the facts that the strategy stands on, and this very process. 0: it is to be proven each time.
 */
uint64_t pm_known_shape(const struct pm_session *session);

/* Whether that shape was proven, and how many rings the proof could not reach. */
bool pm_known_find(uint64_t shape, uint64_t *ret_unvisited);

/* It has been. */
void pm_known_add(uint64_t shape, size_t unvisited);

/* An attachment turned out to be silent: all are to be proven anew. */
void pm_known_forget(void);

#endif
