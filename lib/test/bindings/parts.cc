// SPDX-License-Identifier: MIT
// The optional libraries in C++: what is asked for arrives, and no misuse ends the program.
#include <perfmodes_pfm.hpp>
#include <perfmodes_sampler.hpp>
#include <perfmodes_stacks.hpp>
#include <perfmodes_topology.hpp>

#include <cassert>
#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <set>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/wait.h>
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

/* Another process, which touches 50 pages when it is told to. */
struct toucher {
	int ask[2], answer[2];
	pid_t pid;

	toucher()
	{
		assert(pipe(ask) == 0 && pipe(answer) == 0);
		pid = fork();
		if (pid == 0) {
			char byte;

			close(ask[1]);
			close(answer[0]);
			while (read(ask[0], &byte, 1) == 1) {
				touch(50);
				if (write(answer[1], &byte, 1) != 1)
					break;
			}
			_exit(0);
		}
	}
	~toucher()
	{
		close(ask[0]);
		close(ask[1]);
		close(answer[0]);
		close(answer[1]);
		waitpid(pid, nullptr, 0);
	}
	void touches()
	{
		char byte = 1;

		assert(write(ask[1], &byte, 1) == 1 && read(answer[0], &byte, 1) == 1);
	}
	perfmodes::sampler faults(perfmodes::sampler_listener heard = perfmodes::sampler_listener())
	{
		pm_sampler_opts opts = perfmodes::sized<pm_sampler_opts>();

		opts.flags = PM_SAMPLER_USER_ONLY;
		return perfmodes::sampler("page-faults/period=1/u", { std::to_string(pid) },
					  std::move(heard), opts);
	}
};

template <typename Call> static void throws(Call call, int number, const std::string &word = "")
{
	try {
		call();
	} catch (const perfmodes::error &error) {
		if (error.code().value() == number &&
		    std::string(error.what()).find(word) != std::string::npos)
			return;
		std::cerr << "not " << number << ", " << word << ": " << error.what() << '\n';
	}
	std::abort();
}

static void events()
{
	auto listed = perfmodes::event_list("{cycles/freq=99/,instructions:u}:S, page-faults", 7);

	assert(listed.size() == 3 && listed[1].listed.leader == 1 && listed[2].listed.leader == 0);
	assert(listed[0].spec.frequency == 99 && listed[0].listed.flags == PM_LISTED_READ);
	assert(listed[2].spec.tid == 7);
	assert(perfmodes::event_name(listed[1].spec) == "instructions:u");
	std::string many = "page-faults";
	for (int i = 1; i < 100; i++)
		many += ",page-faults";
	assert(perfmodes::event_list(many).size() == 100);
	throws([] { perfmodes::event_list("page-faults,nonsense"); }, EINVAL, "nonsense");
}

static void symbols()
{
	perfmodes::symbols names, others;
	perfmodes::unwinder first(getpid(), names);
	uint64_t at = reinterpret_cast<uint64_t>(&getppid);
	perfmodes::symbol found = names.find(at, 0, &first);

	assert(found.name == "getppid" && found.start == at && found.build_id.size() == 20);
	assert(found.module.find("libc") != std::string::npos);
	assert(names.find(16, 0, &first).name.empty());
	throws([&] { others.find(at, 0, &first); }, EINVAL, "these symbols");
	throws([] { perfmodes::unwinder none(1 << 23); }, ESRCH);

	perfmodes::unwinder second = std::move(first);
	throws([&] { first.refresh(); }, EINVAL, "moved from");
	throws([&] { names.find(at, 0, &first); }, EINVAL, "moved from");
	{
		perfmodes::symbols moved = std::move(names);	/* and ends before its unwinder */
	}
	throws([&] { names.find(at); }, EINVAL, "moved from");
	assert(second.find({ at, 0 }).name == "getppid");
	second = perfmodes::unwinder(getpid());
	second.refresh();

	std::thread other([&] {
		for (int i = 0; i < 300; i++)
			assert(second.find({ at, 0 }).name == "getppid");
	});
	for (int i = 0; i < 300; i++) {
		assert(second.find({ at, 0 }).name == "getppid");
		perfmodes::unwinder(getpid(), others).refresh();
	}
	other.join();
}

