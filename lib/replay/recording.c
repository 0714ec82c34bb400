/* SPDX-License-Identifier: MIT */
/* See recording.h. What a recording says that is not understood makes its call unknown. */
#include "recording.h"

#include <stdio.h>
#include <string.h>

#include "read_json.h"

#define ROW(name, member, offset, bytes, since) { #name, offset, bytes },
const struct attr_field attr_fields[FIELD_COUNT] = { PM_ATTR_FIELDS(ROW) };

#define FLAG_ROW(bit, name, beside, since) { #name, bit, 1 },
#define PAIR_ROW(low, high, name, since) { #name, low, 2 },
static const struct { const char *name; unsigned int bit, bits; } attr_flags[] = {
	PM_ATTR_FLAGS(FLAG_ROW, PAIR_ROW)
};

static const char *const target_words[] = { "self", "thread", "child", "other", "cpu", "cgroup" };
static const char *const request_words[REQUESTS] = {
	"ENABLE", "DISABLE", "REFRESH", "RESET", "PERIOD", "SET_OUTPUT", "SET_FILTER", "ID",
	"SET_BPF", "PAUSE_OUTPUT", "QUERY_BPF", "MODIFY_ATTRIBUTES",
};
static const char *const type_words[] = {
	"hardware", "software", "tracepoint", "cache", "raw", "breakpoint",
};

#define KEY_ROOM 48
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static int index_of(const char *word, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(word, list[i]) == 0)
			return (int)i;
	return -1;
}

static void note_strange(struct asked *asked, const char *name)
{
	if (asked->strange[0] == '\0')
		snprintf(asked->strange, sizeof(asked->strange), "%s", name[0] ? name : "?");
}

/* "0x1f". False: it is none. */
static bool take_hex(const char *text, uint64_t *ret)
{
	static const char digits[] = "0123456789abcdef";
	const size_t length = strlen(text);
	uint64_t value = 0;

	if (length < 3 || length > 18 || strncmp(text, "0x", 2) != 0)
		return false;
	for (const char *at = text + 2; *at != '\0'; at++) {
		const char *digit = strchr(digits, *at);

		if (digit == NULL)
			return false;
		value = value << 4 | (uint64_t)(digit - digits);
	}
	*ret = value;
	return true;
}

static void read_hex(struct json *json, uint64_t *ret)
{
	char text[24];

	if (json_text(json, text, sizeof(text)) && !take_hex(text, ret))
		json->wrong = true;
}

/* ------------------------------------------------------------------------------------- the attr */

static void read_field(struct json *json, const char *key, struct asked *asked)
{
	static const char *const words[] = { "", "", "address", "unaligned", "name" };
	char text[24];
	size_t at = 0;
	int how;

	if (!json_text(json, text, sizeof(text)))
		return;
	while (at < FIELD_COUNT && strcmp(attr_fields[at].name, key) != 0)
		at++;
	/* The event itself and the flags stand elsewhere. */
	if (at == FIELD_COUNT || attr_fields[at].offset < 16 || strcmp(key, "flags") == 0) {
		note_strange(asked, key);
		return;
	}
	how = index_of(text, words, COUNT(words));
	asked->how[at] = how >= ADDRESS ? (enum how)how : NUMBER;
	asked->value[at] = 1;
	if (how < ADDRESS && !take_hex(text, &asked->value[at]))
		json->wrong = true;
	if (attr_fields[at].bytes < 8 && asked->value[at] >> attr_fields[at].bytes * 8)
		json->wrong = true;
}

static void read_flag(struct json *json, const char *key, struct asked *asked)
{
	uint64_t value = 0;

	if (!json_number(json, &value))
		return;
	for (size_t i = 0; i < COUNT(attr_flags); i++)
		if (strcmp(attr_flags[i].name, key) == 0) {
			json->wrong |= value >> attr_flags[i].bits != 0;
			asked->flags |= value << attr_flags[i].bit;
			return;
		}
	note_strange(asked, key);
}

static void read_members(struct json *json, struct asked *asked,
			 void (*each)(struct json *json, const char *key, struct asked *asked))
{
	char key[KEY_ROOM];
	bool first = true;

	if (!json_enter(json, '{'))
		return;
	while (json_each(json, '{', &first, key, sizeof(key)))
		each(json, key, asked);
}

