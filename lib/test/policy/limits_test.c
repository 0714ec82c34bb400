/* SPDX-License-Identifier: MIT */
/*
 * Restrictions: what is said of a plan with one differs from what is said without it in exactly
 * the lines that it concerns, and the session still attaches. Each plan is made in a child process,
 * which can be restricted for good.
 */
#define _GNU_SOURCE
#include "../test.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "sessions.h"

#define NOT_HERE 77

/* What a child says: the explanation, and how attaching ended. */
struct said {
	char text[12000];
};

struct wish {
	struct pm_event_spec spec;
	struct pm_session_opts opts;
	size_t threads;			/* beside the first */
	bool as_nobody;
};

/* -------------------------------------------------------------------------- in the child's life */

static void *wait_for_ever(void *context)
{
	for (;;)
		pause();
	return context;
}

/* Also what a user namespace gives. */
static void drop_privileges(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0, 0, 0 }, { 0, 0, 0 } };

	if (getuid() == 0 && (setresgid(65534, 65534, 65534) != 0 ||
			      setresuid(65534, 65534, 65534) != 0))
		_exit(NOT_HERE);
	if (syscall(SYS_capset, &head, none) != 0)
		_exit(NOT_HERE);
}

static void tell(int out, const struct wish *wish)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_session *session;
	static char text[10000];
	struct pm_plan *plan;
	int err = pm_plan_make(&wish->spec, 1, &wish->opts, NULL, &diag, &plan);

	if (err < 0) {
		dprintf(out, "no plan, cause %d: %s\n", diag.cause, diag.text);
		return;
	}
	pm_plan_explain(plan, text, sizeof(text));
	session = pm_session_create(plan, NULL, NULL);
	err = pm_session_attach(session, &diag);
	dprintf(out, "%sattached: %s\n", text, err < 0 ? diag.text : pm_strategy_name(err));
	pm_session_destroy(session);
	pm_plan_destroy(plan);
}

static void live(int out, const struct wish *wish, void (*restricted)(void))
{
	pthread_t thread;

	if (restricted != NULL)
		restricted();
	if (wish->as_nobody)
		drop_privileges();
	for (size_t i = 0; i < wish->threads; i++)
		if (pthread_create(&thread, NULL, wait_for_ever, NULL) != 0)
			_exit(NOT_HERE);
	tell(out, wish);
	_exit(0);
}

static void say(const struct wish *wish, void (*restricted)(void), struct said *ret)
{
	int pipes[2], status;
	size_t used = 0;
	ssize_t got;
	pid_t child;

	assert_int_equal(pipe(pipes), 0);
	child = fork();
	if (child == 0)
		live(pipes[1], wish, restricted);
	close(pipes[1]);
	while ((got = read(pipes[0], ret->text + used, sizeof(ret->text) - 1 - used)) > 0)
		used += (size_t)got;
	ret->text[used] = '\0';
	close(pipes[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_HERE)
		skip();
	if (status != 0)
		fail_msg("status %d, said:\n%s", status, ret->text);
}

/* ------------------------------------------------------------------------------------ comparing */

static bool has_line(const char *text, const char *line, size_t size)
{
	for (; text != NULL; text = strchr(text, '\n') ? strchr(text, '\n') + 1 : NULL)
		if (strncmp(text, line, size) == 0 && (text[size] == '\n' || text[size] == '\0'))
			return true;
	return false;
}

static bool is_expected(const char *line, const char *const *expected)
{
	for (; *expected != NULL; expected++)
		if (strncmp(line, *expected, strlen(*expected)) == 0)
			return true;
	return false;
}

/* Lines of `a` that `b` has not: how many, each expected. */
static int lines_beyond(const char *a, const char *b, const char *const *expected)
{
	int count = 0;

	while (*a != '\0') {
		size_t size = strcspn(a, "\n");

		if (!has_line(b, a, size)) {
			count++;
			if (!is_expected(a, expected))
				fail_msg("unexpected: %.*s", (int)size, a);
		}
		a += size + (a[size] == '\n');
	}
	return count;
}

/* Only these lines differ (by their beginnings), some do, and `phrase` is said only restricted. */
static void compare(const struct wish *wish, void (*restricted)(void), const char *phrase,
		    const char *const *expected)
{
	struct said free_of_it, with_it;

	say(wish, NULL, &free_of_it);
	if (strncmp(free_of_it.text, "no plan", 7) == 0) {
		print_message("%s", free_of_it.text);
		skip();
	}
	say(wish, restricted, &with_it);
	if (lines_beyond(free_of_it.text, with_it.text, expected) +
	    lines_beyond(with_it.text, free_of_it.text, expected) == 0 && expected[0] != NULL)
		fail_msg("nothing changed:\n%s", with_it.text);
	if (phrase != NULL && (strstr(free_of_it.text, phrase) != NULL ||
			       strstr(with_it.text, phrase) == NULL))
		fail_msg("\"%s\" not told by\n%s", phrase, with_it.text);
}

#define ONLY(...) ((const char *const[]){ __VA_ARGS__ __VA_OPT__(,) NULL })

static struct wish wish_for(const struct pm_event_spec *spec)
{
	struct wish wish = { .spec = *spec };

	wish.opts.size = sizeof(wish.opts);
	wish.opts.allow = PM_ALLOW_ALL & ~(unsigned int)PM_ALLOW_RAISE_NOFILE;
	return wish;
}

/* --------------------------------------------------------------------------------------- limits */

static void lock_little(void)
{
	const struct rlimit limit = { 65536, 65536 };

	setrlimit(RLIMIT_MEMLOCK, &limit);
}

static void little_locked_memory(void **state)
{
	const struct rlimit much = { 1 << 30, 1 << 30 };
	struct rlimit had;
	struct wish wish = wish_for(&faults);

	(void)state;
	/* More than kernel.perf_event_mlock_kb has for each CPU by default. */
	wish.opts.ring_pages = 256;
	wish.as_nobody = true;
	/* Where root has no CAP_SYS_RESOURCE, the limit is what it is. */
	if (setrlimit(RLIMIT_MEMLOCK, &much) != 0) {
		getrlimit(RLIMIT_MEMLOCK, &had);
		if (had.rlim_max < 4 << 20)
			skip();
		had.rlim_cur = had.rlim_max;
		assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &had), 0);
	}
	compare(&wish, lock_little, "of the 256 that were asked for: kernel.perf_event_mlock_kb=",
		ONLY("rings: "));
}

