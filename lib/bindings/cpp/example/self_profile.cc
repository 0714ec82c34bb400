// SPDX-License-Identifier: MIT
/*
 * A program that profiles itself: samples of the CPU clock of all its threads, by thread.
 *
 *   c++ -std=c++11 self_profile.cc -lperfmodes -pthread && ./a.out
 */
#include <perfmodes.hpp>

#include <ctime>
#include <iostream>
#include <map>
#include <thread>

static void busy()
{
	timespec now;

	do {
		// In user mode: all that an unprivileged user may sample.
		for (int i = 0; i < 100000; i++)
			asm volatile("");
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while (now.tv_sec == 0 && now.tv_nsec < 200000000);
}

int main()
try {
	std::map<uint32_t, unsigned int> by_thread;
	pm_event_spec cycles = perfmodes::event("cycles");
	perfmodes::listener heard;

	cycles.frequency = 500;
	heard.sample = [&](const pm_observed &sample) { by_thread[sample.tid]++; };
	perfmodes::plan plan({ cycles });
	perfmodes::session session(plan, heard);
	session.attach();
	std::thread worker(busy);
	for (int i = 0; i < 40; i++)
		session.poll(10);
	worker.join();
	session.poll(0);	// what came after the last poll: a busy machine lets the worker run late
	session.detach();
	for (const auto &each : by_thread)
		std::cout << "thread-" << each.first << ' ' << each.second << '\n';
	std::cerr << plan.explain();
	return by_thread.empty();
} catch (const perfmodes::error &error) {
	std::cerr << "self_profile: " << error.what() << '\n';
	return 2;
}
