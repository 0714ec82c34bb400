/* SPDX-License-Identifier: MIT */
/* The inside of struct pm_symbols. Not installed. */
#ifndef PM_STACKS_SYMBOLS_H
#define PM_STACKS_SYMBOLS_H

#include "cache.h"
#include "demangle.h"
#include "table.h"

/* Names of the kernel. */
struct kernel {
	struct table table;
	char *text;			/* of kallsyms; names and modules lead into it */
	bool read, hidden;
};

struct pm_symbols {
	uint64_t limit;			/* bytes */
	bool mangled, debuginfod, without_lines;
	char *debug_root, *perf_cache, *kallsyms;	/* the first: folders, ":" between */
	struct cached *files;
	uint64_t clock;			/* counts lookups, for the oldest */
	struct kernel kernel;
	char *name;			/* the last demangled one, malloc'ed; NULL */
	char module[256];		/* the last module of the kernel */
	char cut[NAME_MAX_BYTES + 1];	/* a long name */
};

/* Reads the symbols of a file, once. */
void symbols_load(struct pm_symbols *symbols, struct cached *cached);

/* Adds the pieces of a file's procedure linkage table, "read@plt". */
void plt_load(struct cached *cached);

/* Lets go of what nobody uses, the longest unused first, until the limit is held. */
void cache_trim(struct pm_symbols *symbols);

/* The bytes that a file's symbols take. */
uint64_t cache_bytes(const struct cached *cached);

/* Reads kallsyms at the first call. The entry's name is "name" or "name\t[module]". */
const struct entry *kernel_find(struct pm_symbols *symbols, uint64_t address);

/* The pages from the first symbol of a module, or of the "[kernel]", to the last; 0: not known. */
void kernel_range(struct pm_symbols *symbols, const char *module, uint64_t *start, uint64_t *end);
void kernel_free(struct kernel *kernel);

/*
 * A file of debug symbols for this one, if the place of this number has one: its descriptor, or an
 * error. -ERANGE behind the last place. Whether it belongs to the file is not looked at, except by
 * the checksum of a link.
 */
int debug_file_open(const struct pm_symbols *symbols, const struct cached *cached,
		    unsigned int place);

/* The ELF file that is packed into this one, in memory. -ENOENT: none; -ENOSYS: no liblzma. */
int minidebug_open(const struct file *file, struct file *ret);

#endif
