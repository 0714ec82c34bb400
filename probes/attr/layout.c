/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do program and kernel agree on where the flags are, whatever the byte order and word size?
 *
 * The flags are a bit field, whose first bit is the highest one on big-endian machines. Observed
 * by writing the flag word as a number and watching the counter.
 */
#include "probe.h"

PROBE(TITLE("the layout of the flags in this program")
      SINCE("2.6.31")
      FACT(word_bits, int, "bits", "size of a pointer in the asking program")
      FACT(byte_order, enum, "-", "little or big")
      POINT(first_bit, "the first bit of the flag word is disabled: nothing is counted")
      POINT(fifth_bit, "the fifth bit is exclude_user: faults of user mode are not counted")
      POINT(last_used_bit, "the nineteenth bit is sample_id_all: a COMM record grows by it")
      SINCE("2.6.38"))

#define BIG (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

static uint64_t flag(unsigned int bit)
{
	return 1ull << (BIG ? 63 - bit : bit);
}

/* An event whose flag word is put together from numbers: exclude_kernel, exclude_hv and more. */
static int open_raw_flags(uint64_t sample_type, uint64_t more)
{
	struct perf_event_attr attr = attr_faults(sample_type);
	const uint64_t word = flag(5) | flag(6) | more;

	memcpy((char *)&attr + 40, &word, sizeof(word));
	return must_open(&attr, 0, -1, -1, 0);
}

static uint64_t faults_with(uint64_t more)
{
	return gain_of_faults(open_raw_flags(0, more), NULL, 16);
}

TEST(first_bit)
{
	uint64_t with, without;

	fact_int("word_bits", 8 * sizeof(void *));
	fact_str("byte_order", BIG ? "big" : "little");
	without = faults_with(0);
	with = faults_with(flag(0));
	if (with != 0 || without != 16)
		say_broken("counted=%" PRIu64 " want=0, without it=%" PRIu64 " want=16", with,
			   without);
}

TEST(fifth_bit)
{
	uint64_t with = faults_with(flag(4));

	if (with != 0)
		say_broken("counted=%" PRIu64 " want=0", with);
	if (faults_with(0) != 16)
		say_broken("without it not 16 faults are counted");
}

/* The size of the COMM record that PR_SET_NAME makes. */
static int comm_size(uint64_t more)
{
	int fd = open_raw_flags(PERF_SAMPLE_TID, flag(9) | more);
	const struct perf_event_header *header;
	struct pm_ring ring;
	int size = 0;

	must_map(fd, 1, &ring);
	pthread_setname_np(pthread_self(), "layout");
	while (pm_ring_next(&ring, &header) == 1)
		if (header->type == PERF_RECORD_COMM)
			size = header->size;
	pm_ring_close(&ring);
	close(fd);
	return size;
}

TEST(last_used_bit)
{
	int with = comm_size(flag(18)), without = comm_size(0);

	if (without < 24 || with - without != 8)
		say_broken("COMM with=%d without=%d bytes, want 8 more", with, without);
}

PROBE_MAIN