static void chains()
{
	perfmodes::unwinder unwinder(getpid());
	pm_stack_sample sample = perfmodes::sized<pm_stack_sample>();
	const uint64_t chain[] = { static_cast<uint64_t>(-512), 0x1000, 0x2000 };

	sample.callchain = chain;
	sample.callchain_count = 3;
	perfmodes::stack stack = unwinder.stack(sample);
	assert(stack.frames.size() == 2 && stack.frames[1].address == 0x2000);
	assert(stack.end == PM_END_UNTOLD && unwinder.lines(stack.frames[0]).empty());
}

static void sampled()
{
	toucher other;
	std::vector<pm_process_change> changes;
	perfmodes::sampler_listener heard;
	size_t seen = 0, known = 0;

	heard.sample = [&](const pm_sampled &sample) {
		assert(static_cast<pid_t>(sample.pid) == other.pid);
		seen++;
	};
	heard.process = [&](const pm_process &process, pm_process_change change, uint64_t) {
		if (static_cast<pid_t>(process.pid) == other.pid)
			changes.push_back(change);
	};
	perfmodes::sampler first = other.faults(heard);
	perfmodes::sampler sampler = std::move(first);
	throws([&] { first.start(); }, EINVAL, "moved from");
	throws([&] { sampler.poll(0); }, ENOTCONN);
	sampler.start();
	throws([&] { sampler.start(); }, EALREADY);
	other.touches();
	while (seen < 50)
		sampler.poll(100);
	sampler.each([&](const pm_process &process) {
		known += static_cast<pid_t>(process.pid) == other.pid && process.watched;
	});
	assert(known == 1 && changes.at(0) == PM_PROCESS_FOUND);
	assert(sampler.stats().samples >= 50 && sampler.read().at(0).value >= 50);
	assert(sampler.explain().find("event 0: page-faults") != std::string::npos);
	try {
		sampler.each([](const pm_process &) { throw std::runtime_error("mine"); });
		std::abort();
	} catch (const std::runtime_error &error) {
		assert(std::string(error.what()) == "mine");
	}
	throws([] { perfmodes::sampler none("page-faults", { "nonsense" }); }, EINVAL, "nonsense");
	throws([] { perfmodes::sampler none("page-faults", { "8388608" }); }, ESRCH);
}

/* A callback throws, destroys its sampler, replaces it, moves it, calls it. */
static void called_back(int how)
{
	toucher other;
	std::unique_ptr<perfmodes::sampler> own, moved;
	perfmodes::sampler_listener heard;
	size_t seen = 0, refused = 0;
	bool thrown = false;

	heard.sample = [&, how](const pm_sampled &) {
		seen++;
		if (how == 0)
			throw std::runtime_error("mine");
		else if (how == 1)
			own.reset();
		else if (how == 2)
			*own = other.faults();
		else if (how == 3 && seen == 1)
			moved.reset(new perfmodes::sampler(std::move(*own)));
		else if (how == 4)
			for (int i = 0; i < 3; i++)
				throws([&] {
					i == 0 ? own->stop() : i == 1 ? own->poll(0) :
						static_cast<int>(own->stats().samples);
				}, EBUSY, "in use"), refused++;
	};
	own.reset(new perfmodes::sampler(other.faults(heard)));
	own->start();
	other.touches();
	try {
		while (seen == 0)
			own->poll(100);
	} catch (const std::runtime_error &error) {
		thrown = std::string(error.what()) == "mine";
	}
	assert(thrown == (how == 0) && (how == 3 || how == 4 || seen == 1));
	assert(how == 1 ? !own : own != nullptr);
	if (how == 2)
		own->start();
	if (how == 3)
		moved->stop();
	assert(how != 4 || (refused == 3 * seen && own->stats().samples >= seen));
}

