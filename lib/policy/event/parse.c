/* SPDX-License-Identifier: MIT */
/*
 * Names of events, as perf(1) writes them. A name is tried as what it looks like: a known word is
 * generic, with a slash it is a PMU's, "r" and hexadecimal digits are raw, two numbers are type and
 * config, and what has a colon left is a tracepoint.
 */
#include "event.h"

#include <errno.h>
#include <string.h>

#include "../diagnosis/diag.h"

#define TOO_LARGE "has more than 64 bits"
#define NUMBERS_TOO_LARGE "has a type of more than 32 bits, or a config of more than 64"

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

/* --------------------------------------------------------------------------- events by numbers */

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

/* "1:0": a type and a config, as the kernel numbers them; moves behind them. -EINVAL: none. */
static int take_numbers(struct parsing *parsing)
{
	const size_t length = strcspn(parsing->at, ":");
	const char *second = parsing->at + length + 1;
	const size_t second_length = parsing->at[length] ? strcspn(second, ":/") : 0;
	uint64_t type, config;
	int err = pm_event_number(parsing->at, length, &type);

	if (err == 0)
		err = pm_event_number(second, second_length, &config);
	if (err < 0)
		return err;
	if (type > UINT32_MAX)
		return -ERANGE;
	parsing->attr.type = (uint32_t)type;
	parsing->attr.config = config;
	parsing->at = second + second_length;
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

		for (size_t j = 0; j < sizeof(letters) / sizeof(letters[0]); j++)
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
	const size_t name_length = strcspn(name, ":/");
	char system[EVENT_NAME_MAX + 1], event[EVENT_NAME_MAX + 1], root[64];
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
				      pm_tracefs_root(root, sizeof(root)) == -ENOENT ?
				      "is no generic event, and no tracepoint here: no events are "
				      "in /sys/kernel/tracing (is tracefs mounted there?)" :
				      "is no generic event and no tracepoint here");
	parsing->attr.type = PERF_TYPE_TRACEPOINT;
	parsing->attr.config = (uint64_t)id;
	parsing->at = name + name_length;
	return 0;
}

/* ------------------------------------------------------------------------------------ the name */

/* "/period=1000/" behind an event that is of no PMU: moves behind it. */
static int parse_terms(struct parsing *parsing)
{
	const char *list = parsing->at + 1;
	size_t size;

	if (*parsing->at != '/')
		return 0;
	size = strcspn(list, "/");
	if (list[size] != '/')
		return pm_event_wrong(parsing, EINVAL, list, size, "has no slash behind it");
	parsing->at = list + size + 1;
	return pm_event_common_terms(parsing, list, size);
}

/* What has neither slash nor known word: raw, numbers, an alias of a PMU, or a tracepoint. */
static int parse_other(struct parsing *parsing)
{
	const char *at = parsing->at;
	const size_t word = strcspn(at, ":/");
	int err = take_raw(&parsing->attr, at, word);

	if (err == -ERANGE)
		return pm_event_wrong(parsing, ERANGE, at, word, TOO_LARGE);
	if (err == 0)
		parsing->at += word;
	else
		err = take_numbers(parsing);
	if (err == -ERANGE)
		return pm_event_wrong(parsing, ERANGE, at, strcspn(at, "/"), NUMBERS_TOO_LARGE);
	if (err == 0)
		return parse_terms(parsing);
	if (at[word] == '/')
		return pm_event_parse_pmu(parsing);
	err = pm_event_parse_alias(parsing, word);
	if (err != -ENOENT)
		return err;
	if (word == 0 || at[word] != ':')
		return pm_event_wrong(parsing, EINVAL, at, word, "is no name of an event");
	err = parse_tracepoint(parsing, word);
	return err < 0 ? err : parse_terms(parsing);
}

static bool is_tool(const char *text, size_t length)
{
	return pm_event_is_word("duration_time", text, length) ||
		pm_event_is_word("user_time", text, length) ||
		pm_event_is_word("system_time", text, length);
}

static int parse_event(struct parsing *parsing)
{
	const char *at = parsing->at;
	const size_t length = strcspn(at, ":/");

	if (strncmp(at, "mem:", strlen("mem:")) == 0)
		return parse_breakpoint(parsing);
	if (at[length] == ':' && at[length + 1] == ':')
		return pm_event_wrong(parsing, EINVAL, at, strlen(at),
				      "is a name of libpfm, which pm_pfm_parse() takes "
				      "(perfmodes_pfm.h)");
	if (is_tool(at, length))
		return pm_event_wrong(parsing, ENOTSUP, at, length, "is measured by perf(1) "
				      "itself: the kernel has no such event");
	if (!pm_event_generic(&parsing->attr, at, length))
		return parse_other(parsing);
	parsing->at += length;
	return parse_terms(parsing);
}

/* Behind a colon, or right behind the slash of terms. */
static int parse_modifiers(struct parsing *parsing)
{
	const bool slash = parsing->at > parsing->name && parsing->at[-1] == '/';
	const char *at = parsing->at + (*parsing->at == ':' && !slash);

	if (*parsing->at == '\0')
		return 0;
	if (at == parsing->at && !slash)
		return pm_event_wrong(parsing, EINVAL, at, strlen(at), "is no modifier");
	return pm_event_modifiers(parsing, at, strlen(at), &parsing->modes);
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

int pm_event_parse_one(struct parsing *parsing)
{
	const struct perf_event_attr *attr = &parsing->attr;
	int err = check_bytes(parsing);

	if (err == 0)
		err = parse_event(parsing);
	if (err == 0)
		err = parse_modifiers(parsing);
	if (err == 0 && (attr->config3 || attr->config4))
		err = pm_event_wrong(parsing, ENOTSUP, parsing->name, strlen(parsing->name),
				     "needs config3 or config4, which a spec does not have");
	return err;
}

void pm_event_fill(const struct parsing *parsing, struct pm_event_spec *ret)
{
	const struct perf_event_attr *attr = &parsing->attr;

	ret->type = attr->type;
	ret->config = attr->type == PERF_TYPE_BREAKPOINT ? attr->bp_type : attr->config;
	ret->config1 = attr->config1;
	ret->config2 = attr->config2;
	ret->flags |= pm_event_flags(&parsing->modes);
	if (parsing->terms.rate_told) {
		ret->period = parsing->terms.period;
		ret->frequency = parsing->terms.frequency;
	}
}

/* What is said of more than the one event, or needs room that a spec does not have. */
static int check_alone(const struct parsing *parsing)
{
	const char *what = NULL;

	if (parsing->modes.read || parsing->modes.weak)
		what = "has a modifier for groups, S or W, which pm_event_list() takes";
	else if (parsing->terms.name != NULL || parsing->terms.stacks || parsing->terms.stack_bytes)
		what = "has a term that pm_event_list() takes: name, call-graph or stack-size";
	return what == NULL ? 0 : pm_event_wrong(parsing, ENOTSUP, parsing->name,
						 strlen(parsing->name), what);
}

int pm_event_parse(const char *name, struct pm_diag *diag, struct pm_event_spec *ret)
{
	struct parsing parsing = { .name = name, .at = name, .diag = diag };
	int err;

	if (ret->size < offsetof(struct pm_event_spec, filter))
		return pm_diag_say(diag, EINVAL, PM_CAUSE_INPUT, "the size of the spec is not set");
	err = pm_event_parse_one(&parsing);
	if (err == 0)
		err = check_alone(&parsing);
	if (err == 0)
		pm_event_fill(&parsing, ret);
	return err;
}
