/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Facts, the one errno classifier, and requirements. See verdict.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/gate.h"
#include "attrs.h"
#include "finding.h"
#include "internal.h"
#include "say.h"
#include "task.h"
#include "verdict.h"
#include "workload.h"

/* ------------------------------------------------------------------------------------ facts */

/* One write(2) a line, so that lines of threads and children never mix. */
static void put_line(const char *name, const char *value)
{
	char line[1024];
	int length = snprintf(line, sizeof(line), "#:perfmodes: %s=%s", name, value);
	ssize_t written;

	if (length > (int)sizeof(line) - 2)
		length = sizeof(line) - 2;
	for (int i = 0; i < length; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = ' ';
	line[length++] = '\n';
	written = write(STDOUT_FILENO, line, length);
	(void)written;
}

void fact_int(const char *name, int64_t value)
{
	fact_str(name, "%" PRId64, value);
}

void fact_bool(const char *name, bool value)
{
	put_line(name, value ? "true" : "false");
}

void fact_str(const char *name, const char *format, ...)
{
	char value[768];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(value, sizeof(value), format, arguments);
	va_end(arguments);
	put_line(name, value);
}

void fact_verdict(const char *name, enum verdict verdict, const char *reason)
{
	struct finding given, said;

	finding_set(&given, verdict, "%s", reason ? reason : "");
	said = doubted(&given);
	if (said.reason[0])
		fact_str(name, "%s: %s", verdict_word(said.verdict), said.reason);
	else
		put_line(name, verdict_word(said.verdict));
}

void probe_evidence(const char *text)
{
	put_line("observed", text);
}

const char *verdict_word(enum verdict verdict)
{
	static const char *const words[] = {
#define PM_VERDICT(name, number, word, ...) [name] = word,
#include "../../lib/perfmodes_verdicts.def"
	};

	return words[verdict];
}

void finding_set(struct finding *ret, enum verdict verdict, const char *format, ...)
{
	va_list arguments;

	ret->verdict = verdict;
	va_start(arguments, format);
	vsnprintf(ret->reason, sizeof(ret->reason), format, arguments);
	va_end(arguments);
}

/* ------------------------------------------------------------------------------ classifying */

const struct pm_env *probe_env(void)
{
	static struct pm_env env;
	static bool filled;

	if (!filled) {
		pm_env_read(&env);
		filled = true;
	}
	return &env;
}

static bool may_perfmon(void)
{
	return pm_env_has_cap(probe_env(), PM_CAP_PERFMON) ||
	       pm_env_has_cap(probe_env(), PM_CAP_SYS_ADMIN);
}

/* Where one on both opens, a breakpoint on reads or on writes alone is not to be had: ARMv7's debug
 * unit does not report which of the two it was. */
static bool lacks_single_access(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	struct perf_event_attr both;
	int fd;

	if (!attr || attr->type != PERF_TYPE_BREAKPOINT ||
	    (attr->bp_type != HW_BREAKPOINT_R && attr->bp_type != HW_BREAKPOINT_W))
		return false;
	both = *attr;
	both.bp_type = HW_BREAKPOINT_RW;
	fd = pm_open(&both, pid, cpu, -1, 0);
	return fd >= 0 && !close(fd);
}

/* What the library's table of gates says about a refused call. */
static void explain(const struct pm_refused *refused, struct finding *ret)
{
	static const enum verdict verdicts[] = {
		/* lint: allow second-list: the outcomes of a gate, however many verdicts */
		[PM_GATE_BLOCKED] = BLOCKED, [PM_GATE_ABSENT] = ABSENT, [PM_GATE_UNTOLD] = UNKNOWN,
	};
	struct pm_gate_words words;
	const struct pm_gate *gate = pm_gate_find(refused, &words);

	finding_set(ret, verdicts[gate->verdict], "%s", words.brief);
}

/* The system call itself is out of reach: not built in, or filtered before perf sees it. */
static bool explain_gate(struct finding *ret)
{
	struct pm_refused refused = { .call = PM_CALL_OPEN, .error = ENOSYS, .env = probe_env() };

	refused.perf = pm_perf_ask(probe_env(), &refused.perf_errno);
	if (refused.perf == PM_PERF_ANSWERS)
		return false;
	explain(&refused, ret);
	return true;
}

/* Which gate refused an open, where perf itself has answered. */
static void explain_open(int error, const struct perf_event_attr *attr, pid_t pid, int cpu,
			 struct finding *ret)
{
	const struct pm_env *env = probe_env();
	const struct pm_refused refused = {
		.call = PM_CALL_OPEN, .error = error, .env = env, .attr = attr, .cpu = cpu,
		.reach = pm_reach_of(attr, pid), .privileged = may_perfmon(),
		.level = env->paranoid_present ? env->paranoid : INT_MIN,
		.needs_both_accesses = error == EINVAL && lacks_single_access(attr, pid, cpu),
	};

	explain(&refused, ret);
}

/*
 * What an errno means when the call was not the question. EINVAL never ends as a NO here: a
 * set-up that the kernel refuses tells nothing about what was to be asked.
 */
void classify_setup(int error, const struct perf_event_attr *attr, pid_t pid, int cpu,
		    struct finding *ret)
{
	if (!explain_pmu(error, attr, pid, cpu, ret) && !explain_gate(ret))
		explain_open(error, attr, pid, cpu, ret);
}

void classify_map(int error, size_t pages, struct finding *ret)
{
	const struct pm_refused refused = {
		.call = PM_CALL_MAP, .error = error, .env = probe_env(),
	};
	struct finding finding;

	explain(&refused, &finding);
	finding_set(ret, finding.verdict, "mmap of %zu pages: %.340s", pages, finding.reason);
}

void classify_call(int error, const char *call, struct finding *ret)
{
	struct pm_refused refused = {
		.call = PM_CALL_OTHER, .name = call, .error = error, .env = probe_env(),
	};

	if (error == ENOSYS)
		refused.enosys = pm_enosys_ask(probe_env(), call);
	explain(&refused, ret);
}

long must_call(long answer, const char *call)
{
	struct finding finding;

	if (answer >= 0)
		return answer;
	classify_call(errno, call, &finding);
	say(&finding);
}

/* A lower frequency is accepted: the kernel has lowered its limit, as samples took long. */
static bool is_too_often(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	struct perf_event_attr seldom;
	int fd;

	if (!attr || !attr->freq || attr->sample_freq <= 1)
		return false;
	seldom = *attr;
	seldom.sample_freq = 1;
	fd = pm_open(&seldom, pid, cpu, -1, 0);
	return fd >= 0 && !close(fd);
}

/*
 * What an errno means when the call with `what` failed and its twin without succeeded.
 *   EINVAL, E2BIG        the kernel does not know it: conclusive, but for a frequency where a
 *                        lower one opens
 *   ENOSYS               the architecture or configuration lacks it: conclusive
 *   ENOTTY               unknown ioctl: conclusive
 *   EOPNOTSUPP           known to the kernel, but not to this event's PMU
 *   ENOENT ENODEV ENXIO  the event or device is not there; of software events the kernel has all
 *                        it knows, so ENOENT is conclusive for them
 *   EACCES EPERM         policy
 *   the rest             resources or races: nothing learned
 */
void classify_asked(int error, const char *what, const struct perf_event_attr *attr, pid_t pid,
		    int cpu, struct finding *ret)
{
	if (error == ENOENT && attr && attr->type == PERF_TYPE_SOFTWARE) {
		finding_set(ret, NO, "ENOENT: this kernel has no %s, others work", what);
		return;
	}
	if (error == EINVAL && is_too_often(attr, pid, cpu)) {
		finding_set(ret, UNKNOWN, "EINVAL with %s of %" PRIu64 " Hz, ok with 1: the kernel "
			    "allows fewer samples a second now", what, attr->sample_freq);
		return;
	}
	switch (error) {
	case EINVAL:
	case E2BIG:
	case ENOSYS:
	case ENOTTY:
		finding_set(ret, NO, "%s with %s, ok without", pm_errno_name(error), what);
		return;
	case EOPNOTSUPP:
	case ENOENT:
	case ENODEV:
	case ENXIO:
		finding_set(ret, ABSENT, "no PMU here offers %s (%s with it, ok without)", what,
			    pm_errno_name(error));
		return;
	case EACCES:
	case EPERM:
		explain_open(error, attr, pid, cpu, ret);
		return;
	default:
		finding_set(ret, UNKNOWN, "%s with %s, ok without", pm_errno_name(error), what);
	}
}

/*
 * Whether EPERM can only be the driver's own word: no policy refuses an event of a PMU, of the same
 * kind as one that opened, to who holds every capability, where neither filter nor lockdown is.
 */
static bool is_drivers_own(int error, const struct perf_event_attr *attr)
{
	const struct pm_env *env = probe_env();
	const bool free = !env->lockdown[0] || !strcmp(env->lockdown, "none");

	return error == EPERM && env->seccomp_mode == 0 && free && is_of_pmu(attr) &&
	       !(attr->sample_type & PERF_SAMPLE_REGS_INTR) &&
	       pm_env_has_cap(env, PM_CAP_PERFMON) && pm_env_has_cap(env, PM_CAP_SYS_ADMIN);
}

void judge_pair(const struct perf_event_attr *with, const struct perf_event_attr *without,
		pid_t pid, int cpu, const char *what, struct finding *ret)
{
	int asked = pm_open(with, pid, cpu, -1, 0);
	int control = pm_open(without, pid, cpu, -1, 0);

	if (asked >= 0)
		finding_set(ret, YES, "%s", "");
	else if (control < 0)
		classify_setup(-control, without, pid, cpu, ret);
	else if (is_drivers_own(-asked, with))
		finding_set(ret, NO, "EPERM with %s, ok without, and every capability is held",
			    what);
	else
		classify_asked(-asked, what, with, pid, cpu, ret);
	if (asked >= 0)
		close(asked);
	if (control >= 0)
		close(control);
}

void judge_refused(int got, int want, enum verdict accepted, const char *what, struct finding *ret)
{
	if (got == -want) {
		finding_set(ret, YES, "%s", "");
	} else if (got >= 0) {
		finding_set(ret, accepted, "%s: accepted, not %s", what, pm_errno_name(want));
	} else if (got == -EACCES || got == -EPERM) {
		if (!explain_gate(ret))
			explain_open(-got, NULL, 0, -1, ret);
	} else if (got == -EMFILE || got == -ENFILE || got == -ENOMEM || got == -EINTR ||
		   got == -EAGAIN || got == -EBUSY || got == -ENOSPC) {
		classify_setup(-got, NULL, 0, -1, ret);
	} else {
		finding_set(ret, BROKEN, "%s: errno=%s want=%s", what, pm_errno_name(got),
			    pm_errno_name(want));
	}
	if (got > STDERR_FILENO)	/* an open was accepted; an ioctl's 0 is no descriptor */
		close(got);
}

void judge_pair_machine(const struct perf_event_attr *with, const struct perf_event_attr *without,
			const char *what, struct finding *ret)
{
	judge_pair(with, without, 0, -1, what, ret);
	if (ret->verdict == NO)
		ret->verdict = ABSENT;
}

/* ----------------------------------------------------------------------------- requirements */

/* Add one missing thing to the list; "absent" outweighs "blocked" as the verdict of all. */
static void missing(struct finding *ret, enum verdict verdict, const char *text)
{
	size_t used = strlen(ret->reason);

	if (ret->verdict != ABSENT)
		ret->verdict = verdict;
	snprintf(ret->reason + used, sizeof(ret->reason) - used, "%s%s", used ? "; " : "", text);
}

static void check_tracefs(struct finding *ret)
{
	char root[128];
	const int error = pm_tracefs_root(root, sizeof(root));
	const struct pm_refused refused = {
		.call = PM_CALL_TRACEFS, .error = -error, .env = probe_env(),
	};
	struct finding finding;

	if (!error)
		return;
	explain(&refused, &finding);
	missing(ret, finding.verdict, finding.reason);
}

bool has_all(unsigned int what, struct finding *ret)
{
	char name[64];
	struct finding gate;

	memset(ret, 0, sizeof(*ret));
	if ((what & REQUIRE_PERF) && explain_gate(&gate))
		missing(ret, gate.verdict, gate.reason);
	if ((what & REQUIRE_CPU2) && count_cpus() < 2)
		missing(ret, ABSENT, "needs two CPUs this task may run on");
	if (what & REQUIRE_TRACEFS)
		check_tracefs(ret);
	if ((what & REQUIRE_PERFMON) && !may_perfmon())
		missing(ret, BLOCKED, "needs CAP_PERFMON (or CAP_SYS_ADMIN)");
	if ((what & REQUIRE_ROOT) &&
	    (probe_env()->euid != 0 || !pm_env_has_cap(probe_env(), PM_CAP_SYS_ADMIN)))
		missing(ret, BLOCKED, "needs root");
	if ((what & REQUIRE_CPU_PMU) && pm_pmu_core(name, sizeof(name)) < 0)
		missing(ret, ABSENT, "no hardware PMU of the CPU");
	if ((what & REQUIRE_BREAKPOINT) && pm_pmu_type("breakpoint") < 0)
		missing(ret, ABSENT, "no breakpoint PMU");
	return !ret->reason[0];
}

/* The value of a key in a declaration, or NULL. */
static const char *declared(const char *declaration, size_t size, const char *key)
{
	size_t length = strlen(key);

	for (size_t at = 0; at < size; at += strlen(declaration + at) + 1)
		if (!strncmp(declaration + at, key, length) && declaration[at + length] == '=')
			return declaration + at + length + 1;
	return NULL;
}

/* Is the probe to be skipped? PERFMODES_SKIP has lines ID=REASON (run.sh --skip). */
static bool skipped(const char *id, struct finding *ret)
{
	const char *line = getenv("PERFMODES_SKIP");
	const size_t length = strlen(id);

	while (line && *line) {
		const size_t end = strcspn(line, "\n");

		if (!strncmp(line, id, length) && line[length] == '=') {
			finding_set(ret, UNKNOWN, "not asked here: %.*s", (int)(end - length - 1),
				    line + length + 1);
			return true;
		}
		line += end + (line[end] == '\n');
	}
	return false;
}

bool probe_allowed(const char *declaration, size_t size, struct finding *ret)
{
	const char *hazard = declared(declaration, size, "hazard");
	const char *disturbs = declared(declaration, size, "disturbs");

	if (skipped(declared(declaration, size, "id"), ret))
		return false;
	if (hazard && !getenv("PERFMODES_HAZARDS")) {
		finding_set(ret, HAZARD, "%s; runs only with --hazards", hazard);
		return false;
	}
	if (disturbs && !getenv("PERFMODES_MAY_DISTURB")) {
		finding_set(ret, BLOCKED, "would disturb %s; runs only with --may-disturb",
			    disturbs);
		return false;
	}
	return true;
}

void probe_describe(const char *declaration, size_t size)
{
	for (size_t at = 0; at < size; at += strlen(declaration + at) + 1)
		if (declaration[at])
			puts(declaration + at);
}

