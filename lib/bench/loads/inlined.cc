// SPDX-License-Identifier: MIT
// Sorting, hashing and text of the standard library, most of it inlined: for SECONDS.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <unordered_map>
#include <vector>

struct pair {
	std::uint64_t key, value;
};

static std::uint64_t scrambled(std::uint64_t value)
{
	value ^= value >> 31;
	value *= 0x94d049bb133111ebull;
	return value ^ (value >> 29);
}

static std::vector<pair> pairs(std::uint64_t seed)
{
	std::vector<pair> list(2000);

	for (auto &entry : list)
		entry = { seed = scrambled(seed + 1), seed >> 7 };
	return list;
}

static std::uint64_t sorted(std::vector<pair> list)
{
	std::sort(list.begin(), list.end(),
		  [](const pair &a, const pair &b) { return a.key < b.key; });
	return list[list.size() / 2].value;
}

static std::uint64_t counted(const std::vector<pair> &list)
{
	std::unordered_map<std::string, std::uint64_t> words;

	for (const auto &entry : list)
		words[std::to_string(entry.key % 300)] += entry.value;
	return words.size();
}

int main(int argc, char **argv)
{
	const auto end = std::chrono::steady_clock::now() +
		std::chrono::duration<double>(argc > 1 ? std::atof(argv[1]) : 1);
	std::uint64_t value = 1;

	while (std::chrono::steady_clock::now() < end) {
		const auto list = pairs(value);

		value += sorted(list) + counted(list);
	}
	return value == 0;
}
