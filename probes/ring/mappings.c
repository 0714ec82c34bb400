/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What may be done with a ring's mapping beside reading it? A second mapping of the same size is
 * the same ring; another size, growth, and (on newer kernels) taking it apart are refused; a
 * forked child does not get it. Libraries that hand rings around must know all of these.
 * Observed through the second mapping's own data_head, and by a child that reaches for the page.
 */
#include "probe.h"

PROBE(TITLE("second, partial and inherited mappings of a ring")
      SINCE("2.6.31")
      POINT(same_size_again, "a second mapping of the same size shows the same ring")
      POINT(other_size_is_refused, "a second mapping of another size is EINVAL")
      POINT(fork_leaves_it_out, "a forked child has no copy of the mapping")
      POINT(growth_is_refused, "mremap to a larger size fails")
      POINT(partial_unmap_is_refused, "unmapping a part of a ring fails")
      SINCE("6.17")
      POINT(partial_protect_is_refused, "changing the protection of a part of a ring fails")
      SINCE("6.17")
      POINT(shrinking_is_refused, "mremap to a smaller size fails")
      SINCE("6.17")
      POINT(inherit_any_cpu_is_refused, "EINVAL for an inherited event of no CPU of its own"))

static struct perf_event_attr attr;
static struct watch watch;

static size_t page_size(void)
{
	return probe_env()->page_size;
}

FIXTURE(ring)
{
	char *base;
};

FIXTURE_SETUP(ring)
{
	attr = attr_faults(PERF_SAMPLE_ADDR);
	watch = must_watch(&attr, 0, -1, 4);
	self->base = watch.ring.base;
}

FIXTURE_TEARDOWN(ring)
{
	pm_ring_close(&watch.ring);
}

/* The ring must work before a refusal means anything, and after it as well. */
static void must_work(struct __test_metadata *_metadata, const char *when)
{
	const uint64_t counted = sample_faults(watch.fd, 3);
	const int found = count_records(&watch.ring, PERF_RECORD_SAMPLE);

	if (found < 0 || counted != (uint64_t)found || counted != 3)
		broken("%s: counted=%" PRIu64 " records=%d want=3", when, counted, found);
}

/* What later kernels refuse older ones accepted, which harms only who does it. */
static void must_refuse(struct __test_metadata *_metadata, int result, const char *what)
{
	if (!result)
		say_no("%s: accepted", what);
	if (errno != EINVAL)
		broken("%s: errno=%s want=EINVAL", what, errno_name(errno));
	must_work(_metadata, what);
}

TEST_F(ring, same_size_again)
{
	volatile struct perf_event_mmap_page *first = watch.ring.base, *second;

	second = mmap(NULL, watch.ring.map_size, PROT_READ | PROT_WRITE, MAP_SHARED, watch.fd, 0);
	if (second == MAP_FAILED)
		hold_rule(-errno, 0, BROKEN, "a second mapping of the same size");
	must_work(_metadata, "mapped twice");
	if (!first->data_head || second->data_head != first->data_head)
		broken("data_head=%" PRIu64 " in the first, %" PRIu64 " in the second",
		       (uint64_t)first->data_head, (uint64_t)second->data_head);
	munmap((void *)second, watch.ring.map_size);
	must_work(_metadata, "second mapping gone");
}

TEST_F(ring, other_size_is_refused)
{
	void *again = mmap(NULL, 3 * page_size(), PROT_READ | PROT_WRITE, MAP_SHARED, watch.fd, 0);

	hold_rule(again == MAP_FAILED ? -errno : 0, EINVAL, BROKEN, "a second, smaller mapping");
	must_work(_metadata, "after the refusal");
}

static int reach_for(void *address)
{
	return *(volatile unsigned char *)address & 0;
}

TEST_F(ring, fork_leaves_it_out)
{
	int own = 0, control, status;

	control = wait_child(start_child(reach_for, &own));
	if (control)
		cannot_tell("a child cannot read its own memory: status %d", control);
	status = wait_child(start_child(reach_for, self->base));
	if (status != 128 + SIGSEGV)
		broken("child reads its parent's page: status=%d want=%d", status, 128 + SIGSEGV);
	must_work(_metadata, "after the child");
}

TEST_F(ring, growth_is_refused)
{
	must_work(_metadata, "before");
	if (mremap(self->base, watch.ring.map_size, 9 * page_size(), MREMAP_MAYMOVE) != MAP_FAILED)
		broken("a ring grew from %zu bytes to %zu", watch.ring.map_size, 9 * page_size());
	must_work(_metadata, "after the refusal");
}

TEST_F(ring, partial_unmap_is_refused)
{
	must_work(_metadata, "before");
	must_refuse(_metadata, munmap(self->base + 2 * page_size(), page_size()),
		    "munmap of one page in the middle");
}

TEST_F(ring, partial_protect_is_refused)
{
	must_work(_metadata, "before");
	must_refuse(_metadata, mprotect(self->base + 2 * page_size(), page_size(), PROT_READ),
		    "mprotect of one page in the middle");
}

TEST_F(ring, shrinking_is_refused)
{
	void *moved;

	must_work(_metadata, "before");
	moved = mremap(self->base, watch.ring.map_size, 3 * page_size(), 0);
	must_refuse(_metadata, moved == MAP_FAILED ? -1 : 0, "mremap to a smaller size");
}

TEST(inherit_any_cpu_is_refused)
{
	struct pm_ring ring;
	int cpu, error;

	attr = attr_faults(PERF_SAMPLE_ADDR);
	attr.inherit = 1;
	cpu = move_to_nth_cpu(0);
	must_map(must_open(&attr, 0, cpu < 0 ? 0 : cpu, -1, 0), 1, &ring);
	error = pm_ring_open(must_open(&attr, 0, -1, -1, 0), 1, PROT_READ | PROT_WRITE, &ring);
	hold_rule(error, EINVAL, BROKEN, "mmap of an inherited event with cpu -1");
}

PROBE_MAIN
