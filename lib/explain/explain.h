/* SPDX-License-Identifier: MIT */
/* perfmodes-explain runs a program and tells what it asked of perf events, and why that failed. */
#ifndef EXPLAIN_H
#define EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../pm_sys.h"

/* ------------------------------------------------------------------------- calls: numbers.c */

/* The system calls that are looked at. */
enum which {
	CALL_OPEN, CALL_IOCTL, CALL_MMAP, CALL_CLOSE, CALL_CLOSE_RANGE, CALL_FCNTL, CALL_PRCTL,
	CALL_BPF, CALL_EXEC, CALL_EXEC_AT, CALL_EXIT_GROUP, CALL_SECCOMP, CALL_PTRACE,
	/* of files: what a program looks for before it asks */
	CALL_FILE_OPEN, CALL_FILE_OPEN_AT, CALL_FILE_ACCESS, CALL_FILE_ACCESS_AT,
	CALL_FILE_ACCESS_AT2, CALL_FILE_STAT, CALL_FILE_STAT_AT, CALL_FILE_STATX, CALL_FILE_ENTER,
	CALLS
};

struct numbers {
	uint32_t arch;		/* AUDIT_ARCH_* */
	int nr[CALLS];		/* -1: this machine has none */
};

extern const struct numbers call_numbers[];
extern const size_t call_number_count;

#define ATTR_ROOM 256		/* more of an attr than any kernel knows */
#define TEXT_ROOM 256

struct call {
	enum which which;
	pid_t tid;
	bool narrow;		/* of a 32-bit program */
	uint64_t args[6];
	/* OPEN: its attr as it lay in memory, and how much of it could be read */
	unsigned char attr[ATTR_ROOM];
	size_t attr_read;
	char text[TEXT_ROOM];	/* behind config1, of a probe in a program or function */
	/*
	 * SECCOMP, PRCTL: what the filter that is set would answer perf_event_open(2), and
	 * whether it may wake a tracer at a call that is looked at
	 */
	uint32_t answer;
	bool wakes;
};

/* Fills `which` and `narrow` by architecture and number. False: none that is looked at. */
bool call_of(uint32_t arch, int nr, struct call *ret);

/* ------------------------------------------------------- what is made of them: watch.c, look.c */

/*
 * Before the kernel carries out a call. Returns whether its result is wanted: then watch_result
 * follows, with result >= 0 or -errno, or RESULT_UNSEEN.
 */
#define RESULT_UNSEEN INT64_MIN
#define RESULT_UNASKED (INT64_MIN + 1)	/* never made: its group is pretended */
#define RESULT_NOT_FOUND (INT64_MIN + 2)	/* refused, as no descriptor came: later.c */
#define RESULT_TRAPPED (INT64_MIN + 3)	/* a filter ended the thread, or gave it a signal */
#define RESULT_LAST RESULT_TRAPPED	/* none of these is a result */
bool watch_call(struct call *call);
void watch_result(const struct call *call, int64_t result);

/* Whether all calls like this open were made with success before. */
bool watch_has_opened(const struct call *call);

/* A process is about to execute a file: what would be changed by looking at it. */
void exec_look(const struct call *call);

/* Whether such files lose their rights by our looking. */
extern bool exec_loses;

/* "set-user-id": what a file would get by being executed, that who calls has not. NULL: nothing. */
const char *exec_rights(const char *path);

/* The counters of an event that a process is about to lose. */
struct shape;
void look_at_event(pid_t process, int fd, struct shape *shape);
/* And the records that nobody reads any more: the process ends. */
void look_at_end(pid_t process, int fd, struct shape *shape);

/* A descriptor of ours for the file of a process, or -1. */
int look_copy(pid_t process, int fd);
/* The id of the event at that number. 0: there is none. */
uint64_t event_id_at(pid_t process, int fd);

/* The path of a file that a process names, as seen from here. Returns its length or -errno. */
int memory_text(pid_t tid, uint64_t address, char *buf, size_t size);

/* As many bytes of the memory of a thread as can be read, up to `size`; or -errno. */
ssize_t memory_read(pid_t tid, uint64_t address, void *buf, size_t size);

/* ------------------------------------------------------------------------- mechanisms */

struct start {
	char **argv;
	bool ptrace;			/* its calls are followed by ptrace(2) */
	bool by_choice;			/* as --ptrace asks, and not for want of notifications */
	pid_t pid;			/* of the program */
	int listener;			/* -1: none */
	bool no_new_privs;		/* had to be set */
	const char *why_ptrace;		/* NULL: notifications */
	int line;			/* to the program until it is executed */
	int status;			/* as wait(2) gives it, once `ended` */
	bool ended;
	bool attached;			/* to a process that ran already: it goes on afterwards */
	bool quiet;
	bool pretend;			/* refused opens are answered with a harmless event */
	bool cannot_pretend;		/* this kernel hands no descriptor over */
	bool refused;			/* ended, before a look would have come between: refuse.c */
	char refused_for[240];
};

/*
 * A call of the program would go wrong by being looked at: ends it, and what it has started, before
 * the call is made.
 */
void refuse(struct start *start, const struct call *call);

/* Whether somebody traces this program and its children by such a filter: its name. */
bool refuse_tracer(char *ret, size_t size);

/* Starts the program so that its calls are seen. Returns 0 or -errno. */
int start_program(struct start *start);

/* Once it has ended: the errno of exec(2) where it could not be executed, else 0. */
int start_error(const struct start *start);

/* Follows it to its end, fills status. Returns 0 or -errno. */
int notify_follow(struct start *start);
int trace_follow(struct start *start);

/* Follows a process that runs already, until it ends or SIGINT, SIGTERM or SIGHUP comes. */
int attach_follow(struct start *start);

/* Of a thread that is traced: one stop, after which it goes on; that it has ended. */
void trace_stop(pid_t tid, int status);
void trace_gone(pid_t tid);
/* It stopped behind a call: the result, if it is wanted. */
void trace_result(pid_t tid);

#define TRACE_OPTIONS (1 | 2 | 4 | 8 | 16)	/* TRACESYSGOOD, FORK, VFORK, CLONE, EXEC */
#define TRACE_EVENT_STOP 128			/* PTRACE_EVENT_STOP */
#define TRACE_AT_CALL (SIGTRAP | 0x80)		/* with TRACESYSGOOD */

/*
 * Whether a filter with a listener can be installed here and sees perf_event_open(2): tried with
 * a child. NULL: yes; else why not.
 */
const char *notify_obstacle(void);

/* In the program's process: installs the filter. Returns the listener or -errno. */
int notify_install(bool *ret_no_new_privs);

/* Signals that are meant for the program are passed on; those of the terminal it has by itself. */
int signals_open(void);
void signals_pass(int fd, struct start *start);

/* The program of the filter that hands calls over by `action`. Returns how many instructions. */
struct sock_filter;
size_t filter_build(uint32_t action, struct sock_filter *ret, size_t room);

/* What a thread that is stopped behind a system call got from it. Returns 0 or -errno. */
int result_of_stopped(pid_t tid, int64_t *ret);
bool result_is_known_here(void);

/* Has the kernel make the call again in whose end the thread is stopped. Returns 0 or -errno. */
int result_restart(pid_t tid);

#endif
