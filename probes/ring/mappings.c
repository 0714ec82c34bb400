/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who can map a ring, and how often? A second mapping of the same size is the same ring, another
 * size is refused; a forked child does not get it; and inherited events need a CPU of their own,
 * or several CPUs would write one ring. Libraries that hand rings around must know all of these.
 * Observed through the second mapping's own data_head, and by a child that reaches for the page.
 */
#include "probe.h"

PROBE(TITLE("second and inherited mappings of a ring")
      SINCE("2.6.31")
      POINT(same_size_again, "a second mapping of the same size shows the same ring")
      POINT(other_size_is_refused, "a second mapping of another size is refused with EINVAL")
      POINT(fork_leaves_it_out, "a forked child does not inherit the mapping of a ring")
      POINT(inherit_any_cpu_is_refused, "mmap of an inherit event with cpu -1 is refused with "
	    "EINVAL"))

static struct perf_event_attr attr;
static struct sampler sampler;

FIXTURE(ring)
{
	char *base;
};

FIXTURE_SETUP(ring)
{
	attr = attr_faults(PERF_SAMPLE_ADDR);
	sampler = must_sampler(&attr, 0, -1, 4);
	self->base = sampler.ring.base;
}

FIXTURE_TEARDOWN(ring)
{
	pm_ring_close(&sampler.ring);
}

TEST_F(ring, same_size_again)
{
	volatile struct perf_event_mmap_page *first = sampler.ring.base, *second;

	second = mmap(NULL, sampler.ring.map_size, PROT_READ | PROT_WRITE, MAP_SHARED, sampler.fd,
		      0);
	if (second == MAP_FAILED)
		expect_refused(-errno, 0, BROKEN, "a second mapping of the same size");
	expect_samples(sampler.fd, &sampler.ring, 3, "mapped twice");
	if (!first->data_head || second->data_head != first->data_head)
		say_broken("data_head=%" PRIu64 " in the first, %" PRIu64 " in the second",
			   (uint64_t)first->data_head, (uint64_t)second->data_head);
	munmap((void *)second, sampler.ring.map_size);
	expect_samples(sampler.fd, &sampler.ring, 3, "second mapping gone");
}

TEST_F(ring, other_size_is_refused)
{
	const size_t size = 3 * probe_env()->page_size;
	void *again = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, sampler.fd, 0);

	expect_refused(again == MAP_FAILED ? -errno : 0, EINVAL, BROKEN,
		       "a second, smaller mapping");
	expect_samples(sampler.fd, &sampler.ring, 3, "after the refusal");
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
		say_unknown("a child cannot read its own memory: status %d", control);
	status = wait_child(start_child(reach_for, self->base));
	if (status != 128 + SIGSEGV)
		say_broken("child reads its parent's page: status=%d want=%d", status,
			   128 + SIGSEGV);
	expect_samples(sampler.fd, &sampler.ring, 3, "after the child");
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
	expect_refused(error, EINVAL, BROKEN, "mmap of an inherited event with cpu -1");
}

PROBE_MAIN
