/* SPDX-License-Identifier: MIT */
#include "verdict.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "../../pm_sys.h"

unsigned int verdicts_failed;
static unsigned int number;

void verdict(const char *point, enum kind kind, const char *format, ...)
{
	static const char *const words[] = { "", "no", "blocked", "absent", "" };
	char text[900];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	for (char *at = text; *at != '\0'; at++)
		if (*at == '\n' || *at == '#')
			*at = ' ';
	number++;
	if (kind == BROKEN) {
		printf("# broken: %s\nnot ok %u %s.%s\n", text, number, verdict_of, point);
		verdicts_failed++;
	} else if (kind == YES) {
		printf("# %s\nok %u %s.%s\n", text, number, verdict_of, point);
	} else {
		printf("ok %u %s.%s # SKIP %s: %s\n", number, verdict_of, point, words[kind], text);
	}
}

bool is_gate(enum pm_cause cause)
{
	return cause == PM_CAUSE_NOT_BUILT || cause == PM_CAUSE_FILTER ||
		cause == PM_CAUSE_PARANOID || cause == PM_CAUSE_LSM;
}

uint64_t now_ns(void)
{
	uint64_t now = 0;

	(void)pm_clock_ns(CLOCK_MONOTONIC, &now);
	return now;
}
