/* SPDX-License-Identifier: MIT */
/*
 * The doctor for use inside an app's process: tries what one usually wants of perf events there,
 * with that process's identity and under its filter of system calls, and tells the outcome.
 * In libperfmodes-doctor.a, which needs nothing besides libc; `make doctor-library` builds it.
 */
#ifndef PERFMODES_DOCTOR_H
#define PERFMODES_DOCTOR_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	PM_DOCTOR_JSON = 1	/* what `perfmodes-doctor --json` writes, in place of text */
};

struct pm_doctor_end {
	size_t size;		/* of this structure, set by the caller */
	int signal;		/* that ended the examination; 0 if it came to its end */
	unsigned int trapped;	/* system calls that a filter trapped with SIGSYS */
	int call;		/* the number of the first of them, -1 for none */
};

/*
 * Writes to the descriptor `out`. The examination is a forked child, which is gone on return, with
 * the child that it watches: the caller's process gets no thread, no signal handler, no
 * descriptor and no exit of it; only SIGCHLD, if that is not ignored. No /proc, no HOME and no
 * file is needed. A call that the filter traps is answered with EPERM and counted, so what
 * depends on it is reported as refused. The child is killed after `limit_ms` milliseconds; half a
 * minute is generous.
 *
 * Returns 0, or -errno: -EBADF for an `out` that cannot be written to, -ETIME after the limit, -EIO
 * if not all of it could be written, -EINVAL for unknown flags or size, -ECHILD without a
 * process to watch, -ECANCELED if a signal ended it, which `ret` names. `ret` may be NULL.
 */
int pm_doctor_run(int out, unsigned int flags, int limit_ms, struct pm_doctor_end *ret);

#ifdef __cplusplus
}
#endif

#endif
