/* SPDX-License-Identifier: MIT */
/*
 * A file that a target has mapped, with every byte chosen by the target: it is opened, unwound from
 * and searched for names and lines. The first 8 bytes say where in it the program counter stands.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../stacks/symbols.h"
#include "../../stacks/unwinder.h"

#define BASE 0x400000ull
#define SIZE 0x10000000ull

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* libelf 0.188 forgets a section of a damaged file now and then: no more than the file's size. */
const char *__lsan_default_suppressions(void)
{
	return "leak:libelf.so\n";
}

static void read_lines(struct pm_symbols *symbols, struct pm_unwinder *unwinder, uint64_t address,
		       unsigned int frame)
{
	struct pm_line lines[8] = { { .size = sizeof(lines[0]) } };
	const int count = pm_symbols_lines(symbols, unwinder, address, frame, lines, 8);

	if (count < 0)
		abort();
	for (int i = 0; i < count && i < 8; i++)
		if ((lines[i].name != NULL && strlen(lines[i].name) > SIZE) ||
		    (lines[i].file != NULL && strlen(lines[i].file) > SIZE))
			abort();
}

static void unwind(struct pm_symbols *symbols, struct pm_unwinder *unwinder, uint64_t pc)
{
	uint64_t regs[64], words[512];
	const struct pm_stack_sample sample = {
		.size = sizeof(sample), .regs_abi = 2, .regs_mask = pm_unwinder_registers(),
		.regs = regs, .stack = words, .stack_size = sizeof(words),
		.stack_used = sizeof(words),
	};
	struct pm_stack stack = { .size = sizeof(stack) };

	for (size_t i = 0; i < 64; i++)
		regs[i] = pc;
	for (size_t i = 0; i < 512; i++)
		words[i] = BASE + i * 64;
	if (pm_unwinder_stack(unwinder, &sample, &stack) < 0)
		abort();
	for (size_t i = 0; i < stack.count; i++) {
		struct pm_symbol symbol = { .size = sizeof(symbol) };

		if (pm_symbols_find(symbols, unwinder, stack.addresses[i], stack.frames[i],
				    &symbol) < 0)
			abort();
		read_lines(symbols, unwinder, stack.addresses[i], stack.frames[i]);
	}
}

/* An unwinder whose only mapping is the file in the descriptor. */
static struct pm_unwinder *unwinder_of(struct pm_symbols *symbols, int fd)
{
	static const char text[] = "400000-10400000 r-xp 00000000 00:00 0    [file]\n";
	int maps = memfd_create("maps", MFD_CLOEXEC);
	const struct pm_unwinder_opts opts = {
		.size = sizeof(opts), .symbols = symbols, .descriptors = true, .maps_fd = maps,
		.mem_fd = -1, .frames = 64, .time_limit = 1000000000,
	};
	struct pm_unwinder *unwinder;
	struct module *module = calloc(1, sizeof(*module));

	if (maps < 0 || module == NULL || write(maps, text, sizeof(text) - 1) < 0 ||
	    pm_unwinder_open(getpid(), &opts, &unwinder) < 0)
		abort();
	if (cache_get(symbols, fd, "/file", &module->cached) < 0 ||
	    file_place(&module->cached->file, BASE, 0, &module->bias, &module->low,
		       &module->high) < 0) {
		if (module->cached != NULL)
			cache_put(symbols, module->cached);
		free(module);
		return unwinder;
	}
	module->start = BASE;
	unwinder->modules = unwinder->maps.list[0].module = module;
	return unwinder;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pm_symbols *symbols = pm_symbols_create(NULL);
	int fd = memfd_create("elf", MFD_CLOEXEC);
	struct pm_unwinder *unwinder;
	uint64_t at = 0;

	if (size < sizeof(at) || symbols == NULL || fd < 0 ||
	    write(fd, data + sizeof(at), size - sizeof(at)) < 0) {
		pm_symbols_destroy(symbols);
		close(fd);
		return 0;
	}
	memcpy(&at, data, sizeof(at));
	unwinder = unwinder_of(symbols, fd);
	unwind(symbols, unwinder, BASE + at % SIZE);
	pm_unwinder_destroy(unwinder);
	pm_symbols_destroy(symbols);
	return 0;
}
