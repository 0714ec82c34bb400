/* SPDX-License-Identifier: MIT */
/* What was asked: calls that differ in nothing that matters are one shape, and are counted. */
#ifndef SHAPE_H
#define SHAPE_H

#include "explain.h"

#define SHAPES 1024		/* more than the largest program asks; what is beyond is counted */
#define ERRORS 8
#define REQUESTS 12		/* of ioctl(2): the numbers of PERF_EVENT_IOC_* */
#define LOOKS 1024		/* events of a shape whose counts are looked at */
#define RET_USER_NOTIF 0x7fc00000u	/* of a filter, v5.0 */
#define FILTER_ACTION 0xffff0000u	/* of what a filter of system calls answers */
#define FILTER_MOST 4096		/* BPF_MAXINSNS */

enum target {
	TARGET_SELF, TARGET_THREAD, TARGET_CHILD, TARGET_OTHER, TARGET_CPU, TARGET_CGROUP, TARGETS
};

#define MISSING 3		/* files that are kept, the last */
#define FILE_ROOM 200

/* A file that was not to be had. */
struct missing {
	char path[FILE_ROOM];
	int error;				/* a positive errno */
};

/* Before the first call: files.c. */
struct files {
	uint64_t looked;			/* for files of perf events */
	struct missing missing[MISSING];	/* the last at the end */
	size_t count;
};

extern struct files files;

/* Of such a call: whether its result is wanted, and what it says. */
bool before_file(const struct call *call);
void after_file(const struct call *call, int64_t result);

#define CALLERS 3

/* The names of the files of those that called: caller.c. */
struct callers {
	const char *program;			/* what was started; NULL: nobody was */
	char names[CALLERS][64];
	size_t count;
	bool more;
	bool started_others;			/* something of another name was executed */
};

extern struct callers callers;

void caller_note(pid_t tid);
/* Of a file that is executed. */
void caller_begins(const char *path);
/* Whether all that called are such others, by their names. */
bool callers_are_others(void);

/* Who asked, where a call was refused. */
struct place {
	bool known;
	unsigned int uid[4], gid[4];		/* real, effective, saved, of files */
	uint64_t caps_effective, caps_permitted;
	bool no_new_privs, same_namespace;
	int filters;				/* of system calls; -1 not known */
};

struct error_count {
	int error;				/* a positive errno */
	uint32_t count;
};

struct shape {
	/* The key: up to `calls` */
	struct perf_event_attr attr;		/* what this program knows of it */
	unsigned char raw[ATTR_ROOM];		/* as it was given, and 0 beyond */
	uint32_t size;				/* attr.size as it was given */
	uint32_t have;				/* bytes of it that were read */
	uint64_t flags;				/* of the call */
	enum target target;
	bool on_cpu, grouped, narrow;
	char text[TEXT_ROOM];			/* behind config1, of a probe in a program */
	/* What came of it */
	uint32_t calls, opened, unseen;
	uint32_t unasked;			/* of `unseen`: their group is pretended */
	uint32_t pretended;			/* answered with a harmless event */
	struct error_count errors[ERRORS];
	uint64_t cpus[16];			/* asked for; a bit each */
	pid_t first_pid;
	int first_cpu;
	struct place place;			/* of the first that was refused */
	uint32_t requests[REQUESTS], failed[REQUESTS];
	int request_error[REQUESTS];
	uint64_t most_pages, rings;		/* of a ring, with the user page; how many */
	struct error_count map_error;
	uint64_t map_bytes;
	bool map_is_aux;			/* of the last that was refused */
	bool ring_is_special;			/* with an AUX area, or what is read is not told */
	/* What was seen of its events before they were closed; `idle`: ran for long, counted 0 */
	uint32_t looked, zero, idle, never_enabled, never_ran, part_time, in_error;
	uint32_t never_there;			/* no thread of theirs ran on that CPU */
	uint32_t never_sampled;			/* counted, and less than its period */
	uint32_t never_woken;			/* fewer samples than wake who waits for them */
	uint64_t sum, lost;
};

struct shapes {
	struct shape *list[SHAPES];
	size_t count;
	uint64_t beyond;			/* calls of shapes that had no room */
};

extern struct shapes shapes;

/* The one with the key of `like`, made where there is none. NULL: no room. */
struct shape *shape_of(const struct shape *like);
/* NULL: there is none. */
struct shape *shape_find(const struct shape *like);

/* What else was seen. */
struct remarks {
	uint64_t calls[CALLS];
	uint64_t unseen;			/* results */
	uint64_t not_found;			/* of `unseen`: refused, after many that opened */
	uint64_t requests_unlooked;
	uint64_t interrupted;			/* by signals, before they were looked at */
	uint64_t untold;			/* stops at calls that were not told */
	bool traces;				/* the program traces others */
	uint64_t handed_over;			/* threads that were let go for that */
	bool listener_refused;			/* it wanted a listener of its own */
	bool bad_memory;			/* attr that could not be read */
	uint64_t trapped;			/* of `unseen`: by a filter */
	bool filtered;				/* a filter of its own takes the call */
	uint32_t own_filter;			/* what it answers then */
	uint32_t open_before;			/* events of a process that ran already */
	uint32_t disabled_all, enabled_all;	/* prctl(2) */
	struct error_count bpf;
	char changed[8][160];			/* files that looking has changed */
	size_t changed_count;
};

extern struct remarks remarks;

/* A call was answered with a descriptor of ours. */
void watch_pretended(const struct call *call, int fd);

/* ------------------------------------------------------------------- descriptors: events.c */

/* Which shape the descriptor of a process is of, or NULL. */
struct shape *event_find(pid_t process, int fd);
void event_add(pid_t process, int fd, struct shape *shape, bool pretended);
bool event_is_pretended(pid_t process, int fd);
void event_remove(pid_t process, int fd);
/* Removes what of a process is in that range, and calls for each that is not pretended. */
void event_each(pid_t process, unsigned int first, unsigned int last,
		void (*each)(pid_t process, int fd, struct shape *shape));
/* Calls for each that is still open, and not pretended. */
void events_look(void (*look)(pid_t process, int fd, struct shape *shape));
/* Whether any process ever had an event at that number. */
bool event_possible(int fd);

/* The process of a thread; 0 where it is gone. `sure`: an answer of before is checked. */
pid_t process_of(pid_t tid, bool sure);
void place_of(pid_t tid, struct place *ret);

/* What a filter answers perf_event_open(2): a SECCOMP_RET_* value. */
struct sock_filter;
uint32_t filter_answer(const struct sock_filter *code, size_t count);
/* Whether it may wake a tracer (SECCOMP_RET_TRACE) at a call that is looked at. */
bool filter_may_wake(const struct sock_filter *code, size_t count);

#endif
