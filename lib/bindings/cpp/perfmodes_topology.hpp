// SPDX-License-Identifier: MIT
/*
 * libperfmodes-topology for C++11 and later: counts of events by hardware thread, over an hwloc
 * topology. Header only, over perfmodes_topology.h, whose structures, constants and meaning these
 * are; errors as in perfmodes.hpp. Several threads may use it, which wait for each other.
 */
#ifndef PERFMODES_TOPOLOGY_HPP
#define PERFMODES_TOPOLOGY_HPP

#include <mutex>

#include <perfmodes.hpp>
#include <perfmodes_topology.h>

namespace perfmodes {

/* Events and their readings. The machine, loaded, stays the caller's and has to outlive it. */
class topology {
public:
	/* Events of one tid; not started. */
	topology(hwloc_topology_t machine, const std::vector<pm_event_spec> &specs,
		 const pm_topology_opts &opts = sized<pm_topology_opts>())
		: inner_(new inner)
	{
		pm_diag diag = sized<pm_diag>();

		check(pm_topology_open(machine, specs.data(), specs.size(), &opts, &diag,
				       &inner_->own), "pm_topology_open", diag);
	}
	/* Events of these names, whose readings put() hands in. */
	static topology of_parts(hwloc_topology_t machine, const std::vector<std::string> &names,
				 const pm_topology_opts &opts = sized<pm_topology_opts>())
	{
		std::vector<const char *> texts;
		topology made;

		for (const std::string &each : names)
			texts.push_back(c_text(each));
		check(pm_topology_open_parts(machine, texts.data(), texts.size(), &opts,
					     &made.inner_->own), "pm_topology_open_parts");
		return made;
	}

	/* Counts from 0 from now on; readings are kept. */
	void start()
	{
		pm_diag diag = sized<pm_diag>();
		alone use(*this);

		check(pm_topology_start(use.own, &diag), "pm_topology_start", diag);
	}
	/* Readings; each returns its time, ns of CLOCK_MONOTONIC. */
	uint64_t read() { return reading("pm_topology_read", pm_topology_read); }
	uint64_t accumulate()
	{
		return reading("pm_topology_accumulate", pm_topology_accumulate);
	}
	uint64_t stop() { return reading("pm_topology_stop", pm_topology_stop); }
	uint64_t put(std::vector<pm_part> parts)
	{
		uint64_t time = 0;
		alone use(*this);

		for (pm_part &each : parts)
			each.size = sizeof(each);
		check(pm_topology_put(use.own, parts.data(), parts.size(), &time),
		      "pm_topology_put");
		return time;
	}

	/* What these CPUs (nullptr: all) had counted by the reading at that time. */
	struct pm_topology_value value(size_t event, hwloc_const_cpuset_t cpus = nullptr,
				uint64_t time = PM_TOPOLOGY_LATEST)
	{
		struct pm_topology_value made = sized<struct pm_topology_value>();
		alone use(*this);

		check(pm_topology_value(use.own, event, cpus, time, &made), "pm_topology_value");
		return made;
	}
	/* What they counted from one reading to another. */
	struct pm_topology_value window(size_t event, hwloc_const_cpuset_t cpus, uint64_t from,
				 uint64_t to = PM_TOPOLOGY_LATEST)
	{
		struct pm_topology_value made = sized<struct pm_topology_value>();
		alone use(*this);

		check(pm_topology_window(use.own, event, cpus, from, to, &made),
		      "pm_topology_window");
		return made;
	}
	/* Of the readings that are kept, the oldest first. */
	std::vector<uint64_t> times(uint64_t from = 0, uint64_t to = PM_TOPOLOGY_LATEST)
	{
		alone use(*this);
		std::vector<uint64_t> found(static_cast<size_t>(
			check(pm_topology_times(use.own, from, to, nullptr, 0), "pm_topology_times")));

		check(pm_topology_times(use.own, from, to, found.data(), found.size()),
		      "pm_topology_times");
		return found;
	}
	enum pm_topology_source source()
	{
		return pm_topology_source(alone(*this).own);
	}
	/* The plan behind it; empty where there is none. */
	std::string explain()
	{
		alone use(*this);
		const pm_plan *plan = pm_topology_plan(use.own);

		return plan != nullptr ? explained(plan) : std::string();
	}
	/* The name of an event; empty beyond the last. */
	std::string event(size_t index)
	{
		alone use(*this);
		const char *name = pm_topology_event(use.own, index);

		return name != nullptr ? name : "";
	}
	/* Writes the machine with the readings as XML, which hwloc and lstopo read. */
	void export_xml(const std::string &path)
	{
		check(pm_topology_export(alone(*this).own, c_text(path)), path.c_str());
	}
	pm_topology *get() const noexcept { return inner_ ? inner_->own : nullptr; }

private:
	struct inner {
		inner() : own(nullptr) {}
		inner(const inner &) = delete;
		inner &operator=(const inner &) = delete;
		~inner() { pm_topology_destroy(own); }

		pm_topology *own;
		std::mutex one;
	};

	topology() : inner_(new inner) {}

	/* For the time of a call. */
	struct alone {
		explicit alone(topology &of)
			: lock(owned(of.inner_.get())->one), own(of.inner_->own) {}

		std::lock_guard<std::mutex> lock;
		pm_topology *own;
	};

	uint64_t reading(const char *name, int (*take)(pm_topology *set, uint64_t *ret))
	{
		uint64_t time = 0;
		alone use(*this);

		check(take(use.own, &time), name);
		return time;
	}

	std::unique_ptr<inner> inner_;
};

} // namespace perfmodes

#endif
