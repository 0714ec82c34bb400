/* SPDX-License-Identifier: MIT */
/*
 * The format of pprof (profile.proto of github.com/google/pprof): one message, Profile, whose
 * repeated fields may stand in any order and in any number of pieces. So strings, functions and
 * locations are written when they first occur, each with the next number, and nothing needs to be
 * kept but what number they got. When that takes too much memory all is forgotten, and what occurs
 * again is written again. Mappings are written behind the samples: only then it is known which of
 * them is the program, and has to be the first, and what all its locations have.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../perfmodes_stacks.h"
#include "../wire/packet.h"
#include "bag.h"
#include "lines.h"
#include "pprof_mappings.h"
#include "sink.h"
#include "symbols.h"
#include "unwinder.h"

#define MEMORY_DEFAULT ((uint64_t)32 << 20)
#define FRAMES_MAX 8192

/* Fields of the messages, by their numbers. */
enum { PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE, PROFILE_MAPPING, PROFILE_LOCATION,
       PROFILE_FUNCTION, PROFILE_STRING, PROFILE_TIME = 9, PROFILE_DURATION, PROFILE_PERIOD_TYPE,
       PROFILE_PERIOD };
enum { VALUE_TYPE = 1, VALUE_UNIT };
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_TEXT, LABEL_NUMBER };
enum { MAPPING_ID = 1, MAPPING_START, MAPPING_LIMIT, MAPPING_OFFSET, MAPPING_FILE,
       MAPPING_BUILD_ID, MAPPING_HAS_FUNCTIONS, MAPPING_HAS_FILES, MAPPING_HAS_LINES,
       MAPPING_HAS_INLINED };
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1, LINE_NUMBER };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE };

struct pm_pprof {
	struct sink sink;
	uint64_t limit;
	struct bag strings, functions, locations, stacks;
	struct pprof_mappings mappings;
	uint64_t string_count, function_count, location_count;
	struct packet outer, inner, line;
};

/* What is summed up: numbers of labels and locations. Behind it, `count` locations. */
struct stack_key {
	uint64_t comm, pid, tid, end, count;
};

/* ------------------------------------------------------------------------------------ messages */

static void begin(struct packet *packet)
{
	packet->size = 0;
}

/* A field of value 0 is the same as none. */
static void put_number(struct packet *packet, unsigned int field, uint64_t value)
{
	if (value != 0)
		packet_number(packet, field, value);
}

static void put_message(struct packet *packet, unsigned int field, const struct packet *inner)
{
	packet_bytes(packet, field, inner->bytes, inner->size);
}

static bool failed(const struct pm_pprof *pprof)
{
	return pprof->outer.error != 0 || pprof->inner.error != 0 || pprof->line.error != 0;
}

static void write_outer(struct pm_pprof *pprof)
{
	if (!failed(pprof))
		sink_write(&pprof->sink, pprof->outer.bytes, pprof->outer.size);
}

/* Writes pprof->inner as a field of the profile. */
static void emit(struct pm_pprof *pprof, unsigned int field)
{
	begin(&pprof->outer);
	put_message(&pprof->outer, field, &pprof->inner);
	write_outer(pprof);
}

/* -------------------------------------------------------------- what is written when it occurs */

static uint64_t string(struct pm_pprof *pprof, const char *text)
{
	uint64_t *number;

	if (text == NULL || text[0] == '\0')
		return 0;
	number = bag_take(&pprof->strings, text, strlen(text));
	if (number == NULL)
		return 0;
	if (*number != 0)
		return *number;
	*number = pprof->string_count++;
	begin(&pprof->outer);
	packet_text(&pprof->outer, PROFILE_STRING, text, strlen(text));
	write_outer(pprof);
	return *number;
}

