/* SPDX-License-Identifier: MIT */
/*
 * Values of a group in samples. What is known exactly: each page fault is one sample of the leader
 * and one count more of it, and of one of two events beside it: major if a page was waited for, as
 * on a machine short of memory a page of this program may be; else minor.
 */
#define _GNU_SOURCE
#include "../test.h"

#include <fcntl.h>

#include "../../perfmodes.h"
#include "between.h"
#include "sessions.h"

#define EVENTS 4
/*
 * Fewer than the 400 that a tick of 4 ms allows, where 100,000 samples a second are: from v6.17 on
 * a throttled event stops its group, and the event beside it misses the fault that is one too many.
 */
#define PAGES 100
#define THREADS 3
#define STREAMS 256

/* What the kernel between refuses, and what it sees. */
static struct {
	bool no_read, no_read_with_inherit, no_lost;
	unsigned int led;		/* opened in a group that another event leads */
} kernel;

static long on_open(syscall_fn real, struct perf_event_attr *attr, const long *args)
{
	const bool reads = attr->sample_type & PERF_SAMPLE_READ;

	if ((kernel.no_read && reads) || (kernel.no_read_with_inherit && reads && attr->inherit) ||
	    (kernel.no_lost && (attr->read_format & PERF_FORMAT_LOST)))
		return refuse_with(EINVAL);
	kernel.led += args[3] >= 0 && !(args[4] & PERF_FLAG_FD_NO_GROUP);
	return open_really(real, args);
}

enum wrong { WRONG_COUNT = 1, WRONG_EVENT = 2, WRONG_RUNNING = 4, WRONG_ENABLED = 8,
	     WRONG_VALUE = 16, WRONG_CLOCK = 32, CLOCK_BACK = 64 };

/* Samples of one thread on one CPU, or of one thread. */
struct stream {
	uint32_t tid, cpu;
	uint64_t samples, first[2], last[2], major, enabled, clock;
};

static struct {
	struct stream list[STREAMS];
	size_t count;
	bool by_cpu;
	unsigned int wrong;		/* of enum wrong */
	uint64_t bare, samples, major, lost;
} seen;

static struct stream *stream_of(const struct pm_observed *sample)
{
	const uint32_t cpu = seen.by_cpu ? sample->cpu : 0;
	struct stream *at = seen.list;

	while (at < seen.list + seen.count && (at->tid != sample->tid || at->cpu != cpu))
		at++;
	assert_true(at < seen.list + STREAMS);
	if (at == seen.list + seen.count) {
		*at = (struct stream){ .tid = sample->tid, .cpu = cpu };
		seen.count++;
	}
	return at;
}

static void wrong_if(bool wrong, unsigned int what)
{
	seen.wrong |= wrong ? what : 0;
}

static void on_sample(void *context, const struct pm_observed *sample)
{
	const struct pm_member *group = sample->group;
	struct stream *stream;

	(void)context;
	/* On a whole machine there are others, as many as it likes. */
	if (sample->pid != (uint32_t)getpid())
		return;
	assert_true(sample->group_count == 0 || group->size == sizeof(*group));
	seen.samples++;
	if (sample->group_count == 0) {
		seen.bare++;
		return;
	}
	stream = stream_of(sample);
	if (sample->group_count != EVENTS) {
		seen.wrong |= WRONG_COUNT;
		return;
	}
	for (size_t i = 0; i < EVENTS; i++)
		wrong_if(group[i].event != i, WRONG_EVENT);
	wrong_if(sample->group_running > sample->group_enabled, WRONG_RUNNING);
	wrong_if(sample->group_enabled < stream->enabled, WRONG_ENABLED);
	seen.lost = group[0].lost;
	seen.major += stream->samples > 0 && group[3].value > stream->major;
	stream->major = group[3].value;
	for (size_t i = 0; i < 2; i++) {
		const uint64_t value = group[i].value + (i == 1 ? group[3].value : 0);

		if (stream->samples == 0)
			stream->first[i] = value;
		else
			wrong_if(value != stream->last[i] + 1, WRONG_VALUE);
		stream->last[i] = value;
	}
	wrong_if(group[2].value == 0, WRONG_CLOCK);
	wrong_if(group[2].value < stream->clock, CLOCK_BACK);
	stream->clock = group[2].value;
	stream->enabled = sample->group_enabled;
	stream->samples++;
}

