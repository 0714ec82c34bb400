/* SPDX-License-Identifier: MIT */
/* How the doctor speaks. */
#ifndef TELL_H
#define TELL_H

#include "doctor.h"

struct teller {
	void (*begin)(void);
	void (*wish)(const struct wish *wish, const struct outcome *outcome, bool first);
	void (*end)(void);
};

extern const struct teller tell_text, tell_json;

#endif
