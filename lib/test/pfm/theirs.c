/* SPDX-License-Identifier: MIT */
#include "theirs.h"

#include <perfmon/pfmlib_perf_event.h>
#include <string.h>

int theirs_encode(const char *name, struct theirs *ret)
{
	struct perf_event_attr attr;
	pfm_perf_encode_arg_t argument = { .attr = &attr, .size = sizeof(argument) };
	int err = pfm_initialize();

	memset(&attr, 0, sizeof(attr));
	if (err == PFM_SUCCESS)
		err = pfm_get_os_event_encoding(name, PFM_PLM0 | PFM_PLM3 | PFM_PLMH,
						PFM_OS_PERF_EVENT_EXT, &argument);
	*ret = (struct theirs){
		.type = attr.type, .config = attr.config, .config1 = attr.config1,
		.config2 = attr.config2, .period = attr.sample_period, .user = !attr.exclude_user,
		.kernel = !attr.exclude_kernel, .hypervisor = !attr.exclude_hv,
		.frequency = attr.freq, .pinned = attr.pinned, .precise = attr.precise_ip,
	};
	return err;
}
