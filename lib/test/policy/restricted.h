/* SPDX-License-Identifier: MIT */
/*
 * Plans made in child processes, which can be restricted for good, and a comparison of what is
 * said of them, line by line.
 */
#ifndef RESTRICTED_H
#define RESTRICTED_H

#include <linux/capability.h>
#include <sys/syscall.h>
#include <sys/prctl.h>
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

static inline void *wait_for_ever(void *context)
{
	for (;;)
		pause();
	return context;
}

/* Locked memory is the user's account: what others lock as nobody must not be held against us. */
static inline int become_nobody(void)
{
	const uid_t own = 2000000000u + (uid_t)getpid();

	if (setresgid(65534, 65534, 65534) != 0)
		return -1;
	/* A user namespace may not have such a one. */
	return setresuid(own, own, own) == 0 ? 0 : setresuid(65534, 65534, 65534);
}

/* Also what a user namespace gives. */
static inline void drop_privileges(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0, 0, 0 }, { 0, 0, 0 } };

	if (getuid() == 0 && become_nobody() != 0)
		_exit(NOT_HERE);
	if (syscall(SYS_capset, &head, none) != 0)
		_exit(NOT_HERE);
}

static inline void tell(int out, const struct wish *wish)
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

static inline void live(int out, const struct wish *wish, void (*restricted)(void))
{
	pthread_t thread;

	/* Advice follows from it, and filters of those who are not root need it. */
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
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

static inline void say(const struct wish *wish, void (*restricted)(void), struct said *ret)
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

static inline bool has_line(const char *text, const char *line, size_t size)
{
	for (; text != NULL; text = strchr(text, '\n') ? strchr(text, '\n') + 1 : NULL)
		if (strncmp(text, line, size) == 0 && (text[size] == '\n' || text[size] == '\0'))
			return true;
	return false;
}

static inline bool is_expected(const char *line, const char *const *expected)
{
	for (; *expected != NULL; expected++)
		if (strncmp(line, *expected, strlen(*expected)) == 0)
			return true;
	return false;
}

/* Lines of `a` that `b` has not: how many, each expected. */
static inline int lines_beyond(const char *a, const char *b, const char *const *expected)
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
static inline void compare(const struct wish *wish, void (*restricted)(void), const char *phrase,
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

static inline struct wish wish_for(const struct pm_event_spec *spec)
{
	struct wish wish = { .spec = *spec };

	wish.opts.size = sizeof(wish.opts);
	wish.opts.allow = PM_ALLOW_ALL & ~(unsigned int)PM_ALLOW_RAISE_NOFILE;
	return wish;
}

#endif
