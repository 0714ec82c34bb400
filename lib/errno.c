/* SPDX-License-Identifier: MIT */
/* Names of errno values, from errnos.def. */
#include "pm_sys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static const struct {
	int number;
	const char *name;
} errnos[] = {
#define ERRNO(name) { name, #name },
#include "errnos.def"
#undef ERRNO
	{ 0, "success" },
};

const char *pm_errno_name(int error)
{
	static __thread char other[24];

	for (size_t i = 0; i < sizeof(errnos) / sizeof(errnos[0]); i++)
		if (errnos[i].number == abs(error))
			return errnos[i].name;
	snprintf(other, sizeof(other), "errno %d", abs(error));
	return other;
}
