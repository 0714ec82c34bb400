/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The only header a probe includes.
 *
 * A probe is one file, probes/<area>/<name>.c, with the id <area>.<name>. It declares itself with
 * PROBE(), asks the kernel its question in kselftest tests (TEST, TEST_F) by doing the thing and
 * watching the effect, and speaks one verdict a test:
 *
 *   yes      the test returns
 *   no       say_no(), or ask_open() by itself: refused, proven by a pair of calls
 *   broken   broken(): accepted, but the effect is wrong; the text is the evidence
 *   blocked  say_blocked(), or must_open() by itself: policy is in the way
 *   absent   say_absent() or require(): not on this machine
 *   unknown  cannot_tell(), a failed ASSERT, a crash, a time-out
 *
 * Verdict words end the test at once, from the test or any function it calls, a fixture's set-up
 * included. They work in the test's own thread only: threads and children hand back values.
 * Neither they nor ASSERT_* belong into FIXTURE_TEARDOWN (the harness would run it for ever).
 */
#ifndef PROBE_H
#define PROBE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <linux/types.h>
#include <kselftest.h>

/*
 * The 6.1 generation prints a skipped test as "ok N # SKIP reason" and loses its name. This
 * prints the newer form; the harness itself stays as it is.
 */
#define ksft_test_result_skip(fmt, reason)                                                 \
	do {                                                                               \
		ksft_inc_xskip_cnt();                                                      \
		printf("ok %u %s%s%s.%s # SKIP %s\n", ksft_test_num(), f->name,            \
		       variant->name[0] ? "." : "", variant->name, t->name, reason);       \
	} while (0)
#include <kselftest_harness.h>

/* A test that waits longer than this has hung: the harness kills it, the verdict is unknown. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 10

#include "attrs.h"
#include "cgroup.h"
#include "privilege.h"
#include "ring.h"
#include "task.h"
#include "verdict.h"
#include "worker.h"
#include "workload.h"

/* --------------------------------------------------------------------------- declaration */

#ifndef PROBE_ID
#error "PROBE_ID comes from the file's path; build probes with the project's Makefile"
#endif

/*
 * PROBE(TITLE("...") SINCE("4.7") COMMIT("...") NEEDS(...) ... POINT(...) FACT(...) ...)
 * lays the declaration as NUL-separated key=value strings into the section .probeinfo, from where
 * the catalogue is read without running anything. TITLE, SINCE and one POINT are required.
 * SINCE, COMMIT and NEEDS right behind a POINT or FACT belong to that one alone.
 */
#define PROBE(...)                                                                             \
	static const char probe_declaration[]                                                  \
		__attribute__((section(".probeinfo"), used, aligned(1))) =                     \
			"id=" PROBE_ID "\0" __VA_ARGS__;

#define TITLE(text) "title=" text "\0"		/* a noun phrase */
#define QUESTION(text) "question=" text "\0"	/* one sentence, optional */
#define SINCE(version) "since=" version "\0"	/* first upstream release; dates, never decides */
#define COMMIT(hash) "commit=" hash "\0"	/* 12 hex digits of the Linux commit */
#define NEEDS(words) "needs=" words "\0"	/* pmu tracefs cpu2 aux arch:<name> root ... */
#define DISTURBS(what) "disturbs=" what "\0"	/* runs only with --may-disturb */
#define ALONE(why) "alone=" why "\0"		/* nothing else is probed beside it */
#define HAZARD(what) "hazard=" what "\0"	/* runs only with --hazards */
/* A test: its name without the fixture ("per_cpu.newest_first"), and what "yes" means. */
#define POINT(name, meaning) "point=" #name " " meaning "\0"
/* A value: its type is bool, int, string, enum or verdict; unit "-" when it has none. */
#define FACT(name, type, unit, meaning) "fact=" #name " " #type " " unit " " meaning "\0"

