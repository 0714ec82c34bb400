/* SPDX-License-Identifier: MIT */
/* Shared by tests that stop a session which another thread runs. */
#ifndef RUNNING_H
#define RUNNING_H

#include <unistd.h>

#include "../../policy/engine/engine.h"

/* Returns once a thread is in pm_session_run(): a stop that comes before waits for nobody. */
static inline void wait_for_run(const struct pm_session *session)
{
	while (!__atomic_load_n(&session->stop.running, __ATOMIC_ACQUIRE))
		usleep(1000);
}

#endif
