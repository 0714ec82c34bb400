/* SPDX-License-Identifier: MIT */
/* Every record type but SAMPLE, and the trailer. */
#include "test.h"

#include "record_kinds.h"

#include <errno.h>

static const struct pm_format plain = { 0 };

static const uint64_t trailer_bits[] = {
	PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,
	PERF_SAMPLE_IDENTIFIER,
};

static const struct pm_format full_trailer = {
	.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
		       PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_READ,
	.read_format = PERF_FORMAT_ID,
	.sample_id_all = true,
};

static void put_trailer(uint64_t type)
{
	if (type & PERF_SAMPLE_TID) {
		put32(&b, 71);
		put32(&b, 72);
	}
	if (type & PERF_SAMPLE_TIME)
		put64(&b, 73);
	if (type & PERF_SAMPLE_ID)
		put64(&b, 74);
	if (type & PERF_SAMPLE_STREAM_ID)
		put64(&b, 75);
	if (type & PERF_SAMPLE_CPU) {
		put32(&b, 76);
		put32(&b, 77);
	}
	if (type & PERF_SAMPLE_IDENTIFIER)
		put64(&b, 74);
}

static void expect_trailer(uint64_t type)
{
	assert_int_equal(rec.sid.pid, type & PERF_SAMPLE_TID ? 71 : 0);
	assert_int_equal(rec.sid.tid, type & PERF_SAMPLE_TID ? 72 : 0);
	assert_int_equal(rec.sid.time, type & PERF_SAMPLE_TIME ? 73 : 0);
	assert_int_equal(rec.sid.id,
			 type & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER) ? 74 : 0);
	assert_int_equal(rec.sid.stream_id, type & PERF_SAMPLE_STREAM_ID ? 75 : 0);
	assert_int_equal(rec.sid.cpu, type & PERF_SAMPLE_CPU ? 76 : 0);
	assert_int_equal(rec.sid.cpu_reserved, type & PERF_SAMPLE_CPU ? 77 : 0);
}

/* Each type with each of the 64 trailers. */
static void every_type_with_every_trailer(void **state)
{
	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
		for (unsigned int set = 0; set < 64; set++) {
			struct pm_format format = { .sample_id_all = true };

			for (size_t i = 0; i < ARRAY_SIZE(trailer_bits); i++)
				format.sample_type |= set & 1u << i ? trailer_bits[i] : 0;
			format.read_format = PERF_FORMAT_ID;
			begin(&b, kinds[k].type, 0x2001);
			kinds[k].body();
			put_trailer(format.sample_type);
			end(&b);
			assert_int_equal(decode_bytes(&b, &format, &rec), 0);
			assert_int_equal(rec.type, kinds[k].type);
			assert_int_equal(rec.misc, 0x2001);
			assert_int_equal(rec.size, b.size);
			assert_int_equal(rec.trailing, 0);
			kinds[k].check();
			expect_trailer(format.sample_type);
		}
}

static void no_trailer_without_sample_id_all(void **state)
{
	struct pm_format format = full_trailer;

	(void)state;
	format.sample_id_all = false;
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		begin(&b, kinds[k].type, 0);
		kinds[k].body();
		end(&b);
		assert_int_equal(decode_bytes(&b, &format, &rec), 0);
		kinds[k].check();
		expect_trailer(0);
	}
}

/* Cut at every length: refused, unless only padding was lost. */
static void cut_records_are_refused(void **state)
{
	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		size_t needed;

		begin(&b, kinds[k].type, 0);
		kinds[k].body();
		needed = b.size;
		while (kinds[k].text && b.bytes[needed - 1] == 0 && b.bytes[needed - 2] == 0)
			needed--;
		if (kinds[k].type == PERF_RECORD_TEXT_POKE)
			needed = 8 + 12 + 7;
		end(&b);
		for (size_t size = 0; size < b.size; size++) {
			struct pm_format format = { .read_format = PERF_FORMAT_ID };
			int err = size < 8 ? -EBADMSG :
				  decode_cut(&b, (uint16_t)size, &format, &rec);

			assert_int_equal(err, size < needed ? -EBADMSG : 0);
		}
	}
}

