/* SPDX-License-Identifier: MIT */
/* Where a refused call was made, as far as advice depends on it. */
#define _GNU_SOURCE
#include "gate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static bool is_there(const char *path)
{
	char text[64];
	int err = pm_read_text(path, text, sizeof(text));

	return err >= 0 || err == -EFBIG || err == -EACCES;
}

/* What an engine calls itself, as systemd-detect-virt(1) has it. */
static enum pm_container container_named(const char *name)
{
	static const struct {
		const char *name;
		enum pm_container container;
	} known[] = {
		{ "systemd-nspawn", PM_NSPAWN }, { "podman", PM_PODMAN }, { "docker", PM_DOCKER },
		{ "lxc", PM_LXC }, { "lxc-libvirt", PM_LXC }, { "wsl", PM_NO_CONTAINER },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].name, name) == 0)
			return known[i].container;
	return PM_OTHER_CONTAINER;
}

/*
 * By the variables and files that container engines leave for what runs inside. A systemd inside,
 * which keeps the variable for itself, leaves a file.
 */
static enum pm_container find_sign(void)
{
	const char *named = getenv("container");
	char text[64];

	if (getenv("KUBERNETES_SERVICE_HOST") != NULL)
		return PM_KUBERNETES;
	if (named != NULL && named[0] != '\0')
		return container_named(named);
	if (pm_read_text("/run/systemd/container", text, sizeof(text)) > 0) {
		text[strcspn(text, "\n")] = '\0';
		return container_named(text);
	}
	return is_there("/run/.containerenv") ? PM_PODMAN : is_there("/.dockerenv") ? PM_DOCKER :
		PM_NO_CONTAINER;
}

/*
 * A container that may administer the machine is given advice as the machine is; so is a machine
 * whose files were unpacked from a container's image, with such signs among them.
 */
static enum pm_container find_container(const struct pm_place *place)
{
	return place->user_namespace || !(place->caps_bounding >> PM_CAP_SYS_ADMIN & 1) ?
		find_sign() : PM_NO_CONTAINER;
}

/*
 * "0::/system.slice/NAME.service": the unit of the system's systemd. One of a user's own systemd
 * can be given nothing that the user does not have. A name that could be a file of the kernel's
 * ("memory.service") has a "_" before it there.
 */
static void find_unit(char *ret, size_t size)
{
	static const char suffix[] = ".service";
	char text[4096], *line, *rest = NULL;
	int err = pm_read_text("/proc/self/cgroup", text, sizeof(text));

	ret[0] = '\0';
	if (err < 0 && err != -EFBIG)
		return;
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		const char *slash = strrchr(line, '/');
		const char *name = slash ? slash + 1 + (slash[1] == '_') : NULL;
		const size_t length = name ? strlen(name) : 0;

		if (length > strlen(suffix) && length < size && strstr(line, "/user@") == NULL &&
		    strcmp(name + length - strlen(suffix), suffix) == 0) {
			memcpy(ret, name, length + 1);
			return;
		}
	}
}

static uint64_t bounding_set(void)
{
	static const enum pm_cap asked[] = {
		PM_CAP_IPC_LOCK, PM_CAP_SYS_PTRACE, PM_CAP_SYS_ADMIN, PM_CAP_SYSLOG, PM_CAP_PERFMON,
		PM_CAP_BPF,
	};
	uint64_t set = 0;

	/* What cannot be asked is taken to be there, as it is for nearly everybody. */
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++)
		if (prctl(PR_CAPBSET_READ, asked[i], 0, 0, 0) != 0)
			set |= (uint64_t)1 << asked[i];
	return set;
}

static uint64_t hard_limit(int resource)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) != 0 || limit.rlim_max == RLIM_INFINITY)
		return UINT64_MAX;
	return limit.rlim_max;
}

/* What snapd starts has its name in the environment; with --classic nothing confines it. */
static void find_snap(char *ret, size_t size)
{
	const char *name = getenv("SNAP_NAME");

	if (getenv("SNAP") != NULL && name != NULL &&
	    strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(name))
		snprintf(ret, size, "%s", name);
}

/* "4.4.0-19041-Microsoft" is WSL 1, "5.15.90.1-microsoft-standard-WSL2" is WSL 2. */
static void find_machine(struct pm_place *ret)
{
	char release[128], vendor[sizeof(ret->vendor)], bios[64];

	(void)pm_hypervisor(ret->hypervisor, sizeof(ret->hypervisor));
	if (pm_read_text("/proc/sys/kernel/osrelease", release, sizeof(release)) > 0 &&
	    (strstr(release, "Microsoft") || strstr(release, "microsoft")))
		PM_SAY(ret->hypervisor, strstr(release, "Microsoft") ? "wsl1" : "wsl2");
	if (pm_read_text("/sys/class/dmi/id/sys_vendor", vendor, sizeof(vendor)) > 0)
		PM_SAY(ret->vendor, "%.*s", (int)strcspn(vendor, "\n"), vendor);
	/* EC2's older types, as t2, are Xen but for their firmware's version: "4.11.amazon". */
	if (pm_read_text("/sys/class/dmi/id/bios_version", bios, sizeof(bios)) > 0 &&
	    strstr(bios, "amazon") != NULL)
		PM_SAY(ret->vendor, "Amazon EC2");
}

void pm_place_read(struct pm_place *ret)
{
	int64_t value;

	*ret = (struct pm_place){
		.user_namespace = pm_in_user_namespace(),
		.caps_bounding = bounding_set(), .caps_permitted = pm_caps_permitted(),
		.memlock_hard = hard_limit(RLIMIT_MEMLOCK),
		.nofile_hard = hard_limit(RLIMIT_NOFILE),
	};
	ret->container = find_container(ret);
	ret->file_max = pm_read_number("/proc/sys/fs/file-max", &value) == 0 ? value : -1;
	find_unit(ret->unit, sizeof(ret->unit));
	find_snap(ret->snap, sizeof(ret->snap));
	find_machine(ret);
}
