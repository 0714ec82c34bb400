# SPDX-License-Identifier: MIT
"""libperfmodes-topology: its unit tests, its header, its example as an installed program."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[3]
HERE = Path(__file__).resolve().parent
ROOM = TREE / "lib" / "topology"
BUILT = TREE / "build" / "test" / "topology"
ARCH = os.environ.get("ARCH", platform.machine())
HAVE = subprocess.run(["pkg-config", "--exists", "hwloc >= 2.1"], check=False).returncode == 0 \
    if shutil.which("pkg-config") else False
pytestmark = [pytest.mark.xdist_group("make"),
              pytest.mark.skipif(not HAVE, reason="no hwloc (Debian: libhwloc-dev)")]


def run(*command: str | Path, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          timeout=300, check=False, **more)  # type: ignore[call-overload]


@pytest.mark.parametrize("name", sorted(path.stem for path in HERE.glob("*_test.c")))
def test_unit(name: str) -> None:
    """Under ASan and UBSan; cmocka counts its failures in the exit status."""
    if not (BUILT / name).exists():
        pytest.skip(f"not built: make build/test/topology/{name}")
    done = run(BUILT / name)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[  PASSED  ]" in done.stderr + done.stdout


@pytest.mark.parametrize("compiler, standard", [("gcc", "c99"), ("gcc", "c11"), ("g++", "c++11"),
                                                ("clang++", "c++17")])
def test_header_is_clean(compiler: str, standard: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    done = run(compiler, "-x", "c++" if "+" in compiler else "c", f"-std={standard}", "-Wall",
               "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", f"-I{TREE}/lib", f"-I{ROOM}",
               "-", input="#include <perfmodes_topology.h>\nint main(void) { return 0; }\n")
    assert done.returncode == 0, done.stderr


def test_everything_declared_is_defined_and_nothing_else() -> None:
    """A name without our prefix could collide with a program's own."""
    header = (ROOM / "perfmodes_topology.h").read_text(encoding="utf-8")
    declared = set(re.findall(r"\b(pm_topology_\w+)\(", re.sub(r"/\*.*?\*/", "", header, flags=re.S)))
    done = run("make", "-s", "--no-print-directory", f"ARCH={ARCH}", "topology", cwd=TREE)
    assert done.returncode == 0, done.stderr
    symbols = run("nm", "--defined-only", TREE / "build" / ARCH / "libperfmodes-topology.a").stdout
    defined = {line.split()[2] for line in symbols.splitlines() if " T " in line}
    assert declared <= defined and len(declared) >= 15
    assert all(name.startswith("pm_") for name in defined)


@pytest.fixture(scope="module", name="place")
def _place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("installed")
    done = run("make", "-s", "--no-print-directory", f"ARCH={ARCH}", "install-topology",
               "PREFIX=/usr", f"DESTDIR={place}", cwd=TREE)
    assert done.returncode == 0, done.stderr
    return place


def test_example_as_installed(place: Path, tmp_path: Path) -> None:
    """Outside the tree, by what pkg-config says; and hwloc's own reader takes what it writes."""
    pages = f"{place}/usr/lib/pkgconfig:" + run("pkg-config", "--variable", "pc_path",
                                                "pkg-config").stdout.strip()
    told = run("pkg-config", "--cflags", "--libs", "perfmodes-topology",
               env={**os.environ, "PKG_CONFIG_LIBDIR": pages})
    assert told.returncode == 0, told.stderr
    flags = [re.sub(r"^(-[IL])/usr/(include|lib)$", rf"\1{place}/usr/\2", word)
             for word in told.stdout.split()]
    built = run("gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-o", tmp_path / "example",
                ROOM / "example" / "page_faults.c", f"-I{place}/usr/include",
                f"-L{place}/usr/lib", *flags, f"-Wl,-rpath,{place}/usr/lib")
    assert built.returncode == 0, built.stderr
    done = run(tmp_path / "example", tmp_path / "out.xml")
    if done.returncode == 2:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0 and "Machine 0: " in done.stdout, done.stderr
    tree = ElementTree.parse(tmp_path / "out.xml")
    values = [int(info.get("value", "")) for info in tree.iter("info")
              if re.fullmatch("perfmodes:page-faults(:u)?", info.get("name", ""))]
    assert sum(values) >= 64 and f"Machine 0: {sum(values)}\n" in done.stdout
    if shutil.which("lstopo-no-graphics"):
        shown = run("lstopo-no-graphics", "-i", tmp_path / "out.xml", "--of", "console", "-v")
        assert shown.stdout.count("perfmodes:page-faults") == len(values)


def test_the_page_is_clean_and_its_program_runs(tmp_path: Path) -> None:
    done = run(sys.executable, TREE / "lib/man/pages.py", tmp_path, ROOM / "perfmodes_topology.h",
               "--", *sorted(ROOM.glob("*.3.in")))
    assert done.returncode == 0, done.stderr
    page = tmp_path / "pm_topology_open.3"
    text = page.read_text(encoding="utf-8")
    assert "--libs perfmodes-topology" in text and ".In perfmodes_topology.h" in text
    if shutil.which("mandoc"):
        assert run("mandoc", "-Tlint", "-W", "warning", page).stdout == ""
    program = re.findall(r"^\.Bd -literal\n(#include.*?)^\.Ed", text, re.M | re.S)[0]
    (tmp_path / "page.c").write_text(program.replace("\\e", "\\"), encoding="utf-8")
    done = run("gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", f"-I{TREE}/lib", f"-I{ROOM}",
               "-o", tmp_path / "page", tmp_path / "page.c", *sorted(ROOM.glob("*.c")),
               TREE / "build" / ARCH / "libperfmodes.a", "-l:libyajl_s.a", "-lhwloc", "-pthread")
    assert done.returncode == 0, done.stderr
    assert run(tmp_path / "page").returncode == 0


def test_without_papi_it_says_so(tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text("""
#include <perfmodes_topology.h>
#include <stdio.h>
int main(void)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_topology *set;
	int err = pm_topology_open_papi(NULL, 1, NULL, &diag, &set);
	printf("%d %s", err, diag.text);
	return 0;
}
""", encoding="utf-8")
    done = run("gcc", "-std=gnu11", f"-I{TREE}/lib", f"-I{ROOM}", "-o", tmp_path / "program",
               source, *sorted(ROOM.glob("*.c")), TREE / "build" / ARCH / "libperfmodes.a",
               "-l:libyajl_s.a", "-lhwloc", "-pthread")
    assert done.returncode == 0, done.stderr
    assert run(tmp_path / "program").stdout.startswith("-38 topology: the library was built without")
