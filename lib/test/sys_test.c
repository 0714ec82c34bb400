/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "fake_kernel.h"

#include <sys/ioctl.h>

/* ------------------------------------------------------------------------------------ pm_open */

static void raw_passes_everything_as_given(void **state)
{
	struct perf_event_attr attr = { .type = 6, .size = 77, .config = 5 };
	int fd = pm_open_raw(&attr, 12, 34, 56, PERF_FLAG_FD_NO_GROUP | PERF_FLAG_FD_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(fake_kernel.attr.size, 77);
	assert_int_equal(fake_kernel.attr.type, 6);
	assert_int_equal(fake_kernel.attr.config, 5);
	assert_int_equal(fake_kernel.pid, 12);
	assert_int_equal(fake_kernel.cpu, 34);
	assert_int_equal(fake_kernel.group_fd, 56);
	assert_int_equal(fake_kernel.flags, 9);
}

static void raw_lets_the_kernel_write_its_size(void **state)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .config3 = 1 };

	(void)state;
	fake_kernel.attr_size = PERF_ATTR_SIZE_VER7;
	assert_int_equal(pm_open_raw(&attr, 0, -1, -1, 0), -E2BIG);
	assert_int_equal(attr.size, PERF_ATTR_SIZE_VER7);
}

static void size_is_the_smallest_that_holds_what_is_set(void **state)
{
	const struct {
		size_t byte;
		uint32_t size;
	} cases[] = {
		{ 0, 64 },	{ 63, 64 },	{ 64, 72 },	{ 71, 72 },	{ 72, 80 },
		{ 79, 80 },	{ 80, 96 },	{ 88, 96 },	{ 95, 96 },	{ 96, 104 },
		{ 103, 104 },	{ 104, 112 },	{ 111, 112 },	{ 112, 120 },	{ 119, 120 },
		{ 120, 128 },	{ 127, 128 },	{ 128, 136 },	{ 135, 136 },	{ 136, 144 },
		{ 143, 144 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct perf_event_attr attr;

		memset(&attr, 0, sizeof(attr));
		((unsigned char *)&attr)[cases[i].byte] = 1;
		assert_int_equal(pm_attr_size_needed(&attr), cases[i].size);
	}
	assert_int_equal(pm_attr_size_needed(&(struct perf_event_attr){ 0 }), 64);
}

static void open_negotiates_and_leaves_the_attr_alone(void **state)
{
	const struct perf_event_attr attr = { .type = 1, .size = 4711, .config1 = 8 };
	struct perf_event_attr before = attr;
	int fd;

	(void)state;
	fake_kernel.attr_size = PERF_ATTR_SIZE_VER0;
	fd = pm_open(&attr, -1, 3, 7, PERF_FLAG_FD_OUTPUT);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	assert_int_equal(fake_kernel.attr.size, 64);
	assert_int_equal(fake_kernel.attr.config1, 8);
	assert_int_equal(fake_kernel.pid, -1);
	assert_int_equal(fake_kernel.cpu, 3);
	assert_int_equal(fake_kernel.group_fd, 7);
	assert_int_equal(fake_kernel.flags, PERF_FLAG_FD_OUTPUT);
	assert_memory_equal(&attr, &before, sizeof(attr));
}

static void open_reports_a_field_the_kernel_lacks(void **state)
{
	const struct perf_event_attr attr = { .sig_data = 1 };

	(void)state;
	fake_kernel.attr_size = PERF_ATTR_SIZE_VER6;
	assert_int_equal(pm_open(&attr, 0, -1, -1, 0), -E2BIG);
	assert_int_equal(fake_kernel.calls, 1);
	assert_int_equal(attr.size, 0);
}

/* ----------------------------------------------------------------------- pm_attr_size_kernel */

static void kernel_size_is_what_it_writes_back(void **state)
{
	const uint32_t sizes[] = { 64, 72, 80, 96, 104, 112, 120, 128, 136, 144, 4096 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		fake_kernel.attr_size = sizes[i];
		assert_int_equal(pm_attr_size_kernel(), sizes[i]);
		assert_int_equal(fake_kernel.pid, 0);
		assert_int_equal(fake_kernel.cpu, -1);
		assert_int_equal(fake_kernel.group_fd, -1);
		assert_int_equal(fake_kernel.flags, 0);
	}
}

static void kernel_size_is_not_made_up(void **state)
{
	(void)state;
	fake_kernel.always_errno = ENOSYS;
	assert_int_equal(pm_attr_size_kernel(), -ENOSYS);
	fake_kernel.always_errno = EPERM;
	assert_int_equal(pm_attr_size_kernel(), -EPERM);
	fake_kernel.always_errno = 0;
	fake_kernel.silent = true;
	assert_int_equal(pm_attr_size_kernel(), -EPROTO);
	fake_kernel.silent = false;
	fake_kernel.attr_size = 63;
	assert_int_equal(pm_attr_size_kernel(), -EPROTO);
	fake_kernel.attr_size = 0x80000000u;
	assert_int_equal(pm_attr_size_kernel(), -EPROTO);
}

static void kernel_size_closes_what_should_not_open(void **state)
{
	int lowest = open("/dev/null", O_RDONLY);

	(void)state;
	close(lowest);
	fake_kernel.accepts_anything = true;
	assert_int_equal(pm_attr_size_kernel(), -EPROTO);
	assert_int_equal(open("/dev/null", O_RDONLY), lowest);
	close(lowest);
}

/* ------------------------------------------------------------------------------ ioctl and read */

static void ioctl_returns_errno(void **state)
{
	int fds[2], waiting = -1;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "abc", 3), 3);
	assert_int_equal(pm_ioctl(fds[0], FIONREAD, (unsigned long)&waiting), 0);
	assert_int_equal(waiting, 3);
	assert_int_equal(pm_ioctl(fds[0], PERF_EVENT_IOC_ENABLE, 0), -ENOTTY);
	close(fds[0]);
	close(fds[1]);
	assert_int_equal(pm_ioctl(-1, PERF_EVENT_IOC_SET_OUTPUT, -1ul), -EBADF);
}

