/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How numbers and counts are made false. See change.h.
 */
#include <string.h>

#include "change.h"
#include "fields.def"
#include "lies.h"

void change_number(void *number, size_t size, char way)
{
	uint64_t value = 0;
	uint32_t word;
	uint16_t half;

	if (size == 8)
		memcpy(&value, number, 8);
	else if (size == 4)
		memcpy(&word, number, 4), value = word;
	else if (size == 2)
		memcpy(&half, number, 2), value = half;
	else
		value = *(uint8_t *)number;
	switch (way) {
	case 'p': value++; break;
	case 'm': value -= value != 0; break;
	case 'z': value = 0; break;
	case 'h': value /= 2; break;
	case 'd': value *= 2; break;
	case 'k': value *= 1000; break;
	case 'K': value /= 1000; break;
	case 'g': value += 1ull << 50; break;
	}
	word = (uint32_t)value;
	half = (uint16_t)value;
	if (size == 1)
		*(uint8_t *)number = (uint8_t)value;
	else
		memcpy(number, size == 8 ? (void *)&value : size == 4 ? (void *)&word : &half,
		       size);
}

#define PERF_FORMAT_ALWAYS (~0ull)

static const struct { size_t offset; uint64_t bit; } parts[] = {
#define COUNT(name, member, bit, ways) { offsetof(struct pm_counts, member), PERF_FORMAT_##bit },
	COUNT_CONTENTS(COUNT)
};
#define PARTS ((int)(sizeof(parts) / sizeof(*parts)))
#define FIELD(record, name, member, bit, ways) +1
#define BEFORE (0 SAMPLE_CONTENTS(FIELD) TRAILER_CONTENTS(FIELD) RECORD_CONTENTS(FIELD))

static void swap(uint64_t *a, uint64_t *b)
{
	const uint64_t kept = *a;

	*a = *b;
	*b = kept;
}

static void change_whole(struct pm_counts *counts, uint64_t read_format)
{
	if ((read_format & 3) == 3) {
		if (lie(LIE_read_swapped_times))
			swap(&counts->time_enabled, &counts->time_running);
		if (lie(LIE_read_running_is_enabled))
			counts->time_running = counts->time_enabled;
	}
	if (counts->nr < 2)
		return;
	if (read_format & PERF_FORMAT_ID && lie(LIE_read_swapped_ids))
		swap(&counts->member[0].id, &counts->member[1].id);
	if (lie(LIE_read_swapped_values))
		swap(&counts->member[0].value, &counts->member[1].value);
}

void change_counts(struct pm_counts *counts, uint64_t read_format)
{
	for (int i = 0; i < PARTS; i++) {
		const char *ways;
		int number = lie_of_field(BEFORE + i, &ways);
		const size_t of_second = offsetof(struct pm_counts, member[1]);

		if (parts[i].bit != PERF_FORMAT_ALWAYS && !(read_format & parts[i].bit))
			continue;
		if (parts[i].offset >= of_second && counts->nr < 2)
			continue;
		for (; *ways; ways++) {
			if (lie(number++))
				change_number((char *)counts + parts[i].offset, 8, *ways);
			if (*ways == 'k' && lie(number++))
				change_number((char *)counts + parts[i].offset, 8, 'K');
		}
	}
	change_whole(counts, read_format);
}