#define PROBE_MAIN                                                                             \
	static void __attribute__((constructor)) __constructor_order_last(void)                \
	{                                                                                      \
		if (!__constructor_order)                                                      \
			__constructor_order = _CONSTRUCTOR_ORDER_BACKWARD;                     \
	}                                                                                      \
	int main(int argc, char **argv)                                                        \
	{                                                                                      \
		return probe_main(argc, argv, probe_declaration, sizeof(probe_declaration));   \
	}

/* ------------------------------------------------------------------------------ verdicts */

#define say_no(...) probe_say(_metadata, NO, __VA_ARGS__)
#define say_blocked(...) probe_say(_metadata, BLOCKED, __VA_ARGS__)
#define say_absent(...) probe_say(_metadata, ABSENT, __VA_ARGS__)
#define broken(...) probe_say(_metadata, BROKEN, __VA_ARGS__)
#define cannot_tell(...) probe_say(_metadata, UNKNOWN, __VA_ARGS__)
#define speak(finding) probe_speak(_metadata, finding)

/* ---------------------------------------------------------------------------- requirements */

/* End the test as absent or blocked unless all is there; names everything that is missing. */
#define require(what)                                                                          \
	do {                                                                                   \
		struct finding require_finding;                                                \
		if (!probe_has(what, &require_finding))                                        \
			speak(&require_finding);                                               \
	} while (0)
/* --------------------------------------------------------------------------------- opening */

/* Open what the test needs but does not ask about. Ends the test when it cannot be had. */
#define must_open(attr, pid, cpu, group, flags)                                                \
	probe_must_open(_metadata, attr, pid, cpu, group, flags)
/* The plainest event opens, and is closed again: what is refused next is refused for its own sake.
 * Returns its attr, a disabled counter of user-mode page faults. */
#define must_plain() probe_must_plain(_metadata)
/* Open what the test asks about: on refusal, `without` decides between no, blocked and absent. */
#define ask_open(with, without, pid, cpu, what)                                                \
	probe_ask_open(_metadata, with, without, pid, cpu, what)
/* The legal twin of a rule opens, as one more demand on a sampling of page faults. */
#define ask_legal(attr, what) probe_ask_legal(_metadata, attr, what)
/* End the test unless `got` keeps the rule "refused with `want`" (probe_rule()). */
#define hold_rule(got, want, accepted, what) probe_hold_rule(_metadata, got, want, accepted, what)
/* Two events of this task that can be had each, as a group: broken if the second may not join.
 * Then the leader is enabled; that starts both. */
#define must_pair(leader, sibling, fds) probe_must_pair(_metadata, leader, sibling, fds)
/* Map a ring the test needs. */
#define must_map(fd, pages, ring) probe_must_map(_metadata, fd, pages, ring)
/* An ioctl the test needs. */
#define must_ioctl(fd, request, arg) probe_must_ioctl(_metadata, fd, request, arg)
/* An ioctl the test asks about: refused while RESET works on the same event, it is a "no". */
#define ask_ioctl(fd, request, arg, what) probe_ask_ioctl(_metadata, fd, request, arg, what)
/* A close that has happened: the number is free afterwards. */
#define must_close(fd) probe_must_close(_metadata, fd)
/* An attr for a tracepoint's user-mode hits; ends the test where its id cannot be had. */
#define must_tracepoint(system, event) probe_must_tracepoint(_metadata, system, event)
/* An attr for a PMU that has no number of its own; ends the test where sysfs does not have it. */
#define must_pmu(name) probe_must_pmu(_metadata, name)
/* Call a function for each PMU of sysfs, as pm_pmu_each() does. */
#define visit_pmus(each, context) probe_visit_pmus(_metadata, each, context)
/* That file of /proc/sys/kernel is there. Missing while others are to be seen it is a "no". */
#define ask_setting(path) probe_ask_setting(_metadata, path)
/* Put a value where sysfs says that a PMU's attr has it ("uprobe", "retprobe"). */
#define must_place(pmu, field, value, attr) probe_must_place(_metadata, pmu, field, value, attr)
/* An attr for a function of this very program, by file and offset. */
#define must_uprobe(function) probe_must_uprobe(_metadata, function)
/* Open that; ends the test as absent where no code can be probed in this program's file. */
#define open_uprobe(attr) probe_open_uprobe(_metadata, attr)
/* Move a breakpoint by MODIFY_ATTRIBUTES. */
#define must_modify(fd, attr) probe_must_modify(_metadata, fd, attr)
/* The answer to a task without privilege: 0 or -errno. Blocked where such have no events at all. */
#define ask_stranger(attr, pid, cpu) probe_ask_stranger(_metadata, attr, pid, cpu)
/* Where perf takes part in cgroups: the path of that root, found on a CPU (cgroup_root()). */
#define must_cgroup_root(cpu, path) probe_must_cgroup_root(_metadata, cpu, path, sizeof(path))

