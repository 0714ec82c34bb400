/* SPDX-License-Identifier: MIT */
/*
 * Names of events, as perf(1) writes them. A name is tried as what it looks like: with a slash it
 * is a PMU's, a known word is generic, "r" and hexadecimal digits are raw, and what has a colon
 * left is a tracepoint.
 */
#include "event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../diagnosis/diag.h"

#define TOO_LARGE "has more than 64 bits"

int pm_event_wrong(const struct parsing *parsing, int error, const char *word, size_t length,
		   const char *what)
{
	return pm_diag_say(parsing->diag, error, error == EINVAL || error == ERANGE ?
			   PM_CAUSE_INPUT : error == ENOTSUP ? PM_CAUSE_UNSUPPORTED :
			   PM_CAUSE_NO_EVENT, "event \"%.100s\": \"%.*s\" %s", parsing->name,
			   (int)(length < 100 ? length : 100), word, what);
}

int pm_event_number(const char *text, size_t length, uint64_t *ret)
{
	const bool hex = length > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const uint64_t base = hex ? 16 : 10;
	bool fits = length > 0;
	uint64_t value = 0;

	if (hex) {
		text += 2;
		length -= 2;
	}
	for (size_t i = 0; i < length; i++) {
		const char *digits = "0123456789abcdef0123456789ABCDEF";
		const char *digit = text[i] ? strchr(digits, text[i]) : NULL;
		uint64_t number = digit ? (uint64_t)(digit - digits) % 16 : 16;

		if (number >= base)
			return -EINVAL;
		fits &= value <= (UINT64_MAX - number) / base;
		value = value * base + number;
	}
	*ret = value;
	return fits ? 0 : length > 0 ? -ERANGE : -EINVAL;
}

/* ------------------------------------------------------------------------------- generic events */

static const struct generic {
	uint32_t type;
	uint64_t config;
	const char *name, *other;
} generics[] = {
#define PM_HARDWARE(id, config, name, other) { PERF_TYPE_HARDWARE, config, name, other },
#define PM_SOFTWARE(id, config, name, other) { PERF_TYPE_SOFTWARE, config, name, other },
#define PM_CACHE(id, number, name)
#include "../../perfmodes_event.def"
};

static const struct { uint64_t number; const char *name; } caches[] = {
#define PM_HARDWARE(id, config, name, other)
#define PM_SOFTWARE(id, config, name, other)
#define PM_CACHE(id, number, name) { number, name },
#include "../../perfmodes_event.def"
};

