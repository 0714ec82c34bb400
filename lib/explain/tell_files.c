/* SPDX-License-Identifier: MIT */
/* Of a program that asked nothing: the files that it did not get. And the form of a remark. */
#include <stdarg.h>
#include <string.h>

#include "../doctor/flow.h"
#include "../policy/diagnosis/refusal.h"
#include "shape.h"
#include "tell.h"

#define INDENT 9

void note(const char *format, ...)
{
	struct flow flow;
	char text[700];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	flow_begin(&flow, "note", INDENT);
	flow_put(&flow, "%s", text);
	flow_end(&flow);
}

static bool is_missing_in(const char *folder)
{
	for (size_t i = 0; i < files.count; i++)
		if (strncmp(files.missing[i].path, folder, strlen(folder)) == 0)
			return true;
	return false;
}

/* Below /lib/modules programs look for modules, too. */
static bool are_headers_missing(void)
{
	for (size_t i = 0; i < files.count; i++)
		if (strstr(files.missing[i].path, "lib/modules/") != NULL &&
		    (strstr(files.missing[i].path, "/build") != NULL ||
		     strstr(files.missing[i].path, "/source") != NULL))
			return true;
	return is_missing_in("/sys/kernel/kheaders");
}

/* From tracefs come the numbers of tracepoints; who has them is refused by the level then. */
static void say_level_behind(void)
{
	struct flow flow;
	struct pm_env env;

	if (pm_env_read(&env) < 0 || env.paranoid <= -1 || pm_env_has_cap(&env, PM_CAP_PERFMON) ||
	    pm_env_has_cap(&env, PM_CAP_SYS_ADMIN))
		return;
	flow_begin(&flow, "  behind", INDENT);
	flow_put(&flow, "when they are readable, kernel.perf_event_paranoid=%d still refuses "
		 "whoever has no CAP_PERFMON: %s%sthe data of tracepoints (PERF_SAMPLE_RAW) "
		 "take -1", env.paranoid,
		 env.paranoid > 1 ? "tracepoints of the kernel take 1 or less, " : "",
		 env.paranoid > 0 ? "those of all that runs on a CPU 0 or less, " : "");
	flow_end(&flow);
}

static void say_tracefs(const char *when)
{
	struct pm_refusal refusal = { .cause = PM_CAUSE_NONE };
	char root[128];
	const int err = pm_tracefs_root(root, sizeof(root));

	if (err >= 0)
		return;
	pm_refusal_of_tracefs(-err, &refusal);
	note("%s: %s", when, refusal.gate);
	say_level_behind();
	flow_changes("  change", refusal.change, INDENT);
}

/* What a file that was not to be had would take, where that can be told. */
static void say_what_is_closed(void)
{
	char pmu[64];

	if (is_missing_in("/sys/kernel/"))
		say_tracefs("for tracepoints");
	if (pm_pmu_core(pmu, sizeof(pmu)) < 0 && (is_missing_in("/sys/bus/event_source/") ||
						  is_missing_in("/sys/devices/")))
		note("for events of the CPU: its PMU is not in /sys/bus/event_source/devices, and "
		     "without it there are none");
	if (is_missing_in("/dev/cpu/") || is_missing_in("/dev/msr"))
		note("for registers of the CPU (MSR), which are no perf events: modprobe msr, as "
		     "root, where the machine has them");
	if (are_headers_missing())
		note("what builds programs of BPF needs the headers of the running kernel, as in "
		     "the package linux-headers");
}

/* Programs look at files before they ask, and give up where those are closed or not there. */
void tell_files(bool is_explained)
{
	struct flow flow;

	if (is_explained) {
		say_what_is_closed();
		return;
	}
	if (files.looked == 0) {
		note("it looked for no file of PMUs, tracepoints or the CPU's registers either, as "
		     "programs do before they ask: it wants no perf events, has a service ask "
		     "for them (as over D-Bus), or gave up for what it says itself");
		return;
	}
	if (files.count == 0) {
		note("the files of PMUs and tracing that it looked for were there: it wants no "
		     "perf events, has a service ask for them (as over D-Bus), or gave up for "
		     "what it says itself");
		say_tracefs("where it wants tracepoints");
		return;
	}
	flow_begin(&flow, "note", INDENT);
	flow_put(&flow, "it may have given up for a file that it did not get, or for what it says "
		 "itself, as that it wants to be root; the last of these files");
	for (size_t i = 0; i < files.count; i++)
		flow_put(&flow, "%s %s (%s)", i ? "," : ":", files.missing[i].path,
			 pm_errno_name(files.missing[i].error));
	flow_end(&flow);
	say_what_is_closed();
}
