/* SPDX-License-Identifier: MIT */
/*
 * A perf map is lines of "START SIZE name", both numbers in hex (Documentation/
 * jit-interface.txt of perf). A jitdump is a header and records (jitdump-specification.txt of
 * perf); of those, JIT_CODE_LOAD and JIT_CODE_MOVE are used. Both grow while the process runs.
 */
#include "jit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK 65536
#define DUMP_MAGIC 0x4a695444u		/* "JiTD" in the writer's byte order */
#define DUMP_HEADER 40
#define CODE_LOAD 0
#define CODE_MOVE 1

struct block {
	struct block *next;
	size_t used;
	char text[CHUNK];
};

static const char *keep_name(struct jit *jit, const char *name, size_t length)
{
	struct block *block = jit->blocks;
	char *copy;

	if (length > JIT_NAME_MAX)
		length = JIT_NAME_MAX;
	if (block == NULL || CHUNK - block->used < length + 1) {
		block = malloc(sizeof(*block));
		if (block == NULL)
			return NULL;
		block->next = jit->blocks;
		block->used = 0;
		jit->blocks = block;
	}
	copy = block->text + block->used;
	memcpy(copy, name, length);
	copy[length] = '\0';
	block->used += length + 1;
	return copy;
}

static int add(struct jit *jit, uint64_t address, uint64_t size, const char *name, size_t length)
{
	struct entry entry = { .address = address, .size = size, .rank = jit->rank };

	if (size == 0 || size > (uint64_t)1 << 40 || address + size < address)
		return 0;
	if (jit->table.count >= JIT_NAMES_MAX)
		return 0;
	entry.name = keep_name(jit, name, length);
	if (entry.name == NULL)
		return -ENOMEM;
	jit->rank++;
	return table_add(&jit->table, &entry);
}

/* ---------------------------------------------------------------------------------- a perf map */

static bool take_hex(const char **at, const char *end, uint64_t *ret)
{
	const char *start;

	if (end - *at > 2 && (*at)[0] == '0' && (*at)[1] == 'x')
		*at += 2;
	*ret = 0;
	for (start = *at; *at < end && *at - start < 17; ++*at) {
		const char c = **at;

		if (c >= '0' && c <= '9')
			*ret = *ret << 4 | (uint64_t)(c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			*ret = *ret << 4 | (uint64_t)((c | 0x20) - 'a' + 10);
		else
			break;
	}
	return *at > start && *at - start <= 16;
}

static int take_line(struct jit *jit, const char *line, const char *end)
{
	uint64_t address, size;

	if (!take_hex(&line, end, &address) || line == end || *line++ != ' ' ||
	    !take_hex(&line, end, &size) || line == end || *line++ != ' ' || line == end)
		return 0;
	return add(jit, address, size, line, (size_t)(end - line));
}

/* Whole lines; what is longer than a chunk is skipped piece by piece. Returns bytes used. */
static ssize_t take_lines(struct jit *jit, const char *text, size_t size)
{
	size_t used = 0;

	while (used < size) {
		const char *end = memchr(text + used, '\n', size - used);

		if (end == NULL)
			break;
		if (take_line(jit, text + used, end) < 0)
			return -ENOMEM;
		used = (size_t)(end - text) + 1;
	}
	return (ssize_t)(used == 0 && size == CHUNK ? size : used);
}

/* ----------------------------------------------------------------------------------- a jitdump */

static uint64_t word(const char *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint32_t half(const char *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static int take_move(struct jit *jit, const char *record, size_t size)
{
	const struct entry *old;

	if (size < 64 || jit->moves++ >= JIT_MOVES_MAX)
		return 0;
	old = table_find(&jit->table, word(record + 32));
	if (old == NULL)
		return 0;
	return add(jit, word(record + 40), word(record + 48), old->name, strlen(old->name));
}

/* Head: id, size, time; load: pid, tid, vma, address, size, index, name, code. */
static int take_record(struct jit *jit, const char *record, size_t size)
{
	const size_t name = 56;

	switch (half(record)) {
	case CODE_LOAD:
		if (size <= name)
			return 0;
		return add(jit, word(record + 32), word(record + 40), record + name,
			   strnlen(record + name, size - name));
	case CODE_MOVE:
		return take_move(jit, record, size);
	default:
		return 0;
	}
}

static ssize_t take_dump_header(const char *data, size_t size)
{
	if (size < DUMP_HEADER)
		return 0;
	if (half(data) != DUMP_MAGIC || half(data + 8) < DUMP_HEADER || half(data + 8) > 4096)
		return -EBADMSG;
	return half(data + 8) <= size ? (ssize_t)half(data + 8) : 0;
}

/* A record longer than a chunk counts as far as it was read: the name stands before the code. */
static ssize_t take_records(struct jit *jit, const char *data, size_t size)
{
	size_t used = 0;

	if (jit->offset == 0)
		return take_dump_header(data, size);
	while (size - used >= 16) {
		const uint64_t total = half(data + used + 4);
		const uint64_t here = total < size - used ? total : size - used;

		if (total < 16)
			return -EBADMSG;
		if (here < total && (used > 0 || size < CHUNK))
			break;
		if (take_record(jit, data + used, here) < 0)
			return -ENOMEM;
		used += total;
		if (here < total)
			break;
	}
	return (ssize_t)used;
}

/* ------------------------------------------------------------------------------------ the file */

int jit_read(struct jit *jit)
{
	char *chunk = malloc(CHUNK);
	ssize_t used = 1;

	if (chunk == NULL)
		return -ENOMEM;
	while (jit->open && used > 0 && jit->offset < JIT_BYTES_MAX) {
		const ssize_t got = pread(jit->fd, chunk, CHUNK, (off_t)jit->offset);

		if (got <= 0)
			break;
		used = jit->dump ? take_records(jit, chunk, (size_t)got) :
			take_lines(jit, chunk, (size_t)got);
		if (used > 0)
			jit->offset += (uint64_t)used;
	}
	free(chunk);
	if (used == -EBADMSG) {
		close(jit->fd);
		jit->open = false;
	}
	return used == -ENOMEM ? -ENOMEM : 0;
}

void jit_open(struct jit *jit, int fd, bool dump)
{
	jit_free(jit);
	jit->fd = fd;
	jit->open = true;
	jit->dump = dump;
}

void jit_free(struct jit *jit)
{
	struct block *next;

	if (jit->open)
		close(jit->fd);
	for (struct block *block = jit->blocks; block != NULL; block = next) {
		next = block->next;
		free(block);
	}
	table_free(&jit->table);
	*jit = (struct jit){ .looked_at = jit->looked_at };
}
