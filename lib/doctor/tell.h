/* SPDX-License-Identifier: MIT */
/* How the doctor speaks. */
#ifndef TELL_H
#define TELL_H

#include "doctor.h"

void tell_text(const struct outcome *outcomes, size_t count);
void tell_json(const struct outcome *outcomes, size_t count);

/* The errno, or the signal, of a refusal. */
const char *error_of(const struct pm_refusal *refusal);

/* Whether a capability is held that counts for perf: one of a user namespace does not. */
bool is_privileged(const struct pm_env *env);

#endif
