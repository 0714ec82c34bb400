/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lies about what several records, or several parts of one, tell together: contents.c.
 */
#ifndef CONTENTS_H
#define CONTENTS_H

#include "../../../lib/pm_sys.h"

/* Makes a decoded record false, by the lie that is told. */
void lies_in_contents(struct pm_record *record, const struct pm_format *format);
/* The same, of single values that are nearly right: values.c */
void lies_in_values(struct pm_record *record, const struct pm_format *format);

#endif
