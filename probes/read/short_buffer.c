/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does read(2) do with a buffer that is too small? A reader that does not know how large a
 * group has become has to rely on the answer.
 * Observed: each length below the needed one is answered ENOSPC and leaves the buffer alone; the
 * needed length and a larger one give the whole.
 */
#include "probe.h"

PROBE(TITLE("reads into a buffer that is too small")
      SINCE("2.6.31")
      POINT(lone.refused, "ENOSPC for every length below the needed one")
      POINT(lone.untouched, "and nothing is written")
      POINT(lone.larger, "the exact length and a larger one read the same")
      POINT(group.refused, "ENOSPC for every length below the needed one")
      POINT(group.untouched, "and nothing is written")
      POINT(group.larger, "the exact length and a larger one read the same")
      FACT(lone.of_nothing, enum, "-", "answer to a read of 0 bytes: errno name or success")
      FACT(group.of_nothing, enum, "-", "answer to a read of 0 bytes: errno name or success"))

FIXTURE(short_buffer)
{
	int fd, siblings[2], bytes;
	unsigned char buffer[128];
};

FIXTURE_VARIANT(short_buffer)
{
	const char *name;
	int members, bytes;
	uint64_t format;
};
FIXTURE_VARIANT_ADD(short_buffer, lone)
{
	.name = "lone.of_nothing",
	.members = 1,
	.bytes = 24,
	.format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_ID,
};
FIXTURE_VARIANT_ADD(short_buffer, group)
{
	.name = "group.of_nothing",
	.members = 3,
	.bytes = 56,
	.format = PERF_FORMAT_GROUP | PERF_FORMAT_ID,
};

FIXTURE_SETUP(short_buffer)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.read_format = variant->format;
	self->fd = must_open(&attr, 0, -1, -1, 0);
	for (int i = 1; i < variant->members; i++)
		self->siblings[i - 1] = must_open(&attr, 0, -1, self->fd, 0);
	self->bytes = variant->bytes;
	memset(self->buffer, 0xa5, sizeof(self->buffer));
}

FIXTURE_TEARDOWN(short_buffer)
{
}

static int try_read(FIXTURE_DATA(short_buffer) *self, size_t length)
{
	ssize_t got = read(self->fd, self->buffer, length);

	return got < 0 ? -errno : (int)got;
}

TEST_F(short_buffer, refused)
{
	int got;

	fact_str(variant->name, "%s", pm_errno_name(try_read(self, 0)));
	for (int length = 1; length < self->bytes; length++) {
		got = try_read(self, length);
		if (got != -ENOSPC)
			say_broken("a read of %d of %d bytes: %d (%s), want ENOSPC", length,
				   self->bytes, got, pm_errno_name(got < 0 ? got : 0));
	}
}

TEST_F(short_buffer, untouched)
{
	uint64_t first;

	ASSERT_EQ(-ENOSPC, try_read(self, self->bytes - 1));
	ASSERT_EQ(-ENOSPC, try_read(self, 8));
	for (size_t i = 0; i < sizeof(self->buffer); i++)
		if (self->buffer[i] != 0xa5)
			say_broken("byte %zu was written by a refused read", i);
	ASSERT_EQ(self->bytes, try_read(self, self->bytes));	/* the control: now it is */
	memcpy(&first, self->buffer, sizeof(first));
	ASSERT_GT(1000, first);		/* few faults, or the number of members */
}

TEST_F(short_buffer, larger)
{
	unsigned char exact[sizeof(self->buffer)];
	int got = try_read(self, self->bytes);

	if (got != self->bytes)
		say_broken("bytes=%d want=%d", got, self->bytes);
	memcpy(exact, self->buffer, sizeof(exact));
	got = try_read(self, sizeof(self->buffer));
	if (got != self->bytes)
		say_broken("bytes=%d want=%d, read with a larger buffer", got, self->bytes);
	if (memcmp(exact, self->buffer, sizeof(exact)))
		say_broken("a larger buffer was filled otherwise than one that just fits");
}

PROBE_MAIN