/* Two sessions of one user: the second finds less than the limits promise, and says so. */
static void attach_twice(void)
{
	struct pm_event_spec spec = faults;
	struct pm_session_opts opts = { .size = sizeof(opts), .allow = PM_ALLOW_ALL };
	struct pm_plan *plans[2];
	char text[8000];

	lock_little();
	drop_privileges();
	opts.forbid = ((1u << PM_STRATEGIES) - 1) & ~(1u << PM_STRATEGY_PER_CORE);
	for (int i = 0; i < 2; i++) {
		struct pm_session *session;

		if (pm_plan_make(&spec, 1, &opts, NULL, NULL, &plans[i]) < 0)
			_exit(NOT_HERE);
		session = pm_session_create(plans[i], NULL, NULL);
		if (pm_session_attach(session, NULL) < 0)
			_exit(1);
	}
	pm_plan_explain(plans[0], text, sizeof(text));
	if (strstr(text, "rings: 128 data pages each\n") == NULL)
		_exit(2);
	pm_plan_explain(plans[1], text, sizeof(text));
	_exit(strstr(text, " of the 128 that were asked for: ") != NULL ? 0 : 3);
}

static void memory_that_others_have_locked(void **state)
{
	int status;
	pid_t child = fork();

	(void)state;
	if (child == 0)
		attach_twice();
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_HERE)
		skip();
	assert_int_equal(status, 0);
}

static void open_few(void)
{
	const struct rlimit limit = { 64, 64 };

	setrlimit(RLIMIT_NOFILE, &limit);
}

static void few_descriptors(void **state)
{
	struct wish wish = wish_for(&faults);

	(void)state;
	wish.threads = 40;
	wish.opts.ring_pages = 1;
	compare(&wish, open_few, "passed over: per_core: needs ",
		ONLY("chosen: ", "passed over: per_core:", "passed over: own_rings:",
		     "passed over: per_thread:", "passed over: signals:", "passed over: count:",
		     "passed over: count_per_cpu:", "attached: "));
}

static void few_at_first(void)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = 64;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void few_descriptors_that_may_be_raised(void **state)
{
	struct wish wish = wish_for(&faults);

	(void)state;
	wish.threads = 40;
	wish.opts.allow |= PM_ALLOW_RAISE_NOFILE;
	compare(&wish, few_at_first, NULL, ONLY());
}

static void no_strategy_but_for_limits(void **state)
{
	struct wish wish = wish_for(&faults);
	struct said said;
	char begin[32];

	(void)state;
	wish.threads = 40;
	wish.opts.forbid = 1u << PM_STRATEGY_OWN_RINGS | 1u << PM_STRATEGY_CPU_WIDE;
	say(&wish, NULL, &said);
	if (strncmp(said.text, "no plan", 7) == 0)
		skip();
	say(&wish, open_few, &said);
	snprintf(begin, sizeof(begin), "no plan, cause %d:", PM_CAUSE_DESCRIPTORS);
	if (strncmp(said.text, begin, strlen(begin)) != 0)
		fail_msg("%s", said.text);
}

