/* SPDX-License-Identifier: MIT */
/* Names of Rust's newer scheme: as RFC 2603 and the book of rustc have them, damaged, hostile. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../test.h"
#include "../../stacks/demangle.h"

struct pair { const char *name, *plain; };

/* Examples of the RFC, and of "v0 Symbol Format" in the book. */
static const struct pair published[] = {
	{ "_RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB5_7PathBuf3newCs15kBYyAo9fc_7mycrate",
	  "<std::path::PathBuf>::new" },
	{ "_RNvCs15kBYyAo9fc_7mycrate7example", "mycrate::example" },
	{ "_RNvMs_Cs4Cv8Wi1oAIB_7mycrateNtB4_7Example3foo", "<mycrate::Example>::foo" },
	{ "_RNvXCs15kBYyAo9fc_7mycrateNtB2_7ExampleNtB2_5Trait3foo",
	  "<mycrate::Example as mycrate::Trait>::foo" },
	{ "_RNvMCs7qp2U7fqm6G_7mycrateNtB2_7Example3foo", "<mycrate::Example>::foo" },
	{ "_RNvYNtCs15kBYyAo9fc_7mycrate7ExampleNtB4_5Trait7exampleB4_",
	  "<mycrate::Example as mycrate::Trait>::example" },
	{ "_RNCNvCsgStHSCytQ6I_7mycrate4main0B3_", "mycrate::main::{closure#0}" },
	{ "_RNCNvCsgStHSCytQ6I_7mycrate4mains_0B3_", "mycrate::main::{closure#1}" },
	{ "_RINvCsgStHSCytQ6I_7mycrate7examplelKj1_EB2_", "mycrate::example::<i32, 1>" },
	{ "_RNvNtNtCsgOH4LzxkuMq_7mycrateu8gdel_5qa6escher4bach",
	  "mycrate::g\xc3\xb6" "del::escher::bach" },
	{ "_RINvCs7qp2U7fqm6G_7mycrate7exampleFG0_RL1_hRL0_tEuEB2_",
	  "mycrate::example::<for<'a, 'b> fn(&'a u8, &'b u16)>" },
	{ "_RINvCs7qp2U7fqm6G_7mycrate7exampleKy12345678_EB2_", "mycrate::example::<305419896>" },
	{ "_RNvNvMCsd9PVOYlP1UU_7mycrateINtB4_7ExamplepKpE3foo14EXAMPLE_STATIC",
	  "<mycrate::Example<_, _>>::foo::EXAMPLE_STATIC" },
	{ "_RINvCs7qp2U7fqm6G_7mycrate7exampleAtj8_EB2_", "mycrate::example::<[u16; 8]>" },
	{ "_RINvCs7qp2U7fqm6G_7mycrate7exampleNtB2_7ExampleBw_EB2_",
	  "mycrate::example::<mycrate::Example, mycrate::Example>" },
	{ "_RINvMsY_NtCseXNvpPnDBDp_3std4pathNtB6_4Path3neweECs7qp2U7fqm6G_7mycrate",
	  "<std::path::Path>::new::<str>" },
	{ "_RNvNvNvCs7qp2U7fqm6G_7mycrate7EXAMPLE7___getit5___KEY$tlv$init",
	  "mycrate::EXAMPLE::__getit::__KEY" },
	{ "_RNvNtNtCs1234_7mycrate3foo3bar3baz", "mycrate::foo::bar::baz" },
	{ "_RNvNvMCs1234_7mycrateINtCs1234_7mycrate3FoopE3bar4QUUX",
	  "<mycrate::Foo<_>>::bar::QUUX" },
	{ "_RNvNvXCs1234_7mycrateINtCs1234_7mycrate3FoopENtNtC3std5clone5Clone5clone4QUUX",
	  "<mycrate::Foo<_> as std::clone::Clone>::clone::QUUX" },
	{ "_RNvNvXs2_C7mycrateINtC7mycrate3FoopEINtNtC3std7convert4FrompE4from3MSG",
	  "<mycrate::Foo<_> as std::convert::From<_>>::from::MSG" },
	{ "_RNvCs1234_7mycrate4QUUX", "mycrate::QUUX" },
	{ "_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>" },
	{ "_RINvNtC3std3mem8align_ofRcE", "std::mem::align_of::<&char>" },
	{ "_RINvNtC3std3mem8align_ofNtNtC3std3mem12DiscriminantE",
	  "std::mem::align_of::<std::mem::Discriminant>" },
	{ "_RINvNtC3std3mem8align_ofQTReuEE", "std::mem::align_of::<&mut (&str, ())>" },
	{ "_RINvNtC3std3mem8align_ofjEC3foo", "std::mem::align_of::<usize>" },
	/* With u_ for the RFC's t_, which is one too small. */
	{ "_RINtNtC3std4iter5ChainINtB2_3ZipINtNtB4_3vec8IntoItermEBu_EE",
	  "std::iter::Chain::<std::iter::Zip<std::vec::IntoIter<u32>, "
	  "std::vec::IntoIter<u32>>>" },
	{ "_RNvC1au6f_5gaa", "a::f\xc3\xb8\xc3\xb8" },
	{ "_RNvC1au7___ylb7e", "a::\xce\xb1_\xcf\x89" },
	{ "_RNvC1au6n84amf", "a::\xe9\x93\x81\xe9\x94\x88" },
	{ "_RNvC1au4fq9h", "a::\xf0\x9f\xa4\xa6" },
	{ "_RNvC1au6_2xaedc", "a::\xcf\x81\xcf\x85\xcf\x83\xcf\x84" },
	{ "_RNvC1a3\xc3\xa9x", "a::\xc3\xa9x" },
};

