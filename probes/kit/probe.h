/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The declaration of a probe, and its main(). Includes the words that any probe may use; headers
 * for one subject are included behind it. KIT.md lists them all.
 *
 * A probe is one file, probes/<area>/<name>.c, with the id <area>.<name>. It declares itself with
 * PROBE(), asks the kernel its question in kselftest tests (TEST, TEST_F) by doing the thing and
 * watching the effect, and says one verdict a test:
 *
 *   yes      the test returns
 *   no       say_no(), or ask_open() by itself: refused, proven by a pair of calls
 *   broken   say_broken(): accepted, but the effect is wrong; the text is the evidence
 *   blocked  say_blocked(), or must_open() by itself: policy is in the way
 *   absent   say_absent() or require(): not on this machine
 *   unknown  say_unknown(), a failed ASSERT, a crash, a time-out
 *
 * Verdict words end the test at once, from the test or any function it calls, a fixture's set-up
 * included. They work in the test's own thread only: threads and children hand back values.
 * Behind them, and behind a failed ASSERT, no FIXTURE_TEARDOWN runs: the test's exit cleans up.
 */
#ifndef PROBE_H
#define PROBE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

#include "attrs.h"
#include "counting.h"
#include "open.h"
#include "sampler.h"
#include "say.h"
#include "task.h"
#include "verdict.h"
#include "worker.h"
#include "workload.h"

/* --------------------------------------------------------------------------- declaration */

#ifndef PROBE_ID
#error "PROBE_ID comes from the file's path; build probes with the project's Makefile"
#endif

/*
 * Declare the probe: PROBE(TITLE("...") SINCE("4.7") COMMIT("...") POINT(...) FACT(...) ...).
 * It becomes NUL-separated key=value strings in the section .probeinfo, and the catalogue reads
 * them without running anything. TITLE, SINCE and one POINT are required. SINCE, COMMIT and NEEDS
 * right behind a POINT or FACT belong to that one alone.
 */
#define PROBE(...)                                                                             \
	static const char probe_declaration[]                                                  \
		__attribute__((section(".probeinfo"), used, aligned(1))) =                     \
			"id=" PROBE_ID "\0" __VA_ARGS__;

#define TITLE(text) "title=" text "\0"		/* a noun phrase: what the probe is about */
#define SINCE(version) "since=" version "\0"	/* first upstream release: a date, never a reason */
#define COMMIT(hash) "commit=" hash "\0"	/* 12 hex digits of the commit that brought it */
#define NEEDS(words) "needs=" words "\0"	/* pmu tracefs cpu2 aux root arch:<name> ... */
#define DISTURBS(what) "disturbs=" what "\0"	/* what it changes: runs only with --may-disturb */
#define ALONE(why) "alone=" why "\0"		/* why nothing may be probed beside it */
#define HAZARD(what) "hazard=" what "\0"	/* what may happen: runs only with --hazards */
/* A test, named without its fixture ("per_cpu.newest_first"), and what yes means. */
#define POINT(name, meaning) "point=" #name " " meaning "\0"
/* A value: type bool, int, string, enum or verdict; unit "-" where it has none. */
#define FACT(name, type, unit, meaning) "fact=" #name " " #type " " unit " " meaning "\0"

/* main(): the last line of every probe. */
#define PROBE_MAIN TEST_HARNESS_MAIN

#endif
