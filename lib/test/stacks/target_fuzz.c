/* SPDX-License-Identifier: MIT */
/* What else a target writes: the text of maps (names), a perf map, a jitdump. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../stacks/jit.h"
#include "../../stacks/maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void as_maps(const char *text, size_t size)
{
	struct maps maps = { 0 };

	if (maps_parse(text, size, &maps) < 0)
		return;
	for (size_t i = 0; i < maps.count; i++) {
		struct map map = maps.list[i];

		if (maps_find(&maps, map.start) != &maps.list[i] || map.start >= map.end ||
		    (i > 0 && maps.list[i - 1].end > map.start))
			abort();
	}
	if (maps.count > 1) {
		struct map map = maps.list[0];

		map.end = maps.list[maps.count / 2].end - 1;
		map.name = "new";
		if (map.start < map.end)
			(void)maps_add(&maps, &map);
	}
	for (size_t i = 1; i < maps.count; i++)
		if (maps.list[i - 1].end > maps.list[i].start)
			abort();
	maps_free(&maps);
}

static void as_jit(const char *data, size_t size, bool dump)
{
	struct jit jit = { 0 };
	int fd = memfd_create("jit", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) < 0)
		abort();
	jit_open(&jit, fd, dump);
	(void)jit_read(&jit);
	for (size_t i = 0; i < jit.table.count && i < 64; i++) {
		const struct entry *entry = table_find(&jit.table, jit.table.list[i].address);

		if (entry == NULL || strlen(entry->name) > JIT_NAME_MAX)
			abort();
	}
	jit_free(&jit);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if (data[0] == 'm')
		as_maps((const char *)data + 1, size - 1);
	else
		as_jit((const char *)data + 1, size - 1, data[0] == 'd');
	return 0;
}
