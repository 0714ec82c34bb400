/* SPDX-License-Identifier: MIT */
/* See gate_advice.h. */
#include "gate_advice.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Where nothing is known of the place, it is a machine of the caller's own. */
static const struct pm_place *place_of(const struct pm_refused *refused)
{
	static const struct pm_place own = {
		.caps_bounding = UINT64_MAX, .memlock_hard = UINT64_MAX, .nofile_hard = UINT64_MAX,
		.file_max = -1,
	};

	return refused->place != NULL ? refused->place : &own;
}

void pm_advise(struct pm_gate_words *ret, const char *format, ...)
{
	size_t used = strlen(ret->change);
	va_list list;

	if (used > 0 && used < sizeof(ret->change) - 3)
		used += (size_t)sprintf(ret->change + used, "; ");
	va_start(list, format);
	vsnprintf(ret->change + used, sizeof(ret->change) - used, format, list);
	va_end(list);
}

/* ------------------------------------------------------------------------------- capabilities */

/* BPF programs on events take two, which are given together. */
static uint64_t bits_of(enum pm_cap cap)
{
	const uint64_t bit = (uint64_t)1 << cap;

	return cap == PM_CAP_BPF ? bit | (uint64_t)1 << PM_CAP_PERFMON : bit;
}

struct names {
	char text[64];
};

/* "CAP_BPF CAP_PERFMON", with `before` each name and `between` them. */
static struct names names_of(enum pm_cap cap, bool upper, const char *before, const char *between)
{
	static const struct { enum pm_cap cap; const char *upper, *lower; } known[] = {
		{ PM_CAP_IPC_LOCK, "IPC_LOCK", "ipc_lock" },
		{ PM_CAP_SYS_ADMIN, "SYS_ADMIN", "sys_admin" },
		{ PM_CAP_BPF, "BPF", "bpf" },
		{ PM_CAP_PERFMON, "PERFMON", "perfmon" },
	};
	struct names ret = { "" };
	size_t used = 0;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (bits_of(cap) >> known[i].cap & 1)
			used += (size_t)snprintf(ret.text + used, sizeof(ret.text) - used, "%s%s%s",
						 used ? between : "", before,
						 upper ? known[i].upper : known[i].lower);
	return ret;
}

#define FLAGS(cap) names_of(cap, true, "--cap-add ", " ").text
#define LIST(cap) names_of(cap, true, "", ", ").text
#define UPPER(cap, between) names_of(cap, true, "CAP_", between).text
#define LOWER(cap) names_of(cap, false, "cap_", ",").text
#define ADDED(cap) names_of(cap, false, "+", ",").text

static bool has_all(uint64_t set, enum pm_cap cap)
{
	return (set & bits_of(cap)) == bits_of(cap);
}

/* Root who may not administer is one of a container, told or not. */
static bool is_guest(const struct pm_refused *refused)
{
	const struct pm_place *place = place_of(refused);

	return place->container != PM_NO_CONTAINER || place->user_namespace ||
		(place->unit[0] == '\0' && refused->env->euid == 0 &&
		 !pm_env_has_cap(refused->env, PM_CAP_SYS_ADMIN));
}

/* How whoever starts the container gives it a capability. */
static void advise_start(enum pm_container container, enum pm_cap cap, const char *more,
			 struct pm_gate_words *ret)
{
	const char *and = more[0] != '\0' ? ", and " : "";

	switch (container) {
	case PM_DOCKER:
		pm_advise(ret, "docker run %s%s%s", FLAGS(cap), and, more);
		break;
	case PM_PODMAN:
		pm_advise(ret, "podman run %s%s%s", FLAGS(cap), and, more);
		break;
	case PM_KUBERNETES:
		pm_advise(ret, "in the pod's container: securityContext: {capabilities: {add: "
			  "[%s]}}%s%s", LIST(cap), and, more);
		break;
	case PM_NSPAWN:
		pm_advise(ret, "systemd-nspawn --capability=%s%s%s", UPPER(cap, ","), and,
			  more);
		break;
	case PM_LXC:
		pm_advise(ret, "take %s out of lxc.cap.drop in the container's configuration%s%s",
			  names_of(cap, false, "", " and ").text, and, more);
		break;
	default:
		pm_advise(ret, "start the container with %s (%s)%s%s", UPPER(cap, " and "),
			  FLAGS(cap), and, more);
	}
}

static void advise_in_container(const struct pm_refused *refused, enum pm_cap cap,
				struct pm_gate_words *ret)
{
	const struct pm_place *place = place_of(refused);
	char more[160] = "";

