/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as one of the short texts that the kernel has in sysfs and tracefs, and as what read(2)
 * of an event returns. The first byte chooses the reader.
 */
#include "../pm_sys.h"
#include "../text.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void note_cpu(unsigned int cpu, void *context)
{
	size_t *calls = context;

	(void)cpu;
	(*calls)++;
}

/* A list of a few bytes must not keep its reader busy for long. */
static void read_cpus(const char *text)
{
	size_t calls = 0;

	if (pm_cpulist_each(text, note_cpu, &calls) < 0 && calls > (1 << 20))
		abort();
	if (calls > (size_t)1 << 22)
		abort();
}

static void read_field(const char *text)
{
	struct pm_trace_field field = { 77, 77, true };
	const char *name = strchr(text, '\n');

	if (pm_tracepoint_field(text, name ? name + 1 : "prev_pid", &field) < 0 &&
	    (field.offset != 77 || field.size != 77))
		abort();
}

static void read_format(const char *text, size_t size)
{
	struct perf_event_attr attr = { .size = sizeof(attr) }, before = attr;

	if (pm_pmu_place(text, 0x0123456789abcdefull ^ size, &attr) < 0 &&
	    memcmp(&attr, &before, sizeof(attr)) != 0)
		abort();
}

static void read_numbers(const char *text)
{
	unsigned int one = 0, two = 0;
	const char *at = text;

	while (pm_take_range(&at, &one, &two))
		if (one > two || at == text)
			abort();
	at = text;
	if (pm_take_number(&at, &one) && at == text)
		abort();
	if (pm_is_component(text) && (strchr(text, '/') || text[0] == '.' || text[0] == '\0'))
		abort();
}

/* The block is as long as what was read, so that the sanitizer sees one byte too much. */
static void read_counts(const uint8_t *data, size_t size)
{
	struct pm_counts counts;
	void *block;

	if (size < 1)
		return;
	block = malloc(size - 1);
	memcpy(block, data + 1, size - 1);
	if (pm_counts_decode(block, size - 1, data[0], &counts) == 0 && counts.nr > PM_COUNTS_MAX)
		abort();
	free(block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (size < 1)
		return 0;
	text = malloc(size);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	switch (data[0] % 5) {
	case 0: read_cpus(text); break;
	case 1: read_field(text); break;
	case 2: read_format(text, size); break;
	case 3: read_numbers(text); break;
	default: read_counts(data + 1, size - 1);
	}
	free(text);
	return 0;
}
