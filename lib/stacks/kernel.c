/* SPDX-License-Identifier: MIT */
/*
 * kallsyms: lines of "ADDRESS TYPE NAME" with "\t[module]" behind names of modules. Where
 * kernel.kptr_restrict or a missing capability hides addresses, all of them read as 0.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols.h"

#define TEXT_MAX ((size_t)128 << 20)
#define PAGE ((uint64_t)4096)

static char *read_all(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t room = 0, used = 0;
	char *text = NULL;
	ssize_t got = fd < 0 ? -1 : 1;

	while (got > 0) {
		if (room - used < 65536) {
			const size_t more = room ? 2 * room : 1 << 20;
			char *bigger = more <= TEXT_MAX ? realloc(text, more) : NULL;

			if (bigger == NULL)
				break;
			text = bigger;
			room = more;
		}
		got = read(fd, text + used, room - used - 1);
		if (got > 0)
			used += (size_t)got;
	}
	if (fd >= 0)
		close(fd);
	*size = used;
	return text;
}

static bool is_code(char type)
{
	return strchr("tTwWiu", type) != NULL;
}

static void take_line(struct kernel *kernel, char *line, bool *shown)
{
	struct entry entry = { 0 };
	char *end;

	entry.address = strtoull(line, &end, 16);
	if (end == line || end[0] != ' ' || end[1] == '\0' || end[2] != ' ' || end[3] == '\0')
		return;
	*shown |= entry.address != 0;
	entry.name = end + 3;
	entry.rank = (end[1] == 't' ? 0 : 1u << 24) + rank_of_name(entry.name);
	if (entry.address != 0 && is_code(end[1]))
		(void)table_add(&kernel->table, &entry);
}

static const char *module_of(const struct entry *entry)
{
	const char *tab = strchr(entry->name, '\t');

	return tab != NULL ? tab + 1 : "[kernel]";
}

/*
 * kallsyms tells no sizes. A symbol reaches to the next one, but the last one of a module not to
 * another module: it has a page, and the rest of the page in which that ends.
 */
static void end_modules(struct table *table)
{
	const struct entry *next = NULL;	/* the first one behind this address */

	table_sort(table);
	for (size_t i = table->count; i-- > 0;) {
		struct entry *entry = &table->list[i];
		const uint64_t most = (entry->address / PAGE + 2) * PAGE - entry->address;

		if (i + 1 < table->count && table->list[i + 1].address != entry->address)
			next = &table->list[i + 1];
		if (next != NULL && strcmp(module_of(next), module_of(entry)) == 0)
			continue;
		entry->size = next != NULL && next->address - entry->address < most ?
			next->address - entry->address : most;
	}
}

static void read_kernel(struct kernel *kernel, const char *path)
{
	char *line, *newline, *end;
	bool shown = false;
	size_t size;

	kernel->read = true;
	kernel->text = read_all(path, &size);
	if (kernel->text == NULL) {
		kernel->hidden = true;
		return;
	}
	kernel->text[size] = '\0';
	end = kernel->text + size;
	for (line = kernel->text; line < end; line = newline + 1) {
		newline = memchr(line, '\n', (size_t)(end - line));
		if (newline == NULL)
			break;		/* a line that was cut */
		*newline = '\0';
		take_line(kernel, line, &shown);
	}
	kernel->hidden = !shown;
	if (kernel->hidden)
		kernel_free(kernel);
	kernel->read = true;
	end_modules(&kernel->table);
}

void kernel_free(struct kernel *kernel)
{
	const bool hidden = kernel->hidden;

	table_free(&kernel->table);
	free(kernel->text);
	*kernel = (struct kernel){ .hidden = hidden };
}

const struct entry *kernel_find(struct pm_symbols *symbols, uint64_t address)
{
	if (!symbols->kernel.read)
		read_kernel(&symbols->kernel, symbols->kallsyms);
	return table_find(&symbols->kernel.table, address);
}

/* Percpu symbols of some machines count from 0: they are in no half of the kernel. */
void kernel_range(struct pm_symbols *symbols, const char *module, uint64_t *start, uint64_t *end)
{
	const struct table *table = &symbols->kernel.table;
	uint64_t last = 0;

	*start = *end = 0;
	for (size_t i = 0; i < table->count; i++) {
		const struct entry *entry = &table->list[i];

		if (entry->address >> 63 == 0 || strcmp(module_of(entry), module) != 0)
			continue;
		if (last == 0)
			*start = entry->address / PAGE * PAGE;
		last = entry->address;
	}
	if (last != 0)
		*end = last / PAGE * PAGE + PAGE;
}