static void write_hex(const uint8_t *bytes, size_t size, char *ret)
{
	for (size_t i = 0; i < size; i++) {
		ret[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
		ret[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
	}
	ret[2 * size] = '\0';
}

/*
 * Memory without a file has no place: it may be anywhere in each process, and is told by name.
 * `program`: the address by which the symbol of a program was found; 0: it is of any file.
 */
static struct pprof_mapping *mapping(struct pm_pprof *pprof, struct pm_symbols *symbols,
				     const struct pm_symbol *symbol, uint64_t program,
				     unsigned int frame)
{
	char build_id[2 * 64 + 1];
	struct pprof_place place = { .file = symbol->module, .build_id = build_id };
	struct pprof_mapping *ret;
	bool fresh;

	write_hex(symbol->build_id, symbol->build_id_size < 64 ? symbol->build_id_size : 64,
		  build_id);
	place.kernel = frame & PM_FRAME_KERNEL && !(frame & PM_FRAME_GUEST);
	if (place.kernel) {
		kernel_range(symbols, symbol->module, &place.start, &place.end);
	} else if (symbol->file_address != 0 || symbol->module[0] == '/') {
		place.start = symbol->map_start;
		place.end = symbol->map_end;
		place.offset = symbol->map_offset;
		place.program = program != 0 && symbol->file_address != 0;
		place.linked = symbol->file_address - (program - symbol->map_start);
	}
	ret = mappings_take(&pprof->mappings, &place, &fresh);
	if (ret == NULL || !fresh)
		return ret;
	ret->file = string(pprof, symbol->module);
	ret->build_id = string(pprof, build_id);
	return ret;
}

/* A reader of profiles looks for what is not told: it is told of all that is in it. */
static void write_mappings(struct pm_pprof *pprof)
{
	struct pprof_mappings *all = &pprof->mappings;

	mappings_settle(all);
	for (; all->written < all->count; all->written++) {
		const struct pprof_mapping *one = &all->list[all->written];

		begin(&pprof->inner);
		put_number(&pprof->inner, MAPPING_ID, one->id);
		put_number(&pprof->inner, MAPPING_START, one->start);
		put_number(&pprof->inner, MAPPING_LIMIT, one->limit);
		put_number(&pprof->inner, MAPPING_OFFSET, one->offset);
		put_number(&pprof->inner, MAPPING_FILE, one->file);
		put_number(&pprof->inner, MAPPING_BUILD_ID, one->build_id);
		put_number(&pprof->inner, MAPPING_HAS_FUNCTIONS, one->used && !one->unnamed);
		put_number(&pprof->inner, MAPPING_HAS_FILES, one->used && !one->unlined);
		put_number(&pprof->inner, MAPPING_HAS_LINES, one->used && !one->unlined);
		put_number(&pprof->inner, MAPPING_HAS_INLINED, one->inlined ||
			   (one->used && !one->unlined));
		emit(pprof, PROFILE_MAPPING);
	}
}

/* Functions of one name in two files, or from two sources, are two. */
static uint64_t function(struct pm_pprof *pprof, const struct pm_symbol *symbol,
			 const struct pm_line *line)
{
	uint64_t name, raw, module, source, *number;

	if (line->name == NULL)
		return 0;
	name = string(pprof, line->name);
	raw = string(pprof, line->raw_name);
	module = string(pprof, symbol->module);
	source = string(pprof, line->file);
	number = bag_take(&pprof->functions, (uint64_t[4]){ name, raw, module, source },
			  4 * sizeof(uint64_t));
	if (number == NULL || *number != 0)
		return number != NULL ? *number : 0;
	*number = ++pprof->function_count;
	begin(&pprof->inner);
	put_number(&pprof->inner, FUNCTION_ID, *number);
	put_number(&pprof->inner, FUNCTION_NAME, name);
	put_number(&pprof->inner, FUNCTION_SYSTEM_NAME, raw);
	put_number(&pprof->inner, FUNCTION_FILE, source);
	emit(pprof, PROFILE_FUNCTION);
	return *number;
}

static void write_location(struct pm_pprof *pprof, const uint64_t location[3],
			   const struct pm_line *lines, const uint64_t *functions,
			   unsigned int count)
{
	begin(&pprof->inner);
	put_number(&pprof->inner, LOCATION_ID, location[0]);
	put_number(&pprof->inner, LOCATION_MAPPING, location[1]);
	put_number(&pprof->inner, LOCATION_ADDRESS, location[2]);
	for (unsigned int i = 0; i < count; i++) {
		begin(&pprof->line);
		put_number(&pprof->line, LINE_FUNCTION, functions[i]);
		put_number(&pprof->line, LINE_NUMBER, lines[i].line);
		if (functions[i] != 0)
			put_message(&pprof->inner, LOCATION_LINE, &pprof->line);
	}
	emit(pprof, PROFILE_LOCATION);
}

/*
 * Addresses are counted from where the profile has the mapping, so that those of two processes are
 * one. The lines are innermost first, as the format has them; the last is the function of the
 * symbol.
 */
static uint64_t location(struct pm_pprof *pprof, struct pprof_mapping *map,
			 const struct pm_symbol *symbol, uint64_t address,
			 const struct pm_line *lines, unsigned int count)
{
	const uint64_t where = map->limit != 0 && symbol->map_end != 0 ?
		address - symbol->map_start + map->start : address;
	uint64_t functions[LINES_DEPTH_MAX], *number;

	for (unsigned int i = 0; i < count; i++)
		functions[i] = function(pprof, symbol, &lines[i]);
	map->used = true;
	map->unnamed |= functions[count - 1] == 0;
	map->unlined |= lines[0].file == NULL || lines[0].line == 0;
	map->inlined |= count > 1;
	number = bag_take(&pprof->locations,
			  (uint64_t[3]){ map->id, functions[count - 1], where },
			  3 * sizeof(uint64_t));
	if (number == NULL || *number != 0)
		return number != NULL ? *number : 0;
	*number = ++pprof->location_count;
	write_location(pprof, (uint64_t[3]){ *number, map->id, where }, lines, functions, count);
	return *number;
}

static uint64_t locate(struct pm_pprof *pprof, struct pm_symbols *symbols,
		       struct pm_unwinder *unwinder, uint64_t address, unsigned int frame)
{
	struct pm_symbol symbol = { .size = sizeof(symbol), .module = "[unknown]" };
	struct pm_line lines[LINES_DEPTH_MAX] = { { .size = sizeof(lines[0]) } };
	struct pprof_mapping *map;
	int count;

	(void)pm_symbols_find(symbols, unwinder, address, frame, &symbol);
	map = mapping(pprof, symbols, &symbol, 0, frame);
	if (map == NULL)
		return 0;
	count = pm_symbols_lines(symbols, unwinder, address, frame, lines, LINES_DEPTH_MAX);
	if (count <= 0)
		count = 1;
	lines[count - 1].name = symbol.name;
	lines[count - 1].raw_name = symbol.raw_name;
	/* Where a call returns to is behind it: the instruction is the one in front. */
	return location(pprof, map, &symbol, frame & PM_FRAME_CALLER ? address - 1 : address, lines,
			(unsigned int)count);
}

/* The file that the process runs has a mapping, also where no sample is in it. */
static void weigh_program(struct pm_pprof *pprof, struct pm_symbols *symbols,
			  struct pm_unwinder *unwinder, uint64_t weight)
{
	struct pm_symbol symbol = { .size = sizeof(symbol) };
	struct pprof_mapping *map = NULL;
	const uint64_t at = unwinder != NULL ? unwinder_program(unwinder) : 0;

	if (at != 0 && pm_symbols_find(symbols, unwinder, at, 0, &symbol) == 0)
		map = mapping(pprof, symbols, &symbol, at, 0);
	if (map != NULL)
		map->weight += weight;
}

/* ------------------------------------------------------------------------------------- samples */

static void put_label(struct pm_pprof *pprof, uint64_t key, uint64_t text, uint64_t number)
{
	begin(&pprof->line);
	put_number(&pprof->line, LABEL_KEY, key);
	put_number(&pprof->line, LABEL_TEXT, text);
	put_number(&pprof->line, LABEL_NUMBER, number);
	put_message(&pprof->inner, SAMPLE_LABEL, &pprof->line);
}

static void write_stack(struct pm_pprof *pprof, const struct stack_key *key, uint64_t weight)
{
	const uint64_t *locations = (const uint64_t *)(key + 1);
	const uint64_t comm = string(pprof, "comm"), pid = string(pprof, "pid");
	const uint64_t tid = string(pprof, "tid"), end = string(pprof, "end");

	begin(&pprof->outer);
	for (uint64_t i = 0; i < key->count; i++)
		packet_varint(&pprof->outer, locations[i]);
	begin(&pprof->inner);
	put_message(&pprof->inner, SAMPLE_LOCATIONS, &pprof->outer);
	begin(&pprof->line);
	packet_varint(&pprof->line, weight);
	put_message(&pprof->inner, SAMPLE_VALUES, &pprof->line);
	put_label(pprof, comm, key->comm, 0);
	put_label(pprof, pid, 0, key->pid);
	put_label(pprof, tid, 0, key->tid);
	if (key->end != 0)
		put_label(pprof, end, key->end, 0);
	emit(pprof, PROFILE_SAMPLE);
}

static void write_stacks(struct pm_pprof *pprof)
{
	for (size_t i = 0; i < pprof->stacks.room; i++)
		if (pprof->stacks.slots[i].key != NULL)
			write_stack(pprof, (const void *)pprof->stacks.slots[i].key,
				    pprof->stacks.slots[i].value);
	bag_clear(&pprof->stacks);
}

static void forget_beyond(struct pm_pprof *pprof, uint64_t limit)
{
	if (pprof->strings.bytes + pprof->functions.bytes + pprof->locations.bytes +
	    pprof->mappings.keys.bytes + pprof->stacks.bytes <= limit)
		return;
	write_stacks(pprof);
	/* They are few but where somebody maps ever more: what is there stays in its place. */
	if (pprof->mappings.keys.bytes > limit / 4) {
		write_mappings(pprof);
		mappings_clear(&pprof->mappings);
	}
	bag_clear(&pprof->strings);
	bag_clear(&pprof->functions);
	bag_clear(&pprof->locations);
}

int pm_pprof_add(struct pm_pprof *pprof, const char *comm, struct pm_symbols *symbols,
		 struct pm_unwinder *unwinder, const struct pm_stack *stack)
{
	const size_t count = stack->count < FRAMES_MAX ? stack->count : FRAMES_MAX;
	uint64_t key[sizeof(struct stack_key) / sizeof(uint64_t) + FRAMES_MAX];
	uint64_t *locations = key + sizeof(struct stack_key) / sizeof(uint64_t), *weight;
	struct stack_key *head = (struct stack_key *)key;

	forget_beyond(pprof, pprof->limit);
	weigh_program(pprof, symbols, unwinder, stack->weight);
	*head = (struct stack_key){ string(pprof, comm), (uint64_t)stack->pid,
				    (uint64_t)stack->tid, 0, 0 };
	if (stack->end != PM_END_COMPLETE && stack->end != PM_END_UNTOLD)
		head->end = string(pprof, pm_stack_end_text(stack->end));
	for (size_t i = 0; i < count; i++) {
		locations[head->count] = locate(pprof, symbols, unwinder, stack->addresses[i],
						stack->frames[i]);
		head->count += locations[head->count] != 0;
	}
	weight = bag_take(&pprof->stacks, key, sizeof(*head) + head->count * sizeof(uint64_t));
	if (weight == NULL || failed(pprof))
		return -ENOMEM;
	*weight += stack->weight;
	return pprof->sink.error;
}

/* ------------------------------------------------------------------------------- begin and end */

static void write_type(struct pm_pprof *pprof, unsigned int field, const char *type,
		       const char *unit)
{
	const uint64_t first = string(pprof, type), second = string(pprof, unit);

	begin(&pprof->inner);
	put_number(&pprof->inner, VALUE_TYPE, first);
	put_number(&pprof->inner, VALUE_UNIT, second);
	emit(pprof, field);
}

static void write_number(struct pm_pprof *pprof, unsigned int field, uint64_t value)
{
	begin(&pprof->outer);
	put_number(&pprof->outer, field, value & INT64_MAX);
	write_outer(pprof);
}

/* The first string is the empty one: 0 stands for none. */
static void write_head(struct pm_pprof *pprof, const struct pm_pprof_opts *opts)
{
	const char *type = opts->type ? opts->type : "cpu";
	const char *unit = opts->unit ? opts->unit : "nanoseconds";

	begin(&pprof->inner);
	emit(pprof, PROFILE_STRING);
	pprof->string_count = 1;
	write_type(pprof, PROFILE_SAMPLE_TYPE, type, unit);
	if (opts->period != 0)
		write_type(pprof, PROFILE_PERIOD_TYPE, type, unit);
	write_number(pprof, PROFILE_PERIOD, opts->period);
	write_number(pprof, PROFILE_TIME, opts->time);
}

int pm_pprof_open(int fd, const struct pm_pprof_opts *opts, struct pm_pprof **ret)
{
	struct pm_pprof_opts all = { .size = sizeof(all) };
	struct pm_pprof *pprof = calloc(1, sizeof(*pprof));

	if (pprof == NULL)
		return -ENOMEM;
	if (opts != NULL)
		memcpy(&all, opts, opts->size < sizeof(all) ? opts->size : sizeof(all));
	pprof->limit = all.memory ? all.memory : MEMORY_DEFAULT;
	if (sink_open(&pprof->sink, fd, !all.plain) < 0) {
		free(pprof);
		return -ENOMEM;
	}
	bag_open(&pprof->strings);
	bag_open(&pprof->functions);
	bag_open(&pprof->locations);
	mappings_open(&pprof->mappings);
	bag_open(&pprof->stacks);
	write_head(pprof, &all);
	*ret = pprof;
	return 0;
}

int pm_pprof_flush(struct pm_pprof *pprof, uint64_t duration)
{
	write_stacks(pprof);
	write_mappings(pprof);
	write_number(pprof, PROFILE_DURATION, duration);
	sink_complete(&pprof->sink);
	return failed(pprof) ? -ENOMEM : pprof->sink.error;
}

int pm_pprof_destroy(struct pm_pprof *pprof, uint64_t duration)
{
	int err;

	if (pprof == NULL)
		return 0;
	write_stacks(pprof);
	write_mappings(pprof);
	forget_beyond(pprof, 0);
	write_number(pprof, PROFILE_DURATION, duration);
	err = sink_close(&pprof->sink);
	if (err == 0 && failed(pprof))
		err = -ENOMEM;
	free(pprof->outer.bytes);
	free(pprof->inner.bytes);
	free(pprof->line.bytes);
	free(pprof);
	return err;
}
