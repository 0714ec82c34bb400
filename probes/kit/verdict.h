/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Verdicts, facts and the environment. Knows nothing of the harness.
 */
#ifndef VERDICT_H
#define VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../lib/pm_sys.h"

/* YES, NO and so on, in the order of the list, which tells what each means. */
enum verdict {
#define PM_VERDICT(name, ...) name,
#include "../../lib/perfmodes_verdicts.def"
};

/* A verdict and its reason, before it is said. */
struct finding {
	enum verdict verdict;
	char reason[400];
};

/* Write an integer fact. Names of facts are relative to the probe's id; threads and children may
 * write them, too: a fact is one whole line. */
void fact_int(const char *name, int64_t value);
/* Write a fact that is true or false. */
void fact_bool(const char *name, bool value);
/* Write a fact that is a text of one line. */
void fact_str(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The environment: privileges, limits, settings. It is read once, when first asked for. */
const struct pm_env *probe_env(void);

#endif