static void read_attr(struct json *json, const char *key, struct asked *asked)
{
	uint64_t reserved = 0;

	if (strcmp(key, "type") == 0) {
		(void)json_text(json, asked->type, sizeof(asked->type));
	} else if (strcmp(key, "tracepoint") == 0) {
		(void)json_text(json, asked->tracepoint, sizeof(asked->tracepoint));
	} else if (strcmp(key, "config") == 0) {
		read_hex(json, &asked->config);
	} else if (strcmp(key, "fields") == 0) {
		read_members(json, asked, read_field);
	} else if (strcmp(key, "flags") == 0) {
		read_members(json, asked, read_flag);
	} else if (strcmp(key, "reserved_flags") == 0) {
		read_hex(json, &reserved);
		asked->flags |= reserved;
	} else if (strcmp(key, "beyond") == 0) {
		(void)json_number(json, &asked->beyond);
	} else if (strcmp(key, "size") == 0) {
		(void)json_number(json, &asked->size);
	} else {
		note_strange(asked, key);
		json_skip(json);
	}
}

/* ------------------------------------------------------------------------------------ the calls */

static void read_request(struct json *json, const char *key, struct asked *asked)
{
	const int number = index_of(key, request_words, REQUESTS);

	json_skip(json);
	if (number < 0)
		note_strange(asked, key);
	else
		asked->requests |= 1u << number;
}

static void read_target(struct json *json, struct asked *asked)
{
	char word[16];
	int found;

	if (!json_text(json, word, sizeof(word)))
		return;
	found = index_of(word, target_words, COUNT(target_words));
	if (found < 0)
		note_strange(asked, word);
	else
		asked->target = (enum target)found;
}

static void read_call(struct json *json, const char *key, struct asked *asked)
{
	const struct { const char *key; uint64_t *value; } numbers[] = {
		{ "cpus", &asked->cpus }, { "open_flags", &asked->open_flags },
		{ "calls", &asked->calls }, { "rings", &asked->rings }, { "pages", &asked->pages },
	};
	const struct { const char *key; bool *value; } truths[] = {
		{ "on_cpu", &asked->on_cpu }, { "group", &asked->group },
		{ "narrow", &asked->narrow },
	};
	static const char *const outcomes[] = {
		"opened", "unseen", "pretended", "errors", "ring_errno",
	};

	for (size_t i = 0; i < COUNT(numbers); i++)
		if (strcmp(key, numbers[i].key) == 0) {
			(void)json_number(json, numbers[i].value);
			return;
		}
	for (size_t i = 0; i < COUNT(truths); i++)
		if (strcmp(key, truths[i].key) == 0) {
			(void)json_bool(json, truths[i].value);
			return;
		}
	if (strcmp(key, "attr") == 0) {
		read_members(json, asked, read_attr);
	} else if (strcmp(key, "target") == 0) {
		read_target(json, asked);
	} else if (strcmp(key, "requests") == 0) {
		read_members(json, asked, read_request);
	} else {
		if (index_of(key, outcomes, COUNT(outcomes)) < 0)
			note_strange(asked, key);
		json_skip(json);
	}
}

static void read_calls(struct json *json, struct recording *ret)
{
	bool first = true;

	if (!json_enter(json, '['))
		return;
	while (json_each(json, '[', &first, NULL, 0)) {
		struct asked *asked = &ret->calls[ret->count];

		if (ret->count == CALLS_MOST) {
			json->wrong = true;
			return;
		}
		memset(asked, 0, sizeof(*asked));
		read_members(json, asked, read_call);
		json->wrong |= asked->type[0] == '\0';
		ret->count += !json->wrong;
	}
}

static void read_machine(struct json *json, struct recording *ret)
{
	char key[KEY_ROOM];
	bool first = true;

	if (!json_enter(json, '{'))
		return;
	while (json_each(json, '{', &first, key, sizeof(key)))
		if (strcmp(key, "cpu_model") == 0)
			(void)json_text(json, ret->cpu_model, sizeof(ret->cpu_model));
		else if (strcmp(key, "cpus_online") == 0)
			(void)json_number(json, &ret->cpus_online);
		else if (strcmp(key, "page_size") == 0)
			(void)json_number(json, &ret->page_size);
		else
			json_skip(json);
}

const char *recording_read(const char *text, size_t size, struct recording *ret)
{
	struct json json = { .at = text, .end = text + size };
	char key[KEY_ROOM], kind[16] = "";
	uint64_t format = 0;
	bool first = true;

	*ret = (struct recording){ .page_size = 4096, .calls = ret->calls };
	if (!json_enter(&json, '{'))
		return "it is no JSON object";
	while (json_each(&json, '{', &first, key, sizeof(key)))
		if (strcmp(key, "format") == 0)
			(void)json_number(&json, &format);
		else if (strcmp(key, "kind") == 0)
			(void)json_text(&json, kind, sizeof(kind));
		else if (strcmp(key, "machine") == 0)
			read_machine(&json, ret);
		else if (strcmp(key, "calls") == 0)
			read_calls(&json, ret);
		else
			json_skip(&json);
	if (!json_is_over(&json))
		return "it is no recording, or one that is damaged";
	if (strcmp(kind, "recording") != 0)
		return "it is no recording of perfmodes-explain";
	if (format != 1)
		return "it is a recording of a later format";
	return ret->count == 0 ? "it holds no call" : NULL;
}

