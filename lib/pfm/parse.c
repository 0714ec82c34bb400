/* SPDX-License-Identifier: MIT */
/* Names of libpfm4: from its attr to a spec, and what is not taken over. */
#include "pfm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVERY_MODE (PFM_PLM0 | PFM_PLM3 | PFM_PLMH)

struct encoded {
	struct perf_event_attr attr;	/* as libpfm4's header has it */
	int cpu;
	char *full;			/* the full name, malloc'ed by libpfm4 */
};

static int check_bytes(const char *name, struct pm_diag *diag)
{
	size_t length = 0;

	for (; name[length] != '\0'; length++)
		if (length == PFM_NAME_MAX || name[length] <= ' ' || name[length] > '~' ||
		    name[length] == ',')
			return pm_pfm_say(diag, EINVAL, PM_CAUSE_INPUT, "", "a name of libpfm4 has "
					  "up to %d printable characters, no blanks and no "
					  "commas", PFM_NAME_MAX);
	return length > 0 ? 0 : pm_pfm_say(diag, EINVAL, PM_CAUSE_INPUT, name, "no name");
}

/* Asks libpfm4. ret->full is to be freed. */
static int encode(const char *name, struct pm_diag *diag, struct encoded *ret)
{
	pfm_perf_encode_arg_t argument = {
		.attr = &ret->attr, .fstr = &ret->full, .size = sizeof(argument),
	};
	int err = check_bytes(name, diag);
	const struct pfm *pfm;

	if (err < 0)
		return err;
	pfm = pm_pfm_lock(name, diag);
	if (pfm == NULL)
		return -ENOSYS;
	err = pfm->pfm_get_os_event_encoding(name, EVERY_MODE, PFM_OS_PERF_EVENT_EXT, &argument);
	err = err == PFM_SUCCESS ? 0 : pm_pfm_advise(pfm, name, err, diag);
	pm_pfm_unlock();
	ret->cpu = argument.cpu;
	return err;
}

/* Whether a modifier of that name stands in the name: ":mh", ":mh=1". */
static bool has_modifier(const char *name, const char *modifier)
{
	const size_t length = strlen(modifier);

	for (const char *at = strchr(name, ':'); at != NULL; at = strchr(at + 1, ':'))
		if (strncmp(at + 1, modifier, length) == 0 &&
		    (at[1 + length] == '\0' || at[1 + length] == ':' || at[1 + length] == '='))
			return true;
	return false;
}

/*
 * The modes: all, or user mode alone. Of software events libpfm4 excludes the hypervisor when both
 * others are asked for; they never happen there.
 */
static const char *beyond_modes(const struct perf_event_attr *attr)
{
	if (attr->exclude_user)
		return "k or h without u: PM_SPEC_NO_USER of the spec does it";
	if (attr->exclude_hv && !attr->exclude_kernel && attr->type != PERF_TYPE_SOFTWARE)
		return "u and k without h: PM_SPEC_NO_HYPERVISOR of the spec does it";
	return NULL;
}

/* What is asked for and not taken over; NULL: nothing. */
static const char *beyond_spec(const char *name, const struct encoded *encoded)
{
	const struct perf_event_attr *attr = &encoded->attr;

	if (attr->exclude_host || has_modifier(name, "mg") || has_modifier(name, "mh"))
		return "mg and mh: PM_SPEC_NO_HOST and PM_SPEC_NO_GUEST of the spec do it";
	if (attr->exclusive)
		return "excl: PM_SPEC_EXCLUSIVE of the spec does it";
	if (encoded->cpu >= 0)
		return "cpu: set the option `cpus` of the session instead";
	if (has_modifier(name, "hw_smpl"))
		return "hw_smpl: the session chooses what samples have";
	return beyond_modes(attr);
}

static void fill(const struct perf_event_attr *attr, struct pm_event_spec *ret)
{
	ret->type = attr->type;
	ret->config = attr->config;
	ret->config1 = attr->config1;
	ret->config2 = attr->config2;
	ret->flags |= attr->exclude_kernel ? PM_SPEC_USER_ONLY : 0;
	ret->flags |= attr->precise_ip ? PM_SPEC_PRECISE : 0;
	ret->flags |= attr->pinned ? PM_SPEC_PINNED : 0;
	if (attr->sample_period == 0)
		return;
	ret->period = attr->freq ? 0 : attr->sample_period;
	ret->frequency = attr->freq ? attr->sample_freq : 0;
}

int pm_pfm_parse(const char *name, struct pm_diag *diag, struct pm_event_spec *ret)
{
	struct encoded encoded = { .cpu = -1 };
	const char *beyond;
	int err;

	if (ret->size < offsetof(struct pm_event_spec, filter))
		return pm_pfm_say(diag, EINVAL, PM_CAUSE_INPUT, name, "the size of the spec is not "
				  "set");
	err = encode(name, diag, &encoded);
	free(encoded.full);
	if (err < 0)
		return err;
	beyond = beyond_spec(name, &encoded);
	if (beyond != NULL)
		return pm_pfm_say(diag, ENOTSUP, PM_CAUSE_UNSUPPORTED, name, "%s", beyond);
	fill(&encoded.attr, ret);
	return 0;
}

int pm_pfm_name(const char *name, char *buf, size_t size)
{
	struct encoded encoded = { .cpu = -1 };
	int err = encode(name, NULL, &encoded);

	if (err == 0)
		err = snprintf(buf, size, "%s", encoded.full ? encoded.full : name);
	free(encoded.full);
	return err;
}
