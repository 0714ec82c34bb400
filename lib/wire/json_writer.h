/* SPDX-License-Identifier: MIT */
/* JSON, by yajl: texts, numbers and flags under their keys. Not installed. */
#ifndef WIRE_JSON_WRITER_H
#define WIRE_JSON_WRITER_H

#include <stdbool.h>
#include <string.h>

#include <yajl/yajl_gen.h>

/* Where the writer asks for UTF-8 a text that is none becomes "?", so that its line can be read. */
static inline void json_text(yajl_gen gen, const char *value)
{
	if (yajl_gen_string(gen, (const unsigned char *)value, strlen(value)) !=
	    yajl_gen_status_ok)
		(void)yajl_gen_string(gen, (const unsigned char *)"?", 1);
}

static inline void json_pair(yajl_gen gen, const char *key, const char *value)
{
	json_text(gen, key);
	json_text(gen, value);
}

static inline void json_number(yajl_gen gen, const char *key, long long value)
{
	json_text(gen, key);
	(void)yajl_gen_integer(gen, value);
}

static inline void json_flag(yajl_gen gen, const char *key, bool value)
{
	json_text(gen, key);
	(void)yajl_gen_bool(gen, value);
}

static inline void json_list(yajl_gen gen, const char *key)
{
	json_text(gen, key);
	(void)yajl_gen_array_open(gen);
}

/* Whether a text is UTF-8, as JSON has to be. */
static inline bool json_can_hold(const char *value)
{
	yajl_gen gen = yajl_gen_alloc(NULL);
	bool can = false;

	if (gen) {
		(void)yajl_gen_config(gen, yajl_gen_validate_utf8, 1);
		can = yajl_gen_string(gen, (const unsigned char *)value, strlen(value)) ==
			yajl_gen_status_ok;
		yajl_gen_free(gen);
	}
	return can;
}

/* What was written, to be freed, and ends the writer; NULL without memory. */
static inline char *json_end(yajl_gen gen)
{
	const unsigned char *written = NULL;
	size_t size = 0;
	char *copy = yajl_gen_get_buf(gen, &written, &size) == yajl_gen_status_ok ?
		strndup((const char *)written, size) : NULL;

	yajl_gen_free(gen);
	return copy;
}

#endif