	/* Engines give capabilities to uid 0 of the container; others get them from a file. */
	if (refused->env->euid != 0 && refused->env->no_new_privs)
		PM_SAY(more, "uid 0 for the program inside, as no_new_privs makes setcap "
		       "ineffective");
	else if (refused->env->euid != 0)
		PM_SAY(more, "in its image setcap %s=ep PROGRAM, or uid 0 for the program",
		       LOWER(cap));
	if (!has_all(place->caps_bounding, cap) || refused->env->euid == 0)
		advise_start(place->container, cap, more, ret);
	else
		pm_advise(ret, "the container has %s, its uid %u has not: %s", UPPER(cap, " and "),
			  refused->env->euid, more);
}

/* On a machine, or in a unit of its systemd. */
static void advise_on_machine(const struct pm_refused *refused, enum pm_cap cap,
			      struct pm_gate_words *ret)
{
	const struct pm_place *place = place_of(refused);
	const bool bounded = !has_all(place->caps_bounding, cap);

	if (place->unit[0] != '\0')
		pm_advise(ret, "systemctl edit %s: [Service] AmbientCapabilities=%s%s%s",
			  place->unit, UPPER(cap, " "), bounded ? " CapabilityBoundingSet=" : "",
			  bounded ? UPPER(cap, " ") : "");
	else if (bounded)
		pm_advise(ret, "start the program from another session: %s was dropped here for "
			  "good (the bounding set lacks it)", UPPER(cap, " or "));
	else if (refused->env->no_new_privs)
		pm_advise(ret, "no_new_privs makes setcap ineffective here, so start it as root "
			  "with an ambient capability: setpriv --reuid=USER --regid=GROUP "
			  "--init-groups --inh-caps=%s --ambient-caps=%s PROGRAM",
			  ADDED(cap), ADDED(cap));
	else
		pm_advise(ret, "for one program, as root: setcap %s=ep PROGRAM", LOWER(cap));
}

void pm_advise_capability(const struct pm_refused *refused, enum pm_cap cap,
			  struct pm_gate_words *ret)
{
	const struct pm_place *place = place_of(refused);

	if (place->user_namespace)
		pm_advise(ret, "capabilities of this user namespace do not count, so start the "
			  "program outside of it: in a container of root's, not a rootless one%s; "
			  "without unshare -U or a sandbox", place->container == PM_LXC ?
			  " (Incus, LXD: security.privileged=true)" : "");
	else if (has_all(place->caps_permitted, cap) && !has_all(refused->env->caps_effective, cap))
		pm_advise(ret, "%s is permitted to this process and not in effect: have the "
			  "program raise it by capset(2), or setcap %s=ep PROGRAM",
			  UPPER(cap, " and "), LOWER(cap));
	else if (place->container != PM_NO_CONTAINER || is_guest(refused))
		advise_in_container(refused, cap, ret);
	else
		advise_on_machine(refused, cap, ret);
}

/* --------------------------------------------------------------------------------- the machine */

void pm_advise_sysctl(const struct pm_refused *refused, const char *name, long long value,
		      struct pm_gate_words *ret)
{
	if (is_guest(refused))
		pm_advise(ret, "only the owner of the host can change it for all its users: sysctl "
			  "-w %s=%lld there", name, value);
	else
		pm_advise(ret, "for all users of this machine, as root: sysctl -w %s=%lld until "
			  "the next boot, and the line %s=%lld in /etc/sysctl.d/perf.conf for "
			  "later ones",
			  name, value, name, value);
}

void pm_advise_hard_limit(const struct pm_refused *refused, const char *limit,
			  unsigned long long value, struct pm_gate_words *ret)
{
	const struct pm_place *place = place_of(refused);
	const bool memory = strcmp(limit, "memlock") == 0;
	const unsigned long long bytes = memory ? value * 1024 : value;

	if (place->container == PM_DOCKER || place->container == PM_PODMAN)
		pm_advise(ret, "%s run --ulimit %s=%llu:%llu", place->container == PM_DOCKER ?
			  "docker" : "podman", limit, bytes, bytes);
	else if (place->container != PM_NO_CONTAINER)
		pm_advise(ret, "have the container started with a hard limit %s=%llu", limit,
			  bytes);
	else if (place->unit[0] != '\0')
		pm_advise(ret, "systemctl edit %s: [Service] Limit%s=%llu", place->unit,
			  memory ? "MEMLOCK" : "NOFILE", bytes);
	else
		pm_advise(ret, "the hard limit is for root alone to raise: prlimit --pid PID "
			  "--%s=%llu:%llu for a running shell, or the line \"USER - %s %llu\" in "
			  "/etc/security/limits.conf for new logins", limit, bytes, bytes, limit,
			  value);
}

