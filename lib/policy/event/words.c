/* SPDX-License-Identifier: MIT */
/* Generic events by the words that perf(1) has for them. */
#include "event.h"

#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const struct generic {
	uint32_t type;
	uint64_t config;
	const char *name, *other;
} generics[] = {
#define PM_HARDWARE(id, config, name, other) { PERF_TYPE_HARDWARE, config, name, other },
#define PM_SOFTWARE(id, config, name, other) { PERF_TYPE_SOFTWARE, config, name, other },
#define PM_CACHE(id, number, name)
#include "../../perfmodes_event.def"
};

struct word { unsigned int number; const char *name; };

/* The first word of each is in perfmodes_event.def; these are perf's others. */
static const struct word caches[] = {
#define PM_HARDWARE(id, config, name, other)
#define PM_SOFTWARE(id, config, name, other)
#define PM_CACHE(id, number, name) { number, name },
#include "../../perfmodes_event.def"
	{ PM_CACHE_L1D, "l1-d" }, { PM_CACHE_L1D, "l1d" }, { PM_CACHE_L1D, "L1-data" },
	{ PM_CACHE_L1I, "l1-i" }, { PM_CACHE_L1I, "l1i" }, { PM_CACHE_L1I, "L1-instruction" },
	{ PM_CACHE_LL, "L2" }, { PM_CACHE_DTLB, "d-tlb" }, { PM_CACHE_DTLB, "Data-TLB" },
	{ PM_CACHE_ITLB, "i-tlb" }, { PM_CACHE_ITLB, "Instruction-TLB" },
	{ PM_CACHE_BPU, "bpu" }, { PM_CACHE_BPU, "btb" }, { PM_CACHE_BPU, "bpc" },
};

static const struct word operations[] = {
	{ PM_CACHE_LOAD, "load" }, { PM_CACHE_LOAD, "loads" }, { PM_CACHE_LOAD, "read" },
	{ PM_CACHE_STORE, "store" }, { PM_CACHE_STORE, "stores" }, { PM_CACHE_STORE, "write" },
	{ PM_CACHE_PREFETCH, "prefetch" }, { PM_CACHE_PREFETCH, "prefetches" },
	{ PM_CACHE_PREFETCH, "speculative-read" }, { PM_CACHE_PREFETCH, "speculative-load" },
};

static const struct word results[] = {
	{ PM_CACHE_ACCESS, "refs" }, { PM_CACHE_ACCESS, "Reference" },
	{ PM_CACHE_ACCESS, "ops" }, { PM_CACHE_ACCESS, "access" },
	{ PM_CACHE_MISS, "misses" }, { PM_CACHE_MISS, "miss" },
};

bool pm_event_is_word(const char *word, const char *text, size_t length)
{
	return strlen(word) == length && length > 0 && memcmp(word, text, length) == 0;
}

/*
 * The longest word at the beginning of the text which ends there or before a hyphen; it is moved
 * behind both. -1: none.
 */
static int take_word(const struct word *words, size_t count, const char **text, size_t *length)
{
	size_t longest = 0;
	int found = -1;

	for (size_t i = 0; i < count; i++) {
		const size_t size = strlen(words[i].name);

		if (size <= longest || size > *length || memcmp(words[i].name, *text, size) != 0 ||
		    (size < *length && (*text)[size] != '-'))
			continue;
		longest = size;
		found = (int)words[i].number;
	}
	if (found < 0)
		return -1;
	longest += longest < *length;
	*text += longest;
	*length -= longest;
	return found;
}

/* "L1-dcache-load-misses": a cache, what is done to it and what comes of it, in either order. */
static bool take_cache(struct perf_event_attr *attr, const char *text, size_t length)
{
	int cache, operation, result;

	if (length == 0 || text[length - 1] == '-')
		return false;
	cache = take_word(caches, COUNT(caches), &text, &length);
	operation = take_word(operations, COUNT(operations), &text, &length);
	result = take_word(results, COUNT(results), &text, &length);
	if (operation < 0)
		operation = take_word(operations, COUNT(operations), &text, &length);
	if (cache < 0 || length > 0)
		return false;
	operation = operation < 0 ? PM_CACHE_LOAD : operation;
	result = result < 0 ? PM_CACHE_ACCESS : result;
	attr->type = PERF_TYPE_HW_CACHE;
	attr->config = (uint64_t)PM_CACHE_EVENT(cache, operation, result);
	return true;
}

bool pm_event_generic(struct perf_event_attr *attr, const char *text, size_t length)
{
	for (size_t i = 0; i < COUNT(generics); i++)
		if (pm_event_is_word(generics[i].name, text, length) ||
		    pm_event_is_word(generics[i].other, text, length)) {
			attr->type = generics[i].type;
			attr->config = generics[i].config;
			return true;
		}
	return take_cache(attr, text, length);
}