/* ------------------------------------------------------------------------------------- in words */

uint64_t asked_field(const struct asked *asked, const char *name)
{
	for (size_t i = 0; i < FIELD_COUNT; i++)
		if (strcmp(attr_fields[i].name, name) == 0)
			return asked->how[i] == UNSET ? 0 : asked->value[i];
	return 0;
}

unsigned int asked_flag(const struct asked *asked, const char *name)
{
	for (size_t i = 0; i < COUNT(attr_flags); i++)
		if (strcmp(attr_flags[i].name, name) == 0)
			return asked->flags >> attr_flags[i].bit & ((1u << attr_flags[i].bits) - 1);
	return 0;
}

/* The compiler lays out bits from the other end where bytes are: a field of two stays in order. */
uint64_t asked_flag_bits(const struct asked *asked)
{
	uint64_t word = 0;

	if (__BYTE_ORDER__ != __ORDER_BIG_ENDIAN__)
		return asked->flags;
	for (unsigned int bit = 0; bit < 64; bit++)
		word |= (asked->flags >> bit & 1) << (63 - bit);
	for (size_t i = 0; i < COUNT(attr_flags); i++)
		if (attr_flags[i].bits == 2) {
			const unsigned int low = 62 - attr_flags[i].bit;

			word &= ~(3ull << low);
			word |= (asked->flags >> attr_flags[i].bit & 3) << low;
		}
	return word;
}

int asked_type(const struct asked *asked)
{
	return index_of(asked->type, type_words, COUNT(type_words));
}

static void name_event(const struct asked *asked, char *buf, size_t size)
{
	static const char *const software[] = {
		"cpu-clock", "task-clock", "page-faults", "context-switches", "cpu-migrations",
		"minor-faults", "major-faults", "alignment-faults", "emulation-faults", "dummy",
		"bpf-output", "cgroup-switches",
	};
	static const char *const hardware[] = {
		"cycles", "instructions", "cache-references", "cache-misses", "branches",
		"branch-misses", "bus-cycles", "stalled-frontend", "stalled-backend", "ref-cycles",
	};
	const int type = asked_type(asked);

	if (type == PERF_TYPE_SOFTWARE && asked->config < COUNT(software))
		snprintf(buf, size, "%s", software[asked->config]);
	else if (type == PERF_TYPE_HARDWARE && asked->config < COUNT(hardware))
		snprintf(buf, size, "%s", hardware[asked->config]);
	else if (type == PERF_TYPE_TRACEPOINT)
		snprintf(buf, size, "%s", asked->tracepoint);
	else if (type == PERF_TYPE_BREAKPOINT)
		snprintf(buf, size, "breakpoint");
	else
		snprintf(buf, size, "%s/0x%llx/", asked->type, (unsigned long long)asked->config);
}

void asked_name(const struct asked *asked, size_t number, char *buf, size_t size)
{
	char event[80], made[120];
	size_t used = 0;

	name_event(asked, event, sizeof(event));
	snprintf(made, sizeof(made), "%02zu_%s_%s", number, event, target_words[asked->target]);
	for (const char *at = made; *at != '\0' && used + 1 < size; at++) {
		const char low = *at >= 'A' && *at <= 'Z' ? (char)(*at + 32) : *at;
		const bool kept = (low >= 'a' && low <= 'z') || (low >= '0' && low <= '9');

		if (kept || (used > 0 && buf[used - 1] != '_'))
			buf[used++] = kept ? low : '_';
	}
	buf[used] = '\0';
}

void asked_words(const struct asked *asked, char *buf, size_t size)
{
	static const char *const whom[] = {
		"its own thread", "its threads", "a child", "another process", "all that runs",
		"a cgroup",
	};
	const unsigned long long period = asked_field(asked, "sample_period");
	char event[240], how[48] = "counts";

	name_event(asked, event, sizeof(event));
	if (period != 0)
		snprintf(how, sizeof(how), "samples (%s %llu)", asked_flag(asked, "freq") ?
			 "frequency" : "period", period);
	snprintf(buf, size, "%s %s%s of %s%s%s%s", how, event,
		 asked_flag(asked, "exclude_kernel") ? ":u" : "", whom[asked->target],
		 asked->on_cpu ? " on a CPU" : "", asked_flag(asked, "inherit") ? ", inherited" :
		 "", asked->group ? ", in a group" : "");
}
