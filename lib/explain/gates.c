/* SPDX-License-Identifier: MIT */
/* See gates.h. */
#include "gates.h"

#include <string.h>

static bool is_same(const struct reason *one, const struct reason *other)
{
	return strcmp(one->first.gate, other->first.gate) == 0 &&
		strcmp(one->behind, other->behind) == 0 && gate_advises(one, other);
}

bool gate_advises(const struct reason *one, const struct reason *other)
{
	const char *all = one->first.change, *some = other->first.change;
	const size_t length = strlen(all), less = strlen(some);

	return less <= length && strcmp(all + length - less, some) == 0;
}

size_t gates_find(const struct reason **ret, size_t room)
{
	size_t count = 0;

	for (size_t i = 0; i < shapes.count; i++)
		if (reasons[i] != NULL && reasons[i]->first.gate[0] != '\0' && count < room &&
		    gate_number(ret, count, reasons[i]) == 0)
			ret[count++] = reasons[i];
	return count;
}

size_t gate_number(const struct reason *const *gates, size_t count, const struct reason *reason)
{
	if (reason == NULL || reason->first.gate[0] == '\0')
		return 0;
	for (size_t i = 0; i < count; i++)
		if (is_same(gates[i], reason))
			return i + 1;
	return 0;
}
