/* SPDX-License-Identifier: MIT */
/*
 * PAPI offers no event of perf at all where its libpfm does not know the CPU, although software
 * events need none. So that they can be compared here, libpfm is made to say that its generic PMU
 * "perf" is the CPU's. For PAPI 7.0, which finds this function in the program.
 */
#ifndef PAPI_SOFTWARE_H
#define PAPI_SOFTWARE_H

#if defined(PM_HAVE_PAPI) && __has_include(<perfmon/pfmlib.h>)
#include <dlfcn.h>
#include <perfmon/pfmlib.h>
#include <string.h>

pfm_err_t pfm_get_pmu_info(pfm_pmu_t pmu, pfm_pmu_info_t *info)
{
	pfm_err_t (*real)(pfm_pmu_t, pfm_pmu_info_t *);
	pfm_err_t err;

	*(void **)&real = dlsym(RTLD_NEXT, "pfm_get_pmu_info");
	err = real == NULL ? PFM_ERR_NOTSUPP : real(pmu, info);
	if (err == PFM_SUCCESS && strcmp(info->name, "perf") == 0) {
		info->type = PFM_PMU_TYPE_CORE;
		info->is_dfl = 1;
		info->num_cntrs = 4;
	}
	return err;
}
#endif

#endif
