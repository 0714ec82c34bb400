/* SPDX-License-Identifier: MIT */
/* Where a refused call was made, as far as advice depends on it. */
#define _GNU_SOURCE
#include "gate.h"

#include <errno.h>
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

/* By the variables and files that container engines leave for what runs inside. */
static enum pm_container find_sign(void)
{
	const char *named = getenv("container");

	if (getenv("KUBERNETES_SERVICE_HOST") != NULL)
		return PM_KUBERNETES;
	if (named == NULL || named[0] == '\0')
		return is_there("/run/.containerenv") ? PM_PODMAN : is_there("/.dockerenv") ?
			PM_DOCKER : PM_NO_CONTAINER;
	if (strcmp(named, "systemd-nspawn") == 0)
		return PM_NSPAWN;
	return strcmp(named, "podman") == 0 ? PM_PODMAN : strcmp(named, "docker") == 0 ?
		PM_DOCKER : PM_OTHER_CONTAINER;
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
}
