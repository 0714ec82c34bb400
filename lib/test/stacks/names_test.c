/* SPDX-License-Identifier: MIT */
/* Names: of this program, of the kernel (shown and hidden), of a JIT; how they are written. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../test.h"
#include "../../stacks/jit.h"
#include "../../stacks/symbols.h"

static int holding(const void *data, size_t size)
{
	int fd = memfd_create("held", MFD_CLOEXEC);

	assert_true(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	return fd;
}

static const char *path_of(int fd)
{
	static char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return path;
}

static struct pm_symbol found(struct pm_symbols *symbols, struct pm_unwinder *unwinder,
			      uint64_t address, unsigned int frame)
{
	struct pm_symbol symbol = { .size = sizeof(symbol) };

	assert_int_equal(pm_symbols_find(symbols, unwinder, address, frame, &symbol), 0);
	return symbol;
}

void a_name_of_our_own(void **state);
void a_name_of_our_own(void **state)
{
	struct pm_symbols *symbols = pm_symbols_create(NULL);
	const struct pm_unwinder_opts opts = { .size = sizeof(opts), .symbols = symbols };
	const uint64_t here = (uint64_t)(uintptr_t)a_name_of_our_own;
	struct pm_unwinder *unwinder;
	struct pm_symbol symbol;

	(void)state;
	assert_int_equal(pm_unwinder_open(getpid(), &opts, &unwinder), 0);
	symbol = found(symbols, unwinder, here + 1, 0);
	assert_int_equal(symbol.source, PM_SYMBOL_FILE);
	assert_string_equal(symbol.name, "a_name_of_our_own");
	assert_int_equal(symbol.start, here);
	symbol = found(symbols, unwinder, here, PM_FRAME_CALLER);
	assert_true(symbol.name == NULL || strcmp(symbol.name, "a_name_of_our_own") != 0);
	symbol = found(symbols, unwinder, 16, 0);
	assert_null(symbol.name);
	assert_string_equal(symbol.module, "[unknown]");
	pm_unwinder_destroy(unwinder);
	pm_symbols_destroy(symbols);
}

/* One place with five names: weak and local ones before and behind the public ones. */
int __named_place(int value);
int __named_place(int value)
{
	return value + 1;
}
int __a_longer_named_place(int value) __attribute__((alias("__named_place")));
int named_place(int value) __attribute__((weak, alias("__named_place")));
int _named_place_too(int value) __attribute__((alias("__named_place")));
static int local_name_of_a_place(int value) __attribute__((alias("__named_place"), used));

static void the_name_that_programs_call(void **state)
{
	struct pm_symbols *symbols = pm_symbols_create(NULL);
	const struct pm_unwinder_opts opts = { .size = sizeof(opts), .symbols = symbols };
	struct pm_unwinder *unwinder;
	struct pm_symbol symbol;

	(void)state;
	assert_int_equal(pm_unwinder_open(getpid(), &opts, &unwinder), 0);
	symbol = found(symbols, unwinder, (uint64_t)(uintptr_t)__named_place, 0);
	assert_string_equal(symbol.name, "named_place");
	pm_unwinder_destroy(unwinder);
	pm_symbols_destroy(symbols);
}

static struct pm_symbols *with_kallsyms(const char *text, int *fd)
{
	struct pm_symbols_opts opts = { .size = sizeof(opts) };

	*fd = holding(text, strlen(text));
	opts.kallsyms = path_of(*fd);
	return pm_symbols_create(&opts);
}

