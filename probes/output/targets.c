/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What must the target of a redirection be? A perf event that has a ring now; and the source must
 * have none of its own. That a target lost its ring is seen here alone: later it is too late.
 * Observed: the same pair is accepted before each refusal.
 */
#include "probe.h"
#include "redirection.h"

PROBE(TITLE("targets of a redirection that are refused")
      SINCE("2.6.35")
      POINT(mapped_source_is_refused, "EINVAL for a source that is itself mapped")
      POINT(unmapped_is_refused, "EINVAL for a target that was never mapped")
      POINT(once_mapped_is_refused, "EINVAL for a target that is mapped no longer")
      POINT(other_file_is_refused, "EBADF for a target that is no perf event")
      POINT(closed_number_is_refused, "EBADF for a target that is no descriptor"))

static struct perf_event_attr plain;

FIXTURE(pair)
{
	struct redirection pair;
};

FIXTURE_SETUP(pair)
{
	plain = attr_faults(PERF_SAMPLE_IP);
	self->pair = must_redirect(&plain);
	must_samples(self->pair.source, &self->pair.target.ring, 5, "a source without fault");
}

FIXTURE_TEARDOWN(pair)
{
	close(self->pair.source);
}

/* The source goes into `target`, refused with `want`. */
static void must_refuse(int source, int target, int want, const char *what)
{
	expect_refused(pm_ioctl(source, PERF_EVENT_IOC_SET_OUTPUT, target), want, BROKEN, what);
}

TEST_F(pair, mapped_source_is_refused)
{
	struct sampler source = must_sampler(&plain, 0, -1, 1);

	must_refuse(source.fd, self->pair.target.fd, EINVAL, "a mapped source");
	expect_samples(source.fd, &source.ring, 5, "its own ring after the refusal");
}

TEST_F(pair, unmapped_is_refused)
{
	must_refuse(self->pair.source, must_open(&plain, 0, -1, -1, 0), EINVAL,
		    "a target without a ring");
	expect_samples(self->pair.source, &self->pair.target.ring, 5, "the redirection there was");
}

TEST_F(pair, once_mapped_is_refused)
{
	pm_ring_close(&self->pair.target.ring);
	must_refuse(self->pair.source, self->pair.target.fd, EINVAL, "a target unmapped now");
}

TEST_F(pair, other_file_is_refused)
{
	int pipes[2];

	ASSERT_EQ(0, pipe(pipes));
	must_refuse(self->pair.source, pipes[0], EBADF, "a pipe as target");
	expect_samples(self->pair.source, &self->pair.target.ring, 5, "the redirection there was");
}

TEST_F(pair, closed_number_is_refused)
{
	int number = dup(self->pair.target.fd);

	must_refuse(self->pair.source, number, 0, "a duplicate of the target");
	must_close(number);
	must_refuse(self->pair.source, number, EBADF, "a closed number as target");
	expect_samples(self->pair.source, &self->pair.target.ring, 5, "the redirection there was");
}

PROBE_MAIN
