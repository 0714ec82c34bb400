/* SPDX-License-Identifier: MIT */
/*
 * Modifiers, as perf(1) reads them. The first of u, k and h leaves the other two out, the first of
 * G and H the other one; what follows of the same kind takes its own in again.
 */
#include "event.h"

#include <errno.h>
#include <string.h>

static bool *mode_of(struct modes *modes, char letter)
{
	switch (letter) {
	case 'u': return &modes->no_user;
	case 'k': return &modes->no_kernel;
	case 'h': return &modes->no_hypervisor;
	case 'G': return &modes->no_guest;
	case 'H': return &modes->no_host;
	}
	return NULL;
}

static bool *switch_of(struct modes *modes, char letter)
{
	switch (letter) {
	case 'I': return &modes->no_idle;
	case 'P': return &modes->most_precise;
	case 'D': return &modes->pinned;
	case 'e': return &modes->exclusive;
	case 'S': return &modes->read;
	case 'W': return &modes->weak;
	}
	return NULL;
}

static void take_mode(struct modes *modes, char letter)
{
	if (letter == 'G' || letter == 'H') {
		if (!modes->guests_told)
			modes->no_guest = modes->no_host = true;
		modes->guests_told = true;
	} else if (!modes->no_user && !modes->no_kernel && !modes->no_hypervisor) {
		modes->no_user = modes->no_kernel = modes->no_hypervisor = true;
	}
	*mode_of(modes, letter) = false;
}

int pm_event_modifiers(const struct parsing *parsing, const char *letters, size_t length,
		       struct modes *modes)
{
	if (length == 0)
		return pm_event_wrong(parsing, EINVAL, letters - 1, 1, "is no modifier");
	for (size_t i = 0; i < length; i++) {
		const char letter = letters[i];

		if (letter != 'p' && memchr(letters, letter, i) != NULL)
			return pm_event_wrong(parsing, EINVAL, letters + i, 1,
					      "is no modifier: it is there twice");
		if (letter == 'b')
			return pm_event_wrong(parsing, ENOTSUP, letters + i, 1, "is a modifier for "
					      "programs of BPF that perf(1) brings along");
		if (letter == 'p')
			modes->precise++;
		else if (mode_of(modes, letter) != NULL)
			take_mode(modes, letter);
		else if (switch_of(modes, letter) != NULL)
			*switch_of(modes, letter) = true;
		else
			return pm_event_wrong(parsing, EINVAL, letters + i, 1, "is no modifier");
		if (modes->precise > 3)
			return pm_event_wrong(parsing, EINVAL, letters + i, 1,
					      "is no modifier: there are three degrees");
	}
	return 0;
}

unsigned int pm_event_flags(const struct modes *modes)
{
	static const unsigned int degrees[] = {
		0, PM_SPEC_PRECISE_1, PM_SPEC_PRECISE_2, PM_SPEC_PRECISE,
	};
	unsigned int flags = degrees[modes->precise];

	if (modes->no_kernel && modes->no_hypervisor)
		flags |= PM_SPEC_USER_ONLY;
	else
		flags |= (modes->no_kernel ? PM_SPEC_NO_KERNEL : 0) |
			(modes->no_hypervisor ? PM_SPEC_NO_HYPERVISOR : 0);
	flags |= (modes->no_user ? PM_SPEC_NO_USER : 0) | (modes->no_idle ? PM_SPEC_NO_IDLE : 0) |
		(modes->no_host ? PM_SPEC_NO_HOST : 0) |
		(modes->no_guest ? PM_SPEC_NO_GUEST : 0) |
		(modes->pinned ? PM_SPEC_PINNED : 0) |
		(modes->exclusive ? PM_SPEC_EXCLUSIVE : 0);
	if (modes->most_precise)
		flags = (flags & ~(unsigned int)(PM_SPEC_PRECISE_1 | PM_SPEC_PRECISE_2)) |
			PM_SPEC_PRECISE;
	return flags;
}
