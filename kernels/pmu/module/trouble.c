// SPDX-License-Identifier: GPL-2.0-only
/*
 * Trouble on purpose, so that it can be seen whether anybody hears of it: the first event that is
 * opened makes the kernel complain. It survives both.
 */
#include <linux/atomic.h>
#include <linux/module.h>
#include <linux/string.h>

#include "pmu.h"

static char *trouble = "";
module_param(trouble, charp, 0444);
MODULE_PARM_DESC(trouble, "what the first event that is opened causes: warn or oops");

static atomic_t caused = ATOMIC_INIT(0);

void cause_trouble(void)
{
	int *nowhere = NULL;

	if (!*trouble || atomic_cmpxchg(&caused, 0, 1))
		return;
	OPTIMIZER_HIDE_VAR(nowhere);
	if (!strcmp(trouble, "oops"))
		WRITE_ONCE(*nowhere, 1);
	WARN(1, "perfmodes_pmu: a warning that was asked for\n");
}
