/* SPDX-License-Identifier: MIT */
/* See shape.h. */
#include "shape.h"

#include <stdlib.h>
#include <string.h>

struct shapes shapes;
struct remarks remarks;

#define KEY offsetof(struct shape, calls)

struct shape *shape_find(const struct shape *like)
{
	for (size_t i = 0; i < shapes.count; i++)
		if (memcmp(shapes.list[i], like, KEY) == 0)
			return shapes.list[i];
	return NULL;
}

struct shape *shape_of(const struct shape *like)
{
	struct shape *made = shape_find(like);

	if (made != NULL)
		return made;
	made = shapes.count < SHAPES ? calloc(1, sizeof(*made)) : NULL;
	if (made == NULL) {
		shapes.beyond++;
		return NULL;
	}
	memcpy(made, like, KEY);
	return shapes.list[shapes.count++] = made;
}
