/* SPDX-License-Identifier: MIT */
/*
 * What to say of a name that libpfm4 does not take. It tells one error for an unknown event, for a
 * PMU of another machine and for one that it has never heard of, so its tables are asked.
 */
#include "pfm.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define PMUS_TEXT 160

struct near {
	char name[128];
	size_t same;		/* leading characters that agree */
};

static bool pmu_info(const struct pfm *pfm, int pmu, pfm_pmu_info_t *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->size = sizeof(*ret);
	return pfm->pfm_get_pmu_info((pfm_pmu_t)pmu, ret) == PFM_SUCCESS && ret->name != NULL;
}

/* The PMU of that name; false: libpfm4 knows none. */
static bool find_pmu(const struct pfm *pfm, const char *name, size_t length, pfm_pmu_info_t *ret)
{
	for (int i = PFM_PMU_NONE; i < PFM_PMU_MAX; i++)
		if (pmu_info(pfm, i, ret) && strlen(ret->name) == length &&
		    strncasecmp(ret->name, name, length) == 0)
			return true;
	return false;
}

/* "perf, perf_raw": what this machine has. */
static void list_pmus(const struct pfm *pfm, char *buf, size_t size)
{
	pfm_pmu_info_t info;
	size_t used = 0;

	buf[0] = '\0';
	for (int i = PFM_PMU_NONE; i < PFM_PMU_MAX; i++) {
		if (!pmu_info(pfm, i, &info) || !info.is_present)
			continue;
		used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? ", " : "",
					 info.name);
		if (used >= size)
			return;
	}
}

static size_t agreeing(const char *one, const char *other, size_t length)
{
	size_t same = 0;

	while (same < length && one[same] != '\0' &&
	       strncasecmp(one + same, other + same, 1) == 0)
		same++;
	return same;
}

static void look_near(const struct pfm *pfm, const pfm_pmu_info_t *pmu, const char *event,
		      size_t length, struct near *ret)
{
	for (int i = pmu->first_event; i >= 0; i = pfm->pfm_get_event_next(i)) {
		pfm_event_info_t info = { .size = sizeof(info) };
		size_t same;

		if (pfm->pfm_get_event_info(i, PFM_OS_NONE, &info) != PFM_SUCCESS)
			continue;
		same = agreeing(info.name, event, length);
		if (same <= ret->same)
			continue;
		ret->same = same;
		snprintf(ret->name, sizeof(ret->name), "%s::%s", pmu->name, info.name);
	}
}

/* The event whose name begins most like it, of one PMU or of all that are here. */
static const char *nearest(const struct pfm *pfm, const pfm_pmu_info_t *pmu, const char *event,
			   struct near *ret)
{
	const size_t length = strcspn(event, ":");
	pfm_pmu_info_t info;

	*ret = (struct near){ .same = 2 };
	if (pmu != NULL)
		look_near(pfm, pmu, event, length, ret);
	for (int i = PFM_PMU_NONE; pmu == NULL && i < PFM_PMU_MAX; i++)
		if (pmu_info(pfm, i, &info) && info.is_present)
			look_near(pfm, &info, event, length, ret);
	return ret->name;
}

static int advise_unknown(const struct pfm *pfm, const char *name, struct pm_diag *diag)
{
	const char *colons = strstr(name, "::"), *event = colons ? colons + 2 : name;
	const int length = (int)(colons ? colons - name : 0);
	char here[PMUS_TEXT];
	pfm_pmu_info_t info;
	struct near near;

	list_pmus(pfm, here, sizeof(here));
	if (colons != NULL && !find_pmu(pfm, name, (size_t)length, &info))
		return pm_pfm_say(diag, ENOENT, PM_CAUSE_NO_EVENT, name, "libpfm4 knows no PMU "
				  "\"%.*s\"; this machine has %s", length, name, here);
	if (colons != NULL && !info.is_present)
		return pm_pfm_say(diag, ENOENT, PM_CAUSE_NO_EVENT, name, "this machine has no PMU "
				  "%s (%s); it has %s", info.name, info.desc, here);
	(void)nearest(pfm, colons ? &info : NULL, event, &near);
	return pm_pfm_say(diag, ENOENT, PM_CAUSE_NO_EVENT, name, "%s has no such event%s%s",
			  colons ? info.name : here, near.name[0] ? "; near it is " : "",
			  near.name);
}

int pm_pfm_advise(const struct pfm *pfm, const char *name, int error, struct pm_diag *diag)
{
	switch (error) {
	case PFM_ERR_NOTFOUND:
		return advise_unknown(pfm, name, diag);
	case PFM_ERR_NOMEM:
		return pm_pfm_say(diag, ENOMEM, PM_CAUSE_NONE, name, "out of memory");
	case PFM_ERR_NOTSUPP:
		return pm_pfm_say(diag, ENOENT, PM_CAUSE_NO_EVENT, name, "the kernel has no PMU "
				  "for it here");
	case PFM_ERR_UMASK:
		return pm_pfm_say(diag, EINVAL, PM_CAUSE_INPUT, name, "a unit mask is missing or "
				  "is not one of this event's: EVENT:UMASK");
	case PFM_ERR_ATTR:
		return pm_pfm_say(diag, EINVAL, PM_CAUSE_INPUT, name, "what stands behind the "
				  "event is no unit mask and no modifier of it");
	default:
		return pm_pfm_say(diag, EINVAL, PM_CAUSE_INPUT, name, "libpfm4 says: %s",
				  pfm->pfm_strerror(error));
	}
}
