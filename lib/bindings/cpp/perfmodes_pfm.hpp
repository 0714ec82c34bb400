// SPDX-License-Identifier: MIT
/*
 * libperfmodes-pfm for C++11 and later: events by the names of libpfm4. Header only, over
 * perfmodes_pfm.h; errors as in perfmodes.hpp, ENOSYS where libpfm4 is not.
 */
#ifndef PERFMODES_PFM_HPP
#define PERFMODES_PFM_HPP

#include <perfmodes.hpp>
#include <perfmodes_pfm.h>

namespace perfmodes {

/* The event of that name, of every thread of this process. */
inline pm_event_spec pfm_event(const std::string &name, int tid = PM_ALL_THREADS)
{
	pm_event_spec spec = sized<pm_event_spec>();
	pm_diag diag = sized<pm_diag>();

	check(pm_pfm_parse(c_text(name), &diag, &spec), name.c_str(), diag);
	spec.tid = tid;
	return spec;
}

/* The name with its PMU and all modifiers. */
inline std::string pfm_name(const std::string &name)
{
	pfm_event(name);	/* which has the words for what is wrong */
	check(pm_pfm_name(c_text(name), nullptr, 0), name.c_str());
	return text_of([&](char *to, size_t size) { return pm_pfm_name(name.c_str(), to, size); });
}

} // namespace perfmodes

#endif