/* --------------------------------------------------------------------------------- hidden files */

static void own_mounts(void)
{
	int flags = geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER;

	if (unshare(flags) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		_exit(NOT_HERE);
}

static void hide_proc_sys(void)
{
	own_mounts();
	if (mount("none", "/proc/sys", "tmpfs", 0, NULL) != 0)
		_exit(NOT_HERE);
}

static void hidden_proc_sys(void **state)
{
	struct wish wish = wish_for(&faults);

	(void)state;
	wish.as_nobody = true;
	compare(&wish, hide_proc_sys, "(not readable here)", ONLY("passed over: cpu_wide:"));
}

static void hidden_proc_sys_and_little_memory(void)
{
	hide_proc_sys();
	lock_little();
}

static void limits_that_are_hidden(void **state)
{
	struct wish wish = wish_for(&faults);
	struct said said;

	(void)state;
	wish.opts.ring_pages = 4096;
	wish.as_nobody = true;
	say(&wish, hidden_proc_sys_and_little_memory, &said);
	if (strncmp(said.text, "no plan", 7) == 0)
		skip();
	assert_non_null(strstr(said.text, "kernel.perf_event_mlock_kb is hidden, 516 a CPU"));
}

static void hide_tracefs(void)
{
	own_mounts();
	(void)mount("none", "/sys/kernel/debug", "tmpfs", 0, NULL);
	if (mount("none", "/sys/kernel/tracing", "tmpfs", 0, NULL) != 0)
		_exit(NOT_HERE);
}

static void show_tracefs(void)
{
	own_mounts();
	if (mount("none", "/sys/kernel/tracing", "tracefs", 0, NULL) != 0)
		_exit(NOT_HERE);
}

/* The first that there is, without tracefs to ask. */
static bool some_tracepoint(struct pm_event_spec *spec)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .sample_period = 1,
					.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_IDENTIFIER };

	for (attr.config = 1; attr.config < 3000; attr.config++) {
		int fd = pm_open(&attr, 0, -1, -1, 0);

		if (fd < 0)
			continue;
		close(fd);
		spec->config = attr.config;
		return true;
	}
	return false;
}

static void hidden_tracefs(void **state)
{
	struct pm_event_spec spec = { .size = sizeof(spec), .type = PERF_TYPE_TRACEPOINT,
				      .period = 1, .tid = PM_ALL_THREADS };
	struct wish wish = wish_for(&faults);
	struct said with, without;

	(void)state;
	wish.as_nobody = getuid() != 0;
	compare(&wish, hide_tracefs, NULL, ONLY());
	if (!some_tracepoint(&spec))
		skip();
	wish = wish_for(&spec);
	say(&wish, show_tracefs, &with);
	say(&wish, hide_tracefs, &without);
	assert_int_equal(lines_beyond(with.text, without.text, ONLY()), 0);
	assert_int_equal(lines_beyond(without.text, with.text, ONLY("event 0, ")), 1);
	assert_non_null(strstr(without.text, "tracefs is not readable here"));
}

/* ------------------------------------------------------------------------- a filter for one bit */

#ifdef SECCOMP_RET_USER_NOTIF

/* What the filter refuses, and how. */
static struct {
	bool (*refuses)(const struct perf_event_attr *attr, unsigned long flags);
	int error;
	int listener;
} filter;