static const struct { uint64_t config; const char *name; } cache_events[] = {
	{ PM_CACHE_LOAD << 8, "-loads" },
	{ PM_CACHE_LOAD << 8 | PM_CACHE_MISS << 16, "-load-misses" },
	{ PM_CACHE_STORE << 8, "-stores" },
	{ PM_CACHE_STORE << 8 | PM_CACHE_MISS << 16, "-store-misses" },
	{ PM_CACHE_PREFETCH << 8, "-prefetches" },
	{ PM_CACHE_PREFETCH << 8 | PM_CACHE_MISS << 16, "-prefetch-misses" },
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static bool is_word(const char *name, const char *text, size_t length)
{
	return strlen(name) == length && length > 0 && memcmp(name, text, length) == 0;
}

static bool take_cache(struct perf_event_attr *attr, const char *text, size_t length)
{
	for (size_t i = 0; i < COUNT(caches); i++) {
		const size_t cache = strlen(caches[i].name);

		if (length <= cache || memcmp(text, caches[i].name, cache) != 0)
			continue;
		for (size_t j = 0; j < COUNT(cache_events); j++)
			if (is_word(cache_events[j].name, text + cache, length - cache)) {
				attr->type = PERF_TYPE_HW_CACHE;
				attr->config = caches[i].number | cache_events[j].config;
				return true;
			}
	}
	return false;
}

bool pm_event_generic(struct perf_event_attr *attr, const char *text, size_t length)
{
	for (size_t i = 0; i < COUNT(generics); i++)
		if (is_word(generics[i].name, text, length) ||
		    is_word(generics[i].other, text, length)) {
			attr->type = generics[i].type;
			attr->config = generics[i].config;
			return true;
		}
	return take_cache(attr, text, length);
}

/* As pm_event_number(). */
static int take_raw(struct perf_event_attr *attr, const char *text, size_t length)
{
	char number[EVENT_NAME_MAX + 2] = "0x";
	uint64_t config;
	int err;

	if (length < 2 || length > EVENT_NAME_MAX || text[0] != 'r')
		return -EINVAL;
	memcpy(number + 2, text + 1, length - 1);
	err = pm_event_number(number, length + 1, &config);
	if (err < 0)
		return err;
	attr->type = PERF_TYPE_RAW;
	attr->config = config;
	return 0;
}

/* ----------------------------------------------------------------- breakpoints and tracepoints */

/* r, w and x, each once, behind the address; what is not made of them are modifiers. */
static size_t take_access(struct perf_event_attr *attr, const char *text)
{
	static const struct { char letter; uint32_t bit; } letters[] = {
		{ 'r', HW_BREAKPOINT_R }, { 'w', HW_BREAKPOINT_W }, { 'x', HW_BREAKPOINT_X },
	};
	const size_t length = strcspn(text, ":");
	uint32_t access = 0;

	for (size_t i = 0; i < length; i++) {
		uint32_t bit = 0;

		for (size_t j = 0; j < COUNT(letters); j++)
			bit |= letters[j].letter == text[i] ? letters[j].bit : 0;
		if (bit == 0 || (access & bit))
			return 0;
		access |= bit;
	}
	attr->bp_type = access;
	return length;
}

/* "mem:ADDRESS[/BYTES][:ACCESS]" */
static int parse_breakpoint(struct parsing *parsing)
{
	struct perf_event_attr *attr = &parsing->attr;
	const char *at = parsing->at + strlen("mem:");
	size_t length = strcspn(at, "/:");
	int err = pm_event_number(at, length, &attr->bp_addr);

	attr->type = PERF_TYPE_BREAKPOINT;
	attr->bp_type = HW_BREAKPOINT_RW;
	if (err < 0)
		return pm_event_wrong(parsing, -err, at, length, err == -ERANGE ? TOO_LARGE :
				      "is no address");
	at += length;
	if (*at == '/') {
		length = strcspn(++at, ":");
		err = pm_event_number(at, length, &attr->bp_len);
		if (err < 0)
			return pm_event_wrong(parsing, -err, at, length, err == -ERANGE ?
					      TOO_LARGE : "is no length");
		at += length;
	}
	if (*at == ':') {
		length = take_access(attr, at + 1);
		at += length ? length + 1 : 0;
	}
	/* An instruction is as long as a pointer, says perf_event_open(2). */
	if (attr->bp_len == 0)
		attr->bp_len = attr->bp_type == HW_BREAKPOINT_X ? sizeof(long) : 4;
	parsing->at = at;
	return 0;
}

static int parse_tracepoint(struct parsing *parsing, size_t length)
{
	const char *name = parsing->at + length + 1;
	const size_t name_length = strcspn(name, ":");
	char system[EVENT_NAME_MAX + 1], event[EVENT_NAME_MAX + 1];
	int id;

	memcpy(system, parsing->at, length);
	memcpy(event, name, name_length);
	system[length] = event[name_length] = '\0';
	id = pm_tracepoint_id(system, event);
	if (id == -EACCES)
		return pm_event_wrong(parsing, EACCES, parsing->at, length + 1 + name_length,
				      "may be a tracepoint, and tracefs is not readable here");
	if (id < 0)
		return pm_event_wrong(parsing, -id, parsing->at, length + 1 + name_length,
				      "is no generic event and no tracepoint here");
	parsing->attr.type = PERF_TYPE_TRACEPOINT;
	parsing->attr.config = (uint64_t)id;
	parsing->at = name + name_length;
	return 0;
}

/* ------------------------------------------------------------------------------------ the name */

static int parse_event(struct parsing *parsing)
{
	const size_t length = strcspn(parsing->at, ":");
	int err = 0;

	if (strncmp(parsing->at, "mem:", strlen("mem:")) == 0)
		return parse_breakpoint(parsing);
	if (parsing->at[length] == ':' && parsing->at[length + 1] == ':')
		return pm_event_wrong(parsing, EINVAL, parsing->at, strlen(parsing->at),
				      "is a name of libpfm, which pm_pfm_parse() takes "
				      "(perfmodes_pfm.h)");
	if (strchr(parsing->at, '/') != NULL)
		return pm_event_parse_pmu(parsing);
	if (!pm_event_generic(&parsing->attr, parsing->at, length))
		err = take_raw(&parsing->attr, parsing->at, length);
	if (err == -ERANGE)
		return pm_event_wrong(parsing, ERANGE, parsing->at, length, TOO_LARGE);
	if (err < 0) {
		if (length > 0 && parsing->at[length] == ':')
			return parse_tracepoint(parsing, length);
		return pm_event_wrong(parsing, EINVAL, parsing->at, length,
				      "is no name of an event");
	}
	parsing->at += length;
	return 0;
}

/* "p", "pp" and "ppp" name a precision, "P" the highest; a spec asks for the highest alone. */
static bool is_precise(const char *at, const char *first)
{
	return *at == 'P' || (*at == 'p' && (at - first < 3 || strncmp(at - 3, "ppp", 3) != 0));
}

/* Of the modifiers a spec can say two. */
static int parse_modifiers(struct parsing *parsing, unsigned int *flags)
{
	const bool pmu = parsing->at > parsing->name && parsing->at[-1] == '/';
	const char *at = parsing->at + (*parsing->at == ':' && !pmu);

	if (*parsing->at == '\0')
		return 0;
	if (*at == '\0' || (at == parsing->at && !pmu))
		return pm_event_wrong(parsing, EINVAL, parsing->at, strlen(parsing->at),
				      "is no modifier");
	for (const char *first = at; *at != '\0'; at++) {
		if (*at == 'u')
			*flags |= PM_SPEC_USER_ONLY;
		else if (is_precise(at, first))
			*flags |= PM_SPEC_PRECISE;
		else if (strchr("khHGDSIWeb", *at) != NULL)
			return pm_event_wrong(parsing, ENOTSUP, at, 1,
					      "is a modifier of perf(1) that a spec cannot say");
		else
			return pm_event_wrong(parsing, EINVAL, at, 1, "is no modifier");
	}
	return 0;
}

static int check_bytes(const struct parsing *parsing)
{
	size_t length = 0;

	for (; parsing->name[length] != '\0'; length++)
		if (length == EVENT_NAME_MAX || parsing->name[length] <= ' ' ||
		    parsing->name[length] > '~')
			return pm_diag_say(parsing->diag, EINVAL, PM_CAUSE_INPUT,
					   "a name of an event has up to %d printable characters "
					   "and no blanks", EVENT_NAME_MAX);
	return 0;
}

int pm_event_parse(const char *name, struct pm_diag *diag, struct pm_event_spec *ret)
{
	struct parsing parsing = { .name = name, .at = name, .diag = diag };
	const struct perf_event_attr *attr = &parsing.attr;
	unsigned int flags = 0;
	int err = check_bytes(&parsing);

	if (err == 0 && ret->size < offsetof(struct pm_event_spec, filter))
		err = pm_diag_say(diag, EINVAL, PM_CAUSE_INPUT, "the size of the spec is not set");
	if (err == 0)
		err = parse_event(&parsing);
	if (err == 0)
		err = parse_modifiers(&parsing, &flags);
	if (err == 0 && (attr->config3 || attr->config4))
		err = pm_event_wrong(&parsing, ENOTSUP, name, strlen(name),
				     "needs config3 or config4, which a spec does not have");
	if (err < 0)
		return err;
	ret->type = attr->type;
	ret->config = attr->type == PERF_TYPE_BREAKPOINT ? attr->bp_type : attr->config;
	ret->config1 = attr->config1;
	ret->config2 = attr->config2;
	ret->flags |= flags;
	return 0;
}
