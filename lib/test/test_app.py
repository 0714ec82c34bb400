# SPDX-License-Identifier: MIT
"""The doctor inside an app's process, under the filter of Android's apps as a list of calls."""

from __future__ import annotations

import errno
import platform
import re
import signal
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("make")  # make runs in the tree

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "lib" / "test" / "app"
LIMIT = "60000"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("app")
    words = [word for line in (HERE / "allowed.txt").read_text().splitlines() if line[:1] != "#" for word in line.split()]
    assert "perf_event_open" in words and len(words) == len(set(words)), "each once"
    lines = (f"#ifdef __NR_{word}\n__NR_{word},\n#endif" for word in words)
    (made / "app_calls.h").write_text("\n".join(lines) + "\n")
    library = f"build/{platform.machine()}/libperfmodes-doctor.a"
    subprocess.run(["make", "-s", "-C", str(ROOT), "NO_INSTALL=1", library], check=True)
    argv = ["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/lib", f"-I{made}", "-o", str(made / "app"),
            str(HERE / "app.c"), str(ROOT / library), "-pthread"]  # fmt: skip
    subprocess.run(argv, check=True)
    return made / "app"


def run(*argv: object, **more: object) -> tuple[str, list[str]]:
    """What the doctor said, and the words of the last line."""
    words = [str(word) for word in argv]
    done = subprocess.run(words, capture_output=True, text=True, timeout=200, check=False, **more)  # type: ignore[call-overload]
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    told, _, end = done.stdout.rpartition("not yet written, end ")
    return told, end.split()


def verdict(told: str) -> str:
    return told.strip().split(".")[0].replace("\n", " ")


def number(name: str, folder: Path) -> int:
    source = f"#include <sys/syscall.h>\n__NR_{name}\n"
    made = subprocess.run(["gcc", "-E", "-P", "-"], input=source, capture_output=True, text=True, check=True)
    return int(made.stdout.split()[-1])


@pytest.mark.parametrize("word", ["plain", "filter", "ignored", "closed"])
def test_nothing_is_left_in_the_app(app: Path, word: str) -> None:
    told, end = run(app, LIMIT, word)
    assert end[:2] == ["0", "0"] and end[4] == "nothing", end
    assert re.match(r"Perf events (work|do not work) here", told.strip()), told
    assert end[2:4] == ["0", "-1"], "the doctor makes no call that the filter of apps traps"


def test_a_trapped_call_is_refused_and_told(app: Path, tmp_path: Path) -> None:
    """The app's filter without perf_event_open: SIGSYS would have ended the app."""
    call = number("perf_event_open", tmp_path)
    told, end = run(app, LIMIT, call)
    assert end[:2] == ["0", "0"] and int(end[2]) > 1 and int(end[3]) == call and end[4] == "nothing"
    assert verdict(told).startswith("Perf events do not work here"), told


def test_the_limit_ends_it(app: Path) -> None:
    _, end = run(app, 1, "filter")
    assert int(end[0]) == -errno.ETIME and end[4] == "nothing", end


def test_a_descriptor_that_cannot_be_written_to(app: Path) -> None:
    told, end = run(app, LIMIT, "deaf")
    assert int(end[0]) == -errno.EBADF and not told


def test_what_the_child_cannot_do_is_an_error(app: Path, tmp_path: Path) -> None:
    call = number("dup2" if platform.machine() == "x86_64" else "dup3", tmp_path)
    told, end = run(app, LIMIT, call)
    assert int(end[0]) == -errno.EPERM and int(end[3]) == call and end[4] == "nothing" and not told


def test_without_proc_and_home(app: Path) -> None:
    may = subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/tmp"], capture_output=True,
                         text=True, check=False)
    if may.returncode:
        pytest.skip(f"no mounts of its own: {may.stderr.strip()}")
    hide = f'mount -t tmpfs none /proc && exec env -i "{app}" {LIMIT} filter'
    told, end = run("unshare", "-m", "sh", "-c", hide)
    assert end[:2] == ["0", "0"] and end[4] == "nothing" and "Perf events" in told


def test_a_full_descriptor(app: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run([str(app), LIMIT, "filter"], stdout=full, timeout=200, check=False)
    assert done.returncode not in (-signal.SIGSYS, 99)
