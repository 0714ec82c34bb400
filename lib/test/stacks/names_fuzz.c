/* SPDX-License-Identifier: MIT */
/* A name, of which a target chose every byte, is made readable. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../stacks/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Nothing of ASCII that controls a terminal comes of a name without it. */
static void look(const char *name, const char *plain)
{
	for (size_t i = 0; name[i] != '\0'; i++)
		if ((unsigned char)name[i] < ' ' || name[i] == 0x7f)
			return;
	for (size_t i = 0; plain[i] != '\0'; i++)
		if ((unsigned char)plain[i] < ' ' || plain[i] == 0x7f)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *const name = strndup((const char *)data, size);
	char *const plain = name != NULL ? demangle(name) : NULL;

	if (plain != NULL) {
		if (*plain == '\0' || strlen(plain) > 1 << 20)
			abort();
		look(name, plain);
	}
	free(plain);
	free(name);
	return 0;
}
