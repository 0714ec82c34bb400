/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does QUERY_BPF tell which programs are on a tracepoint? Whoever debugs a tracer asks it.
 * Observed: two programs of known ids on two events of one tracepoint, among those of others.
 * Linux f371b304f12e ("bpf/tracing: allow user space to query prog array on the same tp") (v4.16)
 */
#include "probe.h"
#include "bpf.h"

#include <stdio.h>
#include <stdlib.h>

PROBE(TITLE("the list of BPF programs on a tracepoint")
      SINCE("4.16")
      COMMIT("f371b304f12e")
      NEEDS("bpf tracefs")
      POINT(lists, "two attached programs are on the list, by the ids their fdinfo tells")
      POINT(forgets, "the event closed, its program is no longer on the list")
      POINT(counts_without_room, "room for none: success, and the number of programs")
      POINT(enospc, "too little room is ENOSPC, and the number of programs is told")
      POINT(too_much_room, "room for more than 64 is E2BIG"))

HOLD_CLOSE_TRACEPOINT

#define MOST 64

struct list {
	struct perf_event_query_bpf head;
	uint32_t ids[MOST + 8];
};

static int ask(int fd, uint32_t room, struct list *list)
{
	memset(list, 0, sizeof(*list));
	list->head.ids_len = room;
	return pm_ioctl(fd, PERF_EVENT_IOC_QUERY_BPF, (uintptr_t)list);
}

static bool has(const struct list *list, uint32_t id)
{
	for (uint32_t i = 0; i < list->head.prog_cnt && i < MOST; i++)
		if (((const uint32_t *)(&list->head + 1))[i] == id)
			return true;
	return false;
}

/* The id of a program, from the kernel by another way; 0 where fdinfo does not tell (v4.16). */
static uint32_t id_of(int program)
{
	char path[64], text[512], *at;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", program);
	if (pm_read_text(path, text, sizeof(text)) < 0)
		return 0;
	at = strstr(text, "prog_id:");
	return at ? strtoul(at + 8, NULL, 10) : 0;
}

static void must_list(int fd, struct list *list)
{
	int answer = ask(fd, MOST, list);

	if (answer == -ENOTTY)
		say_no("QUERY_BPF: ENOTTY, while SET_BPF works");
	if (answer < 0)
		say_broken("QUERY_BPF of a tracepoint with programs: %s", pm_errno_name(answer));
}

struct pair {
	int fds[2], programs[2];
};

static struct pair must_two(void)
{
	struct pair pair;
	int map = must_counter();
	struct list list;

	for (int i = 0; i < 2; i++) {
		pair.fds[i] = must_close_event();
		pair.programs[i] = must_attach(pair.fds[i], map, 1);
		/* Before v4.15 a tracepoint takes one program; nor can it be asked there. */
		must_list(pair.fds[i], &list);
	}
	return pair;
}

TEST(lists)
{
	struct pair pair = must_two();
	struct list list;

	must_list(pair.fds[0], &list);
	for (int i = 0; i < 2; i++) {
		const uint32_t id = id_of(pair.programs[i]);

		if (id && !has(&list, id))
			say_broken("program %u is not among the %u listed", id, list.head.prog_cnt);
	}
	if (list.head.prog_cnt < 2)
		say_broken("programs=%u want at least 2", list.head.prog_cnt);
}

TEST(forgets)
{
	struct pair pair = must_two();
	const uint32_t id = id_of(pair.programs[1]);
	struct list before, after;

	if (!id)
		say_unknown("fdinfo does not tell a program's id");
	must_list(pair.fds[0], &before);
	must_close(pair.fds[1]);
	must_list(pair.fds[0], &after);
	if (!has(&before, id) || has(&after, id))
		say_broken("listed before=%d after=%d", has(&before, id), has(&after, id));
}

static void expect_room(uint32_t room, int want, uint32_t least)
{
	struct pair pair = must_two();
	struct list list;

	must_list(pair.fds[0], &list);
	expect_answer(ask(pair.fds[0], room, &list), want, "QUERY_BPF");
	if (list.head.prog_cnt < least)
		say_broken("programs=%u want at least %u", list.head.prog_cnt, least);
}

TEST(counts_without_room)
{
	expect_room(0, 0, 2);
}

TEST(enospc)
{
	expect_room(1, ENOSPC, 2);
}

TEST(too_much_room)
{
	expect_room(MOST + 1, E2BIG, 0);
}

PROBE_MAIN
