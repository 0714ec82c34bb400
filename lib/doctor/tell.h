/* SPDX-License-Identifier: MIT */
/* How the doctor speaks. */
#ifndef TELL_H
#define TELL_H

#include "doctor.h"

void tell_text(const struct outcome *outcomes, size_t count);
void tell_json(const struct outcome *outcomes, size_t count);

static inline bool is_privileged(const struct pm_env *env)
{
	return pm_env_has_cap(env, PM_CAP_PERFMON) || pm_env_has_cap(env, PM_CAP_SYS_ADMIN);
}

#endif