static void threads_and_forks()
{
	toucher other;
	perfmodes::sampler sampler = other.faults();
	std::atomic<bool> ends(false);
	int status;

	sampler.start();
	std::thread poller([&] {
		while (!ends) {
			try {
				sampler.poll(10);
			} catch (const perfmodes::error &error) {
				assert(error.code().value() == EBUSY);
			}
		}
	});
	for (int i = 0; i < 300; i++) {
		try {
			sampler.read();
			sampler.stats();
		} catch (const perfmodes::error &error) {
			assert(error.code().value() == EBUSY);
		}
	}
	ends = true;
	poller.join();
	pid_t child = fork();
	if (child == 0) {
		throws([&] { sampler.poll(0); }, ECHILD);
		throws([&] { sampler.read(); }, ECHILD);
		perfmodes::sampler ended = std::move(sampler);
		{
			perfmodes::sampler last = std::move(ended);
		}
		_exit(0);
	}
	assert(waitpid(child, &status, 0) == child && status == 0);
	sampler.stop();
}

static void topology()
{
	hwloc_topology_t machine;

	hwloc_topology_init(&machine);
	hwloc_topology_set_synthetic(machine, "package:2 core:2 pu:2");
	hwloc_topology_load(machine);
	{
		perfmodes::topology fruit =
			perfmodes::topology::of_parts(machine, { "apples", "pears" });
		std::vector<pm_part> parts;
		uint64_t time;

		for (int cpu = 0; cpu < 8; cpu++) {
			pm_part part = perfmodes::sized<pm_part>();

			part.cpu = cpu;
			part.value = static_cast<uint64_t>(cpu) + 1;
			parts.push_back(part);
		}
		throws([&] { fruit.value(0); }, ENODATA);
		time = fruit.put(parts);
		hwloc_obj_t package = hwloc_get_obj_by_type(machine, HWLOC_OBJ_PACKAGE, 1);
		assert(fruit.value(0, package->cpuset).value == 5 + 6 + 7 + 8);
		assert(fruit.value(0).value == 36 && fruit.event(1) == "pears");
		assert(fruit.event(2).empty() && fruit.explain().empty());
		assert(fruit.times() == std::vector<uint64_t>{ time });
		assert(fruit.source() == PM_TOPOLOGY_PARTS);
		perfmodes::topology moved = std::move(fruit);
		throws([&] { fruit.read(); }, EINVAL, "moved from");
		throws([&] { moved.value(7); }, EINVAL);
	}
	hwloc_topology_destroy(machine);
	hwloc_topology_init(&machine);
	hwloc_topology_load(machine);
	{
		perfmodes::topology faults(machine, { perfmodes::event("page-faults:u", 0) });
		uint64_t first;

		throws([&] { faults.read(); }, ENOTCONN);
		faults.start();
		touch(100);
		first = faults.read();
		touch(50);
		faults.stop();
		assert(faults.value(0, nullptr, first).value >= 100);
		assert(faults.window(0, nullptr, first).value >= 50);
		assert(faults.explain().find("chosen: ") != std::string::npos);
	}
	hwloc_topology_destroy(machine);
}

static void pfm()
{
	try {
		assert(perfmodes::pfm_event("perf::PAGE-FAULTS:u").config == PM_SW_PAGE_FAULTS);
		assert(perfmodes::pfm_name("page-faults").find("perf::PERF_COUNT_SW") == 0);
		throws([] { perfmodes::pfm_name("perf::NO_SUCH"); }, ENOENT, "NO_SUCH");
	} catch (const perfmodes::error &error) {
		assert(error.code().value() == ENOSYS);	/* libpfm4 is not here */
	}
}

int main()
{
	events();
	symbols();
	chains();
	sampled();
	for (int how = 0; how < 5; how++)
		called_back(how);
	threads_and_forks();
	topology();
	pfm();
	std::cout << "done\n";
	return 0;
}
