/* SPDX-License-Identifier: MIT */
/*
 * Calls that say yes and did nothing, or something else: a filter can make any call return 0, a
 * sandbox can answer with a descriptor of its own, and /proc may be another PID namespace's. Either
 * everything is delivered, or the session is refused with a reason.
 */
#define _GNU_SOURCE
#include "../test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "between.h"
#include "sessions.h"

#define PAGES 64
#define ELSEWHERE 400000	/* no thread has such a number here */

static struct {
	bool handlers_not_set;		/* sigaction(2) says 0 and sets nothing */
	bool says_0;			/* perf_event_open(2) says 0 and opens nothing */
	bool gives_pipe;		/* it opens a pipe */
	bool leaves_out;		/* only the process's first thread is listed */
	int shift;			/* of the numbers in a listing */
	unsigned int more;		/* threads that a listing has by its own count only */
	bool maps_nothing;		/* no ring may be mapped, however small */
} lie;

#define REAL(name) \
	static __typeof__(name) *real; \
	if (real == NULL) \
		*(void **)&real = dlsym(RTLD_NEXT, #name)

static long on_open(syscall_fn real, struct perf_event_attr *attr, const long *args)
{
	int ends[2];

	(void)attr;
	if (lie.says_0)
		return 0;
	if (!lie.gives_pipe)
		return open_really(real, args);
	if (pipe(ends) != 0)
		return -1;
	return ends[0];
}

int sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
	REAL(sigaction);
	return lie.handlers_not_set ? 0 : real(number, action, before);
}

static bool is_of_threads(int fd)
{
	char path[64], text[64] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, text, sizeof(text) - 1) > 0 && strstr(text, "/task") != NULL;
}

struct dirent *readdir(DIR *dir)
{
	struct dirent *entry;

	REAL(readdir);
	entry = real(dir);
	if ((!lie.leaves_out && lie.shift == 0) || !is_of_threads(dirfd(dir)))
		return entry;
	while (lie.leaves_out && entry != NULL && entry->d_name[0] != '.' &&
	       atoi(entry->d_name) != getpid())
		entry = real(dir);
	if (lie.shift != 0 && entry != NULL && entry->d_name[0] != '.')
		snprintf(entry->d_name, 16, "%d", atoi(entry->d_name) + lie.shift);
	return entry;
}

int fstat(int fd, struct stat *ret)
{
	int err;

	REAL(fstat);
	err = real(fd, ret);
	if (err == 0 && is_of_threads(fd))
		ret->st_nlink += lie.more;
	return err;
}

void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	REAL(mmap);
	if (!lie.maps_nothing || fd < 0)
		return real(at, size, prot, flags, fd, offset);
	errno = EPERM;
	return MAP_FAILED;
}

/* --------------------------------------------------------------------- one thread, known work */

static char *area;
static size_t page_size;
static unsigned int told[PAGES];
static atomic_bool may_work;

static void *work(void *unused)
{
	while (!may_work)
		usleep(200);
	for (size_t i = 0; i < PAGES; i++)
		((volatile char *)area)[i * page_size] = 1;
	return unused;
}

static void on_sample(void *context, const struct pm_observed *sample)
{
	const uint64_t at = (sample->address - (uintptr_t)area) / page_size;

	(void)context;
	if (sample->address >= (uintptr_t)area && at < PAGES)
		told[at]++;
}

static const struct pm_listener listener = { .size = sizeof(listener), .sample = on_sample };

static struct pm_stats stats;
static char explained[4096];

/* What the session delivers of a thread that ran before the attach; -ENOTSUP: no perf here. */
static int deliver(enum pm_strategy strategy)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_plan *plan;
	struct pm_session *session;
	pthread_t old;
	int seen = 0;

	page_size = (size_t)sysconf(_SC_PAGESIZE);
	area = mmap(NULL, PAGES * page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	assert_ptr_not_equal(area, MAP_FAILED);
	(void)madvise(area, PAGES * page_size, MADV_NOHUGEPAGE);
	memset(told, 0, sizeof(told));
	may_work = false;
	assert_int_equal(pthread_create(&old, NULL, work, NULL), 0);
	plan = plan_of(&faults, 1, strategy, NULL);
	session = plan != NULL ? pm_session_create(plan, &listener, NULL) : NULL;
	if (session != NULL && pm_session_attach(session, &diag) < 0)
		fail_msg("%s", diag.text);
	may_work = true;
	pthread_join(old, NULL);
	if (session == NULL)
		return -ENOTSUP;
	assert_true(pm_session_poll(session, 10) >= 0);
	pm_session_detach(session);
	stats.size = sizeof(stats);
	(void)pm_session_stats(session, &stats);
	(void)pm_plan_explain(plan, explained, sizeof(explained));
	pm_session_destroy(session);
	pm_plan_destroy(plan);
	munmap(area, PAGES * page_size);
	for (size_t i = 0; i < PAGES; i++)
		seen += told[i] == 1;
	return seen;
}

static int forget(void **state)
{
	(void)state;
	memset(&lie, 0, sizeof(lie));
	return 0;
}

