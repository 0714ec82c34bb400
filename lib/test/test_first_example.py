# SPDX-License-Identifier: MIT
"""The first example of README.md, as it stands there: it compiles, runs, and counts what is so."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = [pytest.mark.xdist_group("make"), pytest.mark.perf]  # make runs in the tree

TREE = Path(__file__).resolve().parents[2]
ARCH = os.environ.get("ARCH", platform.machine())
LIBRARY = TREE / "build" / ARCH / "libperfmodes.a"
USER = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "--inh-caps=-all"]

# Around the calls of the library: the page faults that the process had, by getrusage(2).
AROUND = """
#include <perfmodes.h>
#include <stdio.h>
#include <sys/resource.h>

static long open_began, open_ended;

static long faults(void)
{
	struct rusage usage = { .ru_minflt = 0 };

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

int __real_pm_session_open(const char *, const struct pm_session_opts *, const struct pm_listener *,
			   void *, struct pm_diag *, struct pm_session **);
int __wrap_pm_session_open(const char *events, const struct pm_session_opts *opts,
			   const struct pm_listener *listener, void *context, struct pm_diag *diag,
			   struct pm_session **ret)
{
	open_began = faults();
	int err = __real_pm_session_open(events, opts, listener, context, diag, ret);
	open_ended = faults();
	return err;
}

int __real_pm_session_read(struct pm_session *, struct pm_value *, size_t);
int __wrap_pm_session_read(struct pm_session *session, struct pm_value *ret, size_t count)
{
	const long least = faults() - open_ended;
	int got = __real_pm_session_read(session, ret, count);

	fprintf(stderr, "between %ld and %ld\\n", least, faults() - open_began);
	return got;
}
"""


def example() -> str:
    return re.findall(r"^```c\n(.*?)^```", (TREE / "lib" / "README.md").read_text(encoding="utf-8"),
                      re.M | re.S)[0]


@pytest.fixture(scope="module", name="program")
def _program() -> Iterator[Path]:
    """Where another user can run it."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield build(Path(folder))


def build(folder: Path) -> Path:
    (folder / "example.c").write_text(example(), encoding="utf-8")
    (folder / "around.c").write_text(AROUND, encoding="utf-8")
    subprocess.run(["make", "-s", "--no-print-directory", f"ARCH={ARCH}", str(LIBRARY.relative_to(TREE))],
                   cwd=TREE, check=True, timeout=3000)
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{TREE}/lib", "-c"]
    for name, more in (("example", []), ("around", ["-D_DEFAULT_SOURCE"])):
        subprocess.run(["gcc", *flags, *more, "-o", folder / f"{name}.o", folder / f"{name}.c"], check=True)
    subprocess.run(["gcc", "-Wl,--wrap=pm_session_open,--wrap=pm_session_read", "-o", folder / "example",
                    folder / "example.o", folder / "around.o", LIBRARY, "-l:libyajl_s.a", "-pthread"],
                   check=True)
    return folder / "example"


def test_it_has_ten_lines() -> None:
    body = example()[example().index("int main(void)\n{\n"):].splitlines()[2:-1]
    assert len([line for line in body if line]) <= 10


@pytest.mark.parametrize("user", [False, True], ids=["caller", "user"])
def test_it_counts_what_happened(program: Path, user: bool) -> None:
    if user and os.geteuid() != 0:
        pytest.skip("only root becomes another user")
    done = subprocess.run([*(USER if user else []), program], capture_output=True, text=True,
                          timeout=300, check=False)
    counted = re.fullmatch(r"(\d+) page faults\n", done.stdout)
    said = re.fullmatch(r"between (\d+) and (\d+)\n", done.stderr)
    assert done.returncode == 0 and counted and said, done.stderr
    assert 0 < int(said[1]) <= int(counted[1]) <= int(said[2])