/* A descriptor that reads as `size` bytes and then end-of-file. */
static int reads_as(const void *data, size_t size)
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], data, size), size);
	close(fds[1]);
	return fds[0];
}

static void read_count(void **state)
{
	const uint64_t words[] = { 0x1122334455667788, 9 };
	uint64_t value = 5;
	int fd = reads_as(words, sizeof(words));

	(void)state;
	assert_int_equal(pm_read_count(fd, &value), 0);
	assert_true(value == words[0]);
	close(fd);
	value = 5;
	fd = reads_as(words, 7);
	assert_int_equal(pm_read_count(fd, &value), -EBADMSG);
	assert_int_equal(pm_read_count(fd, &value), -ENODATA);
	close(fd);
	assert_int_equal(pm_read_count(-1, &value), -EBADF);
	assert_int_equal(value, 5);
}

static void read_counts_of_one(void **state)
{
	const uint64_t words[] = { 100, 20, 10, 7, 3 };
	const uint64_t all = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
			     PERF_FORMAT_ID | PERF_FORMAT_LOST;
	struct pm_counts counts = { .nr = 99 };
	int fd = reads_as(words, sizeof(words));

	(void)state;
	assert_int_equal(pm_read_counts(fd, all, &counts), 0);
	close(fd);
	assert_int_equal(counts.nr, 1);
	assert_int_equal(counts.dropped, 0);
	assert_int_equal(counts.member[0].value, 100);
	assert_int_equal(counts.time_enabled, 20);
	assert_int_equal(counts.time_running, 10);
	assert_int_equal(counts.member[0].id, 7);
	assert_int_equal(counts.member[0].lost, 3);
}

static void read_counts_minds_the_size(void **state)
{
	const uint64_t words[] = { 100, 20 };
	struct pm_counts counts = { .nr = 99 };
	int fd = reads_as(words, sizeof(words));

	(void)state;
	assert_int_equal(pm_read_counts(fd, 0, &counts), -EBADMSG);
	assert_int_equal(pm_read_counts(fd, 0, &counts), -ENODATA);
	close(fd);
	fd = reads_as(words, sizeof(words));
	assert_int_equal(pm_read_counts(fd, PERF_FORMAT_ID | PERF_FORMAT_LOST, &counts), -EBADMSG);
	close(fd);
	assert_int_equal(pm_read_counts(-1, 0, &counts), -EBADF);
	assert_int_equal(counts.nr, 99);
}

static void read_counts_takes_the_largest_group(void **state)
{
	uint64_t words[3 + 3 * PM_COUNTS_MAX];
	struct pm_counts counts;
	int fd;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		words[i] = 1000 + i;
	words[0] = PM_COUNTS_MAX;
	fd = reads_as(words, sizeof(words));
	assert_int_equal(pm_read_counts(fd, PERF_FORMAT_MAX - 1, &counts), 0);
	close(fd);
	assert_int_equal(counts.nr, PM_COUNTS_MAX);
	assert_int_equal(counts.member[PM_COUNTS_MAX - 1].lost, 1000 + ARRAY_SIZE(words) - 1);
}

/* ------------------------------------------------------------------------------------- decode */

