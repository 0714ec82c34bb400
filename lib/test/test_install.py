# SPDX-License-Identifier: MIT
"""What `make install` installs, as another project's program finds it."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("make")  # make runs in the tree

TREE = Path(__file__).resolve().parents[2]
ARCH = os.environ.get("ARCH", platform.machine())
EXAMPLES = sorted((TREE / "lib" / "examples").glob("*.c"))
STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
PROGRAM = """
#include <perfmodes.h>
int main(void)
{
	struct pm_profile *profile = pm_profile_create();
	int found = pm_profile_probe(profile, 0, 0);
	pm_profile_destroy(profile);
	return found < 0;
}
"""


def run(*command: str | Path, **more: object) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          timeout=300, check=False, **more)  # type: ignore[call-overload]
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return str(done.stdout)


def make(place: Path, verb: str) -> None:
    run("make", "-s", "--no-print-directory", f"ARCH={ARCH}", verb, "PREFIX=/usr",
        f"DESTDIR={place}", cwd=TREE)


@pytest.fixture(scope="session", name="place")
def _place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("installed")
    make(place, "install")
    return place


def flags(place: Path, *wanted: str) -> list[str]:
    """As pkg-config tells them for the place where it lies now."""
    found = {"PKG_CONFIG_LIBDIR": str(place / "usr/lib/pkgconfig"),
             "PKG_CONFIG_SYSROOT_DIR": str(place)}
    return run("pkg-config", *wanted, "perfmodes", env={**os.environ, **found}).split()


def functions(place: Path) -> set[str]:
    """What the compiler, not a pattern, finds declared in the headers."""
    listed = place / "declared"
    run("gcc", "-x", "c", "-fsyntax-only", "-aux-info", listed, f"-I{place}/usr/include", "-",
        input="#include <perfmodes.h>\n")
    lines = listed.read_text(encoding="utf-8").splitlines()
    return set(re.findall(r"\b(pm_\w+) \(", "\n".join(
        line for line in lines if "usr/include/perfmodes" in line)))


def exported(place: Path) -> dict[str, str]:
    text = run("nm", "-D", "--defined-only", "--with-symbol-versions",
               place / "usr/lib/libperfmodes.so.0")
    names = [line.split()[2] for line in text.splitlines() if line.split()[1] != "A"]
    return dict(name.split("@@") if "@@" in name else (name, "") for name in names)


# ------------------------------------------------------------------------------------- symbols

def test_exports_are_what_is_declared(place: Path) -> None:
    found = exported(place)
    assert set(found) == functions(place)
    assert len(found) >= 30
    assert {version for version in found.values()} == {"PERFMODES_0.1"}


def test_static_library_has_them_too(place: Path) -> None:
    text = run("nm", "--defined-only", place / "usr/lib/libperfmodes.a")
    defined = {line.split()[2] for line in text.splitlines() if " T " in line}
    assert functions(place) <= defined
    # nothing of ours without our prefix can collide with a program's own
    assert {name for name in defined if not name.startswith("pm_")} == set()


@pytest.mark.parametrize("part", ["sampler", "stacks", "topology", "willing", "pfm"])
def test_what_is_optional_shows_our_prefix_alone(part: str) -> None:
    """A program may have a process_close() of its own, and link two of them."""
    library = TREE / "build" / ARCH / f"libperfmodes-{part}.a"
    if not library.exists():
        pytest.skip(f"no {library.name}: what it needs is not here")
    names = [line.split()[2] for line in run("nm", "-g", "--defined-only", library).splitlines() if len(line.split()) == 3]
    assert names and [name for name in names if not name.startswith("pm_")] == []


def test_shared_library_names_itself(place: Path) -> None:
    text = run("readelf", "-d", place / "usr/lib/libperfmodes.so.0")
    assert "soname: [libperfmodes.so.0]" in text and "TEXTREL" not in text
    needed = set(re.findall(r"NEEDED.*\[([^]]*)\]", text))
    assert needed <= {"libyajl.so.2", "libc.so.6", "ld-linux-x86-64.so.2"}


# ------------------------------------------------------------------------------------- headers

@pytest.mark.parametrize("compiler, standard", [
    ("gcc", "c11"), ("gcc", "c17"), ("clang", "c11"),
    ("gcc", "c99"), ("g++", "c++98"), ("g++", "c++11"), ("g++", "c++17"), ("g++", "c++20"), ("clang++", "c++98"),
    ("clang++", "c++11")])
def test_header_is_clean(place: Path, compiler: str, standard: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    language = "c++" if "+" in compiler else "c"
    text = ("#include <perfmodes.h>\n#include <perfmodes.h>\n#include <perfmodes_ebb.h>\n"
            "int main(void) { return 0; }\n")
    run(compiler, "-x", language, f"-std={standard}", *STRICT, "-Wconversion", "-fsyntax-only",
        f"-I{place}/usr/include", "-", input=text)


def opaque() -> list[str]:
    """Structures that a header names, and no header defines."""
    text = "".join(path.read_text(encoding="utf-8")
                   for path in sorted((TREE / "lib").glob("perfmodes*.h")))
    return sorted(set(re.findall(r"^struct (pm_\w+);", text, re.M)) -
                  set(re.findall(r"^struct (pm_\w+) \{", text, re.M)))


def test_there_are_opaque_structures() -> None:
    assert {"pm_session", "pm_plan", "pm_profile"} <= set(opaque())


@pytest.mark.parametrize("name", opaque())
def test_what_is_opaque_cannot_be_looked_into(place: Path, name: str) -> None:
    done = subprocess.run(["gcc", "-x", "c", "-fsyntax-only", f"-I{place}/usr/include", "-"],
                          input=f"#include <perfmodes.h>\nint size = sizeof(struct {name});\n",
                          capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode != 0 and "incomplete type" in done.stderr


# ------------------------------------------------------------------------------------ consumers

@pytest.mark.parametrize("kind", ["shared", "static", "c++"])
def test_a_program_links(place: Path, tmp_path: Path, kind: str) -> None:
    source = tmp_path / ("program.cc" if kind == "c++" else "program.c")
    source.write_text(PROGRAM, encoding="utf-8")
    given = (["-static", *flags(place, "--cflags", "--static", "--libs")] if kind == "static"
             else flags(place, "--cflags", "--libs"))
    run("g++" if kind == "c++" else "gcc", "-o", tmp_path / "program", source, *STRICT, *given)
    run(tmp_path / "program", env={"LD_LIBRARY_PATH": str(place / "usr/lib")})
    linked = "statically linked" in run("file", tmp_path / "program") if shutil.which("file") \
        else "NEEDED" not in run("readelf", "-d", tmp_path / "program")
    assert linked == (kind == "static")


@pytest.mark.parametrize("example", [
    pytest.param(path, marks=pytest.mark.perf if path.stem in ("census", "count") else ())
    for path in EXAMPLES], ids=lambda path: path.stem)
def test_example_builds_and_runs(place: Path, tmp_path: Path, example: Path) -> None:
    """Outside the tree, with what pkg-config says and the libraries that its own comment names."""
    text = example.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 100
    own = [word for line in re.findall(r"^ \*\s+cc .*$", text, re.M)[:1] for word in line.split()
           if re.fullmatch(r"-l(?!perfmodes)\w+|-pthread|-rdynamic", word)]
    run("gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-o", tmp_path / "example", example,
        *flags(place, "--cflags", "--libs"), *own)
    done = subprocess.run([tmp_path / "example"], capture_output=True, text=True, timeout=300,
                          env={"LD_LIBRARY_PATH": str(place / "usr/lib")}, check=False)
    assert (done.stdout + done.stderr).strip()
    # these want arguments, or a tracefs that is open to them, and say so
    if example.stem in ("perfmodes-broker", "trace_sched", "trace_reader") and done.returncode == 2:
        assert done.stderr.strip()
    else:
        assert done.returncode == 0, done.stderr
    if example.stem == "count":
        many = subprocess.run([tmp_path / "example", *["page-faults"] * 9], capture_output=True, text=True, timeout=300,
                              env={"LD_LIBRARY_PATH": str(place / "usr/lib")}, check=False)
        assert (many.returncode, many.stderr) == (2, "count: 8 events at most\n")


# ----------------------------------------------------------------------------------- the tree

def files(place: Path) -> set[str]:
    return {str(path.relative_to(place)) for path in place.rglob("*") if not path.is_dir()}


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    """Another DESTDIR, whose name the shell would take for two."""
    return tmp_path / "ein Ördner"


def test_what_lies_where(place: Path, folder: Path) -> None:
    make(folder, "install")
    found = files(folder)
    assert all(name.startswith("usr/") for name in found)
    assert {"usr/bin/perfmodes-doctor", "usr/bin/perfmodes-explain", "usr/lib/libperfmodes.so", "usr/lib/libperfmodes.so.0",
            "usr/lib/libperfmodes.a", "usr/lib/pkgconfig/perfmodes.pc", "usr/include/perfmodes.h",
            "usr/share/man/man1/perfmodes-doctor.1", "usr/share/man/man7/perfmodes.7",
            "usr/share/man/man3/pm_session_detach.3"} <= found
    assert {f"usr/share/man/man3/{name}.3" for name in functions(place)} <= found
    assert str(folder) not in (folder / "usr/lib/pkgconfig/perfmodes.pc").read_text()
    make(folder, "install")
    assert files(folder) == found
    make(folder, "uninstall")
    assert files(folder) == set()


def test_uninstall_removes_all_parts(folder: Path) -> None:
    """Also optional ones; what somebody else put beside them stays."""
    lacking = subprocess.run([TREE / ".packaging/need", "library", "stacks", "topology", "pfm", "bindings"],
                             env={**os.environ, "NO_INSTALL": "1"}, capture_output=True, text=True, timeout=300,
                             check=False)
    if lacking.stdout:
        pytest.skip(lacking.stdout.strip())
    make(folder, "install-all")
    found = files(folder)
    assert {"usr/include/perfmodes_stacks.h", "usr/include/perfmodes.hpp",
            "usr/include/perfmodes_pfm.h", "usr/lib/libperfmodes-willing.a",
            "usr/bin/perfmodes-sampler", "usr/share/man/man1/perfmodes-sampler.1",
            "usr/share/man/man3/pm_topology_read.3",
            "usr/lib/python3/dist-packages/perfmodes/abi.py"} <= found
    others = {"usr/include/other.h", "usr/lib/pkgconfig/other.pc", "usr/share/man/man3/other.3",
              "usr/share/doc/perfmodes-sampler/examples/mine.json", "usr/lib/libperfmodes-mine.a"}
    for name in others:
        (folder / name).write_text("", encoding="utf-8")
    make(folder, "uninstall")
    assert files(folder) == others
    assert not (folder / "usr/share/perfmodes").exists()


def test_a_prefix_with_a_blank_is_refused() -> None:
    """A list in make would have two names of it, and uninstall would remove both."""
    done = subprocess.run(["make", "-n", "uninstall", "PREFIX=/opt /opt/ein Ziel"], cwd=TREE, timeout=300,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "must not have blanks" in done.stderr and not done.stdout


def test_installed_doctor_runs(place: Path) -> None:
    assert "own-time" in run(place / "usr/bin/perfmodes-doctor", "--list")
