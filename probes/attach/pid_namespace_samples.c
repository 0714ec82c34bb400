/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which PID namespace do process ids in samples belong to? That of the process which opened the
 * event, with 0 for tasks that it cannot see. Observed: a child in a new namespace samples itself,
 * its parent samples it, it samples all tasks of a CPU, and the ids in the rings are compared.
 */
#include "probe.h"
#include "pid_namespace.h"
#include "waiter.h"

PROBE(TITLE("process ids in samples across namespaces")
      SINCE("2.6.32")
      NEEDS("root")
      POINT(samples_inside, "opened inside, samples carry the inner ids")
      POINT(samples_outside, "opened outside, samples of the same task carry the outer ids")
      POINT(invisible_is_zero, "opened inside for a whole CPU, tasks outside have id 0"))

enum answer { RIGHT, WRONG, NOT_OPENED, NOT_MAPPED, NO_SAMPLE };

static struct gate outer_gate, inner_gate;

static bool next_record(struct pm_ring *ring, const struct pm_format *format,
			struct pm_record *ret)
{
	const struct perf_event_header *header;

	return pm_ring_next(ring, &header) == 1 && !pm_record_decode(header, format, ret);
}

/* The thread id of the first sample, of page faults of this task or another; ~0: there is none. */
static enum answer first_tid(const struct perf_event_attr *attr, pid_t pid, int cpu, bool ourselves,
			     uint32_t *tid)
{
	struct pm_format format;
	struct pm_record record;
	struct pm_ring ring;
	int fd = pm_open(attr, pid, cpu, -1, 0);

	*tid = ~0u;
	if (fd < 0)
		return NOT_OPENED;
	if (pm_ring_open(fd, 16, PROT_READ | PROT_WRITE, &ring) < 0)
		return NOT_MAPPED;
	pm_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	if (ourselves) {
		cause_faults(4);
	} else {
		gate_open(&outer_gate);
		gate_wait(&inner_gate);
	}
	pm_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	pm_format_of(attr, &format);
	while (next_record(&ring, &format, &record))
		if (record.type == PERF_RECORD_SAMPLE &&
		    (ourselves || record.sample.sid.tid != (uint32_t)pm_gettid())) {
			*tid = record.sample.sid.tid;
			return RIGHT;
		}
	return NO_SAMPLE;
}

static int sample_self(void *unused)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);
	uint32_t tid;
	enum answer answer = first_tid(&attr, 0, -1, true, &tid);

	(void)unused;
	return answer == RIGHT && tid != 1 ? WRONG : answer;
}

static int sample_outside(void *unused)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);
	uint32_t tid;
	enum answer answer = first_tid(&attr, -1, move_to_nth_cpu(0), false, &tid);

	(void)unused;
	return answer == RIGHT && tid != 0 ? WRONG : answer;
}

static pid_t start_inside(int (*function)(void *))
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);
	pid_t child;

	close(must_open(&attr, 0, -1, -1, 0));
	ASSERT_EQ(0, gate_init(&outer_gate));
	ASSERT_EQ(0, gate_init(&inner_gate));
	child = start_child_inside(function, NULL);
	if (child < 0)
		say_blocked("no new PID namespace: %s", pm_errno_name(child));
	return child;
}

static void judge(int answer)
{
	static const char *const words[] = { "right", "wrong", "not opened", "not mapped",
					     "no sample" };

	if (answer != RIGHT)
		say_broken("inside: %s",
			   answer >= 0 && answer <= NO_SAMPLE ? words[answer] : "crash");
}

TEST(samples_inside)
{
	judge(wait_child(start_inside(sample_self)));
}

static int fault_on_order(void *unused)
{
	(void)unused;
	gate_wait(&outer_gate);
	return -cause_faults(16);
}

TEST(samples_outside)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);
	pid_t child = start_inside(fault_on_order);
	struct pm_record record;
	struct sampler sampler;

	attr.disabled = 0;
	sampler = must_sampler(&attr, child, -1, 4);
	gate_open(&outer_gate);
	ASSERT_EQ(0, wait_child(child));
	if (!find_record(&sampler, PERF_RECORD_SAMPLE, &record))
		say_broken("no sample of the child");
	if (record.sample.sid.tid != (uint32_t)child)
		say_broken("tid=%u want=%d", record.sample.sid.tid, child);
}

TEST(invisible_is_zero)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);
	pid_t child;

	close(must_open(&attr, -1, move_to_nth_cpu(0), -1, 0));
	child = start_inside(sample_outside);
	gate_wait(&outer_gate);
	cause_faults(16);
	gate_open(&inner_gate);
	judge(wait_child(child));
}

PROBE_MAIN