static const struct pm_listener listener = { .size = sizeof(listener), .sample = on_sample };

static int setup(void **state)
{
	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	memset(&seen, 0, sizeof(seen));
	return 0;
}

static void touch_pages(size_t count)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, count * page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(pages != MAP_FAILED);
	(void)madvise(pages, count * page, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < count; i++)
		((volatile char *)pages)[i * page] = 1;
	munmap(pages, count * page);
}

/* A sampled leader, and three that only count beside it. */
static struct pm_plan *group_plan(int tid, unsigned int allowed, unsigned int pages, char *text,
				  size_t size)
{
	struct pm_event_spec specs[EVENTS];
	struct pm_session_opts opts = {
		.size = sizeof(opts), .allow = PM_ALLOW_ALL, .descriptors_percent = 100,
		.forbid = ~allowed, .ring_pages = pages,
	};
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_plan *plan;

	memset(specs, 0, sizeof(specs));
	for (size_t i = 0; i < EVENTS; i++)
		specs[i] = (struct pm_event_spec){ .size = sizeof(specs[0]), .tid = tid,
						   .type = PM_TYPE_SOFTWARE,
						   .want = PM_WANT_GROUP };
	specs[0].config = PM_SW_PAGE_FAULTS;
	specs[0].period = 1;
	specs[1].config = PM_SW_MINOR_FAULTS;
	specs[2].config = PM_SW_TASK_CLOCK;
	specs[3].config = PM_SW_MAJOR_FAULTS;
	if (pm_plan_make(specs, EVENTS, &opts, NULL, &diag, &plan) < 0) {
		print_message("%s\n", diag.text);
		return NULL;
	}
	(void)pm_plan_explain(plan, text, size);
	return plan;
}

static bool says(const char *text, const char *what)
{
	if (strstr(text, what) == NULL)
		print_message("%s\n", text);
	return strstr(text, what) != NULL;
}

static struct pm_session *attached(struct pm_plan *plan)
{
	struct pm_session *session = pm_session_create(plan, &listener, NULL);
	struct pm_diag diag = { .size = sizeof(diag) };

	if (pm_session_attach(session, &diag) < 0)
		fail_msg("%s", diag.text);
	for (int i = 0; i < 64 && pm_session_poll(session, 0) > 0; i++)
		;
	memset(&seen.list, 0, sizeof(seen.list));
	seen.count = seen.wrong = seen.samples = seen.major = seen.bare = 0;
	return session;
}

static void finish(struct pm_session *session, struct pm_plan *plan)
{
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

/* What streams tell together: samples, and by how much each value grew from first to last. */
static void assert_exact(uint64_t least)
{
	uint64_t samples = 0;

	assert_int_equal(seen.wrong, 0);
	assert_int_equal(seen.bare, 0);
	for (size_t i = 0; i < seen.count; i++) {
		const struct stream *stream = &seen.list[i];

		samples += stream->samples;
		for (size_t k = 0; k < 2; k++)
			assert_int_equal(stream->last[k] - stream->first[k], stream->samples - 1);
	}
	assert_int_equal(samples, seen.samples);
	assert_true(samples >= least);
}

/* --------------------------------------------------------------------------------- exact values */

static void one_thread(void **state)
{
	static const enum pm_strategy allowed[] = { PM_STRATEGY_PER_THREAD, PM_STRATEGY_PER_CPU };
	char text[8192];

	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++) {
		struct pm_value before[EVENTS] = { { .size = sizeof(before[0]) } };
		struct pm_value after[EVENTS] = { { .size = sizeof(after[0]) } };
		struct pm_plan *plan = group_plan(0, 1u << allowed[i], 0, text, sizeof(text));
		struct pm_session *session;

		if (plan == NULL)
			skip();
		assert_true(says(text, "event 0 leads 1 2 3\n"));
		seen.by_cpu = i == 1;
		kernel.led = 0;
		session = attached(plan);
		assert_true(kernel.led >= EVENTS - 1);
		assert_int_equal(pm_session_read(session, before, EVENTS), EVENTS);
		touch_pages(PAGES);
		assert_int_equal(pm_session_read(session, after, EVENTS), EVENTS);
		(void)pm_session_poll(session, 0);
		assert_exact(PAGES);
		/* exact_test has them equal: sanitizers fault between two values. */
		assert_true(after[1].value - before[1].value +
			    after[3].value - before[3].value >= PAGES);
		assert_true(after[0].value - before[0].value >= PAGES);
		assert_true(after[2].value > before[2].value);
		finish(session, plan);
		(void)setup(state);
	}
}

