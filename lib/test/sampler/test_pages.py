# SPDX-License-Identifier: MIT
"""Pages of the optional rooms: each function on one, clean for mandoc, and the sampler's programs
run."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("make")  # make runs in the tree

TREE = Path(__file__).resolve().parents[3]
LIB = TREE / "lib"
BUILT = TREE / "build" / os.environ.get("ARCH", platform.machine())
ROOMS = {
    "sampler": ("sampler", "descriptors", "willing", "perfetto"),
    "stacks": ("stacks",),
    "topology": ("topology",),
    "pfm": ("pfm",),
    "doctor": ("doctor",),
}
SAMPLER = sorted((LIB / "sampler" / "man").glob("*.3.in"))


def pages_of(room: str, out: Path, *more: Path) -> subprocess.CompletedProcess[str]:
    headers = [*LIB.glob("perfmodes_*.h"), *LIB.glob("*/perfmodes_*.h")]
    chosen = [path for path in headers
              if path.stem.removeprefix("perfmodes_") in ROOMS[room]]
    command = [sys.executable, LIB / "man" / "pages.py", out, *chosen, *more, "--",
               *sorted((LIB / room).rglob("*.3.in"))]
    return subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          timeout=300, check=False)


@pytest.mark.parametrize("room", ROOMS)
def test_every_function_has_one_page(room: str, tmp_path: Path) -> None:
    done = pages_of(room, tmp_path)
    assert done.returncode == 0, done.stderr
    if shutil.which("mandoc") is None:
        pytest.skip("no mandoc: apt-get install mandoc")
    found = subprocess.run(["mandoc", "-Tlint", "-W", "warning", *map(str, tmp_path.iterdir())],
                           capture_output=True, text=True, timeout=300, check=False)
    assert found.returncode == 0, found.stdout


def test_a_function_without_a_page_is_found(tmp_path: Path) -> None:
    more = tmp_path / "more.h"
    more.write_text("/* Does. (0.1) */\nint pm_undocumented_do(int what);\n", encoding="utf-8")
    done = pages_of("sampler", tmp_path / "out", more)
    assert done.returncode == 1 and "pm_undocumented_do" in done.stderr


def test_every_header_is_of_a_room() -> None:
    """A new optional room is not forgotten: what perfmodes.h does not include is listed here."""
    parts: set[str] = set()
    new = {""}
    while new:
        parts |= new
        new = {part for name in new for part in re.findall(
            r'#include "perfmodes_(\w+)\.h"', (LIB / f"perfmodes{name and '_' + name}.h").read_text(encoding="utf-8"))} - parts
    parts.remove("")
    known = {name for names in ROOMS.values() for name in names} | parts | {"ebb"}
    headers = [*LIB.glob("perfmodes_*.h"), *LIB.glob("*/perfmodes_*.h")]
    assert {path.stem.removeprefix("perfmodes_") for path in headers} == known


@pytest.mark.parametrize("template", SAMPLER, ids=lambda path: path.name.split(".")[0])
def test_example_runs(template: Path, tmp_path: Path) -> None:
    found = re.search(r"^\.Bd -literal\n(#include.*?)^\.Ed", template.read_text(encoding="utf-8"),
                      re.M | re.S)
    if found is None:
        pytest.skip("its functions are one side of a conversation")
    libraries = [BUILT / f"libperfmodes{part}.a" for part in ("-sampler", "-willing", "")]
    subprocess.run(["make", "-s", "--no-print-directory",
                    *(str(path.relative_to(TREE)) for path in libraries)], cwd=TREE, check=True,
                   timeout=300)
    source = tmp_path / "example.c"
    source.write_text(found[1].replace("\\e", "\\"), encoding="utf-8")
    built = subprocess.run(["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-D_DEFAULT_SOURCE",
                            f"-I{LIB}", "-o", str(tmp_path / "example"), str(source),
                            *map(str, libraries), "-l:libyajl_s.a", "-pthread"],
                           capture_output=True, text=True, timeout=300, check=False)
    assert built.returncode == 0, built.stderr
    done = subprocess.run([str(tmp_path / "example")], capture_output=True, text=True, timeout=300,
                          check=False)
    assert done.returncode == 0 and done.stdout, done.stderr
