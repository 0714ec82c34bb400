/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What happens to open events when perf_event_paranoid is raised?
 *
 * The level is checked at open only: an open event goes on counting, can be read and mapped, and
 * is inherited by children. (Android had to write -1 before a fork, for tracepoints of old
 * kernels.) The level is restored when the program ends, however it ends.
 */
#include "probe.h"
#include "privilege.h"

#include <sys/socket.h>

#define PARANOID "/proc/sys/kernel/perf_event_paranoid"

PROBE(TITLE("a level raised under an open event")
      SINCE("2.6.31")
      NEEDS("root")
      DISTURBS("perf_event_paranoid for all tasks")
      POINT(raised_shuts, "after raising the level, a new event is EACCES")
      POINT(lowered_opens, "after lowering the level, a new event opens")
      POINT(counts_on, "an event that counts the kernel counts on after the level was raised")
      POINT(still_controlled, "an open event can be switched off and on after the level was raised")
      POINT(still_mapped, "an open event can be mapped after the level was raised")
      POINT(still_inherited, "a child created after the level was raised is counted"))

static void __attribute__((constructor)) keep(void)
{
	restore_at_exit(PARANOID);
}

FIXTURE(level)
{
	struct perf_event_attr attr;
	int fd, orders[2];
};

/* A root child writes the level for the test, which itself is nobody. */
static void serve(int orders)
{
	char text[4] = "";

	while (read(orders, text, 2) == 2) {
		write_file(PARANOID, text);
		if (write(orders, text, 2) != 2)
			break;
	}
	_exit(0);
}

FIXTURE_SETUP(level)
{
	require(REQUIRE_PERF | REQUIRE_ROOT);
	ASSERT_EQ(0, write_file(PARANOID, "1"));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, self->orders));
	if (fork() == 0) {
		close(self->orders[0]);
		serve(self->orders[1]);
	}
	close(self->orders[1]);
	ASSERT_EQ(0, drop_to(0));
	self->attr = attr_faults(0);
	self->attr.exclude_kernel = 0;
	self->attr.inherit = 1;
	self->fd = must_open(&self->attr, 0, move_to_nth_cpu(0), -1, 0);
	must_ioctl(self->fd, PERF_EVENT_IOC_ENABLE, 0);
}

FIXTURE_TEARDOWN(level)
{
}

/* Set the level, two characters long, and wait until it is set. */
static void set_level(int orders, const char *text)
{
	int64_t level = INT64_MIN;
	char echo[2];

	ASSERT_EQ(2, write(orders, text, 2));
	ASSERT_EQ(2, read(orders, echo, 2));
	pm_read_number(PARANOID, &level);
	if (level != text[0] - '0')
		say_unknown("the level cannot be set to %c", text[0]);
}

TEST_F(level, raised_shuts)
{
	set_level(self->orders[0], "2\n");
	expect_refused(pm_open(&self->attr, 0, -1, -1, 0), EACCES, BROKEN, "counting the kernel");
}

TEST_F(level, lowered_opens)
{
	int answer;

	set_level(self->orders[0], "2\n");
	expect_refused(pm_open(&self->attr, 0, -1, -1, 0), EACCES, BROKEN, "counting the kernel");
	set_level(self->orders[0], "1\n");
	answer = pm_open(&self->attr, 0, -1, -1, 0);
	if (answer < 0)
		say_broken("level 1 again: errno=%s", pm_errno_name(answer));
}

TEST_F(level, counts_on)
{
	uint64_t before;

	set_level(self->orders[0], "2\n");
	before = must_count(self->fd);
	cause_faults(16);
	if (must_count(self->fd) - before < 16)
		say_broken("counted=%" PRIu64 " want>=16", must_count(self->fd) - before);
}

TEST_F(level, still_controlled)
{
	uint64_t stopped;

	set_level(self->orders[0], "2\n");
	must_ioctl(self->fd, PERF_EVENT_IOC_DISABLE, 0);
	stopped = must_count(self->fd);
	cause_faults(16);
	if (must_count(self->fd) != stopped)
		say_broken("disabled, but counted on");
	must_ioctl(self->fd, PERF_EVENT_IOC_ENABLE, 0);
	cause_faults(16);
	if (must_count(self->fd) < stopped + 16)
		say_broken("enabled again, but not counting");
}

TEST_F(level, still_mapped)
{
	struct pm_ring ring;
	int error;

	set_level(self->orders[0], "2\n");
	error = pm_ring_open(self->fd, 1, PROT_READ | PROT_WRITE, &ring);
	if (error)
		say_broken("mmap: errno=%s", pm_errno_name(error));
	cause_faults(4);
	if (count_records(&ring, PERF_RECORD_SAMPLE) < 4)
		say_broken("mapped, but fewer than 4 samples of 4 faults");
}

static int fault(void *count)
{
	return cause_faults(*(unsigned int *)count) ? 1 : 0;
}

TEST_F(level, still_inherited)
{
	unsigned int count = 64;
	uint64_t before;

	set_level(self->orders[0], "2\n");
	before = must_count(self->fd);
	ASSERT_EQ(0, wait_child(start_child(fault, &count)));
	if (must_count(self->fd) - before < count)
		say_broken("counted=%" PRIu64 " want>=%u", must_count(self->fd) - before, count);
}

PROBE_MAIN
