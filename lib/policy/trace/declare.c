/* SPDX-License-Identifier: MIT */
/*
 * Declarations of fields in C, as the kernel's macros print them:
 *	pid_t prev_pid		char comm[16]		long sysctl_mem[3]	const char * name
 *	__data_loc char[] name	__rel_loc u64[] words	char comm[TASK_COMM_LEN]
 *
 * libtraceevent reads these as well, and the tests compare with it; it is not used here because it
 * leaks memory over malformed text, which is to be expected of text handed in, takes elements of
 * dynamic arrays of unsigned int for bytes, and reads records without looking where they end.
 */
#include <string.h>

#include "tracepoint.h"

static const struct {
	const char *type;
	uint32_t size;
} integers[] = {
	{ "char", 1 }, { "short", 2 }, { "int", 4 }, { "long", sizeof(long) }, { "long long", 8 },
	{ "unsigned", 4 }, { "u8", 1 }, { "u16", 2 }, { "u32", 4 }, { "u64", 8 }, { "s8", 1 },
	{ "s16", 2 }, { "s32", 4 }, { "s64", 8 }, { "bool", 1 }, { "pid_t", 4 },
	{ "size_t", sizeof(long) }, { "dma_addr_t", 8 }, { "phys_addr_t", 8 },
};

static const char *without_sign(const char *type)
{
	static const char *const words[] = { "const ", "unsigned ", "signed ", "__" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strncmp(type, words[i], strlen(words[i])) == 0)
			type += strlen(words[i]);
	return type;
}

/* The size of an integer type's value in bytes; 0: some other type. */
static uint32_t size_of(const char *type)
{
	type = without_sign(type);
	for (size_t i = 0; i < sizeof(integers) / sizeof(integers[0]); i++)
		if (strcmp(type, integers[i].type) == 0)
			return integers[i].size;
	return 0;
}

/* ------------------------------------------------------------------------------------ its parts */

struct part {
	const char *at;
	size_t size;
};

struct parts {
	struct part type, name, array;	/* array: between its brackets; at NULL: none */
	bool dynamic, relative;
};

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		c == '_';
}

static void cut_blanks(struct part *part)
{
	while (part->size > 0 && (part->at[0] == ' ' || part->at[0] == '\t')) {
		part->at++;
		part->size--;
	}
	while (part->size > 0 &&
	       (part->at[part->size - 1] == ' ' || part->at[part->size - 1] == '\t'))
		part->size--;
}

static bool cut_front(struct part *part, const char *word)
{
	size_t size = strlen(word);

	if (part->size < size || memcmp(part->at, word, size) != 0)
		return false;
	part->at += size;
	part->size -= size;
	return true;
}

/* "[...]" at the end goes from `part` to `array`. False: brackets that do not match. */
static bool cut_array(struct part *part, struct part *array)
{
	size_t open = part->size, depth = 0;

	array->at = NULL;
	if (part->size == 0 || part->at[part->size - 1] != ']')
		return true;
	do {
		if (open == 0)
			return false;
		open--;
		depth += part->at[open] == ']';
		depth -= part->at[open] == '[';
	} while (depth > 0);
	*array = (struct part){ part->at + open + 1, part->size - open - 2 };
	part->size = open;
	cut_blanks(part);
	return true;
}

static bool cut_name(struct part *part, struct part *name)
{
	size_t begin = part->size;

	while (begin > 0 && is_name(part->at[begin - 1]))
		begin--;
	*name = (struct part){ part->at + begin, part->size - begin };
	part->size = begin;
	if (begin == 0 || strchr(" \t*]", part->at[begin - 1]) == NULL)
		return false;
	cut_blanks(part);
	return name->size > 0 && part->size > 0;
}

/* The brackets of a dynamic array stand behind its type, those of others behind the name. */
static bool take_parts(struct part text, struct parts *ret)
{
	cut_blanks(&text);
	ret->relative = cut_front(&text, "__rel_loc ");
	ret->dynamic = ret->relative || cut_front(&text, "__data_loc ");
	if (ret->dynamic) {
		if (!cut_name(&text, &ret->name) || !cut_array(&text, &ret->array))
			return false;
	} else if (!cut_array(&text, &ret->array) || !cut_name(&text, &ret->name)) {
		return false;
	}
	cut_blanks(&text);
	ret->type = text;
	return text.size > 0 && memchr(text.at, '[', text.size) == NULL;
}

/* ------------------------------------------------------------------------------------ its shape */

static uint32_t number_of(const struct part *part)
{
	uint32_t number = 0;

	if (part->size == 0 || part->size > 5)
		return 0;
	for (size_t i = 0; i < part->size; i++) {
		if (part->at[i] < '0' || part->at[i] > '9')
			return 0;
		number = number * 10 + (uint32_t)(part->at[i] - '0');
	}
	return number;
}

static bool is_text(const char *type)
{
	return strcmp(without_sign(type), "char") == 0;
}

/* The declaration has to agree with the size of the whole field. */
static void shape_array(struct field *field, uint32_t declared)
{
	uint32_t element = size_of(field->type);

	field->flags |= PM_TRACE_ARRAY | (is_text(field->type) ? PM_TRACE_TEXT : 0);
	if (field->flags & PM_TRACE_DYNAMIC) {
		field->element_size = element > 0 ? element : 1;
		return;
	}
	if (declared > 0 && field->bytes % declared == 0 && field->bytes > 0)
		element = field->bytes / declared;
	if (element == 0 || field->bytes % element != 0)
		element = field->bytes > 0 ? field->bytes : 1;
	field->element_size = element;
	field->count = field->bytes / element;
}

static char *put(const struct part *part, char *texts)
{
	memcpy(texts, part->at, part->size);
	texts[part->size] = '\0';
	return texts + part->size + 1;
}

size_t pm_trace_declare(const char *text, size_t size, struct field *field, char *texts)
{
	struct parts parts;
	char *end;

	if (!take_parts((struct part){ text, size }, &parts) ||
	    (parts.dynamic && field->bytes != sizeof(uint32_t)))
		return 0;
	field->type = texts;
	field->name = end = put(&parts.type, texts);
	end = put(&parts.name, end);
	field->relative = parts.relative;
	field->flags |= parts.dynamic ? PM_TRACE_DYNAMIC : 0;
	field->element_size = field->bytes > 0 ? field->bytes : 1;
	field->count = !parts.dynamic && field->bytes > 0;
	if (parts.dynamic || parts.array.at != NULL)
		shape_array(field, parts.array.at != NULL ? number_of(&parts.array) : 0);
	return (size_t)(end - texts);
}
