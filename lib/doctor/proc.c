/* SPDX-License-Identifier: MIT */
/* What works without perf: sums that the kernel keeps in any case. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "doctor.h"

int go_rusage(const struct attempt *attempt, struct pm_refusal *refusal, char *how)
{
	struct rusage usage;

	(void)attempt;
	(void)how;
	doctor_work(1000000);
	if (getrusage(RUSAGE_SELF, &usage) == 0 && usage.ru_minflt + usage.ru_nvcsw > 0)
		return 0;
	return doctor_silence(refusal, "getrusage");
}

static int read_proc(const char *path, const char *start, struct pm_refusal *refusal)
{
	char text[4096];
	int err = pm_read_text(path, text, sizeof(text));

	if (err > 0 || err == -EFBIG)
		return strncmp(text, start, strlen(start)) == 0 ? 0 : doctor_silence(refusal, path);
	snprintf(refusal->call, sizeof(refusal->call), "open(%s)", path);
	if (err == -EMFILE || err == -ENFILE) {
		static const struct pm_event_spec none = { .size = sizeof(none) };

		pm_refusal_of_open(&none, PM_REACH_OWN, -1, -err, refusal);
		return err;
	}
	refusal->error = -err;
	refusal->cause = PM_CAUSE_UNKNOWN;
	snprintf(refusal->gate, sizeof(refusal->gate), "/proc is hidden, mounted with hidepid, or "
		 "the process is gone");
	return err;
}

int go_process_stat(const struct attempt *attempt, struct pm_refusal *refusal, char *how)
{
	char path[64], start[32];

	(void)attempt;
	(void)how;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)doctor_target);
	snprintf(start, sizeof(start), "%d ", (int)doctor_target);
	return read_proc(path, start, refusal);
}

int go_system_stat(const struct attempt *attempt, struct pm_refusal *refusal, char *how)
{
	(void)attempt;
	(void)how;
	return read_proc("/proc/stat", "cpu ", refusal);
}
