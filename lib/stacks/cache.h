/* SPDX-License-Identifier: MIT */
/* Files that several processes have mapped: opened once, with their symbols. Not installed. */
#ifndef PM_STACKS_CACHE_H
#define PM_STACKS_CACHE_H

#include "../perfmodes_stacks.h"
#include "file.h"
#include "lines.h"
#include "table.h"

struct cached {
	struct cached *next;
	uint64_t device, inode, size, changed;	/* which file it is; changed in ns */
	unsigned int users;		/* modules of unwinders */
	uint64_t used;			/* when it was last looked at, a counter */
	struct file file;
	struct table table;		/* symbols, read when first asked for; names in the files */
	struct file debug;		/* where symbols were found besides, elf NULL: nowhere */
	struct lines lines;		/* read when first asked for */
	char *plt_names;		/* "read@plt", one behind the other */
	uint64_t strings;		/* bytes that the symbols of both files keep in memory */
	bool looked;			/* for symbols */
	bool weighed, bounded;		/* how frames are left: by cfi_is_bounded() */
	char *name;			/* for people: the path it was opened by */
};

/*
 * The file behind the descriptor, which is taken over. Files without users are kept for the next
 * process, up to a limit. Returns 0 or as file_open(), -ENOMEM.
 */
int cache_get(struct pm_symbols *symbols, int fd, const char *name, struct cached **ret);

/* A vDSO, by its bytes; `image` is taken over. */
int cache_get_image(struct pm_symbols *symbols, void *image, size_t size, const char *name,
		    struct cached **ret);
void cache_put(struct pm_symbols *symbols, struct cached *cached);

#endif
