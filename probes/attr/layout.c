/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do program and kernel agree on where things are, when their word size or byte order may differ?
 *
 * The flags are a bit field, whose first bit is the highest one on big-endian machines; the
 * numbers of some ioctls hold the size of a pointer, which the kernel translates for a 32-bit
 * program. Observed by writing the flag word as a number and watching the counter, and by asking
 * those ioctls with this program's own numbers: ENOTTY would mean "never heard of".
 */
#include "probe.h"

PROBE(TITLE("the layout of attr and ioctls in this program")
      SINCE("2.6.31")
      FACT(word_bits, int, "bits", "size of a pointer in the asking program")
      FACT(byte_order, enum, "-", "little or big")
      POINT(first_bit, "the first bit of the flag word is disabled: nothing is counted")
      POINT(fifth_bit, "the fifth bit is exclude_user: faults of user mode are not counted")
      POINT(last_used_bit, "the nineteenth bit is sample_id_all: a COMM record grows by it")
      SINCE("2.6.38")
      POINT(ioctl_id, "IOC_ID is known under this program's number and gives an id")
      SINCE("3.12")
      POINT(ioctl_set_filter, "IOC_SET_FILTER is known under this program's number")
      SINCE("2.6.33")
      POINT(ioctl_query_bpf, "IOC_QUERY_BPF is known under this program's number")
      SINCE("4.16")
      POINT(ioctl_modify_attributes, "IOC_MODIFY_ATTRIBUTES is known under this program's number")
      SINCE("4.17"))

#define BIG (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

static uint64_t flag(unsigned int bit)
{
	return 1ull << (BIG ? 63 - bit : bit);
}

/* An event whose flag word is put together from numbers: exclude_kernel, exclude_hv and more. */
static int open_raw_flags(struct __test_metadata *_metadata, uint64_t sample_type, uint64_t more)
{
	struct perf_event_attr attr = attr_faults(sample_type);
	const uint64_t word = flag(5) | flag(6) | more;

	memcpy((char *)&attr + 40, &word, sizeof(word));
	return must_open(&attr, 0, -1, -1, 0);
}

static uint64_t faults_with(struct __test_metadata *_metadata, uint64_t more)
{
	int fd = open_raw_flags(_metadata, 0, more);
	uint64_t before;

	must_count(fd);
	cause_faults(1);		/* the pages of this very code are there from now on */
	before = must_count(fd);
	cause_faults(16);
	return must_count(fd) - before;
}

TEST(first_bit)
{
	uint64_t with, without;

	fact_int("word_bits", 8 * sizeof(void *));
	fact_str("byte_order", BIG ? "big" : "little");
	without = faults_with(_metadata, 0);
	with = faults_with(_metadata, flag(0));
	if (with != 0 || without != 16)
		broken("counted=%" PRIu64 " want=0, without it=%" PRIu64 " want=16", with,
		       without);
}

TEST(fifth_bit)
{
	uint64_t with = faults_with(_metadata, flag(4));

	if (with != 0)
		broken("counted=%" PRIu64 " want=0", with);
	if (faults_with(_metadata, 0) != 16)
		broken("without it not 16 faults are counted");
}

/* The size of the COMM record that PR_SET_NAME makes. */
static int comm_size(struct __test_metadata *_metadata, uint64_t more)
{
	int fd = open_raw_flags(_metadata, PERF_SAMPLE_TID, flag(9) | more);
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
	int with = comm_size(_metadata, flag(18)), without = comm_size(_metadata, 0);

	if (without < 24 || with - without != 8)
		broken("COMM with=%d without=%d bytes, want 8 more", with, without);
}

/* A refusal other than ENOTTY shows that the number is known: the argument is nonsense. */
static void known(struct __test_metadata *_metadata, unsigned long request, void *nonsense,
		  const char *name)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	struct finding finding;
	int fd = must_open(&attr, 0, -1, -1, 0);
	int answer = pm_ioctl(fd, request, (unsigned long)nonsense);

	if (answer >= 0)
		broken("%s accepted a nonsensical argument", name);
	if (answer != -ENOTTY)
		return;
	must_ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	classify_asked(ENOTTY, name, &attr, 0, -1, &finding);
	speak(&finding);
}

TEST(ioctl_id)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	uint64_t id = 0;
	int error;

	known(_metadata, PERF_EVENT_IOC_ID, NULL, "PERF_EVENT_IOC_ID");
	error = pm_ioctl(must_open(&attr, 0, -1, -1, 0), PERF_EVENT_IOC_ID, (unsigned long)&id);
	if (error || !id)
		broken("errno=%s id=%" PRIu64, errno_name(error), id);
}

TEST(ioctl_set_filter)
{
	known(_metadata, PERF_EVENT_IOC_SET_FILTER, "x", "PERF_EVENT_IOC_SET_FILTER");
}

TEST(ioctl_query_bpf)
{
	known(_metadata, PERF_EVENT_IOC_QUERY_BPF, NULL, "PERF_EVENT_IOC_QUERY_BPF");
}

TEST(ioctl_modify_attributes)
{
	known(_metadata, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, NULL,
	      "PERF_EVENT_IOC_MODIFY_ATTRIBUTES");
}

PROBE_MAIN