/* What the grammar says of them. */
static const struct pair types[] = {
	{ "_RNCC1a0", "a::{closure#0}" }, { "_RNCC1as0_0", "a::{closure#2}" },
	{ "_RNCC1asZ_0", "a::{closure#63}" }, { "_RNCC1asg7_0", "a::{closure#1001}" },
	{ "_RNSNvC1a1f6vtable", "a::f::{shim:vtable#0}" }, { "_RNZC1as_3foo", "a::{Z:foo#1}" },
	{ "_RNvNcC1a0s_3foo", "a::foo" },
	{ "_RINvC1a1babcdefhijlmE",
	  "a::b::<i8, bool, char, f64, str, f32, u8, isize, usize, i32, u32>" },
	{ "_RINvC1a1bnopstuxyzE", "a::b::<i128, u128, _, i16, u16, (), i64, u64, !>" },
	{ "_RINvC1a1bC4f128E", "a::b::<f128>" },
	{ "_RINvC1a1bL_E", "a::b::<'_>" }, { "_RINvC1a1bRL_jE", "a::b::<&usize>" },
	{ "_RINvC1a1bPjOjRjQjSjTjETjjEE",
	  "a::b::<*const usize, *mut usize, &usize, &mut usize, [usize], (usize,), "
	  "(usize, usize)>" },
	{ "_RINvC1a1bFEuE", "a::b::<fn()>" }, { "_RINvC1a1bFEzE", "a::b::<fn() -> !>" },
	{ "_RINvC1a1bFUKCjvEjE", "a::b::<unsafe extern \"C\" fn(usize, ...) -> usize>" },
	{ "_RINvC1a1bFK12C_cmse_entryEuE", "a::b::<extern \"C-cmse-entry\" fn()>" },
	{ "_RINvC1a1bFG0_RL1_hFG_RL2_hRL0_hEuEuE",
	  "a::b::<for<'a, 'b> fn(&'a u8, for<'c> fn(&'a u8, &'c u8))>" },
	{ "_RINvC1a1bFGq_RL0_hRLr_hEuE",
	  "a::b::<for<'a, 'b, 'c, 'd, 'e, 'f, 'g, 'h, 'i, 'j, 'k, 'l, 'm, 'n, 'o, 'p, 'q, "
	  "'r, 's, 't, 'u, 'v, 'w, 'x, 'y, 'z, '_26, '_27> fn(&'_27 u8, &'a u8)>" },
	{ "_RINvC1a1bDNtC1a1TEL_E", "a::b::<dyn a::T>" },
	{ "_RINvC1a1bDNtC1a1Tp4ItemjEL_E", "a::b::<dyn a::T<Item = usize>>" },
	{ "_RINvC1a1bDNtC1a1Tp1NKj3_EL_E", "a::b::<dyn a::T<N = 3>>" },
	{ "_RINvC1a1bFG_DG_INtC1a1TRL0_jRL1_hEp6OutputuNtC1a1SEL0_EuE",
	  "a::b::<for<'a> fn(dyn for<'b> a::T<&'b usize, &'a u8, Output = ()> + a::S + 'a)>" },
	{ "_RINvC1a1bINtC1a1TjEDB7_p1xhEL_E", "a::b::<a::T<usize>, dyn a::T<usize, x = u8>>" },
	{ "_RINvC1a1bINtC1a1TDINtC1a1UjEEL_EE", "a::b::<a::T<dyn a::U<usize>>>" },
	{ "_RINvYjINtC1a1TjE1fhE", "<usize as a::T<usize>>::f::<u8>" },
	{ "_RNvMINtC1a1XjEINtC1a1XjE1f", "<a::X<usize>>::f" },
	{ "_RINvC1a1bWmRm1_m5_WlORlnff_lnf_Rl1_l2_EWPhNE",
	  "a::b::<u32 is 1..=5, i32 is -255..=-15 | 1..=2, *const u8 is !null>" },
	{ "_RNvC1a1b.llvm.0123456789ABCDEF", "a::b" }, { "_RNvC1a1b.cold", "a::b.cold" },
	{ "_RNvC1a1b.part.0.llvm.7", "a::b.part.0" },
};

