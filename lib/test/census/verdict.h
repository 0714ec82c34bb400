/* SPDX-License-Identifier: MIT */
/* Lines of KTAP, as probes write them (suites/README.md). */
#ifndef VERDICT_H
#define VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "../../perfmodes.h"

enum kind { YES, NO, BLOCKED, ABSENT, BROKEN };

/* Of the program, before its points: what their names begin with. */
extern const char verdict_of[];
extern unsigned int verdicts_failed;

void __attribute__((format(printf, 3, 4)))
verdict(const char *point, enum kind kind, const char *format, ...);

/* Whether that is somebody who refuses perf, and not the library. */
bool is_gate(enum pm_cause cause);

uint64_t now_ns(void);

#endif
