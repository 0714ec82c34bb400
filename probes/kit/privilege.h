/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a probe may do to its own privileges and, with leave, to files of the machine.
 */
#ifndef PRIVILEGE_H
#define PRIVILEGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_event_attr;

/* Become that uid, if this process is root's, and give up all capabilities. Returns 0 or -errno. */
int drop_privileges(unsigned int uid);

/* Give up root's uid and all capabilities but those in `keep` (1 << PM_CAP_...) for the rest of
 * the test. probe_env() keeps what it read before. Returns 0 or -errno. */
int drop_to(uint64_t keep);


/*
 * The gates of perf_event_paranoid: open without a capability up to that level, and shut above it
 * with that errno. try_gate() asks for what a gate guards, for this task: 0, closed again, or
 * -errno; -EIO from an event that opened and does not count this task's faults.
 */
enum level_gate { GATE_EVENT, GATE_KERNEL, GATE_CPU, GATE_PAYLOAD, GATE_MLOCK };
struct level_rule {
	const char *what;
	int open_up_to, refusal;
};
extern const struct level_rule level_rules[];
/*
 * Ask for what a gate guards, for this task. Returns 0, closed again, or -errno; -EIO from an
 * event that opened and does not count this task's faults. `tracepoint` is an id that GATE_PAYLOAD
 * needs, read while it may be.
 */
int try_gate(enum level_gate gate, int tracepoint);
/* The pages of the smallest ring that is beyond the memory budget of any user. */
size_t pages_beyond_budget(void);

/*
 * Put a small file of /proc/sys or /sys back to what it holds now when this program ends: at its
 * exit, on SIGTERM and SIGINT, and by a guard process where it is killed. For probes that DISTURB:
 * call it from a constructor, once a file. Does nothing without leave to disturb.
 */
void restore_at_exit(const char *path);
/* Write a text to a file. Returns 0 or -errno. */
int write_file(const char *path, const char *text);

/* How the kernel answers an open by a child without any privilege: 0 or -errno. Blocked where such
 * a task may not even count its own page faults. */
int ask_unprivileged(const struct perf_event_attr *attr, pid_t pid, int cpu);

#endif
