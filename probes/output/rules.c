/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which events cannot share a ring? The rules keep a ring from being written by two CPUs at once,
 * from both ends, or with times of two clocks (clock.mixed). A program that redirects thousands of
 * events must know them beforehand. Rules about the target are in output.targets.
 * Observed: a twin that breaks no rule is accepted before each refusal.
 */
#include "probe.h"
#include "redirection.h"

PROBE(TITLE("pairs of events that cannot share a ring")
      SINCE("2.6.35")
      POINT(itself_is_refused, "EINVAL for an event redirected to itself")
      POINT(other_cpu_is_refused, "EINVAL for events of two different CPUs")
      NEEDS("cpu2")
      POINT(cpu_to_any_is_refused, "EINVAL for an event of one CPU into one of any CPU")
      POINT(other_task_is_refused, "EINVAL for events of two tasks on any CPU")
      POINT(other_direction_is_refused, "EINVAL for a ring written backward and an event forward")
      SINCE("4.7")
      POINT(other_size_is_refused, "a redirected source cannot be mapped in another size")
      FACT(other_size, enum, "-", "the errno of that mmap: EINVAL, or EBUSY whatever the size"))

static struct perf_event_attr plain;

/* A target that a source without fault can be redirected into. */
FIXTURE(target)
{
	struct redirection pair;
};

FIXTURE_SETUP(target)
{
	plain = attr_faults(PERF_SAMPLE_IP);
	self->pair = must_redirect(&plain);
	must_samples(self->pair.source, &self->pair.target.ring, 5, "a source without fault");
}

FIXTURE_TEARDOWN(target)
{
	close(self->pair.source);
}

static int redirect(int source, const struct sampler *target)
{
	return pm_ioctl(source, PERF_EVENT_IOC_SET_OUTPUT, target->fd);
}

TEST_F(target, itself_is_refused)
{
	const struct sampler itself = { .fd = self->pair.source };

	expect_refused(redirect(itself.fd, &itself), EINVAL, BROKEN, "an event to itself");
}

TEST_F(target, other_cpu_is_refused)
{
	int cpus[2], source;
	struct sampler target;

	require(REQUIRE_CPU2);
	cpus[1] = move_to_nth_cpu(1);
	cpus[0] = move_to_nth_cpu(0);
	target = must_sampler(&plain, 0, cpus[0], 1);
	source = must_open(&plain, 0, cpus[0], -1, 0);
	expect_refused(redirect(source, &target), 0, BROKEN, "a source of the same CPU");
	source = must_open(&plain, 0, cpus[1], -1, 0);
	expect_refused(redirect(source, &target), EINVAL, BROKEN, "a source of another CPU");
}

TEST_F(target, cpu_to_any_is_refused)
{
	int source = must_open(&plain, 0, move_to_nth_cpu(0), -1, 0);

	expect_refused(redirect(source, &self->pair.target), EINVAL, BROKEN, "a source of one CPU");
}

TEST_F(target, other_task_is_refused)
{
	struct worker other;
	int source;

	must_start_worker(&other, WORKER_THREAD);
	source = must_open(&plain, other.tid, -1, -1, 0);
	expect_refused(redirect(source, &self->pair.target), EINVAL, BROKEN,
		       "a source of another task");
	worker_dismiss(&other);
}

TEST_F(target, other_direction_is_refused)
{
	struct perf_event_attr with = plain;
	int source;

	with.write_backward = 1;
	source = ask_open(&with, &plain, 0, -1, "write_backward");
	expect_refused(redirect(source, &self->pair.target), EINVAL, BROKEN,
		       "a source going backward");
}

/* A ring that is there is only mapped again in its own size; newer kernels map no redirected event
 * at all (ring.mmap_redirected). */
TEST_F(target, other_size_is_refused)
{
	struct sampler twin = must_sampler(&plain, 0, -1, 2);
	struct pm_ring ring;
	int error;

	pm_ring_close(&twin.ring);
	error = pm_ring_open(self->pair.source, 2, PROT_READ | PROT_WRITE, &ring);
	fact_str("other_size", "%s", error ? pm_errno_name(error) : "accepted");
	if (error != -EBUSY)
		expect_refused(error, EINVAL, BROKEN, "mmap of two pages, the target having one");
	expect_samples(self->pair.source, &self->pair.target.ring, 5, "the redirection there was");
}

PROBE_MAIN