static void *judge_calls(void *context)
{
	for (;;) {
		struct seccomp_notif call = { 0 };
		struct seccomp_notif_resp answer = { 0 };
		const struct perf_event_attr *attr;

		if (ioctl(filter.listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0)
			return context;
		/* Of the same process: the address is ours as well. A bad one asks for nothing. */
		attr = (const void *)(uintptr_t)call.data.args[0];
		answer.id = call.id;
		if ((uintptr_t)attr > 4096 && filter.refuses(attr, call.data.args[4]))
			answer.error = -filter.error;
		else
			answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		if (ioctl(filter.listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) != 0)
			return context;
	}
}

static void filter_calls(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { ARRAY_SIZE(code), code };
	pthread_t judge;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		_exit(NOT_HERE);
	filter.listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
				       SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	if (filter.listener < 0 || pthread_create(&judge, NULL, judge_calls, NULL) != 0)
		_exit(NOT_HERE);
}

/* The thread that judges, without the filter. */
static void nothing_filtered(void)
{
	pthread_t thread;

	if (open("/dev/null", O_RDONLY) < 0 ||
	    pthread_create(&thread, NULL, wait_for_ever, NULL) != 0)
		_exit(NOT_HERE);
}

static bool has_clockid(const struct perf_event_attr *attr, unsigned long flags)
{
	(void)flags;
	return attr->use_clockid;
}

static bool has_monotonic(const struct perf_event_attr *attr, unsigned long flags)
{
	(void)flags;
	return attr->use_clockid && attr->clockid == CLOCK_MONOTONIC;
}

static bool has_lost(const struct perf_event_attr *attr, unsigned long flags)
{
	(void)flags;
	return attr->read_format & PERF_FORMAT_LOST;
}

static bool has_identifier(const struct perf_event_attr *attr, unsigned long flags)
{
	(void)flags;
	return attr->sample_type & PERF_SAMPLE_IDENTIFIER;
}

static bool has_watermark(const struct perf_event_attr *attr, unsigned long flags)
{
	(void)flags;
	return attr->watermark;
}

static bool has_user_chain(const struct perf_event_attr *attr, unsigned long flags)
{
	(void)flags;
	return attr->exclude_callchain_kernel;
}

static bool has_cloexec(const struct perf_event_attr *attr, unsigned long flags)
{
	(void)attr;
	/* Quick probes and the gate's test set unknown flags as well. */
	return flags == PERF_FLAG_FD_CLOEXEC;
}

static bool has_inherit(const struct perf_event_attr *attr, unsigned long flags)
{
	(void)flags;
	return attr->inherit;
}

static const struct {
	bool (*refuses)(const struct perf_event_attr *attr, unsigned long flags);
	const char *line, *phrase;
} bits[] = {
	{ has_clockid, "clock: ", "clock: perf's own (" },
	{ has_lost, "loss: ", "loss: records (" },
	{ has_identifier, "without PERF_SAMPLE_IDENTIFIER: ", NULL },
	{ has_watermark, "without wake-ups by bytes: ", NULL },
	{ has_user_chain, "without exclude_callchain_kernel: ", NULL },
	{ has_cloexec, "without close-on-exec from the start: ", NULL },
};

static void compare_filtered(const struct wish *wish, const char *phrase,
			     const char *const *expected)
{
	struct said free_of_it, with_it;

	say(wish, nothing_filtered, &free_of_it);
	if (strncmp(free_of_it.text, "no plan", 7) == 0)
		skip();
	say(wish, filter_calls, &with_it);
	assert_true(lines_beyond(with_it.text, free_of_it.text, expected) > 0);
	(void)lines_beyond(free_of_it.text, with_it.text, expected);
	if (phrase != NULL && strstr(with_it.text, phrase) == NULL)
		fail_msg("\"%s\" not told by\n%s", phrase, with_it.text);
}

static void one_bit_filtered(void **state)
{
	static const int errors[] = { EPERM, EINVAL };
	struct wish wish = wish_for(&faults);

	(void)state;
	wish.spec.want |= PM_WANT_CALLCHAIN;
	for (size_t i = 0; i < ARRAY_SIZE(bits); i++)
		for (size_t k = 0; k < ARRAY_SIZE(errors); k++) {
			filter.refuses = bits[i].refuses;
			filter.error = errors[k];
			compare_filtered(&wish, bits[i].phrase, ONLY(bits[i].line));
		}
}

static void one_clock_filtered(void **state)
{
	struct wish wish = wish_for(&faults);

	(void)state;
	filter.refuses = has_monotonic;
	filter.error = EPERM;
	compare_filtered(&wish, "clock: CLOCK_MONOTONIC_RAW (CLOCK_MONOTONIC is refused (EPERM))",
			 ONLY("clock: "));
}

static void inheritance_filtered(void **state)
{
	struct wish wish = wish_for(&faults);

	(void)state;
	filter.refuses = has_inherit;
	filter.error = EPERM;
	compare_filtered(&wish, "passed over: per_core: event 0 opens, but not with attr.inherit",
			 ONLY("chosen: per_", "passed over: per_core:",
			      "passed over: own_rings:", "passed over: per_thread:",
			      "passed over: count:", "passed over: count_per_cpu:", "attached: "));
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(little_locked_memory),
		cmocka_unit_test(memory_that_others_have_locked),
		cmocka_unit_test(few_descriptors),
		cmocka_unit_test(few_descriptors_that_may_be_raised),
		cmocka_unit_test(no_strategy_but_for_limits),
		cmocka_unit_test(hidden_proc_sys),
		cmocka_unit_test(limits_that_are_hidden),
		cmocka_unit_test(hidden_tracefs),
#ifdef SECCOMP_RET_USER_NOTIF
		cmocka_unit_test(one_bit_filtered),
		cmocka_unit_test(one_clock_filtered),
		cmocka_unit_test(inheritance_filtered),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