/* ---------------------------------------------------- what the macros above are made of */

static inline noreturn void probe_speak(struct __test_metadata *_metadata,
					const struct finding *finding)
{
	switch (finding->verdict) {
	case BROKEN:
		probe_evidence(finding->reason);
		_metadata->passed = 0;
		break;
	case UNKNOWN:
		TH_LOG("could not tell: %s", finding->reason);
		_metadata->passed = 0;
		break;
	default:
		SKIP(, "%s: %s", verdict_word(finding->verdict), finding->reason);
	}
	_metadata->setup_completed = false;	/* no teardown: the test's exit cleans up */
	longjmp(_metadata->env, 1);
}

static inline noreturn __attribute__((format(printf, 3, 4))) void
probe_say(struct __test_metadata *_metadata, enum verdict verdict, const char *format, ...)
{
	struct finding finding = { .verdict = verdict };
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(finding.reason, sizeof(finding.reason), format, arguments);
	va_end(arguments);
	probe_speak(_metadata, &finding);
}

static inline int probe_must_open(struct __test_metadata *_metadata,
				  const struct perf_event_attr *attr, pid_t pid, int cpu,
				  int group, unsigned long flags)
{
	struct finding finding;
	int fd = pm_open(attr, pid, cpu, group, flags);

	if (fd >= 0)
		return fd;
	classify_setup(-fd, attr, pid, cpu, &finding);
	probe_speak(_metadata, &finding);
}

static inline struct perf_event_attr probe_must_plain(struct __test_metadata *_metadata)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	close(probe_must_open(_metadata, &attr, 0, -1, -1, 0));
	return attr;
}

static inline int probe_ask_open(struct __test_metadata *_metadata,
				 const struct perf_event_attr *with,
				 const struct perf_event_attr *without, pid_t pid, int cpu,
				 const char *what)
{
	struct finding finding;
	int fd = pm_open(with, pid, cpu, -1, 0);

	if (fd >= 0)
		return fd;
	probe_pair(with, without, pid, cpu, what, &finding);
	if (finding.verdict == YES)
		cannot_tell("%s: refused once (%s), then accepted", what, errno_name(fd));
	probe_speak(_metadata, &finding);
}

static inline void probe_ask_legal(struct __test_metadata *_metadata,
				   const struct perf_event_attr *attr, const char *what)
{
	struct perf_event_attr plain = attr_faults(0);

	close(probe_ask_open(_metadata, attr, &plain, 0, -1, what));
}

static inline void probe_hold_rule(struct __test_metadata *_metadata, int got, int want,
				   enum verdict accepted, const char *what)
{
	struct finding finding;

	probe_rule(got, want, accepted, what, &finding);
	if (finding.verdict != YES)
		probe_speak(_metadata, &finding);
}

static inline void probe_must_map(struct __test_metadata *_metadata, int fd, size_t pages,
				  struct pm_ring *ring)
{
	int error = pm_ring_open(fd, pages, PROT_READ | PROT_WRITE, ring);

	if (error == -EPERM)
		say_blocked("mmap of %zu pages: EPERM (perf_event_mlock_kb=%" PRId64
			    " used up; RLIMIT_MEMLOCK %" PRIu64 " bytes)",
			    pages, probe_env()->mlock_kb, probe_env()->memlock_bytes);
	if (error)
		cannot_tell("mmap of %zu pages: %s", pages, errno_name(error));
}

