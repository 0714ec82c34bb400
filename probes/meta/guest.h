/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Probes that end a guest on purpose. Included behind probe.h.
 */
#ifndef GUEST_H
#define GUEST_H

/* Whether the launcher of guests has marked this machine as one to be thrown away. */
static inline bool is_test_guest(void)
{
	char line[4096];

	if (pm_read_text("/proc/cmdline", line, sizeof(line)) < 0)
		return false;
	for (char *rest = line, *word; (word = strsep(&rest, " \n"));)
		if (!strcmp(word, "perfmodes.guest"))
			return true;
	return false;
}

#define require_test_guest()                                                                   \
	do {                                                                                   \
		require(REQUIRE_ROOT);                                                         \
		if (!is_test_guest())                                                          \
			say_blocked("this machine is no guest of ours that may be ended "      \
				    "(no perfmodes.guest on the kernel command line)");        \
	} while (0)

#endif