#define TRACEFS "/sys/kernel/tracing"

bool pm_advise_tracefs(const struct pm_refused *refused, bool mounted, struct pm_gate_words *ret)
{
	const struct pm_place *place = place_of(refused);

	if (!is_guest(refused))
		return false;
	if (mounted) {
		pm_advise(ret, "only root of the host can open its files: mount -o remount,"
			  "gid=GROUP,mode=750 " TRACEFS " there");
		return true;
	}
	switch (place->container) {
	case PM_DOCKER:
	case PM_PODMAN:
		pm_advise(ret, "%s run -v " TRACEFS ":" TRACEFS ":ro", place->container ==
			  PM_DOCKER ? "docker" : "podman");
		break;
	case PM_KUBERNETES:
		pm_advise(ret, "in the pod: volumes: [{name: tracefs, hostPath: {path: " TRACEFS
			  "}}], and in its container: volumeMounts: [{name: tracefs, mountPath: "
			  TRACEFS ", readOnly: true}]");
		break;
	case PM_NSPAWN:
		pm_advise(ret, "systemd-nspawn --bind-ro=" TRACEFS);
		break;
	case PM_LXC:
		pm_advise(ret, "in the container's configuration: lxc.mount.entry = " TRACEFS
			  " sys/kernel/tracing none bind,ro 0 0");
		break;
	default:
		pm_advise(ret, "have the container started with " TRACEFS " of the host in it");
	}
	return true;
}

/* --------------------------------------------------------------------------------- filters */

#define PROFILE "--security-opt seccomp=PROFILE.json, a profile that allows perf_event_open"

/*
 * Whether the call takes the capability, too, as far as the level's file tells. Else to let it pass
 * is the least that helps.
 */
static bool takes_capability(const struct pm_refused *refused)
{
	const struct pm_place *place = place_of(refused);
	/* Engines let the call through for a container that was given the capability. */
	const bool given = place->container != PM_NO_CONTAINER ?
		place->caps_bounding >> PM_CAP_PERFMON & 1 :
		pm_env_has_cap(refused->env, PM_CAP_PERFMON);

	return !given && refused->attr != NULL && refused->env->paranoid_present &&
		refused->env->paranoid > pm_level_needed(refused);
}

void pm_advise_filter(const struct pm_refused *refused, struct pm_gate_words *ret)
{
	const struct pm_place *place = place_of(refused);
	const bool more = takes_capability(refused);

	/* Containers do not inherit the environment by which a snap is known. */
	if (place->snap[0] != '\0') {
		pm_advise(ret, "snap connect %s:system-trace, which lets perf_event_open pass, if "
			  "the snap has that plug; else install the program in another way",
			  place->snap);
		return;
	}
	switch (place->container) {
	case PM_DOCKER:
		if (more)
			pm_advise(ret, "docker run --cap-add PERFMON, for which Docker's own "
				  "filter lets the call pass; before Docker 23.0 with " PROFILE);
		else
			pm_advise(ret, "docker run " PROFILE);
		return;
	case PM_PODMAN:
		pm_advise(ret, "podman run%s " PROFILE, more ? " --cap-add PERFMON" : "");
		return;
	case PM_KUBERNETES:
		pm_advise(ret, "in the pod's container: securityContext: {%sseccompProfile: {type: "
			  "Localhost, localhostProfile: PROFILE.json}}, a profile that allows "
			  "perf_event_open", more ? "capabilities: {add: [PERFMON]}, " : "");
		return;
	case PM_NSPAWN:
		pm_advise(ret, "systemd-nspawn --system-call-filter=perf_event_open");
		return;
	case PM_LXC:
		pm_advise(ret, "take perf_event_open out of the file that lxc.seccomp.profile "
			  "names (Incus, LXD: security.syscalls.deny)");
		return;
	default:
		break;
	}
	if (place->unit[0] != '\0')
		pm_advise(ret, "systemctl edit %s: [Service] SystemCallFilter=perf_event_open",
			  place->unit);
	else
		pm_advise(ret, "allow perf_event_open in the filter, which who started the program "
			  "has set: for Docker %s--security-opt seccomp=PROFILE.json, for systemd "
			  "SystemCallFilter=perf_event_open", more ? "--cap-add PERFMON or " : "");
}