/* The trailer is taken off the end first, so what is missing is missing from the body. */
static void cut_trailers_are_refused(void **state)
{
	(void)state;
	for (size_t size = 8; size < 8 + 48; size++) {
		begin(&b, PERF_RECORD_SWITCH, 0);
		put_trailer(full_trailer.sample_type);
		end(&b);
		assert_int_equal(decode_cut(&b, (uint16_t)size, &full_trailer, &rec), -EBADMSG);
	}
}

static void sizes_below_a_header(void **state)
{
	(void)state;
	for (uint16_t size = 0; size < 8; size++) {
		struct perf_event_header header = { PERF_RECORD_SWITCH, 0, size };

		assert_int_equal(pm_record_decode(&header, &plain, &rec), -EBADMSG);
	}
}

static void fields_of_a_newer_kernel_are_left_over(void **state)
{
	(void)state;
	begin(&b, PERF_RECORD_LOST, 0);
	body_lost();
	put64(&b, 4711);
	put64(&b, 4712);
	put_trailer(full_trailer.sample_type);
	end(&b);
	assert_int_equal(decode_bytes(&b, &full_trailer, &rec), 0);
	assert_int_equal(rec.trailing, 16);
	check_lost();
	expect_trailer(full_trailer.sample_type);
	/* padding is not news, a whole word is */
	begin(&b, PERF_RECORD_TEXT_POKE, 0);
	body_text_poke();
	put64(&b, 4711);
	end(&b);
	assert_int_equal(decode_bytes(&b, &plain, &rec), 0);
	assert_int_equal(rec.trailing, 13);
}

static void unknown_types_keep_their_trailer(void **state)
{
	const uint32_t types[] = { 0, PERF_RECORD_MAX, 64, 1u << 31, UINT32_MAX };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		begin(&b, types[i], 7);
		put64(&b, 4711);
		put_trailer(full_trailer.sample_type);
		end(&b);
		assert_int_equal(decode_bytes(&b, &full_trailer, &rec), -ENOTSUP);
		assert_int_equal(rec.type, types[i]);
		assert_int_equal(rec.misc, 7);
		assert_int_equal(rec.size, b.size);
		assert_int_equal(rec.trailing, 8);
		expect_trailer(full_trailer.sample_type);
	}
}

static void build_id_is_checked(void **state)
{
	(void)state;
	for (unsigned int size = 0; size < 256; size++) {
		begin(&b, PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID);
		body_mmap2();
		b.bytes[8 + 32] = (unsigned char)size;
		memcpy(b.bytes + 8 + 36, "0123456789abcdefghij", 20);
		end(&b);
		assert_int_equal(decode_bytes(&b, &plain, &rec), size <= 20 ? 0 : -EBADMSG);
		if (size > 20)
			continue;
		assert_int_equal(rec.mmap.build_id_size, size);
		assert_memory_equal(rec.mmap.build_id, "0123456789abcdefghij", 20);
		assert_int_equal(rec.mmap.ino, 0);
		assert_int_equal(rec.mmap.prot, 5);
		assert_int_equal(rec.mmap.flags, 6);
		assert_string_equal(rec.mmap.filename, "/usr/lib/libc.so.6");
	}
}

/* A terminator in the trailer does not end a string of the body. */
static void strings_end_inside_the_body(void **state)
{
	const uint32_t types[] = { PERF_RECORD_COMM, PERF_RECORD_MMAP, PERF_RECORD_MMAP2,
				   PERF_RECORD_KSYMBOL, PERF_RECORD_CGROUP };
	const size_t fixed[] = { 8, 32, 64, 16, 8 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		begin(&b, types[i], 0);
		for (size_t n = 0; n < fixed[i]; n++)
			put(&b, "", 1);
		put(&b, "unending", 8);
		put_trailer(full_trailer.sample_type);
		end(&b);
		assert_int_equal(decode_bytes(&b, &full_trailer, &rec), -EBADMSG);
		memset(b.bytes + 8 + fixed[i] + 7, 0, 1);
		assert_int_equal(decode_bytes(&b, &full_trailer, &rec), 0);
	}
}