static const struct pair constants[] = {
	{ "_RINvC1a1bKj0_E", "a::b::<0>" }, { "_RINvC1a1bKjffffffffffffffff_E",
	  "a::b::<18446744073709551615>" },
	{ "_RINvC1a1bKo10000000000000000_E", "a::b::<0x10000000000000000>" },
	{ "_RINvC1a1bKln5_KspKnn80000000000000000000000000000000_E", NULL },
	{ "_RINvC1a1bKln5_KpKnn80000000000000000000000000000000_E",
	  "a::b::<-5, _, -0x80000000000000000000000000000000>" },
	{ "_RINvC1a1bKb0_Kb1_E", "a::b::<false, true>" },
	{ "_RINvC1a1bKc41_Kc27_Kc22_Kca_Kc0_Kc5c_Kc7f_Kc1_Kc2204_E",
	  "a::b::<'A', '\\'', '\"', '\\n', '\\0', '\\\\', '\\u{7f}', '\\u{1}', '\xe2\x88\x84'>" },
	{ "_RINvC1a1bKRe616263_KRe_E", "a::b::<\"abc\", \"\">" },
	{ "_RINvC1a1bKRec3a9e28884f09fa4a622275c_E",
	  "a::b::<\"\xc3\xa9\xe2\x88\x84\xf0\x9f\xa4\xa6\\\"'\\\\\">" },
	{ "_RINvC1a1bKe61_KRj1_KQj1_KRRe61_E", "a::b::<{*\"a\"}, {&1}, {&mut 1}, {&\"a\"}>" },
	{ "_RINvC1a1bKAEKRAj1_j2_EKTEKTj1_EKTj1_b0_EE",
	  "a::b::<{[]}, {&[1, 2]}, {()}, {(1,)}, {(1, false)}>" },
	{ "_RINvC1a1bKVNtC1a1UUKVINtC1a1VjETj1_KVNtC1a1VS1xj1_s_1yb0_EE", NULL },
	{ "_RINvC1a1bKVNtC1a1UUKVINtC1a1VjETj1_EKVNtC1a1VS1xj1_s_1yb0_EE",
	  "a::b::<{a::U}, {a::V::<usize>(1)}, {a::V { x: 1, y: false }}>" },
	{ "_RINvC1a1bAjTj3_EKj4_KBf_E", "a::b::<[usize; (3,)], 4, 4>" },
};

