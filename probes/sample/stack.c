/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is the copy of the user stack in a sample true? Unwinding by DWARF reads nothing else.
 * Observed: a page fault is caused below a function that holds a known pattern on its stack; the
 * copy contains it.
 */
#include "probe.h"
#include "pages.h"
#include <stdio.h>

PROBE(TITLE("user stack in samples")
      SINCE("3.7")
      POINT(content, "STACK_USER copies what lies on the stack")
      POINT(begins_at_sp, "STACK_USER begins at the stack pointer, and with what lies there")
      POINT(dyn_size, "the used size of STACK_USER is not 0, and at most the size asked for")
      POINT(largest,
	    "STACK_USER of 65528 bytes, the most, is accepted, and a sample comes"))

#define PATTERN 3072		/* the middle of a copy of 4096 bytes as well */
#define LARGEST 65528

static struct sampler ask_stack(uint32_t size, size_t pages)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID | PERF_SAMPLE_STACK_USER);
	struct perf_event_attr without = attr_faults(PERF_SAMPLE_TID);

	attr.sample_stack_user = size;
	return ask_run_sampler(&attr, &without, 0, -1, pages, "STACK_USER");
}

static uintptr_t pattern_at;
/* Not on the stack: a copy that a fault before the pattern was written causes must not have it. */
static unsigned char want[PATTERN];

static void want_pattern(unsigned char seed)
{
	for (unsigned int i = 0; i < PATTERN; i++)
		want[i] = (unsigned char)(seed + 7 * i);
}

static __attribute__((noinline)) void fault_above_pattern(unsigned char seed)
{
	volatile unsigned char pattern[PATTERN];

	pattern_at = (uintptr_t)pattern;
	for (unsigned int i = 0; i < PATTERN; i++)
		pattern[i] = (unsigned char)(seed + 7 * i);
	cause_faults(1);
	pattern[0] = pattern[PATTERN - 1];
}

TEST(content)
{
	struct sampler sampler = ask_stack(4096, 8);
	struct pm_record record;

	want_pattern(101);
	fault_above_pattern(101);
	if (!find_record(&sampler, PERF_RECORD_SAMPLE, &record))
		say_broken("no sample of a page fault");
	/* The first sample may be of the stack itself growing; the pattern is in one of them. */
	do
		if (record.sample.stack_user_dyn_size >= PATTERN &&
		    memmem(record.sample.stack_user, record.sample.stack_user_dyn_size, want,
			   PATTERN))
			return;
	while (find_record(&sampler, PERF_RECORD_SAMPLE, &record));
	say_broken("the pattern on the stack is in no copy");
}

#define WINDOW (1024 + PATTERN)
static unsigned char window[WINDOW];	/* what lies around the pattern as the fault finds it */

/* The fault and the copy are one function's, and nothing is called between them. Its own variables
 * are not on the stack, where they would change meanwhile. */
static __attribute__((noinline)) void fault_beside_pattern(void)
{
	volatile unsigned char pattern[PATTERN];
	static volatile unsigned int i;
	static char *volatile page;

	want_pattern(57);
	for (i = 0; i < PATTERN; i++)
		pattern[i] = want[i];
	pattern_at = (uintptr_t)pattern;
	page = fresh_page();
	page[0] = 1;
	for (i = 0; i < WINDOW; i++)
		window[i] = pattern[(int)i - 1024];
}

/* Once before, so that what lies below on the stack is there, and the code that it calls. */
TEST(begins_at_sp)
{
	const unsigned char *copy, *found;
	struct pm_record record;
	struct sampler sampler;

	fault_beside_pattern();
	sampler = ask_stack(4096, 8);
	fault_beside_pattern();
	if (!find_record(&sampler, PERF_RECORD_SAMPLE, &record))
		say_broken("no sample of a page fault");
	do {
		copy = record.sample.stack_user;
		found = record.sample.stack_user_dyn_size < PATTERN ? NULL :
			memmem(copy, record.sample.stack_user_dyn_size, want, PATTERN);
	} while (!found && find_record(&sampler, PERF_RECORD_SAMPLE, &record));
	if (!found)
		say_broken("the pattern on the stack is in no copy");
	if (found - copy > 1024)
		say_unknown("the frame of a function has %td bytes below its array", found - copy);
	if (memcmp(copy, window + 1024 - (found - copy), (size_t)(found - copy) + PATTERN))
		say_broken("the first %td bytes of the copy are not those of the stack",
			   found - copy + PATTERN);
}

