/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does the kernel say when the whole system may have no more files? Only a limit of all
 * processes shows it, so the test lowers fs.file-max below what is in use; it is put back.
 * Privileged processes are exempt from the limit: a child without privilege asks.
 */
#include "probe.h"
#include <stdio.h>
#include <sys/prctl.h>

PROBE(TITLE("the system runs out of files")
      SINCE("2.6.31")
      DISTURBS("fs.file-max")
      NEEDS("root")
      POINT(enfile, "an unprivileged open beyond fs.file-max is ENFILE")
      POINT(recovers, "after the limit is raised again the same open succeeds"))

static const char path[] = "/proc/sys/fs/file-max";

static void __attribute__((constructor)) keep(void)
{
	keep_file(path);
}

/* Opens as nobody; exits with the errno. */
static int open_as_nobody(void *go)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int fd;

	if (setgid(65534) || setuid(65534))
		return 200;
	prctl(PR_SET_PDEATHSIG, SIGKILL);	/* changing the uid has cleared it */
	gate_wait(go);
	fd = pm_open(&attr, 0, -1, -1, 0);
	return fd < 0 ? -fd : 0;
}

static int ask(struct __test_metadata *_metadata, bool lowered)
{
	char before[32] = "";
	struct gate go;
	pid_t child;
	int error;

	require(REQUIRE_ROOT);
	ASSERT_EQ(0, gate_init(&go));
	child = start_child(open_as_nobody, &go);
	ASSERT_LT(0, pm_read_text(path, before, sizeof(before)));
	if (lowered)
		ASSERT_EQ(0, write_file(path, "1"));
	gate_open(&go);
	error = wait_child(child);
	if (lowered)
		ASSERT_EQ(0, write_file(path, before));
	if (error == 200)
		cannot_tell("the child cannot become nobody");
	return error;
}

static void must_be_allowed(struct __test_metadata *_metadata)
{
	int error = ask(_metadata, false);

	if (error == EACCES || error == EPERM)
		say_blocked("nobody may open no event here: %s", errno_name(error));
	if (error)
		cannot_tell("nobody's open: %s", errno_name(error));
}

TEST(enfile)
{
	int error;

	must_be_allowed(_metadata);
	error = ask(_metadata, true);
	if (error != ENFILE)
		broken("beyond fs.file-max: %s want=ENFILE", errno_name(error));
}

TEST(recovers)
{
	int error;

	must_be_allowed(_metadata);
	ask(_metadata, true);
	error = ask(_metadata, false);
	if (error)
		broken("after the limit is back: %s", errno_name(error));
}

PROBE_MAIN