static void delivers_all(void)
{
	static const enum pm_strategy strategies[] = {
		PM_STRATEGY_PER_CPU, PM_STRATEGY_OWN_RINGS, PM_STRATEGY_PER_THREAD,
	};

	for (size_t i = 0; i < sizeof(strategies) / sizeof(strategies[0]); i++) {
		const int seen = deliver(strategies[i]);

		if (seen == -ENOTSUP)
			skip();
		if (seen != PAGES)
			fail_msg("%s: %d of %d", pm_strategy_name(strategies[i]), seen, PAGES);
	}
}

static void threads_that_are_left_out_are_found(void **state)
{
	(void)state;
	lie.leaves_out = true;
	delivers_all();
}

static void numbers_of_another_namespace_are_not_taken(void **state)
{
	(void)state;
	lie.shift = ELSEWHERE;
	delivers_all();
}

static void threads_that_nobody_finds_are_told(void **state)
{
	(void)state;
	lie.more = 3;
	if (deliver(PM_STRATEGY_PER_CPU) == -ENOTSUP)
		skip();
	assert_int_equal(stats.unwatched_threads, 3);
	assert_non_null(strstr(explained, "3 threads that /proc counts and does not list"));
	lie.more = 0;
	assert_int_equal(deliver(PM_STRATEGY_PER_CPU), PAGES);
	assert_int_equal(stats.unwatched_threads, 0);
	assert_null(strstr(explained, "does not list: 3"));
}

/* ------------------------------------------------------------------------ answers that are none */

static int make(const struct pm_event_spec *spec, unsigned int allowed, struct pm_diag *diag,
		struct pm_plan **ret)
{
	const struct pm_session_opts opts = { .size = sizeof(opts),
		.prove = PM_PROVE_ALWAYS, .allow = PM_ALLOW_ALL | PM_ALLOW_ITIMER,
		.forbid = ~allowed };

	return pm_plan_make(spec, 1, &opts, NULL, diag, ret);
}

/* A signal without a handler would have ended this test. */
static void no_timer_starts_without_its_handler(void **state)
{
	(void)state;
	for (int strategy = PM_STRATEGY_TIMERS; strategy <= PM_STRATEGY_PROCESS_TIMER; strategy++) {
		struct pm_diag diag = { .size = sizeof(diag) };
		struct pm_session *session;
		struct pm_plan *plan;

		lie.handlers_not_set = false;
		assert_int_equal(make(&clock_of_all, 1u << strategy, &diag, &plan), 0);
		session = pm_session_create(plan, NULL, NULL);
		lie.handlers_not_set = true;
		assert_int_equal(pm_session_attach(session, &diag), -EIO);
		assert_int_equal(diag.cause, PM_CAUSE_SILENCE);
		assert_non_null(strstr(diag.text, "the handler is not set"));
		pm_session_destroy(session);
		pm_plan_destroy(plan);
	}
}

static void a_descriptor_of_somebody_else_is_left_alone(void **state)
{
	const int before = fcntl(STDIN_FILENO, F_GETFD) < 0 ? open("/dev/null", O_RDONLY) : 0;
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_plan *plan;

	(void)state;
	assert_int_equal(before, STDIN_FILENO);
	lie.says_0 = true;
	assert_int_equal(make(&faults, ~0u, &diag, &plan), -ENOTSUP);
	assert_int_equal(diag.cause, PM_CAUSE_FILTER);
	assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
}

/* To read a pipe that nobody writes to takes for ever. */
static void what_is_no_event_is_not_read(void **state)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_plan *plan;

	(void)state;
	(void)alarm(600);
	lie.gives_pipe = true;
	assert_int_equal(make(&faults, ~0u, &diag, &plan), -ENOTSUP);
	assert_int_equal(diag.cause, PM_CAUSE_FILTER);
	(void)alarm(0);
}

/* Rings become smaller until there is no smaller one; then what was refused is told. */
static void no_ring_is_too_small_to_be_refused(void **state)
{
	static const enum pm_strategy strategies[] = {
		PM_STRATEGY_PER_CPU, PM_STRATEGY_OWN_RINGS, PM_STRATEGY_PER_THREAD,
	};

	(void)state;
	(void)alarm(600);
	for (size_t i = 0; i < sizeof(strategies) / sizeof(strategies[0]); i++) {
		struct pm_diag diag = { .size = sizeof(diag) };
		struct pm_session *session;
		struct pm_plan *plan;

		lie.maps_nothing = false;
		if (make(&faults, 1u << strategies[i], &diag, &plan) < 0)
			skip();
		session = pm_session_create(plan, NULL, NULL);
		lie.maps_nothing = true;
		assert_int_equal(pm_session_attach(session, &diag), -EPERM);
		assert_non_null(strstr(diag.text, "mmap("));
		pm_session_destroy(session);
		pm_plan_destroy(plan);
	}
	(void)alarm(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(threads_that_are_left_out_are_found, forget),
		cmocka_unit_test_teardown(numbers_of_another_namespace_are_not_taken, forget),
		cmocka_unit_test_teardown(threads_that_nobody_finds_are_told, forget),
		cmocka_unit_test_teardown(no_timer_starts_without_its_handler, forget),
		cmocka_unit_test_teardown(a_descriptor_of_somebody_else_is_left_alone, forget),
		cmocka_unit_test_teardown(what_is_no_event_is_not_read, forget),
		cmocka_unit_test_teardown(no_ring_is_too_small_to_be_refused, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
