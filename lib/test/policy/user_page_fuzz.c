/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the user page of an event. Reading it ends, also when the page never stands still,
 * and leaves the result alone when it says that read(2) must be used.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../policy/count/user_page.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct perf_event_mmap_page page;
static unsigned int reads;
static uint64_t count;
static uint8_t how;

static bool fake_counter(uint32_t index, uint64_t *ret)
{
	(void)index;
	if (reads++ > 100000)
		abort();
	if (how & 1)
		page.lock += 2;
	*ret = count;
	return !(how & 2);
}

static bool fake_cycles(uint64_t *ret)
{
	*ret = count * 3;
	return !(how & 4);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct pm_registers machine = { fake_counter, fake_cycles };
	struct pm_value value = { sizeof(value), 5, 6, 7 }, before = value;
	struct pm_user_time time;

	if (size < 9)
		return 0;
	how = data[0];
	memcpy(&count, data + 1, 8);
	memset(&page, 0, sizeof(page));
	memcpy(&page, data + 9, size - 9 < sizeof(page) ? size - 9 : sizeof(page));
	reads = 0;
	if (pm_user_value(&page, &machine, &value) < 0 && memcmp(&value, &before, sizeof(value)))
		abort();
	if (pm_user_time(&page, &time) == 0)
		(void)pm_user_time_at(&time, count);
	return 0;
}