/* Each of the 32 formats, written by the rule of the manual page and read back. */
static void decode_every_format(void **state)
{
	(void)state;
	for (uint64_t format = 0; format < PERF_FORMAT_MAX; format++) {
		const bool group = format & PERF_FORMAT_GROUP;
		const uint64_t nr = group ? 3 : 1;
		uint64_t words[32], enabled = 0, running = 0;
		struct pm_counts counts;
		size_t n = 0;

		memset(&counts, 0xee, sizeof(counts));
		if (group)
			words[n++] = nr;
		else
			words[n++] = 100;
		if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
			words[n++] = enabled = 11;
		if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
			words[n++] = running = 12;
		for (uint64_t i = 0; i < nr; i++) {
			if (group)
				words[n++] = 100 + i;
			if (format & PERF_FORMAT_ID)
				words[n++] = 200 + i;
			if (format & PERF_FORMAT_LOST)
				words[n++] = 300 + i;
		}
		words[n] = 0xbad;
		assert_int_equal(pm_counts_decode(words, sizeof(words), format, &counts), n * 8);
		assert_int_equal(counts.nr, nr);
		assert_int_equal(counts.dropped, 0);
		assert_int_equal(counts.time_enabled, enabled);
		assert_int_equal(counts.time_running, running);
		for (uint64_t i = 0; i < nr; i++) {
			assert_int_equal(counts.member[i].value, 100 + i);
			assert_int_equal(counts.member[i].id,
					 format & PERF_FORMAT_ID ? 200 + i : 0);
			assert_int_equal(counts.member[i].lost,
					 format & PERF_FORMAT_LOST ? 300 + i : 0);
		}
		for (size_t size = 0; size < n * 8; size++) {
			counts.nr = 77;
			assert_int_equal(pm_counts_decode(words, size, format, &counts), -EBADMSG);
			assert_int_equal(counts.nr, 77);
		}
	}
}

static void decode_distrusts_the_number_of_members(void **state)
{
	const uint64_t huge[] = { 3, 0x1fffffffffffffff, 0x2000000000000000, UINT64_MAX };
	struct pm_counts counts;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(huge); i++) {
		uint64_t words[3] = { huge[i], 1, 2 };

		assert_int_equal(pm_counts_decode(words, sizeof(words), PERF_FORMAT_GROUP, &counts),
				 -EBADMSG);
	}
}

static void decode_counts_members_without_room(void **state)
{
	uint64_t words[1 + 40] = { 40 };
	struct pm_counts counts;

	(void)state;
	for (size_t i = 0; i < 40; i++)
		words[1 + i] = i;
	assert_int_equal(pm_counts_decode(words, sizeof(words), PERF_FORMAT_GROUP, &counts),
			 sizeof(words));
	assert_int_equal(counts.nr, PM_COUNTS_MAX);
	assert_int_equal(counts.dropped, 40 - PM_COUNTS_MAX);
	assert_int_equal(counts.member[PM_COUNTS_MAX - 1].value, PM_COUNTS_MAX - 1);
}

static void decode_empty_group(void **state)
{
	const uint64_t words[] = { 0, 5 };
	struct pm_counts counts;

	(void)state;
	assert_int_equal(pm_counts_decode(words, sizeof(words),
					  PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED,
					  &counts), 16);
	assert_int_equal(counts.nr, 0);
	assert_int_equal(counts.time_enabled, 5);
}

static void decode_refuses_unknown_formats(void **state)
{
	uint64_t words[8] = { 0 };
	struct pm_counts counts;

	(void)state;
	assert_int_equal(pm_counts_decode(words, sizeof(words), PERF_FORMAT_MAX, &counts),
			 -ENOTSUP);
	assert_int_equal(pm_counts_decode(words, sizeof(words), 1ull << 63, &counts), -ENOTSUP);
}

static void gettid_is_this_thread(void **state)
{
	(void)state;
	assert_int_equal(pm_gettid(), getpid());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(raw_passes_everything_as_given, fake_kernel_setup),
		cmocka_unit_test_setup(raw_lets_the_kernel_write_its_size, fake_kernel_setup),
		cmocka_unit_test(size_is_the_smallest_that_holds_what_is_set),
		cmocka_unit_test_setup(open_negotiates_and_leaves_the_attr_alone,
				       fake_kernel_setup),
		cmocka_unit_test_setup(open_reports_a_field_the_kernel_lacks, fake_kernel_setup),
		cmocka_unit_test_setup(kernel_size_is_what_it_writes_back, fake_kernel_setup),
		cmocka_unit_test_setup(kernel_size_is_not_made_up, fake_kernel_setup),
		cmocka_unit_test_setup(kernel_size_closes_what_should_not_open, fake_kernel_setup),
		cmocka_unit_test(ioctl_returns_errno),
		cmocka_unit_test(read_count),
		cmocka_unit_test(read_counts_of_one),
		cmocka_unit_test(read_counts_minds_the_size),
		cmocka_unit_test(read_counts_takes_the_largest_group),
		cmocka_unit_test(decode_every_format),
		cmocka_unit_test(decode_distrusts_the_number_of_members),
		cmocka_unit_test(decode_counts_members_without_room),
		cmocka_unit_test(decode_empty_group),
		cmocka_unit_test(decode_refuses_unknown_formats),
		cmocka_unit_test(gettid_is_this_thread),
	};

	return cmocka_run_group_tests_name("sys", tests, NULL, NULL);
}
