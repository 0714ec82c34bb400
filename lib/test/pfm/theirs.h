/* SPDX-License-Identifier: MIT */
/* What libpfm4 itself, linked, makes of a name: its header cannot be included beside ours. */
#ifndef THEIRS_H
#define THEIRS_H

#include <stdbool.h>
#include <stdint.h>

struct theirs {
	uint32_t type;
	uint64_t config, config1, config2, period;
	bool user, kernel, hypervisor, frequency, pinned;
	unsigned int precise;
};

/* 0, or an error of libpfm4. */
int theirs_encode(const char *name, struct theirs *ret);

#endif
