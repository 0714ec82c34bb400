/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is side-band (MMAP, COMM) of a process or of a thread? An event attached to one thread could see
 * what any thread of the address space does; it sees what its own thread does.
 * Observed: a second thread maps a page and takes a name; the ring of each event is searched for
 * the page's address and the thread's tid.
 */
#include "probe.h"
#include <sys/prctl.h>

PROBE(TITLE("side-band is per thread")
      SINCE("2.6.36")
      POINT(other_thread, "an event on one thread has no record of what another thread does")
      POINT(watched_thread, "an event opened on another thread has what that thread does")
      POINT(new_thread_inherited, "with inherit per CPU, a thread made later is in the ring")
      POINT(old_thread_not_inherited, "with inherit, a thread older than the event is not"))

struct deed {
	struct gate go;
	pid_t tid;
	void *area;
};

static void *map_and_name(void *argument)
{
	struct deed *deed = argument;

	deed->area = mmap(NULL, probe_env()->page_size, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	prctl(PR_SET_NAME, "deed");
	return NULL;
}

static void *wait_then_map(void *argument)
{
	struct deed *deed = argument;

	deed->tid = pm_gettid();
	gate_wait(&deed->go);
	return map_and_name(deed);
}

static struct perf_event_attr attr_names(void)
{
	struct perf_event_attr attr = attr_sideband();

	attr.comm = 1;
	attr.mmap_data = 1;
	return attr;
}

/* Bit 0: the mapping is in the ring, bit 1: the name. */
static int search(struct __test_metadata *_metadata, struct watch *watch, const struct deed *deed)
{
	struct pm_record record;
	int found = 0;

	while (seek(watch, 0, &record)) {
		if (record.type == PERF_RECORD_MMAP)
			found |= record.mmap.addr == (uintptr_t)deed->area;
		if (record.type == PERF_RECORD_COMM)
			found |= (!strcmp(record.comm.comm, "deed")) << 1;
	}
	return found;
}

/* Start a thread that waits, so that it is older than the event. */
static pthread_t start_waiting(struct __test_metadata *_metadata, struct deed *deed)
{
	pthread_t thread;

	ASSERT_EQ(0, gate_init(&deed->go));
	ASSERT_EQ(0, pthread_create(&thread, NULL, wait_then_map, deed));
	while (!*(volatile pid_t *)&deed->tid)
		sched_yield();
	return thread;
}

TEST(other_thread)
{
	struct perf_event_attr attr = attr_names();
	struct deed other = { 0 }, own = { 0 };
	pthread_t thread = start_waiting(_metadata, &other);
	struct watch watch = must_watch(&attr, 0, -1, 4);
	int found;

	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	gate_open(&other.go);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	found = search(_metadata, &watch, &other);
	if (found)
		broken("another thread's records: mapping=%d name=%d", found & 1, found >> 1);
	map_and_name(&own);
	found = search(_metadata, &watch, &own);
	if (found != 3)
		broken("own records: mapping=%d name=%d want=1,1", found & 1, found >> 1);
}

TEST(watched_thread)
{
	struct perf_event_attr attr = attr_names();
	struct deed other = { 0 };
	pthread_t thread = start_waiting(_metadata, &other);
	struct watch watch = must_watch(&attr, other.tid, -1, 4);
	int found;

	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	gate_open(&other.go);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	found = search(_metadata, &watch, &other);
	if (found != 3)
		broken("watched thread: mapping=%d name=%d want=1,1", found & 1, found >> 1);
}

/* An inheriting event on the CPU that this thread stays on. */
static struct watch watch_here(struct __test_metadata *_metadata)
{
	struct perf_event_attr attr = attr_names();
	int cpu = move_to_nth_cpu(0);

	ASSERT_LE(0, cpu);
	attr.inherit = 1;
	return must_run(&attr, 0, cpu, 4);
}

TEST(new_thread_inherited)
{
	struct watch watch = watch_here(_metadata);
	struct deed other = { 0 };
	int found;

	ASSERT_EQ(0, in_thread(map_and_name, &other));
	found = search(_metadata, &watch, &other);
	if (found != 3)
		broken("inherited: mapping=%d name=%d want=1,1", found & 1, found >> 1);
}

TEST(old_thread_not_inherited)
{
	struct deed old = { 0 }, new = { 0 };
	pthread_t thread;
	struct watch watch;
	int found;

	ASSERT_LE(0, move_to_nth_cpu(0));
	thread = start_waiting(_metadata, &old);
	watch = watch_here(_metadata);
	gate_open(&old.go);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	found = search(_metadata, &watch, &old);
	if (found)
		broken("a thread older than the event: mapping=%d name=%d", found & 1, found >> 1);
	ASSERT_EQ(0, in_thread(map_and_name, &new));
	if (search(_metadata, &watch, &new) != 3)
		broken("not even a new thread is seen");
}

PROBE_MAIN
