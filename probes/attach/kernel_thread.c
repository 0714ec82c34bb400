/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can kernel threads be watched? They have no user side, so watching them needs privilege, and a
 * sample's user-mode fields must be empty.
 * Observed: RCU's thread, which this probe keeps busy by closing events, and the thread that starts
 * the others.
 */
#include "probe.h"
#include "privilege.h"
#include <stdio.h>
#include <stdlib.h>

PROBE(TITLE("watching kernel threads")
      SINCE("2.6.31")
      POINT(counts, "context switches of a kernel thread are counted")
      POINT(no_user_side, "a kernel thread has 0 page faults in user mode")
      POINT(no_user_registers, "samples of a kernel thread carry no user registers")
      SINCE("3.7")
      POINT(unprivileged, "a kernel thread may not be watched without privilege: EACCES")
      FACT(thread, string, "-", "the kernel thread that was watched"))

#define KERNEL_THREAD 0x00200000	/* in the flags of /proc/PID/stat */

/* A kernel thread whose name starts so, or 0. Kernel threads come first. */
static pid_t find(const char *start)
{
	char path[64], text[512], *after;
	unsigned long flags;

	for (pid_t pid = 2; pid < 200; pid++) {
		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		if (pm_read_text(path, text, sizeof(text)) < 0)
			continue;
		after = strrchr(text, ')');
		if (!after || sscanf(after, ") %*c %*d %*d %*d %*d %*d %lu", &flags) != 1)
			continue;
		if ((flags & KERNEL_THREAD) &&
		    !strncmp(strchr(text, '(') + 1, start, strlen(start)))
			return pid;
	}
	return 0;
}

static pid_t rcu_thread(void)
{
	static const char *const names[] = { "rcu_preempt", "rcu_sched", "rcu_bh", "kthreadd" };
	char self[16], there[16] = "";

	require(REQUIRE_PERF);
	snprintf(self, sizeof(self), "%d", (int)getpid());
	/* The numbers in another namespace's /proc are nobody's here, or somebody else's. */
	if (readlink("/proc/self", there, sizeof(there) - 1) < 0 || strcmp(self, there) != 0)
		say_absent("/proc is not of this PID namespace");
	for (int i = 0; i < 4; i++) {
		pid_t pid = find(names[i]);

		if (!pid)
			continue;
		fact_str("thread", "%s", names[i]);
		return pid;
	}
	say_absent("no kernel thread is to be seen from here (a PID namespace?)");
}

/* Give RCU something to do until the event has counted, for at most a fifth of a second. */
static uint64_t provoke(int fd)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	const uint64_t end = now_ns() + 200000000;

	while (!must_count(fd) && now_ns() < end) {
		close(must_open(&attr, 0, -1, -1, 0));
		poll(NULL, 0, 1);
	}
	return must_count(fd);
}

/* How often the scheduler says that a task was switched away from; 0 where that is not shown. */
static uint64_t switches_of(pid_t pid)
{
	static const char *const names[] = { "\nvoluntary_ctxt_switches:",
					     "\nnonvoluntary_ctxt_switches:" };
	char path[64], text[4096];
	uint64_t sum = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (pm_read_text(path, text, sizeof(text)) < 0)
		return 0;
	for (int i = 0; i < 2; i++) {
		const char *at = strstr(text, names[i]);

		sum += at ? strtoull(at + strlen(names[i]), NULL, 10) : 0;
	}
	return sum;
}

static struct perf_event_attr switches(void)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_CONTEXT_SWITCHES);

	attr.exclude_kernel = attr.disabled = 0;
	return attr;
}

TEST(counts)
{
	const struct perf_event_attr attr = switches();
	const pid_t pid = rcu_thread();
	int fd = must_open(&attr, pid, -1, -1, 0);
	uint64_t before = switches_of(pid), after;

	if (provoke(fd))
		return;
	after = switches_of(pid);
	if (after > before + 1)		/* one may have come before the reading */
		say_broken("counted=0 of %" PRIu64 " switches", after - before);
	say_unknown("the thread did not run in 200 ms");
}

TEST(no_user_side)
{
	struct perf_event_attr attr = switches(), user = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	pid_t pid = rcu_thread();
	int fd = must_open(&attr, pid, -1, -1, 0), faults;

	user.disabled = 0;
	faults = must_open(&user, pid, -1, -1, 0);
	if (!provoke(fd))
		say_unknown("the thread did not run in 200 ms");
	if (must_count(faults))
		say_broken("user page faults=%" PRIu64, must_count(faults));
}

TEST(no_user_registers)
{
	struct perf_event_attr attr = switches(), plain;
	struct pm_record record;
	struct sampler sampler;

	attr.sample_period = attr.disabled = 1;	/* a switch without a ring has no sample */
	plain = attr;
	attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_REGS_USER;
	attr.sample_regs_user = 1;
	sampler = ask_sampler(&attr, &plain, rcu_thread(), -1, 4, "PERF_SAMPLE_REGS_USER");
	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	if (!provoke(sampler.fd))
		say_unknown("the thread did not run in 200 ms");
	if (!find_record(&sampler, PERF_RECORD_SAMPLE, &record))
		say_broken("counted=%" PRIu64 " and no sample", must_count(sampler.fd));
	if (record.sample.regs_user_abi != PERF_SAMPLE_REGS_ABI_NONE)
		say_broken("abi=%" PRIu64 " want=0", record.sample.regs_user_abi);
}

TEST(unprivileged)
{
	const struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int answer = ask_unprivileged(&attr, rcu_thread(), -1);

	if (answer != -EACCES)
		say_broken("answer=%s want=EACCES", answer ? pm_errno_name(answer) : "ok");
}

PROBE_MAIN
