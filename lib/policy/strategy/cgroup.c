/* SPDX-License-Identifier: MIT */
/*
 * Strategy cgroup: as cpu_wide, and the kernel itself leaves out what is not of the cgroup. open.c
 * hands the cgroup's descriptor over in place of a process.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "../session/attach.h"

/* Not below it: there it would be observed too, but this is only for the canary. */
bool pm_cgroup_holds_us(const struct pm_plan *plan)
{
	int fd = openat(plan->opts.cgroup, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	bool found = false;
	int pid;

	if (file == NULL) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while (!found && fscanf(file, "%d", &pid) == 1)
		found = pid == getpid();
	(void)fclose(file);
	return found;
}

int pm_attach_cgroup(struct pm_session *session, struct pm_diag *diag)
{
	return pm_attach_cpu_wide(session, diag);
}
