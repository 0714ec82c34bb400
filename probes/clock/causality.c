/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * If one CPU wakes another, does the cause bear an earlier stamp than the effect? Who merges rings
 * by time shows effects before causes where it does not.
 * Observed: two threads on two CPUs hand a token back and forth; each causes a page fault before
 * it passes it on; all stamps together must grow in the order of the hand-overs.
 */
#include "probe.h"

PROBE(TITLE("cause before effect across CPUs")
      SINCE("2.6.31")
      NEEDS("cpu2")
      POINT(default_clock, "stamps of the default clock follow the order of hand-overs")
      POINT(monotonic, "stamps of CLOCK_MONOTONIC follow the order of hand-overs")
      SINCE("4.1")
      FACT(default_backward, int, "ns", "largest step backward of the default clock")
      FACT(default_violations, int, "of 200", "hand-overs whose stamps run backward"))

#define ROUNDS 100

struct player {
	struct gate *mine, *other;
	int fd, nth_cpu;
	bool ready;
	const struct perf_event_attr *attr;
};

static void *play(void *argument)
{
	struct player *player = argument;

	if (move_to_nth_cpu(player->nth_cpu) >= 0)
		player->fd = pm_open(player->attr, 0, -1, -1, 0);
	else
		player->fd = -EINVAL;
	__atomic_store_n(&player->ready, true, __ATOMIC_RELEASE);
	for (int i = 0; i < ROUNDS; i++) {
		gate_wait(player->mine);
		cause_faults(1);
		gate_open(player->other);
	}
	gate_wait(player->mine);
	return NULL;
}

/* Play; the stamps of both players, ROUNDS each. */
static void stamps_of(struct __test_metadata *_metadata, const struct perf_event_attr *attr,
		      uint64_t stamps[2][ROUNDS])
{
	struct gate gates[2];
	struct player players[2];
	struct watch watches[2];
	pthread_t threads[2];

	require(REQUIRE_CPU2);
	close(must_open(attr, 0, -1, -1, 0));
	ASSERT_EQ(0, gate_init(&gates[0]));
	ASSERT_EQ(0, gate_init(&gates[1]));
	for (int i = 0; i < 2; i++) {
		players[i] = (struct player){ .mine = &gates[i], .other = &gates[!i],
					      .nth_cpu = i, .attr = attr };
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, play, &players[i]));
		while (!__atomic_load_n(&players[i].ready, __ATOMIC_ACQUIRE))
			sched_yield();
		ASSERT_LE(0, players[i].fd);
		watches[i].fd = players[i].fd;
		pm_format_of(attr, &watches[i].format);
		must_map(watches[i].fd, 16, &watches[i].ring);
		must_ioctl(watches[i].fd, PERF_EVENT_IOC_ENABLE, 0);
	}
	gate_open(&gates[0]);
	/* the last move of player 1 opens gate 0, which lets player 0 end */
	ASSERT_EQ(0, pthread_join(threads[0], NULL));
	gate_open(&gates[1]);
	ASSERT_EQ(0, pthread_join(threads[1], NULL));
	for (int i = 0; i < 2; i++) {
		struct pm_record record;
		int seen = 0;

		while (seen < ROUNDS && seek(&watches[i], PERF_RECORD_SAMPLE, &record))
			stamps[i][seen++] = record.sample.sid.time;
		if (seen != ROUNDS || seek(&watches[i], PERF_RECORD_SAMPLE, &record))
			cannot_tell("player %d: %d samples of %d faults", i, seen, ROUNDS);
	}
}

static int64_t worst_step(uint64_t stamps[2][ROUNDS], int *ret_violations)
{
	uint64_t last = 0;
	int64_t worst = 0;

	*ret_violations = 0;
	for (int move = 0; move < 2 * ROUNDS; move++) {
		const uint64_t now = stamps[move % 2][move / 2];

		if (now < last) {
			worst = (int64_t)(last - now) > worst ? (int64_t)(last - now) : worst;
			++*ret_violations;
		}
		last = now;
	}
	return worst;
}

static struct perf_event_attr attr_stamps(void)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR);

	return attr;
}

TEST(default_clock)
{
	struct perf_event_attr attr = attr_stamps();
	uint64_t stamps[2][ROUNDS];
	int violations;
	int64_t worst;

	stamps_of(_metadata, &attr, stamps);
	worst = worst_step(stamps, &violations);
	fact_int("default_backward", worst);
	fact_int("default_violations", violations);
	if (violations)
		say_no("%d of %d hand-overs run backward, by up to %" PRId64 " ns", violations,
		       2 * ROUNDS, worst);
}

TEST(monotonic)
{
	struct perf_event_attr attr = attr_stamps(), without = attr;
	uint64_t stamps[2][ROUNDS];
	int violations;
	int64_t worst;

	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	close(ask_open(&attr, &without, 0, -1, "use_clockid"));
	stamps_of(_metadata, &attr, stamps);
	worst = worst_step(stamps, &violations);
	if (violations)
		broken("%d of %d hand-overs run backward, by up to %" PRId64 " ns", violations,
		       2 * ROUNDS, worst);
}

PROBE_MAIN
