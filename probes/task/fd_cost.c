/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What happens when a tracer runs into the limit of descriptors? It needs threads times CPUs times
 * events of them, or far fewer with inherit.
 * Observed: events are opened until RLIMIT_NOFILE, lowered for that, is reached; every event up to
 * then counts, and closing one makes room for one.
 */
#include "probe.h"

#include <sys/resource.h>

PROBE(TITLE("events at the limit of descriptors")
      SINCE("2.6.31")
      POINT(emfile, "EMFILE at exactly the limit, and nothing before it")
      POINT(room_again, "closing one event makes room for exactly one")
      POINT(all_count, "events opened up to the limit count")
      FACT(opened, int, "events", "opened under a limit of 64 descriptors"))

#define LIMIT 64

/* How many descriptors below the limit are free: by opening them. */
static int free_descriptors(void)
{
	int fds[LIMIT], count = 0;

	while (count < LIMIT && (fds[count] = dup(STDOUT_FILENO)) >= 0)
		count++;
	for (int i = 0; i < count; i++)
		close(fds[i]);
	return count;
}

/* Opens events until it fails; -errno of that, and the events in fds. */
static int fill(int *fds, int *count)
{
	const struct rlimit limit = { .rlim_cur = LIMIT, .rlim_max = LIMIT };
	const struct perf_event_attr attr = attr_counter(false);
	int fd;

	close(must_open(&attr, 0, -1, -1, 0));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	for (*count = 0; *count < LIMIT; ++*count) {
		fd = pm_open(&attr, 0, -1, -1, 0);
		if (fd < 0)
			return fd;
		fds[*count] = fd;
	}
	return 0;
}

TEST(emfile)
{
	int fds[LIMIT], count, error, free;
	const struct rlimit limit = { .rlim_cur = LIMIT, .rlim_max = LIMIT };

	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	free = free_descriptors();
	error = fill(fds, &count);
	fact_int("opened", count);
	if (error != -EMFILE || count != free)
		say_broken("errno=%s want=EMFILE, opened=%d want=%d", pm_errno_name(error), count,
			   free);
}

TEST(room_again)
{
	const struct perf_event_attr attr = attr_counter(false);
	int fds[LIMIT], count, error = fill(fds, &count), fd;

	ASSERT_EQ(-EMFILE, error);
	close(fds[count / 2]);
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		say_broken("errno=%s although a descriptor was closed", pm_errno_name(fd));
	error = pm_open(&attr, 0, -1, -1, 0);
	if (error != -EMFILE)
		say_broken("errno=%s want=EMFILE again", pm_errno_name(error < 0 ? error : 0));
}

TEST(all_count)
{
	int fds[LIMIT], count, error = fill(fds, &count);
	uint64_t value;

	ASSERT_EQ(-EMFILE, error);
	ASSERT_EQ(0, cause_faults(1));
	for (int i = 0; i < count; i++)
		must_ioctl(fds[i], PERF_EVENT_IOC_RESET, 0);
	ASSERT_EQ(0, cause_faults(7));
	for (int i = 0; i < count; i++) {
		value = must_count(fds[i]);
		if (value != 7)
			say_broken("event %d of %d: counted=%" PRIu64 " want=7", i, count, value);
	}
}

PROBE_MAIN