TEST(dyn_size)
{
	struct sampler sampler = ask_stack(1024, 4);
	struct pm_record record;

	ASSERT_EQ(0, cause_faults(1));
	if (!find_record(&sampler, PERF_RECORD_SAMPLE, &record))
		say_broken("no sample of a page fault");
	if (record.sample.stack_user_size != 1024 || !record.sample.stack_user_dyn_size ||
	    record.sample.stack_user_dyn_size > 1024)
		say_broken("size=%" PRIu64 " dyn_size=%" PRIu64 " want=1024",
			   record.sample.stack_user_size, record.sample.stack_user_dyn_size);
}

/* Where the mapping of an address ends, or 0. */
static uintptr_t end_of_mapping(uintptr_t address)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long long start, end = 0;
	char text[1024];
	bool found = false;

	while (!found && maps && fgets(text, sizeof(text), maps))
		found = sscanf(text, "%llx-%llx", &start, &end) == 2 && start <= address &&
			address < end;
	if (maps)
		fclose(maps);
	return found ? end : 0;
}

/*
 * How many bytes before a page that is not there a copy from user memory may end. arm64 and riscv64
 * move blocks of 64 bytes, 32-bit Arm of 32, and do not count what they had loaded of the last: 48
 * bytes on 5.10 and 6.12 of arm64, 24 to 56 on 7.3 of riscv64, 8 on 6.1 of armv7l.
 */
#if defined(__aarch64__) || (defined(__riscv) && __riscv_xlen == 64)
#define UNCOUNTED 64
#elif defined(__arm__)
#define UNCOUNTED 32
#else
#define UNCOUNTED 0
#endif

/*
 * The copy goes to the end of the stack, or as far as it may, and its end is what lies there. It is
 * taken where no page can be fetched: before one that is not in memory it ends.
 */
static void expect_end(const struct pm_sample *sample, const unsigned char *pattern)
{
	const unsigned char *copy = sample->stack_user;
	const uintptr_t base = pattern_at - (uintptr_t)(pattern - copy);
	const uintptr_t end = end_of_mapping(base);
	const uint64_t size = sample->stack_user_dyn_size;
	const uint64_t whole = end - base < LARGEST ? end - base : LARGEST;
	const uint64_t page = probe_env()->page_size, up_to_page = -(base + size) & (page - 1);

	if (!end)
		return;
	/* The kernel goes by pages, and on into a mapping that begins where the stack's ends. */
	if (size > whole && whole < LARGEST && end_of_mapping(end) >= base + size)
		return;
	if (size > whole || (size < whole && up_to_page > UNCOUNTED))
		say_broken("dyn_size=%" PRIu64 " want=%" PRIu64, size, whole);
	if (size == end - base && memcmp(copy + size - 64, (const void *)(end - 64), 64))
		say_broken("the end of the copy is not the end of the stack");
}

/* The ring holds one such sample and no second: the pages below are the stack's before it. */
TEST(largest)
{
	struct sampler sampler;
	struct pm_record record;

	want_pattern(57);
	fault_above_pattern(58);
	sampler = ask_stack(LARGEST, 32);
	fault_above_pattern(57);
	if (!find_record(&sampler, PERF_RECORD_SAMPLE, &record))
		say_broken("no sample although the ring has room for 128 KiB");
	do {
		const struct pm_sample *sample = &record.sample;
		const void *found;

		if (sample->stack_user_dyn_size > LARGEST)
			say_broken("dyn_size=%" PRIu64, sample->stack_user_dyn_size);
		found = memmem(sample->stack_user, sample->stack_user_dyn_size, want, PATTERN);
		if (found) {
			expect_end(sample, found);
			return;
		}
	} while (find_record(&sampler, PERF_RECORD_SAMPLE, &record));
	say_broken("the pattern on the stack is in no copy");
}

PROBE_MAIN
