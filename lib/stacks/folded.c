/* SPDX-License-Identifier: MIT */
/* Folded stacks: lines that are counted. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../perfmodes_stacks.h"
#include "bag.h"
#include "lines.h"
#include "sink.h"

#define MEMORY_DEFAULT ((uint64_t)16 << 20)
#define LINE_MAX_BYTES 65536

struct pm_folded {
	struct pm_folded_opts opts;
	struct bag lines;
	struct sink sink;
	size_t used;
	char line[LINE_MAX_BYTES];
};

int pm_folded_open(int fd, const struct pm_folded_opts *opts, struct pm_folded **ret)
{
	struct pm_folded *folded = calloc(1, sizeof(*folded));

	if (folded == NULL)
		return -ENOMEM;
	if (opts != NULL)
		memcpy(&folded->opts, opts,
		       opts->size < sizeof(*opts) ? opts->size : sizeof(*opts));
	if (folded->opts.memory == 0)
		folded->opts.memory = MEMORY_DEFAULT;
	bag_open(&folded->lines);
	(void)sink_open(&folded->sink, fd, false);
	*ret = folded;
	return 0;
}

/* Terminals obey U+0080 to U+009F, too: c2 80 to c2 9f in UTF-8. */
static bool is_control(const char *at)
{
	const unsigned char c = (unsigned char)at[0];

	return c < ' ' || c == 0x7f || (c == 0xc2 && (at[1] & 0xe0) == 0x80);
}

/* A part of a line. What the format, or a terminal, would take for something else is replaced. */
static void put(struct pm_folded *folded, const char *text)
{
	for (; *text != '\0' && folded->used < LINE_MAX_BYTES - 1; text++) {
		const bool control = is_control(text);

		folded->line[folded->used++] = *text == ';' ? ':' : control ? '?' : *text;
		text += control && (*text & 0x80) ? 1 : 0;
	}
}

static void next(struct pm_folded *folded)
{
	if (folded->used < LINE_MAX_BYTES - 1)
		folded->line[folded->used++] = ';';
}

static const char *base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return path[0] == '/' && slash[1] != '\0' ? slash + 1 : path;
}

static void put_unnamed(struct pm_folded *folded, const struct pm_symbol *symbol)
{
	const char *module = base(symbol->module);
	const bool marked = module[0] == '[';
	char offset[32];

	if (!marked)
		put(folded, "[");
	put(folded, module);
	if (folded->opts.addresses && symbol->file_address != 0) {
		snprintf(offset, sizeof(offset), "+0x%llx",
			 (unsigned long long)symbol->file_address);
		put(folded, offset);
	}
	if (!marked)
		put(folded, "]");
}

/* The last line is the function itself. */
static void put_inlined(struct pm_folded *folded, struct pm_symbols *symbols,
			struct pm_unwinder *unwinder, uint64_t address, unsigned int frame)
{
	struct pm_line lines[LINES_DEPTH_MAX] = { { .size = sizeof(lines[0]) } };
	const int count = pm_symbols_lines(symbols, unwinder, address, frame, lines,
					   LINES_DEPTH_MAX);

	for (int i = count - 1; i-- > 0;) {
		next(folded);
		put(folded, lines[i].name != NULL ? lines[i].name : "[inlined]");
	}
}

static void put_frame(struct pm_folded *folded, struct pm_symbols *symbols,
		      struct pm_unwinder *unwinder, uint64_t address, unsigned int frame)
{
	struct pm_symbol symbol = { .size = sizeof(symbol), .module = "[unknown]" };

	(void)pm_symbols_find(symbols, unwinder, address, frame, &symbol);
	next(folded);
	if (symbol.name == NULL) {
		put_unnamed(folded, &symbol);
		return;
	}
	put(folded, symbol.name);
	if (frame & PM_FRAME_KERNEL)
		put(folded, "_[k]");
	else
		put_inlined(folded, symbols, unwinder, address, frame);
}

static void flush(struct pm_folded *folded)
{
	for (size_t i = 0; i < folded->lines.room; i++) {
		const struct bag_slot *slot = &folded->lines.slots[i];
		char weight[32];

		if (slot->key == NULL)
			continue;
		snprintf(weight, sizeof(weight), " %llu\n", (unsigned long long)slot->value);
		sink_write(&folded->sink, slot->key, slot->size);
		sink_write(&folded->sink, weight, strlen(weight));
	}
	bag_clear(&folded->lines);
}

int pm_folded_add(struct pm_folded *folded, const char *comm, struct pm_symbols *symbols,
		  struct pm_unwinder *unwinder, const struct pm_stack *stack)
{
	uint64_t *weight;

	folded->used = 0;
	put(folded, comm != NULL && comm[0] != '\0' ? comm : "?");
	if (stack->end != PM_END_COMPLETE && stack->end != PM_END_UNTOLD) {
		next(folded);
		put(folded, "[truncated]");
	}
	for (size_t i = stack->count; i-- > 0;)
		put_frame(folded, symbols, unwinder, stack->addresses[i], stack->frames[i]);
	if (folded->lines.bytes > folded->opts.memory)
		flush(folded);
	weight = bag_take(&folded->lines, folded->line, folded->used);
	if (weight == NULL)
		return -ENOMEM;
	*weight += stack->weight;
	return folded->sink.error;
}

int pm_folded_flush(struct pm_folded *folded)
{
	flush(folded);
	sink_complete(&folded->sink);
	return folded->sink.error;
}

int pm_folded_destroy(struct pm_folded *folded)
{
	int err;

	if (folded == NULL)
		return 0;
	flush(folded);
	err = sink_close(&folded->sink);
	free(folded);
	return err;
}