static void numbers_of_elements_are_not_believed(void **state)
{
	const uint64_t huge[] = { 4, 1ull << 59, 1ull << 60, 1ull << 61, UINT64_MAX };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(huge); i++) {
		begin(&b, PERF_RECORD_NAMESPACES, 0);
		body_namespaces();
		memcpy(b.bytes + 16, &huge[i], 8);
		end(&b);
		assert_int_equal(decode_bytes(&b, &plain, &rec), -EBADMSG);
		begin(&b, PERF_RECORD_CALLCHAIN_DEFERRED, 0);
		body_deferred();
		memcpy(b.bytes + 16, &huge[i], 8);
		end(&b);
		assert_int_equal(decode_bytes(&b, &plain, &rec), -EBADMSG);
	}
	begin(&b, PERF_RECORD_TEXT_POKE, 0);
	body_text_poke();
	memset(b.bytes + 16, 0xff, 4);	/* 65535 + 65535 */
	end(&b);
	assert_int_equal(decode_bytes(&b, &plain, &rec), -EBADMSG);
}

static void identifier_without_a_format(void **state)
{
	struct perf_event_header *header = (void *)b.bytes;
	uint64_t id = 5;

	(void)state;
	begin(&b, PERF_RECORD_SAMPLE, 0);
	put64(&b, 111);
	put64(&b, 222);
	put64(&b, 333);
	end(&b);
	assert_int_equal(pm_record_identifier(header, &id), 0);
	assert_int_equal(id, 111);
	header->type = PERF_RECORD_COMM;
	assert_int_equal(pm_record_identifier(header, &id), 0);
	assert_int_equal(id, 333);
	header->size = 16;
	assert_int_equal(pm_record_identifier(header, &id), 0);
	assert_int_equal(id, 111);
	header->size = 15;
	assert_int_equal(pm_record_identifier(header, &id), -EBADMSG);
	header->size = 0;
	assert_int_equal(pm_record_identifier(header, &id), -EBADMSG);
	assert_int_equal(id, 111);
}

static void format_of_an_attr(void **state)
{
	const struct perf_event_attr attr = {
		.sample_type = 1, .read_format = 2, .branch_sample_type = 3,
		.sample_regs_user = 4, .sample_regs_intr = 5, .sample_id_all = 1,
	};
	struct pm_format format;

	(void)state;
	pm_format_of(&attr, &format);
	assert_int_equal(format.sample_type, 1);
	assert_int_equal(format.read_format, 2);
	assert_int_equal(format.branch_sample_type, 3);
	assert_int_equal(format.sample_regs_user, 4);
	assert_int_equal(format.sample_regs_intr, 5);
	assert_true(format.sample_id_all);
	pm_format_of(&(struct perf_event_attr){ 0 }, &format);
	assert_false(format.sample_id_all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_with_every_trailer),
		cmocka_unit_test(no_trailer_without_sample_id_all),
		cmocka_unit_test(cut_records_are_refused),
		cmocka_unit_test(cut_trailers_are_refused),
		cmocka_unit_test(sizes_below_a_header),
		cmocka_unit_test(fields_of_a_newer_kernel_are_left_over),
		cmocka_unit_test(unknown_types_keep_their_trailer),
		cmocka_unit_test(build_id_is_checked),
		cmocka_unit_test(strings_end_inside_the_body),
		cmocka_unit_test(numbers_of_elements_are_not_believed),
		cmocka_unit_test(identifier_without_a_format),
		cmocka_unit_test(format_of_an_attr),
	};

	return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
