/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can the lock and the times of the user page be relied on? Self-monitoring reads them without a
 * system call, and so do other threads. rdpmc.software asks about the index of a software event.
 * Observed: the page of a software event that is enabled and disabled, looked at by the same thread
 * and by one on another CPU.
 */
#include "probe.h"
#include "userpage.h"
#include "timed.h"

PROBE(TITLE("state in the user page")
      SINCE("2.6.31")
      POINT(lock_even, "lock is even between two changes of state, and each change moves it")
      POINT(other_thread, "a thread on another CPU that reads by the lock never finds "
	    "time_running beyond time_enabled, nor either of them going back")
      NEEDS("cpu2")
      POINT(time_enabled, "times in the user page of a disabled event are what read(2) says, "
	    "after RESET"))

#define TICKS_NS 20000000	/* a clock may stand still from tick to tick */

TEST(lock_even)
{
	struct sampler sampler = watch_faults();
	uint32_t first = page_of(&sampler)->lock;

	for (int i = 0; i < 1000; i++) {
		must_ioctl(sampler.fd, i & 1 ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
		if (page_of(&sampler)->lock & 1)
			say_broken("lock=%u between two calls of this very thread",
				   page_of(&sampler)->lock);
	}
	if (page_of(&sampler)->lock == first)
		say_broken("1000 changes of state and lock is still %u", first);
}

/* What a thread that reads the page sees while another one changes the event's state. */
static struct {
	const volatile struct perf_event_mmap_page *page;
	volatile bool over;
	volatile unsigned int changes;
	int cpu;
	uint64_t enabled[2], running[2];	/* the last two pairs that were read */
	bool wrong;
} reader;

static void read_times(void)
{
	uint64_t enabled, running;
	static uint32_t last;
	uint32_t lock;

	lock = reader.page->lock;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	enabled = reader.page->time_enabled;
	running = reader.page->time_running;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if ((lock & 1) || reader.page->lock != lock)
		return;
	reader.enabled[0] = reader.enabled[1];
	reader.running[0] = reader.running[1];
	reader.enabled[1] = enabled;
	reader.running[1] = running;
	reader.wrong = running > enabled || enabled < reader.enabled[0] ||
		       running < reader.running[0];
	reader.changes += lock != last;
	last = lock;
}

static void *read_page(void *unused)
{
	(void)unused;
	reader.cpu = move_to_nth_cpu(1);
	while (!reader.over && !reader.wrong)
		read_times();
	return NULL;
}

/* Change the state until the other thread has seen it 50 times. Its CPU may not run while this one
 * does, as an emulator's on a busy machine: where it sees nothing new it is waited for asleep. */
static int change_until_seen(int fd)
{
	const uint64_t end = now_ns() + 5000000000;
	unsigned int seen = 0;
	int changes = 0;

	while (reader.changes < 50 && !reader.wrong && now_ns() < end) {
		must_ioctl(fd, changes++ & 1 ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
		if (changes % 256)
			continue;
		if (reader.changes == seen)
			poll(NULL, 0, 1);
		seen = reader.changes;
	}
	return changes;
}

TEST(other_thread)
{
	struct sampler sampler;
	pthread_t thread;
	uint32_t first;
	int changes;

	require(REQUIRE_PERF | REQUIRE_CPU2);
	move_to_nth_cpu(0);
	sampler = watch_faults();
	reader.page = page_of(&sampler);
	first = reader.page->lock;
	ASSERT_EQ(0, pthread_create(&thread, NULL, read_page, NULL));
	changes = change_until_seen(sampler.fd);
	reader.over = true;
	pthread_join(thread, NULL);
	if (reader.wrong)
		say_broken("enabled=%" PRIu64 " running=%" PRIu64 " after %" PRIu64 ",%" PRIu64,
			   reader.enabled[1], reader.running[1], reader.enabled[0],
			   reader.running[0]);
	if (changes >= 1000 && reader.page->lock - first < 1000)
		say_broken("%d changes of state moved lock from %u to %u only", changes, first,
			   reader.page->lock);
	if (reader.changes < 50)
		say_unknown("the other thread saw %u changes of lock in 5 s, on CPU %d",
			    reader.changes, reader.cpu);
	if (!reader.enabled[1])
		say_unknown("time_enabled of the page is 0 all the time");
}

TEST(time_enabled)
{
	struct sampler sampler = watch_faults();
	struct pm_counts counts;

	if (!spin_until_timed(sampler.fd, NULL).time_enabled)
		say_broken("read(2): time_enabled=0 of an event that runs");
	must_ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	ASSERT_EQ(0, pm_read_counts(sampler.fd, TIMES, &counts));
	spin_ns(TICKS_NS);
	/* The page is written at certain moments only; RESET is one of them and keeps the times. */
	must_ioctl(sampler.fd, PERF_EVENT_IOC_RESET, 0);
	if (page_of(&sampler)->time_enabled != counts.time_enabled ||
	    page_of(&sampler)->time_running != counts.time_running)
		say_broken("page: enabled=%" PRIu64 " running=%" PRIu64 " read(2): %" PRIu64
			   ",%" PRIu64,
			   page_of(&sampler)->time_enabled, page_of(&sampler)->time_running,
			   counts.time_enabled, counts.time_running);
}

PROBE_MAIN
