/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The small deeds that probes let the kernel watch: events to open, page faults to count, threads
 * and children to follow, records to look through. Knows nothing of the harness; judges nothing.
 */
#ifndef DEED_H
#define DEED_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../lib/pm_sys.h"

/* An attr for a task's own user-mode events: disabled, exclude_kernel, exclude_hv. */
struct perf_event_attr attr_of(uint32_t type, uint64_t config);
struct perf_event_attr attr_software(uint64_t config);
/* Period-1 sampling of page faults: the event any process may have, exact to the last count. */
struct perf_event_attr attr_faults(uint64_t sample_type);
/* A carrier of side-band records: the dummy event, or before v3.12 a software counter. */
struct perf_event_attr attr_sideband(void);

/* A breakpoint on data (HW_BREAKPOINT_R, _W, _RW), and one on a function's first instruction. */
struct perf_event_attr attr_access(uint32_t bp_type, const volatile void *address, uint64_t length);
struct perf_event_attr attr_call(void (*function)(void));

/* Cause exactly `count` minor page faults in this thread. Returns 0 or -errno. */
int cause_faults(unsigned int count);
/* Keep this thread on a CPU for that long. */
void spin_ns(uint64_t ns);
/* Move this thread to the nth CPU it is allowed on (0, 1, ...). Returns the CPU or -errno. */
int move_to_nth_cpu(unsigned int nth);
/* How many CPUs this thread may run on. */
int count_cpus(void);
uint64_t now_ns(void);

/* Touch each page of a ring, and its tail for writing: using it later is no page fault of ours. */
void touch_ring(struct pm_ring *ring);
/* How many more breakpoints a task can have: shows that an event really is gone. */
int free_breakpoints(pid_t tid);

/* Poll once with a time-out; returns revents, 0 on time-out, -errno. */
int poll_once(int fd, short events, int timeout_ms);

/* Let an event signal that thread with a real-time signal, which is blocked here and from now on
 * in new threads. Returns 0 or -errno. */
int ask_for_signals(int fd, int number, pid_t tid);
/* Take one such signal; false when none comes within that time. `ret` may be NULL. */
bool take_signal(int number, int within_ms, siginfo_t *ret);

/* Run a function in a new thread and wait for its end. Returns 0 or -errno. */
int in_thread(void *(*function)(void *), void *argument);
/* Run a function in a forked child that dies with the test. Returns its pid or -errno. */
pid_t start_child(int (*function)(void *), void *argument);
/* Make this process a stranger: that uid if it is root's, no capabilities. Returns 0 or -errno. */
int drop_privileges(unsigned int uid);
/* Wait for a child. Returns its exit status, 128 + signal, or -errno. */
int wait_child(pid_t child);

/* Walk all unread records of a ring and count those of a type; others are dropped too. */
int count_records(struct pm_ring *ring, uint32_t type);
/* Decode the next record. Returns 1, 0 when empty, -errno when it does not parse. */
int next_record(struct pm_ring *ring, const struct pm_format *format, struct pm_record *ret);

/*
 * Give up all capabilities but those in `keep` (1 << PM_CAP_...), and root's uid as well, for the
 * rest of this test. What probe_env() says was read before. Returns 0 or -errno.
 */
int drop_to(uint64_t keep);

/*
 * Put a small file of /proc/sys or /sys back to what it holds now when this program ends: at its
 * exit, on SIGTERM and SIGINT, and by a guard process where it is killed. For probes that DISTURB:
 * call it from a constructor, once a file. Does nothing without leave to disturb.
 */
void keep_file(const char *path);
/* Write a text to a file. Returns 0 or -errno. */
int write_file(const char *path, const char *text);

/* A gate between threads of one process: wait sleeps in the kernel, open lets one waiter go. */
struct gate {
	int fds[2];
};
int gate_init(struct gate *gate);
void gate_open(struct gate *gate);
void gate_wait(struct gate *gate);

/*
 * A thread or a child process that sits still until it is ordered to do something, so that a test
 * decides what happens when. Ready when it waits; its start-up is behind it.
 */
enum worker_kind { WORKER_THREAD, WORKER_CHILD };
struct worker {
	enum worker_kind kind;
	pid_t tid;
	pthread_t thread;
	int orders[2], answers[2];
};
/* Start one. Returns 0 or -errno. In two steps where a worker is to start another worker:
 * worker_prepare() here, then worker_do(&other, worker_launch, &worker). */
int worker_start(struct worker *worker, enum worker_kind kind);
int worker_prepare(struct worker *worker, enum worker_kind kind);
int worker_launch(void *worker);
/* Let it call a function and wait for the result, which is returned (-ETIMEDOUT after 5 s). */
int worker_do(struct worker *worker, int (*function)(void *), void *argument);
/* Let it cause exactly that many page faults. Returns 0 or -errno. */
int worker_faults(struct worker *worker, unsigned int faults);
/* Let it execute this very program (path NULL) or a copy of it; it goes on as a worker that only
 * knows worker_faults() and worker_stop(). Returns 0 or -errno. */
int worker_exec(struct worker *worker, const char *path);
/* End it and wait until the kernel has taken it apart. For a worker of another worker, whoever
 * launched it has to: worker_do(&other, worker_stop, &worker). Harmless when it is not running. */
int worker_stop(void *worker);
/* End it without waiting. */
void worker_dismiss(struct worker *worker);

/*
 * A thread that waits in poll(2) for POLLIN of a descriptor. Ready when the kernel has put it to
 * sleep there, or when poll has returned. It ends with the test.
 */
struct waiter {
	int fd, time_out_ms;
	pthread_t thread;
	volatile pid_t tid;
	int woken[2];
};
/* Start one; time_out_ms as for poll. Returns 0 or -errno. */
int waiter_start(struct waiter *waiter, int fd, int time_out_ms);
/* What its poll reported, once; -EAGAIN when it still sleeps after that many milliseconds. */
int waiter_woke(struct waiter *waiter, int within_ms);

#endif
