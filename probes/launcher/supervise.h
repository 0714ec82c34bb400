/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One program as a persona: in bounded time, with bounded output, leaving no process behind, and
 * what it said in a file whose last line says how it ended.
 *
 * The file appears under its name only when complete (FILE.part is renamed), so a run that was cut
 * off can be resumed by looking at which files are there. Whoever calls this is the reaper of all
 * that the program starts (PR_SET_CHILD_SUBREAPER): a process that left its group and session is
 * still a descendant, is found through /proc, and is killed. So several may be run side by side
 * only by several processes, each of which then knows the left-over ones.
 */
#ifndef SUPERVISE_H
#define SUPERVISE_H

#include <signal.h>
#include <stddef.h>

/*
 * What stands between a program and its kernel. Nothing does in what ships; the fake kernels of
 * suites/falsify do.
 */
struct interposer {
	int (*before)(void);		/* in the program's process, still with our privileges */
	int (*inject)(int socket);	/* there, as the persona; these two return 0 or -errno */
	int (*listener)(int socket);	/* here: a descriptor that calls wait at, or -1 */
	void (*answer)(int listener);	/* answer one of them */
};

struct bounds {
	double timeout;			/* seconds */
	long output_limit;		/* bytes */
	const struct interposer *between;	/* or NULL */
};

/* What run.sh stops us by, and what our end is to a worker: nobody has told us to ignore it. */
#define SUPERVISE_STOP SIGUSR1

/* SIGINT, SIGTERM, SIGHUP or SUPERVISE_STOP once it was received, else 0. */
extern volatile sig_atomic_t supervise_interrupted;

/*
 * Signals that end a run are noted and, outside of waiting, blocked; those that were ignored at the
 * start stay so. This process ends with its parent and is the reaper of all that its descendants
 * leave behind. Returns -1 after a line on stderr where it cannot wait for anything.
 */
int supervise_begin(void);

/* Kill all descendants and see them gone. */
void supervise_kill_all(void);

/* supervise_begin(), and root gets a view of tracefs. Once in a process, before anything is run. */
int supervise_prepare(void);

struct persona;

/*
 * Run it to its end, as the persona or, without one, as we are. Returns 0 when `out` is complete,
 * whatever the program said; 3 after a line on stderr when it could not be run or written; 128 and
 * the signal's number when interrupted.
 */
int supervise_run(const struct bounds *bounds, const struct persona *persona, const char *out,
		  char *const *program);

#endif
