/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Verdicts of the test that is running. See say.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "again.h"
#include "finding.h"
#include "internal.h"
#include "say.h"

static void (*test_end)(const struct finding *);
static pid_t test_thread, probe_process;

static void __attribute__((constructor)) note_process(void)
{
	probe_process = getpid();
}

/* A test is a process of its own. It ends with the probe, also where nobody is left to do it. */
void test_begins(void (*end)(const struct finding *))
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getpid() != probe_process && getppid() != probe_process)
		_exit(1);		/* the probe had ended already */
	test_end = end;
	test_thread = pm_gettid();
}

bool in_test_thread(void)
{
	return test_end && pm_gettid() == test_thread;
}

static unsigned int breakpoints;

void expect_breakpoints(void)
{
	breakpoints++;
}

/* Three are more than a hit takes: then it is about which are free. */
void doubt_breakpoints(void)
{
	if (breakpoints > 2 || (breakpoints > 0 && breakpoints_are_hit()))
		dprintf(STDOUT_FILENO, ASK_AGAIN "another program may use breakpoints\n");
}

/*
 * From 6.17 on DAMON_STAT looks which pages are used, by taking away what tells it: where the
 * processor leaves that bit to software, as 32-bit Arm does, the next access is a page fault.
 */
static const char *who_takes_pages(void)
{
	FILE *enabled = fopen("/sys/module/damon_stat/parameters/enabled", "re");
	const int answer = enabled ? fgetc(enabled) : errno == EACCES ? 'Y' : 'N';

	if (enabled)
		(void)fclose(enabled);
	return answer != 'Y' ? "" :
		" (by DAMON_STAT? damon_stat.enabled=N at boot switches it off)";
}

struct finding doubted(const struct finding *finding)
{
	struct finding ret = *finding;
	const unsigned int faults = finding->verdict == BROKEN ? uncaused_faults() : 0;

	if (faults)
		finding_set(&ret, UNKNOWN, "%u page faults came that nobody had caused%s: %.300s",
			    faults, who_takes_pages(), finding->reason);
	else if (finding->verdict == BROKEN)
		doubt_breakpoints();
	return ret;
}

noreturn void say(const struct finding *finding)
{
	const struct finding said = doubted(finding);

	/* Of points alone: facts that are no are many, and asked again they cost time. */
	if (said.verdict == NO)
		doubt_breakpoints();
	if (in_test_thread())
		test_end(&said);
	dprintf(STDERR_FILENO, "# a verdict that is not said by a test's own thread: %s: %s\n",
		verdict_word(finding->verdict), finding->reason);
	abort();
}

static noreturn void say_list(enum verdict verdict, const char *format, va_list arguments)
{
	struct finding finding = { .verdict = verdict };

	vsnprintf(finding.reason, sizeof(finding.reason), format, arguments);
	say(&finding);
}

#define SAY(verdict, format)                                                                   \
	do {                                                                                   \
		va_list arguments;                                                             \
		va_start(arguments, format);                                                   \
		say_list(verdict, format, arguments);                                          \
	} while (0)

void say_no(const char *format, ...)
{
	SAY(NO, format);
}

void say_blocked(const char *format, ...)
{
	SAY(BLOCKED, format);
}

void say_absent(const char *format, ...)
{
	SAY(ABSENT, format);
}

void say_broken(const char *format, ...)
{
	SAY(BROKEN, format);
}

void say_unknown(const char *format, ...)
{
	SAY(UNKNOWN, format);
}

void require(unsigned int what)
{
	struct finding finding;

	if (!has_all(what, &finding))
		say(&finding);
}