static void names_of_the_kernel(void **state)
{
	int fd;
	struct pm_symbols *symbols = with_kallsyms(
		"ffffffff81000000 T first\nffffffff81000000 T __first\n"
		"ffffffff81000100 d data\nffffffff81000200 t second\n"
		"ffffffffc0000000 t in_module\t[ext4]\nnonsense\nffffffffc0001000 t ", &fd);
	struct pm_symbol symbol = found(symbols, NULL, 0xffffffff81000150, PM_FRAME_KERNEL);

	(void)state;
	assert_string_equal(symbol.name, "first");
	assert_int_equal(symbol.source, PM_SYMBOL_KERNEL);
	assert_string_equal(symbol.module, "[kernel]");
	symbol = found(symbols, NULL, 0xffffffff81000200, PM_FRAME_KERNEL | PM_FRAME_CALLER);
	assert_string_equal(symbol.name, "first");
	symbol = found(symbols, NULL, 0xffffffffc0000010, PM_FRAME_KERNEL);
	assert_string_equal(symbol.name, "in_module");
	assert_string_equal(symbol.module, "[ext4]");
	symbol = found(symbols, NULL, 0x10, PM_FRAME_KERNEL);
	assert_true(symbol.name == NULL && symbol.source == PM_SYMBOL_NONE);
	pm_symbols_destroy(symbols);
	close(fd);
}

