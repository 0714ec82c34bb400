/* SPDX-License-Identifier: MIT */
/* Terms that are of no PMU: between slashes behind any event, "cycles/period=1000,name=often/". */
#include "event.h"

#include <errno.h>
#include <string.h>

#define NAME_MOST (sizeof(((struct pm_event_listed *)NULL)->name) - 1)
#define STACK_MOST 65528

struct term {
	const char *text;		/* all of it */
	size_t length, word;		/* word: before the = */
	const char *value;		/* NULL: without */
	size_t value_length;
};

static int wrong(const struct parsing *parsing, int error, const struct term *term,
		 const char *what)
{
	return pm_event_wrong(parsing, error, term->text, term->length, what);
}

static int take_rate(struct parsing *parsing, const struct term *term, bool frequency)
{
	uint64_t value = 0;
	int err = term->value ? pm_event_number(term->value, term->value_length, &value) : -EINVAL;

	if (err == -ERANGE)
		return wrong(parsing, ERANGE, term, "has more than 64 bits");
	if (err < 0)
		return wrong(parsing, EINVAL, term, "has no number behind =");
	if (value == 0)
		return wrong(parsing, EINVAL, term, "is no rate: 0 takes no sample");
	parsing->terms.rate_told = true;
	parsing->terms.period = frequency ? 0 : value;
	parsing->terms.frequency = frequency ? value : 0;
	return 0;
}

static int take_name(struct parsing *parsing, const struct term *term)
{
	const char *value = term->value;
	size_t length = term->value_length;

	if (value != NULL && length >= 2 && value[0] == '\'' && value[length - 1] == '\'') {
		value++;
		length -= 2;
	}
	if (value == NULL || length == 0)
		return wrong(parsing, EINVAL, term, "is no name");
	if (length > NAME_MOST)
		return wrong(parsing, EINVAL, term, "is too long for a name");
	parsing->terms.name = value;
	parsing->terms.name_length = length;
	return 0;
}

static int take_stacks(struct parsing *parsing, const struct term *term)
{
	static const struct { const char *word; enum pm_listed_stacks stacks; } ways[] = {
		{ "fp", PM_LISTED_FRAMES }, { "dwarf", PM_LISTED_DWARF },
		{ "no", PM_LISTED_NO_STACKS },
	};

	for (size_t i = 0; term->value && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (pm_event_is_word(ways[i].word, term->value, term->value_length)) {
			parsing->terms.stacks = ways[i].stacks;
			return 0;
		}
	if (term->value && pm_event_is_word("lbr", term->value, term->value_length))
		return wrong(parsing, ENOTSUP, term, "is not supported: fp, dwarf and no are");
	return wrong(parsing, EINVAL, term, "is fp, dwarf or no");
}

static int take_stack_size(struct parsing *parsing, const struct term *term)
{
	uint64_t value = 0;

	if (!term->value || pm_event_number(term->value, term->value_length, &value) < 0 ||
	    value == 0 || value > STACK_MOST)
		return wrong(parsing, EINVAL, term, "is no size of a stack: 1 to 65528 bytes");
	parsing->terms.stack_bytes = (unsigned int)((value + 7) & ~UINT64_C(7));
	return 0;
}

int pm_event_common_term(struct parsing *parsing, const char *text, size_t length)
{
	static const char *const others[] = {
		"percore", "time", "branch_type", "max-stack", "nr", "inherit", "no-inherit",
		"overwrite", "no-overwrite", "driver-config", "aux-output", "aux-action",
		"aux-sample-size", "metric-id", "ratio-to-prev", "cpu", "hardware",
	};
	const char *equals = memchr(text, '=', length);
	const size_t word = equals ? (size_t)(equals - text) : length;
	const struct term term = { text, length, word, equals ? equals + 1 : NULL,
				   length - word - (equals != NULL) };
	int err = 1;

	if (pm_event_is_word("period", text, word))
		err = take_rate(parsing, &term, false);
	else if (pm_event_is_word("freq", text, word))
		err = take_rate(parsing, &term, true);
	else if (pm_event_is_word("name", text, word))
		err = take_name(parsing, &term);
	else if (pm_event_is_word("call-graph", text, word))
		err = take_stacks(parsing, &term);
	else if (pm_event_is_word("stack-size", text, word))
		err = take_stack_size(parsing, &term);
	for (size_t i = 0; err == 1 && i < sizeof(others) / sizeof(others[0]); i++)
		if (pm_event_is_word(others[i], text, word))
			return wrong(parsing, ENOTSUP, &term, "is a term of perf(1) that is not "
				     "supported here");
	return err == 1 ? 0 : err < 0 ? err : 1;
}

/* "config=1" and on: a word of the attr as a whole. 1 when it was one, 0 when it is none. */
static int take_config(struct parsing *parsing, const char *text, size_t length)
{
	static const char *const words[] = { "config=", "config1=", "config2=" };
	uint64_t *const to[] = {
		&parsing->attr.config, &parsing->attr.config1, &parsing->attr.config2,
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const size_t word = strlen(words[i]);
		uint64_t value;
		int err;

		if (length <= word || memcmp(text, words[i], word) != 0)
			continue;
		err = pm_event_number(text + word, length - word, &value);
		if (err < 0)
			return pm_event_wrong(parsing, -err, text, length, err == -ERANGE ?
					      "cannot be that large" : "has no number behind =");
		*to[i] = value;
		return 1;
	}
	return 0;
}

size_t pm_event_term_length(const char *text, const char *end)
{
	bool quoted = false;
	const char *at = text;

	for (; at < end && (quoted || *at != ','); at++)
		quoted ^= *at == '\'';
	return (size_t)(at - text);
}

int pm_event_common_terms(struct parsing *parsing, const char *list, size_t size)
{
	const char *at = list, *const end = list + size;

	while (size > 0) {
		const size_t length = pm_event_term_length(at, end);
		int taken = pm_event_common_term(parsing, at, length);

		if (taken == 0)
			taken = take_config(parsing, at, length);
		if (taken < 0)
			return taken;
		if (taken == 0)
			return pm_event_wrong(parsing, EINVAL, at, length ? length : 1,
					      "is no term of such an event");
		at += length;
		if (at == end)
			break;
		at++;
	}
	return 0;
}
