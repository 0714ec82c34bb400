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

/* An attr for a task's own user-mode events: disabled, exclude_kernel, exclude_hv. For the core's
 * PMU without the last two where it cannot exclude, and so counts the kernel's work as well. */
struct perf_event_attr attr_of(uint32_t type, uint64_t config);
struct perf_event_attr attr_software(uint64_t config);
/* A counter of page faults that runs as soon as it is open. */
struct perf_event_attr attr_counter(bool inherit);
/* Period-1 sampling of page faults: the event any process may have, exact to the last count. */
struct perf_event_attr attr_faults(uint64_t sample_type);
/* Cycles of the core's PMU, or instructions where it cannot count cycles. */
struct perf_event_attr attr_hardware(void);
/* A carrier of side-band records: the dummy event, or before v3.12 a software counter. */
struct perf_event_attr attr_sideband(void);

/* A breakpoint on data (HW_BREAKPOINT_R, _W, _RW), and one on a function's first instruction. */
struct perf_event_attr attr_access(uint32_t bp_type, const volatile void *address, uint64_t length);
struct perf_event_attr attr_call(void (*function)(void));

/* The answer to opening that attr for this task: 0, closed again, or -errno. */
int answer_to(const struct perf_event_attr *attr);

/* Cause exactly `count` minor page faults in this thread. Returns 0 or -errno. */
int cause_faults(unsigned int count);
/* Map fresh pages, of a file or (fd -1) of none: writing is one fault a page. NULL: no memory. */
volatile char *map_fresh(int fd, unsigned int pages);
/* Write to each page once and touch nothing else. Walk the way once before counting exactly. */
void touch_pages(volatile char *area, unsigned int pages);
/* Keep this thread on a CPU for that long. */
void spin_ns(uint64_t ns);
/* The same for 2 ms, as a job for worker_do(). */
int spin_two_ms(void *unused);
/* Sleep first: the scheduler clock, which times events, may be held within a tick, and a starved
 * guest gets its ticks late; whoever wakes up has got one, and the clock goes on for its length. */
int wake_and_spin(void *unused);
/* Move this thread to the nth CPU it is allowed on (0, 1, ...). Returns the CPU or -errno. */
int move_to_nth_cpu(unsigned int nth);
/* How many CPUs this thread may run on. */
int count_cpus(void);
uint64_t now_ns(void);

/* Touch each page of a ring, and its tail for writing: using it later is no page fault of ours. */
void touch_ring(struct pm_ring *ring);
/* How many more breakpoints a task can have: shows that an event really is gone. */
int free_breakpoints(pid_t tid);
/* All the write breakpoints that a task can still have, counting, each on a word of its own. */
#define SLOTS_MOST 64
struct slots {
	int count, error;		/* the errno that ended it, 0 when SLOTS_MOST fit */
	int fds[SLOTS_MOST];
	volatile int64_t words[SLOTS_MOST];
};
void slots_fill(struct slots *slots, pid_t tid);
void slots_close(struct slots *slots);
/* Write each byte from start[from] to start[to - 1] once. */
void write_bytes(volatile uint8_t *start, int from, int to);
/* MODIFY_ATTRIBUTES of a breakpoint, with the size that pm_open() chose. Returns 0 or -errno. */
int modify_breakpoint(int fd, const struct perf_event_attr *attr);

/* Close that many numbers that are no descriptors: system calls with known arguments. */
void close_nothing(int first, int count);
/* How often this thread has been switched away from so far, by getrusage(2). */
uint64_t switches_so_far(void);
/* Sleep shortly until this thread was switched away from so many times more: a sleep that is over
 * at once is no switch. Gives up after a thousand. Returns how many switches there were. */
uint64_t switch_away(unsigned int times);
/* Where in its file an address of this program lies; 0 when it is in none. */
uint64_t file_offset(const volatile void *address);

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
/* The same in a new PID namespace, as its first process. Later children are born there, too. */
pid_t start_child_inside(int (*function)(void *), void *argument);
/* Wait for a child. Returns its exit status, 128 + signal, or -errno, also that of its start. */
int wait_child(pid_t child);

/* Walk all unread records of a ring and count those of a type; others are dropped too. */
int count_records(struct pm_ring *ring, uint32_t type);
/* Decode the next record. Returns 1, 0 when empty, -errno when it does not parse. */
int next_record(struct pm_ring *ring, const struct pm_format *format, struct pm_record *ret);

#endif