/* Beginnings, letters that mean nothing, numbers that are too large, what leads nowhere. */
static const char *const malformed[] = {
	"_R", "_RN", "_RNv", "_RNvC", "_RC0", "_RNvC1a", "_RNvC1a2b", "_RNvC1a1bc", "_RNvC1a1b~",
	"_R0NvC1a1b", "_R1NvC1a1b", "_RNvC1a1b C1c", "_RNvC1a1bC1cC1d", "_RNvC1a1bE", "_RN0C1a1b",
	"_RNvC1as_03foo", "_RNvC1a01b", "_RNvC1a99999999999999999999999b",
	"_RNvC1a18446744073709551617b", "_RNvCsZZZZZZZZZZZZ_1a1b", "_RNvC1a3b;c", "_RNvC1a3b\tc",
	"_RNvC1a1b.\x1b[m", "_RNvC1a1b.\xc2\x9b",
	"_RINvC1a1b", "_RINvC1a1bg", "_RINvC1a1bgE", "_RINvC1a1bLE",
	"_RINvC1a1bL0_E", "_RINvC1a1bFG_EuRL0_jE", "_RINvC1a1bFGZZZZZZ_EuE", "_RINvC1a1bDNtC1a1TEE",
	"_RINvC1a1bDG_NtC1a1TEL0_E", "_RINvC1a1bFKu4fq9hEuE", "_RINvC1a1bWmE",
	"_RINvC1a1bWmXm1_m2_E",
	"_RINvC1a1bKE", "_RINvC1a1bKj", "_RINvC1a1bKj1", "_RINvC1a1bKj1E", "_RINvC1a1bKjn1_E",
	"_RINvC1a1bKjA_E", "_RINvC1a1bKb2_E", "_RINvC1a1bKb11_E", "_RINvC1a1bKcd800_E",
	"_RINvC1a1bKc110000_E", "_RINvC1a1bKc1000000041_E", "_RINvC1a1bKu_E", "_RINvC1a1bKd1_E",
	"_RINvC1a1bKRe6_E", "_RINvC1a1bKRec3_E", "_RINvC1a1bKRec328_E", "_RINvC1a1bKRec0af_E",
	"_RINvC1a1bKRe80_E", "_RINvC1a1bKReeda080_E", "_RINvC1a1bKRef8888080_E",
	"_RINvC1a1bKVNtC1a1UXE", "_RINvC1a1bKAj1_E", "_RNvC1au0", "_RNvC1au2a_", "_RNvC1au3a_b",
	"_RNvC1au3a_A", "_RNvC1au8z99999999", "_RNvC1au3\xc3\xa9z",
	"_RNvC1au20zzzzzzzzzzzzzzzzzzzz",
	"_RB_", "_RNvB_1b", "_RNvB0_1b", "_RNvB9_1b", "_RNvC1a1bB9_", "_RINvC1a1bB8_E",
	"_RINvC1a1bRB8_E", "_RINvC1a1bTB8_EE", "_RINvC1a1bKB9_E", "_RINvC1a1bKRB9_E",
};

static void all_are(const struct pair *pairs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char *plain = demangle(pairs[i].name);

		if (pairs[i].plain == NULL ? plain != NULL :
		    plain == NULL || strcmp(plain, pairs[i].plain) != 0)
			fail_msg("%s: %s", pairs[i].name, plain != NULL ? plain : "NULL");
		free(plain);
	}
}

static void as_published(void **state)
{
	(void)state;
	all_are(published, sizeof(published) / sizeof(published[0]));
}

static void of_each_kind(void **state)
{
	(void)state;
	all_are(types, sizeof(types) / sizeof(types[0]));
	all_are(constants, sizeof(constants) / sizeof(constants[0]));
}

static void what_is_malformed_stays(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
		char *plain = demangle(malformed[i]);

		if (plain != NULL)
			fail_msg("%s: %s", malformed[i], plain);
	}
}

/* Each name cut everywhere, and with each byte another one: the sanitizers look on. */
static void damaged(const struct pair *pairs, size_t count)
{
	static const char bytes[] = "_0EBKGLZsuT\x80.";
	char name[256];

	for (size_t i = 0; i < count; i++)
		for (size_t at = 2; at < strlen(pairs[i].name); at++) {
			snprintf(name, sizeof(name), "%.*s", (int)at, pairs[i].name);
			free(demangle(name));
			for (size_t k = 0; k < sizeof(bytes) - 1; k++) {
				strcpy(name, pairs[i].name);
				name[at] = bytes[k];
				free(demangle(name));
			}
		}
}

