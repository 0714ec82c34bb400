/* SPDX-License-Identifier: MIT */
/*
 * A system call filter that refuses one bit of the attr: the plan does without that bit, says so,
 * and is otherwise the same.
 */
#define _GNU_SOURCE
#include "../test.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>

#include "restricted.h"

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
	compare_filtered(&wish, "passed over: per_cpu: event 0 opens, but not with attr.inherit",
			 ONLY("chosen: per_", "passed over: per_cpu:",
			      "passed over: own_rings:", "passed over: per_thread:",
			      "passed over: counters:", "passed over: counters_per_cpu:",
			      "attached: "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_bit_filtered),
		cmocka_unit_test(one_clock_filtered),
		cmocka_unit_test(inheritance_filtered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
