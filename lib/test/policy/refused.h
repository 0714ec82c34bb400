/* SPDX-License-Identifier: MIT */
/* Refusals on a machine of the test's own: its files, its kernel, its level. */
#ifndef TEST_REFUSED_H
#define TEST_REFUSED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "../../policy/diagnosis/refusal.h"
#include "../fake_files.h"
#include "../fake_kernel.h"

static const struct pm_event_spec user = {
	.size = sizeof(user), .type = PERF_TYPE_SOFTWARE, .flags = PM_SPEC_USER_ONLY,
}, all = {
	.size = sizeof(all), .type = PERF_TYPE_SOFTWARE,
};

/* A machine with that level, whose file says so, and a caller without capabilities. */
static inline void level(int met, bool vendor, const char *text)
{
	fake_kernel.level = met;
	fake_kernel.vendor = vendor;
	if (text != NULL)
		fake_file("/proc/sys/kernel/perf_event_paranoid", text);
	fake_file("/proc/self/uid_map", "         0          0 4294967295\n");
}

static inline int setup(void **state)
{
	return fake_setup(state) || fake_kernel_setup(state);
}

static inline void assert_says(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", text, part);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, fake_teardown)

#endif