static void damage_does_no_harm(void **state)
{
	(void)state;
	damaged(published, sizeof(published) / sizeof(published[0]));
	damaged(types, sizeof(types) / sizeof(types[0]));
	damaged(constants, sizeof(constants) / sizeof(constants[0]));
}

/* "BEGIN", a part so many times, "END". */
static char *demangle_long(const char *begin, const char *part, unsigned int times, const char *end)
{
	static char name[1 << 16];
	char *at = stpcpy(name, begin);

	for (unsigned int i = 0; i < times; i++)
		at = stpcpy(at, part);
	strcpy(at, end);
	return demangle(name);
}

static void depth_has_a_bound(void **state)
{
	static const char *const parts[] = {
		"S", "R", "T", "FG_", "Nv", "Y", "M", "X", "I", "DI", "Aj", "WT", "KR", "KA",
	};
	char *plain = demangle_long("_RINvC1a1b", "S", 100, "jE");

	(void)state;
	assert_non_null(plain);
	assert_int_equal(strlen(plain), strlen("a::b::<usize>") + 200);
	free(plain);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		assert_null(demangle_long("_RINvC1a1b", parts[i], 1300, "jE"));
	assert_null(demangle_long("_RINvC1a1b", "S", 4000, "jE"));
	assert_null(demangle_long("_RINvC1a1b", "KR", 2000, "j1_E"));
	assert_null(demangle_long("_R", "NvC1a", 5000, "1b"));
}

static char *put_reference(char *at, size_t target)
{
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	*at++ = 'B';
	if (target > 62)
		*at++ = digits[(target - 1) / 62];
	if (target > 0)
		*at++ = digits[(target - 1) % 62];
	*at++ = '_';
	return at;
}

/*
 * Each tuple is the one before it twice: 150 of them would be 2^150 types. The first is 5 long and
 * each further one twice the one before and 4, so that 12 of them are 36 KiB and 13 are 72.
 */
static void references_do_not_multiply(void **state)
{
	char name[4096], *at, *plain;

	(void)state;
	for (unsigned int count = 1; count < 150; count++) {
		size_t last = 8;

		at = stpcpy(name, "_RINvC1a1bTuE");
		for (unsigned int i = 0; i < count; i++) {
			const size_t here = (size_t)(at - name) - 2;

			*at++ = 'T';
			at = put_reference(put_reference(at, last), last);
			*at++ = 'E';
			last = here;
		}
		strcpy(at, "E");
		plain = demangle(name);
		assert_true((plain != NULL) == (count < 12));
		free(plain);
	}
}

/* Each refers to the one before it alone, and nothing is ever written. */
static void references_to_references_end(void **state)
{
	char name[4096], *at = stpcpy(name, "_RINvC1a1bSj"), *plain;
	size_t last = 8;

	(void)state;
	for (unsigned int i = 0; i < 900; i++) {
		const size_t here = (size_t)(at - name) - 2;

		at = put_reference(at, last);
		last = here;
		strcpy(at, "E");
		plain = demangle(name);
		if (i < 200)
			assert_non_null(plain);
		free(plain);
	}
}

static void length_has_a_bound(void **state)
{
	char name[4200] = "_RNvC1a4090_";
	char *plain;

	(void)state;
	memset(name + 12, 'x', 4090);
	assert_null(demangle(name));
	strcpy(name, "_RNvC1a4000_");
	memset(name + 12, 'x', 4000);
	name[4012] = '\0';
	plain = demangle(name);
	assert_non_null(plain);
	assert_int_equal(strlen(plain), 4003);
	free(plain);
	assert_null(demangle_long("_RINvC1a1b", "FG_", 1300, "EuE"));
	assert_null(demangle("_RINvC1a1bFGfff_EuE"));
	assert_null(demangle("_RNvMINvC1a1bFGZZZZZZZZZ_EuEj1f"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_published),
		cmocka_unit_test(of_each_kind),
		cmocka_unit_test(what_is_malformed_stays),
		cmocka_unit_test(damage_does_no_harm),
		cmocka_unit_test(depth_has_a_bound),
		cmocka_unit_test(references_do_not_multiply),
		cmocka_unit_test(references_to_references_end),
		cmocka_unit_test(length_has_a_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
