// SPDX-License-Identifier: MIT
// The owners of perfmodes.hpp: moved, destroyed in order, with callbacks that throw.
#include <perfmodes.hpp>

#include <atomic>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

static void touch(size_t pages)
{
	size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
	void *area = mmap(nullptr, pages * page, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(area, pages * page, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < pages; i++)
		static_cast<volatile char *>(area)[i * page] = 1;
	munmap(area, pages * page);
}

static void errors()
{
	try {
		perfmodes::event("nonsense");
		std::abort();
	} catch (const perfmodes::error &error) {
		assert(error.code().value() == EINVAL);
		assert(std::string(error.what()).find("nonsense") != std::string::npos);
	}
}

template <typename Call> static void throws_invalid(Call call, const char *words)
{
	try {
		call();
		std::abort();
	} catch (const perfmodes::error &error) {
		assert(error.code().value() == EINVAL);
		assert(std::string(error.what()).find(words) != std::string::npos);
	}
}

/* "page-faults", 0, "nonsense" is not page-faults. */
static void texts_with_a_nul()
{
	const std::string text(std::string("page-faults") + '\0' + "nonsense");

	throws_invalid([&] { perfmodes::event(text); }, "page-faults");
	throws_invalid([&] { perfmodes::event_list(text); }, "page-faults");
	throws_invalid([&] { perfmodes::session none(text); }, "page-faults");
	throws_invalid([&] { perfmodes::profile none(text); }, "NUL byte");
	throws_invalid([&] { perfmodes::profile().verdict(text); }, "NUL byte");
}

static void moved()
{
	perfmodes::counters first({ perfmodes::event("page-faults:u", 0) });
	perfmodes::counters second = std::move(first);

	second.start();
	touch(100);
	second.stop();
	assert(second.read().at(0).value >= 100);
}

/* What was moved from is empty: a call says so. */
static void emptied()
{
	perfmodes::counters counters({ perfmodes::event("page-faults:u", 0) });
	perfmodes::counters others = std::move(counters);
	perfmodes::plan plan({ perfmodes::event("page-faults:u") });
	perfmodes::session session(plan);
	perfmodes::session second = std::move(session);

	throws_invalid([&] { counters.start(); }, "moved from");
	throws_invalid([&] { counters.read(); }, "moved from");
	throws_invalid([&] { session.attach(); }, "moved from");
	throws_invalid([&] { session.poll(0); }, "moved from");
	throws_invalid([&] { session.read(); }, "moved from");
	throws_invalid([&] { session.stats(); }, "moved from");
	session.interrupt();
	second.attach();
	second.detach();

	perfmodes::plan moved = std::move(plan);
	throws_invalid([&] { plan.explain(); }, "moved from");
	throws_invalid([&] { perfmodes::session none(plan); }, "moved from");
}

/* In one call, of names; what is heard decides whether they are sampled. */
static void named()
{
	size_t samples = 0;
	perfmodes::listener heard;
	perfmodes::session counted("page-faults:u task-clock:u");

	heard.sample = [&](const pm_observed &) { samples++; };
	perfmodes::session sampled("page-faults:u", heard);
	touch(50);
	assert(counted.read().size() == 2 && counted.read().at(0).value >= 50);
	sampled.poll(0);
	assert(samples >= 50 && !counted.explain().empty());
	try {
		perfmodes::session none("page-faults nonsense");
		std::abort();
	} catch (const perfmodes::error &error) {
		assert(std::string(error.what()).find("nonsense") != std::string::npos);
	}
}

static void sampled()
{
	pm_event_spec faults = perfmodes::event("page-faults:u");
	perfmodes::listener heard;
	unsigned int seen = 0;

	faults.period = 1;
	perfmodes::plan plan({ faults });
	heard.sample = [&](const pm_observed &) { seen++; };
	perfmodes::session first(plan, heard);
	perfmodes::session session = std::move(first);
	session.attach();
	touch(100);
	session.detach();
	assert(seen >= 100 && session.stats().samples >= 100);
}

static void thrown()
{
	pm_event_spec faults = perfmodes::event("page-faults:u");
	perfmodes::listener heard;
	bool caught = false;

	faults.period = 1;
	perfmodes::plan plan({ faults });
	heard.sample = [](const pm_observed &) { throw std::runtime_error("mine"); };
	perfmodes::session session(plan, heard);
	try {
		session.attach();	// which causes a fault itself, or
		touch(100);
		session.poll(0);
	} catch (const std::runtime_error &error) {
		caught = std::string(error.what()) == "mine";
	}
	assert(caught);
}

/* A run whose callback throws ends: nobody would hear what comes after it. */
static void thrown_in_run()
{
	pm_event_spec faults = perfmodes::event("page-faults:u");
	perfmodes::listener heard;
	std::atomic<bool> armed(false), over(false);
	bool caught = false;

	faults.period = 1;
	perfmodes::plan plan({ faults });
	heard.sample = [&](const pm_observed &) {
		if (armed)
			throw std::runtime_error("mine");
	};
	perfmodes::session session(plan, heard);
	session.attach();
	armed = true;
	touch(50);
	std::thread ends([&] {
		for (int i = 0; i < 200 && !over; i++)
			usleep(100000);
		if (!over)
			session.interrupt();
	});
	auto began = std::chrono::steady_clock::now();
	try {
		session.run();
	} catch (const std::runtime_error &error) {
		caught = std::string(error.what()) == "mine";
	}
	over = true;
	ends.join();
	assert(caught && std::chrono::steady_clock::now() - began < std::chrono::seconds(15));
	armed = false;
	session.poll(0);	// no word to end is left over
}

/* Records that the option `side` asks for, whole, with a header first. */
static void told_others()
{
	pm_event_spec faults = perfmodes::event("page-faults:u");
	pm_session_opts opts = perfmodes::allow();
	perfmodes::listener heard;
	size_t others = 0;

	faults.period = 1;
	opts.side = PM_SIDE_SWITCH | PM_SIDE_MMAP;
	heard.other = [&](const void *record, size_t size) {
		others += size >= 8 && static_cast<const uint16_t *>(record)[3] == size;
	};
	perfmodes::plan plan({ faults }, opts);
	perfmodes::session session(plan, heard);
	session.attach();
	bool rings = plan.strategy() <= PM_STRATEGY_CGROUP;
	munmap(mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
	usleep(1000);
	session.detach();
	assert(!rings || others > 0);
}

static void told_apart()
{
	perfmodes::counters counters({ perfmodes::event("page-faults:u", 0) });

	assert(!counters.user_only());	// that is what was asked for
	setenv("PERFMODES_PROFILE", "/dev/null", 1);
	perfmodes::profile none;
	assert(none.said().find("/dev/null") != std::string::npos);
	setenv("PERFMODES_PROFILE", "", 1);
	perfmodes::profile usual;
	assert(usual.said().empty());
}

/* The callback destroys its own session, replaces it, moves it: nothing is heard after that. */
static void closed_by_its_callback(int how)
{
	pm_event_spec faults = perfmodes::event("page-faults:u");
	perfmodes::listener heard;
	std::unique_ptr<perfmodes::session> own, moved;
	unsigned int seen = 0;
	bool armed = false;

	faults.period = 1;
	perfmodes::plan plan({ faults }), other({ perfmodes::event("task-clock:u") });
	heard.sample = [&, how](const pm_observed &) {
		if (!armed)
			return;
		seen++;
		if (how == 0)
			own.reset();
		else if (how == 1)
			*own = perfmodes::session(other);
		else if (seen == 1)
			moved.reset(new perfmodes::session(std::move(*own)));
	};
	own.reset(new perfmodes::session(plan, heard));
	own->attach();
	own->poll(0);
	armed = true;
	touch(100);
	own->poll(0);
	assert(how == 2 ? seen >= 100 : seen == 1);
	if (how == 1)
		own->attach();
	if (how == 2)
		moved->detach();
	assert(how == 0 ? !own : own != nullptr);
}

int main()
{
	perfmodes::profile profile;

	profile.probe();
	assert(profile.verdict("no.such.fact") == PM_UNKNOWN);
	errors();
	texts_with_a_nul();
	moved();
	emptied();
	named();
	sampled();
	thrown();
	thrown_in_run();
	told_others();
	told_apart();
	for (int how = 0; how < 3; how++)
		closed_by_its_callback(how);
	std::cout << "done\n";
	return 0;
}