static inline void probe_must_ioctl(struct __test_metadata *_metadata, int fd,
				    unsigned long request, unsigned long arg)
{
	int error = pm_ioctl(fd, request, arg);

	if (error < 0)
		cannot_tell("ioctl %#lx: %s", request, errno_name(error));
}

static inline void probe_must_pair(struct __test_metadata *_metadata,
				   const struct perf_event_attr *leader,
				   struct perf_event_attr sibling, int *fds)
{
	sibling.disabled = 0;
	close(probe_must_open(_metadata, &sibling, 0, -1, -1, 0));
	fds[0] = probe_must_open(_metadata, leader, 0, -1, -1, 0);
	fds[1] = pm_open(&sibling, 0, -1, fds[0], 0);
	if (fds[1] < 0)
		broken("type %u joins no leader of type %u: %s", sibling.type, leader->type,
		       errno_name(fds[1]));
	probe_must_ioctl(_metadata, fds[0], PERF_EVENT_IOC_ENABLE, 0);
}

static inline void probe_ask_ioctl(struct __test_metadata *_metadata, int fd,
				   unsigned long request, unsigned long arg, const char *what)
{
	struct finding finding;
	int error = pm_ioctl(fd, request, arg);

	if (error >= 0)
		return;
	probe_must_ioctl(_metadata, fd, PERF_EVENT_IOC_RESET, 0);
	classify_asked(-error, what, NULL, 0, -1, &finding);
	probe_speak(_metadata, &finding);
}

static inline void probe_must_close(struct __test_metadata *_metadata, int fd)
{
	if (close(fd) < 0 || fcntl(fd, F_GETFD) >= 0)
		cannot_tell("descriptor %d is still open after close", fd);
}

static inline struct perf_event_attr probe_must_tracepoint(struct __test_metadata *_metadata,
							     const char *system,
							     const char *event)
{
	int id = tracepoint_id(system, event);

	if (id < 0)
		require(REQUIRE_PERF | REQUIRE_TRACEFS);
	if (id == -EACCES)
		say_blocked("the id of %s:%s is not readable for this user", system, event);
	if (id < 0)
		say_absent("no tracepoint %s:%s (%s)", system, event, errno_name(id));
	return attr_of(PERF_TYPE_TRACEPOINT, id);
}

static inline struct perf_event_attr probe_must_pmu(struct __test_metadata *_metadata,
						    const char *name)
{
	int type = pm_pmu_type(name);

	require(REQUIRE_PERF);
	if (type < 0)
		say_absent("no %s PMU (%s)", name, errno_name(type));
	return attr_of(type, 0);
}

static inline void probe_visit_pmus(struct __test_metadata *_metadata,
				    int (*each)(const char *, void *), void *context)
{
	int error = pm_pmu_each(each, context);

	if (error == -ENOENT)
		say_absent("sysfs has no event_source bus");
	if (error < 0)
		say_blocked("sysfs event_source: %s", errno_name(error));
}

static inline void probe_ask_setting(struct __test_metadata *_metadata, const char *path)
{
	if (access(path, F_OK) == 0)
		return;
	if (errno == ENOENT && access("/proc/sys/kernel/ostype", F_OK) == 0)
		say_no("no %s, while other files of /proc/sys/kernel are there", path);
	say_blocked("%s is not to be seen here", path);
}

static inline void probe_must_place(struct __test_metadata *_metadata, const char *pmu,
				    const char *field, uint64_t value,
				    struct perf_event_attr *attr)
{
	char path[160], text[64];
	int error;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/format/%s", pmu, field);
	error = pm_read_text(path, text, sizeof(text));
	if (error == -ENOENT)
		say_no("sysfs has no format %s for %s", field, pmu);
	if (error < 0)
		say_blocked("format %s of %s: %s", field, pmu, errno_name(error));
	error = pm_pmu_place(text, value, attr);
	if (error < 0)
		broken("format %s of %s: \"%s\"", field, pmu, text);
}

