/* SPDX-License-Identifier: MIT */
/* CPUs by implementer and part, as /proc/cpuinfo tells them on Arm. */
#include "cpu_id.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define MOST 4096		/* CPUs that share one text about them, as on kernels before 3.18 */

struct list {
	char *text;
	size_t room, used;
	long first, last;	/* the range at its end; -1: none */
	int count;
	bool full;
};

static void put_range(struct list *list)
{
	const char *comma = list->used ? "," : "";
	int length;

	if (list->first < 0)
		return;
	length = list->first == list->last ?
		snprintf(list->text + list->used, list->room - list->used, "%s%ld", comma,
			 list->first) :
		snprintf(list->text + list->used, list->room - list->used, "%s%ld-%ld", comma,
			 list->first, list->last);
	if (length < 0 || (size_t)length >= list->room - list->used)
		list->full = true;
	else
		list->used += (size_t)length;
	list->first = -1;
}

static void put(struct list *list, long cpu)
{
	if (list->first < 0 || cpu != list->last + 1) {
		put_range(list);
		list->first = cpu;
	}
	list->last = cpu;
	list->count++;
}

static bool is_wanted(const struct cpu_ids *ids, uint16_t cpu, const char *id)
{
	bool named = ids->named_count == 0, begins = false;

	for (size_t i = 0; i < ids->named_count; i++)
		named = named || ids->named[i] == cpu;
	for (size_t i = 0; i < ids->begin_count; i++)
		begins = begins || strncmp(id, ids->begins[i], strlen(ids->begins[i])) == 0;
	return named && begins;
}

/* The id of what was read so far, which is complete with the revision. */
struct id {
	unsigned int implementer, part, variant;
	bool has_implementer, has_part, has_variant;
};

static bool take(struct id *id, const char *line, char *ret)
{
	unsigned int revision;

	if (sscanf(line, "CPU implementer : %x", &id->implementer) == 1)
		id->has_implementer = true;
	else if (sscanf(line, "CPU variant : %x", &id->variant) == 1)
		id->has_variant = true;
	else if (sscanf(line, "CPU part : %x", &id->part) == 1)
		id->has_part = true;
	if (sscanf(line, "CPU revision : %u", &revision) != 1 || !id->has_implementer ||
	    !id->has_part || !id->has_variant)
		return false;
	(void)snprintf(ret, CPU_ID, "%x%x%x%x", id->implementer, id->part, id->variant, revision);
	*id = (struct id){ .has_part = false };
	return true;
}

int cpu_ids_list(FILE *cpuinfo, struct cpu_ids *ids, char *ret, size_t room)
{
	struct list list = { .text = ret, .room = room, .first = -1 };
	uint16_t cpus[MOST];
	size_t count = 0;
	struct id id = { .has_part = false };
	char line[512], whole[CPU_ID];
	unsigned int cpu;

	ret[0] = ids->first[0] = '\0';
	while (fgets(line, sizeof(line), cpuinfo)) {
		if (sscanf(line, "processor : %u", &cpu) == 1 && cpu <= UINT16_MAX && count < MOST)
			cpus[count++] = (uint16_t)cpu;
		if (!take(&id, line, whole))
			continue;
		if (ids->first[0] == '\0')
			(void)memcpy(ids->first, whole, sizeof(whole));
		for (size_t i = 0; i < count; i++)
			if (is_wanted(ids, cpus[i], whole))
				put(&list, cpus[i]);
		count = 0;
	}
	put_range(&list);
	return list.full ? -EOVERFLOW : list.count;
}
