/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files of /proc/sys/kernel. Included behind probe.h.
 */
#ifndef SETTING_H
#define SETTING_H

/* That file of /proc/sys/kernel is there. Missing while others are to be seen it is a "no". */
static inline void ask_setting(const char *path)
{
	if (access(path, F_OK) == 0)
		return;
	if (errno == ENOENT && access("/proc/sys/kernel/ostype", F_OK) == 0)
		say_no("no %s, while other files of /proc/sys/kernel are there", path);
	say_blocked("%s is not to be seen here", path);
}

#endif