static inline struct perf_event_attr probe_must_uprobe(struct __test_metadata *_metadata,
						       int (*function)(int))
{
	struct perf_event_attr attr = probe_must_pmu(_metadata, "uprobe");
	static char path[512];
	uintptr_t address = (uintptr_t)function;

#ifdef __arm__
	address &= ~1ul;
#endif
	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		cannot_tell("readlink: %s", errno_name(errno));
	attr.uprobe_path = (uintptr_t)path;
	attr.probe_offset = file_offset((const volatile void *)address);
	attr.exclude_kernel = attr.disabled = 0;
	if (!attr.probe_offset)
		cannot_tell("the function is not in a mapped file");
	return attr;
}

static inline int probe_open_uprobe(struct __test_metadata *_metadata,
				    const struct perf_event_attr *attr)
{
	int fd = pm_open(attr, 0, -1, -1, 0);

	if (fd == -EIO || fd == -ENOTSUP)
		say_absent("no uprobe can be placed in this program (%s)", errno_name(fd));
	return fd >= 0 ? fd : probe_must_open(_metadata, attr, 0, -1, -1, 0);
}

static inline void probe_must_cgroup_root(struct __test_metadata *_metadata, int cpu, char *path,
					  size_t size)
{
	const struct perf_event_attr attr = attr_counter(false);
	int error;

	close(probe_must_open(_metadata, &attr, -1, cpu, -1, 0));
	error = cgroup_root(cpu, path, size);
	if (error == -ENOENT)
		say_absent("no cgroup file system is mounted at a usual place");
	if (error == -ENODEV)
		say_absent("no cgroup here takes part in perf (CONFIG_CGROUP_PERF)");
	if (error)
		say_blocked("cgroup event: %s", errno_name(error));
}

static inline void probe_must_modify(struct __test_metadata *_metadata, int fd,
				     const struct perf_event_attr *attr)
{
	int error = modify_breakpoint(fd, attr);

	if (error == -ENOTTY)
		say_no("ENOTTY: no such ioctl; others work on the same descriptor");
	if (error < 0)
		broken("a legal change: errno=%s", errno_name(error));
}

static inline int probe_ask_stranger(struct __test_metadata *_metadata,
				     const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	int answer = open_as_stranger(attr, pid, cpu);

	require(REQUIRE_PERF);
	if (answer > 0)
		say_blocked("without privilege there are no events at all (perf_event_paranoid=%d)",
			    probe_env()->paranoid);
	return answer;
}

#include "counting.h"
#include "watch.h"
#include "sampling.h"

/* Answer every test of a probe that may not run here with one and the same verdict. */
static inline int probe_refuse_all(const struct finding *finding)
{
	struct __fixture_variant_metadata plain = { .name = "" }, *variant;
	struct __fixture_metadata *f;
	struct __test_metadata *t;
	unsigned int planned = 0;

	for (f = __fixture_list; f; f = f->next)
		for (variant = f->variant ?: &plain; variant; variant = variant->next)
			for (t = f->tests; t; t = t->next)
				planned++;
	ksft_print_header();
	ksft_set_plan(planned);
	for (f = __fixture_list; f; f = f->next)
		for (variant = f->variant ?: &plain; variant; variant = variant->next)
			for (t = f->tests; t; t = t->next) {
				char reason[sizeof(finding->reason) + 16];

				snprintf(reason, sizeof(reason), "%s: %s",
					 verdict_word(finding->verdict), finding->reason);
				ksft_test_result_skip("%s\n", reason);
			}
	return ksft_exit_pass();
}

static inline int probe_main(int argc, char **argv, const char *declaration, size_t size)
{
	struct finding finding;

	if (argc > 1 && !strcmp(argv[1], "--describe")) {
		probe_describe(declaration, size);
		fflush(stdout);
		_exit(0);
	}
	if (!probe_allowed(declaration, size, &finding))
		return probe_refuse_all(&finding);
	return test_harness_run(argc, argv);
}

#endif