/* Between modules, and behind the last one, no name is anywhere near. */
static void the_last_name_of_a_module_ends(void **state)
{
	int fd;
	struct pm_symbols *symbols = with_kallsyms(
		"ffffffffc0008010 t of_b\t[b]\nffffffff81000000 T first\nffffffff81000100 T last\n"
		"ffffffffc0000800 t of_a\t[a]\nffffffffc0000800 t of_a\t[a]\n"
		"ffffffffc0000900 t near\t[c]\n", &fd);
	static const struct { uint64_t address; const char *name; } expected[] = {
		{ 0xffffffff81001fff, "last" }, { 0xffffffff81002000, NULL },
		{ 0xffffffffc00007ff, NULL }, { 0xffffffffc00008ff, "of_a" },
		{ 0xffffffffc0000900, "near" }, { 0xffffffffc0001fff, "near" },
		{ 0xffffffffc0002000, NULL }, { 0xffffffffc0009fff, "of_b" },
		{ 0xffffffffc000a000, NULL }, { 0xfffffffffffff000, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		const struct pm_symbol symbol = found(symbols, NULL, expected[i].address,
						      PM_FRAME_KERNEL);

		if (expected[i].name != NULL) {
			assert_string_equal(symbol.name, expected[i].name);
			continue;
		}
		assert_true(symbol.name == NULL && symbol.source == PM_SYMBOL_NONE);
		assert_string_equal(symbol.module, "[kernel]");
	}
	pm_symbols_destroy(symbols);
	close(fd);
}

static void hidden_addresses_are_said(void **state)
{
	int fd;
	struct pm_symbols *symbols = with_kallsyms("0000000000000000 T first\n"
						   "0000000000000000 t second\n", &fd);
	const struct pm_symbol symbol = found(symbols, NULL, 0xffffffff81000150, PM_FRAME_KERNEL);

	(void)state;
	assert_true(symbol.name == NULL && symbol.source == PM_SYMBOL_HIDDEN);
	pm_symbols_destroy(symbols);
	close(fd);
}

static const struct { const char *name, *plain; } rust[] = {
	{ "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt" },
	{ "_ZN9hashbrown11rustc_entry62_$LT$impl$u20$hashbrown..map..HashMap$LT$K$C$V$C$S$C$A$GT$"
	  "$GT$11rustc_entry17h0123456789abcdefE",
	  "hashbrown::rustc_entry::<impl hashbrown::map::HashMap<K,V,S,A>>::rustc_entry" },
	{ "_ZN9hashbrown3raw21RawTable$LT$T$C$A$GT$14reserve_rehash17h477217d1bccf7f1cE.llvm.9529",
	  "hashbrown::raw::RawTable<T,A>::reserve_rehash" },
	{ "_ZN56_$LT$$RF$mut$u20$$u5b$T$u5d$$u20$as$u20$x..Y$LP$$RP$$GT$1f17h0123456789abcdefE",
	  "<&mut [T] as x::Y()>::f" },
	{ "_ZN1a4$u7e17h0123456789abcdefE", "a::$u7e" },
	{ "_ZN1a3$uZ17h0123456789abcdefE", "a::$uZ" },
	{ "_ZN1a5$ue9$17h0123456789abcdefE", "a::\xc3\xa9" },
	{ "_ZN1a4$ua$17h0123456789abcdefE", "a::$ua$" },
};

static void mangled_names(void **state)
{
	char *name = demangle("_ZN3foo3barEi");

	(void)state;
	assert_null(demangle("main"));
	assert_null(demangle("_Z"));
	if (name == NULL)
		skip();		/* no C++ library here */
	assert_string_equal(name, "foo::bar(int)");
	free(name);
	for (size_t i = 0; i < sizeof(rust) / sizeof(rust[0]); i++) {
		name = demangle(rust[i].name);
		if (name == NULL)
			fail_msg("%s", rust[i].name);
		assert_string_equal(name, rust[i].plain);
		free(name);
	}
}

static void names_with_versions(void **state)
{
	static const struct { const char *name, *plain; } symbols[] = {
		{ "read@@GLIBC_2.2.5", "read" }, { "old@LIBX_1", "old" }, { "main", NULL },
		{ "read@plt", "read@plt" }, { "@first", NULL }, { "_ZN3fooE@@V1", "foo" },
		{ "_ZN3foo3barEi@plt", "foo::bar(int)@plt" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		char *plain = demangle_symbol(symbols[i].name), *cxx = demangle("_ZN3fooE");

		free(cxx);
		if (symbols[i].plain == NULL)
			assert_null(plain);
		else if (cxx != NULL || symbols[i].name[1] != 'Z')	/* else no C++ library */
			assert_string_equal(plain, symbols[i].plain);
		free(plain);
	}
}

static void a_perf_map_grows(void **state)
{
	static const char text[] = "1000 10 first name\n0x2000 0x20 second\nx\n"
		"3000 0 empty\n2000 20 ";
	struct jit jit = { 0 };
	int fd = holding(text, sizeof(text) - 1);

	(void)state;
	jit_open(&jit, fd, false);
	assert_int_equal(jit_read(&jit), 0);
	assert_int_equal(jit.table.count, 2);
	assert_string_equal(table_find(&jit.table, 0x100f)->name, "first name");
	assert_null(table_find(&jit.table, 0x1010));
	assert_int_equal(write(fd, "third\n", 6), 6);
	assert_int_equal(jit_read(&jit), 0);
	assert_string_equal(table_find(&jit.table, 0x2001)->name, "third");
	jit_free(&jit);
}

/* Header, a load of 4 bytes at 0x5000, a move of it to 0x6000, and a record that is cut. */
static void a_jitdump(void **state)
{
	struct jit jit = { 0 };
	unsigned char data[512] = { 0 };
	uint32_t *half = (uint32_t *)(void *)data;
	uint64_t *load = (uint64_t *)(void *)(data + 40), *move = load + 9;

	(void)state;
	half[0] = 0x4a695444;
	half[2] = 40;
	((uint32_t *)load)[1] = 72;
	load[4] = 0x5000;
	load[5] = 4;
	memcpy(load + 7, "made", 5);
	((uint32_t *)move)[0] = 1;
	((uint32_t *)move)[1] = 64;
	move[4] = 0x5000;
	move[5] = 0x6000;
	move[6] = 8;
	((uint32_t *)(move + 8))[1] = 4096;
	jit_open(&jit, holding(data, 40 + 72 + 64 + 32), true);
	assert_int_equal(jit_read(&jit), 0);
	assert_int_equal(jit.table.count, 2);
	assert_string_equal(table_find(&jit.table, 0x5003)->name, "made");
	assert_string_equal(table_find(&jit.table, 0x6007)->name, "made");
	jit_free(&jit);
}

/* A pipe, a directory, a device and text are no ELF files, and no wait. */
static void files_of_all_kinds(void **state)
{
	struct file file;

	(void)state;
	assert_int_equal(file_open(holding("no", 2), &file), -ENOEXEC);
	assert_int_equal(file_open(open("/dev/zero", O_RDONLY), &file), -ENOEXEC);
	assert_int_equal(file_open(open("/tmp", O_RDONLY), &file), -ENOEXEC);
	assert_true(file_open_path("/dev/zero") < 0 && file_open_path("/tmp") < 0);
	assert_int_equal(file_open_path("/nonexistent"), -ENOENT);
}

static const char *written(int fd)
{
	static char text[8192];
	const ssize_t got = pread(fd, text, sizeof(text) - 1, 0);

	assert_true(got >= 0);
	text[got] = '\0';
	close(fd);
	return text;
}

static void folded_lines(void **state)
{
	int kernel, fd = memfd_create("out", MFD_CLOEXEC);
	struct pm_symbols *symbols = with_kallsyms("ffffffff81000000 T a;b\nffffffff81000100 t c\n",
						   &kernel);
	const uint64_t addresses[] = { 0xffffffff81000001, 0xffffffff81000101, 0x10 };
	const uint8_t frames[] = { PM_FRAME_KERNEL, PM_FRAME_KERNEL, 0 };
	struct pm_stack stack = { .size = sizeof(stack), .count = 3, .addresses = addresses,
				  .frames = frames, .weight = 2, .end = PM_END_COPY };
	struct pm_folded *folded;

	(void)state;
	assert_int_equal(pm_folded_open(fd, NULL, &folded), 0);
	assert_int_equal(pm_folded_add(folded, "co;mm\n\xc2\x9b", symbols, NULL, &stack), 0);
	stack.weight = 40;
	assert_int_equal(pm_folded_add(folded, "co;mm\n\xc2\x9b", symbols, NULL, &stack), 0);
	assert_int_equal(pm_folded_destroy(folded), 0);
	assert_string_equal(written(fd), "co:mm??;[truncated];[no maps];c_[k];a:b_[k] 42\n");
	pm_symbols_destroy(symbols);
	close(kernel);
}

/* A disk that is full is told, once and for all, and nothing hangs. */
static void outputs_that_fail(void **state)
{
	int fd = open("/dev/full", O_WRONLY);
	const uint64_t address = 0x10;
	const uint8_t frame = 0;
	const struct pm_stack stack = { .size = sizeof(stack), .count = 1, .addresses = &address,
					.frames = &frame, .weight = 1 };
	struct pm_symbols *symbols = pm_symbols_create(NULL);
	struct pm_folded *folded;
	struct pm_pprof *pprof;

	(void)state;
	assert_int_equal(pm_folded_open(fd, NULL, &folded), 0);
	assert_int_equal(pm_folded_add(folded, "x", symbols, NULL, &stack), 0);
	assert_int_equal(pm_folded_destroy(folded), -ENOSPC);
	assert_int_equal(pm_pprof_open(fd, NULL, &pprof), 0);
	assert_int_equal(pm_pprof_add(pprof, "x", symbols, NULL, &stack), 0);
	assert_int_equal(pm_pprof_destroy(pprof, 0), -ENOSPC);
	pm_symbols_destroy(symbols);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_of_our_own),
		cmocka_unit_test(the_name_that_programs_call),
		cmocka_unit_test(names_of_the_kernel),
		cmocka_unit_test(the_last_name_of_a_module_ends),
		cmocka_unit_test(hidden_addresses_are_said),
		cmocka_unit_test(mangled_names),
		cmocka_unit_test(names_with_versions),
		cmocka_unit_test(a_perf_map_grows),
		cmocka_unit_test(a_jitdump),
		cmocka_unit_test(files_of_all_kinds),
		cmocka_unit_test(folded_lines),
		cmocka_unit_test(outputs_that_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