/* A page that has to be read, where the file system gives pages back; -errno where none does. */
static int touch_file(void)
{
	char page[65536] = { 1 }, name[] = "build/group_test.XXXXXX";
	int fd = mkstemp(name), err = 0;
	char *map;

	if (fd < 0)
		return -errno;
	(void)unlink(name);
	if (write(fd, page, sizeof(page)) != sizeof(page) || fsync(fd) < 0 ||
	    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
		err = -EIO;
	map = err < 0 ? MAP_FAILED : mmap(NULL, sizeof(page), PROT_READ, MAP_SHARED, fd, 0);
	if (map != MAP_FAILED) {
		(void)*(volatile char *)map;
		munmap(map, sizeof(page));
	}
	close(fd);
	return err;
}

/* It counts for the leader and not as a minor one. */
static void a_fault_that_waits_for_the_disk(void **state)
{
	char text[8192];
	struct pm_plan *plan = group_plan(0, 1u << PM_STRATEGY_PER_THREAD, 0, text, sizeof(text));
	struct pm_session *session;
	int err;

	(void)state;
	if (plan == NULL)
		skip();
	session = attached(plan);
	touch_pages(PAGES);
	err = touch_file();
	touch_pages(PAGES);	/* a sample has what was counted before its own fault */
	(void)pm_session_poll(session, 0);
	assert_exact(2 * PAGES);
	if (seen.major == 0)
		print_message("no major fault: %s\n", err < 0 ? strerror(-err) : "in memory still");
	finish(session, plan);
}

static void *worker(void *barrier)
{
	pthread_barrier_wait(barrier);
	touch_pages(PAGES);
	return NULL;
}

/* Threads of now and of later; each has values of its own. */
static void all_threads(unsigned int strategy, bool by_cpu)
{
	char text[8192];
	struct pm_plan *plan = group_plan(PM_ALL_THREADS, 1u << strategy, 0, text, sizeof(text));
	struct pm_session *session;
	pthread_barrier_t barrier;
	pthread_t threads[2 * THREADS];

	if (plan == NULL || strstr(text, "without group values") != NULL) {
		pm_plan_destroy(plan);
		skip();
	}
	assert_true(says(text, by_cpu ? "group values: of the sample's thread on its CPU" :
			 "group values: of the sample's thread; event 0 leads 1 2 3"));
	seen.by_cpu = by_cpu;
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, worker, &barrier), 0);
	session = attached(plan);
	pthread_barrier_wait(&barrier);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (size_t i = THREADS; i < 2 * THREADS && by_cpu; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, worker, &barrier), 0);
	if (by_cpu)
		pthread_barrier_wait(&barrier);
	for (size_t i = THREADS; i < 2 * THREADS && by_cpu; i++)
		pthread_join(threads[i], NULL);
	while (pm_session_poll(session, 0) > 0)
		;
	assert_exact((by_cpu ? 2 : 1) * THREADS * PAGES);
	pthread_barrier_destroy(&barrier);
	finish(session, plan);
}

static void threads_with_rings_of_their_own(void **state)
{
	(void)state;
	all_threads(PM_STRATEGY_PER_THREAD, false);
}

static void threads_that_inherit(void **state)
{
	(void)state;
	all_threads(PM_STRATEGY_PER_CPU, true);
}

static void a_whole_machine(void **state)
{
	char text[8192];
	struct pm_plan *plan = group_plan(PM_SYSTEM, 1u << PM_STRATEGY_CPU_WIDE, 0, text,
					  sizeof(text));
	struct pm_session *session;

	(void)state;
	if (plan == NULL)
		skip();
	assert_true(says(text, "group values: of the sample's CPU; event 0 leads 1 2 3\n"));
	session = attached(plan);
	/* Others may fill a ring before it is drained, for a while. */
	for (int i = 0; i < 50 && seen.samples < PAGES; i++) {
		touch_pages(PAGES);
		(void)pm_session_poll(session, 0);
	}
	assert_true(seen.samples >= PAGES);
	assert_int_equal(seen.bare, 0);
	finish(session, plan);
}

