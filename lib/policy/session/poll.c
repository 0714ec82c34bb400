/* SPDX-License-Identifier: MIT */
/* Polling a session, running and stopping it. */
#include "../engine/late_cpus.h"
#include "../engine/wait.h"
#include "../proof/proof.h"
#include "drain.h"

/* What has come is delivered; then it is looked whether somebody came or went. */
static int poll_once(struct pm_session *session)
{
	int count = pm_drain(session);

	if (session->operations->follow != NULL)
		session->operations->follow(session);
	pm_late_cpus_follow(session, false);
	pm_proof_follow(session, false);
	pm_quiet_look(session, count);
	pm_pollable_renew(session);
	return pm_stop_take(&session->stop) < 0 ? -ECANCELED : count;
}

int pm_session_poll(struct pm_session *session, int timeout_ms)
{
	int err = pm_session_check(session), count, waited = 0;

	if (err < 0)
		return err;
	/*
	 * Where there is always something to deliver, or another waits for us, nobody would wait
	 * and see who has gone.
	 */
	if ((session->follows || session->pollable.epoll != 0) && session->rings.count > 0)
		(void)pm_wait(session, 0);
	for (;;) {
		count = poll_once(session);
		if (count != 0 || (timeout_ms >= 0 && waited >= timeout_ms))
			return count;
		err = pm_wait(session, timeout_ms < 0 ? -1 : timeout_ms - waited);
		if (err < 0 && err != -ECANCELED)
			return err;
		/* An early wake-up shortens the rest a little; the caller comes back anyway. */
		waited += err > 0 ? err : 1;
	}
}

int pm_session_run(struct pm_session *session)
{
	int err = pm_session_check(session);

	if (err < 0)
		return err;
	pm_stop_enter(&session->stop);
	do
		err = pm_session_poll(session, -1);
	while (err >= 0);
	(void)pm_drain(session);
	pm_stop_leave(&session->stop);
	return err == -ECANCELED ? 0 : err;
}

int pm_session_interrupt(struct pm_session *session)
{
	pm_stop_send(&session->stop);
	return 0;
}