/* Samples that found no room are counted, and the next one tells how many. */
static void lost_samples_are_told(void **state)
{
	struct pm_stats stats = { .size = sizeof(stats) };
	char text[8192];
	struct pm_plan *plan = group_plan(0, 1u << PM_STRATEGY_PER_THREAD, 1, text, sizeof(text));
	struct pm_session *session;

	(void)state;
	if (plan == NULL)
		skip();
	if (strstr(text, "PERF_FORMAT_LOST (") != NULL || strstr(text, "without") != NULL)
		print_message("%s\n", text);
	session = attached(plan);
	touch_pages((size_t)sysconf(_SC_PAGESIZE) / 40);	/* a sample has more bytes */
	(void)pm_session_poll(session, 0);
	touch_pages(1);
	(void)pm_session_poll(session, 0);
	(void)pm_session_stats(session, &stats);
	assert_true(stats.lost > 0);
	if (strstr(text, "records and PERF_FORMAT_LOST") != NULL)
		assert_in_range(seen.lost, 1, stats.lost);
	finish(session, plan);
}

/* ----------------------------------------------------------------------------------- the ladder */

static void no_lost_counts(void **state)
{
	struct pm_plan *plan;
	struct pm_session *session;
	char text[8192];

	(void)state;
	kernel.no_lost = true;
	plan = group_plan(0, 1u << PM_STRATEGY_PER_THREAD, 0, text, sizeof(text));
	if (plan == NULL)
		skip();
	session = attached(plan);
	touch_pages(PAGES);
	(void)pm_session_poll(session, 0);
	assert_exact(PAGES);
	finish(session, plan);
}

/* As kernels before 6.13. */
static void inherited_events_without_values(void **state)
{
	struct pm_plan *plan;
	char text[8192];

	(void)state;
	kernel.no_read_with_inherit = true;
	plan = group_plan(PM_ALL_THREADS, ~0u, 0, text, sizeof(text));
	if (plan == NULL)
		skip();
	assert_int_equal(pm_plan_strategy(plan), PM_STRATEGY_PER_THREAD);
	assert_true(says(text, "passed over: per_cpu: event 0 opens, but not with attr.inherit and "
			 "the values of its group in samples (EINVAL)"));
	assert_true(says(text, "passed over: signals: its samples do not have the values of a"));
	assert_true(says(text, "group values: of the sample's thread; event 0 leads 1 2 3\n"));
	assert_null(strstr(text, "without group values"));
	pm_plan_destroy(plan);
}

/* The caller insists on a strategy that has none: done without, and told. */
static void nothing_is_left_that_has_them(void **state)
{
	struct pm_event_spec specs[2] = { faults, clock_of_all };
	struct pm_session *session;
	struct pm_plan *plan;
	char text[8192];

	(void)state;
	kernel.no_read_with_inherit = true;
	specs[0].want = specs[1].want = PM_WANT_GROUP;
	plan = plan_of(specs, 2, PM_STRATEGY_PER_CPU, NULL);
	if (plan == NULL)
		skip();
	(void)pm_plan_explain(plan, text, sizeof(text));
	assert_true(says(text, "without group values: no strategy is left whose samples have"));
	session = attached(plan);
	touch_pages(PAGES);
	(void)pm_session_poll(session, 0);
	assert_true(seen.samples >= PAGES && seen.bare == seen.samples);
	finish(session, plan);
}

static void a_kernel_that_reads_nothing(void **state)
{
	struct pm_event_spec spec = faults;
	struct pm_plan *plan;
	char text[8192];

	(void)state;
	kernel.no_read = true;
	spec.want = PM_WANT_GROUP;
	plan = plan_of(&spec, 1, PM_STRATEGY_PER_CPU, NULL);
	if (plan == NULL)
		skip();
	(void)pm_plan_explain(plan, text, sizeof(text));
	assert_true(says(text, "without group values: it is refused (EINVAL)"));
	pm_plan_destroy(plan);
}

#define TEST(test) cmocka_unit_test_setup(test, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_thread),
		TEST(a_fault_that_waits_for_the_disk),
		TEST(threads_with_rings_of_their_own),
		TEST(threads_that_inherit),
		TEST(a_whole_machine),
		TEST(lost_samples_are_told),
		TEST(no_lost_counts),
		TEST(inherited_events_without_values),
		TEST(nothing_is_left_that_has_them),
		TEST(a_kernel_that_reads_nothing),
	};

	return cmocka_run_group_tests_name("group", tests, NULL, NULL);
}
