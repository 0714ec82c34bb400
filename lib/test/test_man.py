# SPDX-License-Identifier: MIT
"""Manual pages: each function on one, clean for mandoc and groff, and their programs run."""

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

TREE = Path(__file__).resolve().parents[2]
MAN = TREE / "lib" / "man"
ARCH = os.environ.get("ARCH", platform.machine())
HEADERS = [TREE / "lib" / name
           for name in ("perfmodes.h", "perfmodes_event.h", "perfmodes_count.h",
                        "perfmodes_trace.h", "perfmodes_stats.h", "perfmodes_sample.h",
                        "perfmodes_session.h", "perfmodes_ebb.h")]
TEMPLATES = sorted(MAN.glob("*.3.in"))


def generate(out: Path, headers: list[Path]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, MAN / "pages.py", out, *headers, "--", *TEMPLATES]
    return subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          timeout=300, check=False)


@pytest.fixture(scope="session", name="pages")
def _pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """All pages, by name."""
    out = tmp_path_factory.mktemp("man")
    done = generate(out, HEADERS)
    assert done.returncode == 0, done.stderr
    for page in (*MAN.glob("*.1"), *MAN.glob("*.7")):
        shutil.copy(page, out)
    return {page.name: page for page in sorted(out.iterdir())}


def test_every_function_has_one_page(pages: dict[str, Path]) -> None:
    assert {"perfmodes.7", "perfmodes-doctor.1", "pm_plan_make.3", "pm_session_attach.3",
            "pm_profile_load_default.3", "pm_diag_open.3"} <= set(pages)


def test_a_function_without_a_page_is_found(tmp_path: Path) -> None:
    header = tmp_path / "more.h"
    header.write_text("/* Does something. (0.1) */\nint pm_undocumented_do(int what);\n",
                      encoding="utf-8")
    done = generate(tmp_path / "out", [*HEADERS, header])
    assert done.returncode == 1 and "pm_undocumented_do" in done.stderr


def test_constants_listed_elsewhere_are_on_the_page(pages: dict[str, Path]) -> None:
    shown = pages["pm_profile_lookup.3"].read_text(encoding="utf-8")
    assert "enum pm_verdict {\n\tPM_YES = 1,\n" in shown and "\tPM_UNKNOWN = 0,\n" in shown
    assert "#include \"" not in shown


def test_what_the_header_says_is_on_the_page(pages: dict[str, Path]) -> None:
    """In other words than the generator's: a sentence of the header, as a reader would see it."""
    shown = subprocess.run(["mandoc", "-Tutf8", "-O", "width=400", pages["pm_session_attach.3"]],
                           capture_output=True, text=True, timeout=300, check=True).stdout
    shown = re.sub(r".\x08", "", shown)
    assert "Detaches if necessary, and frees, also the plan of pm_session_open." in re.sub(r"\s+", " ", shown)
    assert "int pm_session_poll(struct pm_session *session, int timeout_ms);" in shown


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="no mandoc")
def test_mandoc_finds_nothing(pages: dict[str, Path]) -> None:
    for page in pages.values():
        done = subprocess.run(["mandoc", "-Tlint", "-W", "warning", str(page)],
                              capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stdout


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="no mandoc")
def test_mandoc_would_find_something(tmp_path: Path) -> None:
    page = tmp_path / "bad.3"
    page.write_text(".Dd November 21, 2026\n.Dt BAD 3\n.Os\n.Sh NAME\n.Nm bad\n.Nd bad\n.Bl -tag\n",
                    encoding="utf-8")
    assert subprocess.run(["mandoc", "-Tlint", "-W", "warning", str(page)], timeout=300,
                          capture_output=True, check=False).returncode != 0


@pytest.mark.skipif(shutil.which("man") is None, reason="no man")
def test_groff_finds_nothing(pages: dict[str, Path]) -> None:
    for page in pages.values():
        done = subprocess.run(["man", "--warnings", "-l", str(page)], capture_output=True,
                              text=True, timeout=300, check=False,
                              env={**os.environ, "MANWIDTH": "120", "LC_ALL": "C.UTF-8"})
        assert done.returncode == 0 and done.stderr == "", f"{page.name}: {done.stderr}"


def references(text: str) -> set[tuple[str, str]]:
    return set(re.findall(r"^\.Xr (\S+) (\d)", text, re.M))


def test_references_lead_somewhere(pages: dict[str, Path]) -> None:
    names = {name for page in pages.values()
             for name in re.findall(r"^\.Nm (\S+)", page.read_text(encoding="utf-8"), re.M)}
    for page in pages.values():
        for name, section in references(page.read_text(encoding="utf-8")):
            assert section == "2" or name in names, f"{page.name}: {name}({section})"


def programs(text: str) -> list[str]:
    """Literal displays of a page that have a main."""
    displays = re.findall(r"^\.Bd -literal\n(.*?)^\.Ed", text, re.M | re.S)
    return [display.replace("\\e", "\\").replace("\\&", "")
            for display in displays if "int main(" in display]


def page(name: str) -> object:
    """The example of this one asks a broker for an event, and fails without."""
    return pytest.param(name, marks=pytest.mark.perf) if name == "pm_broker_serve.3" else name


@pytest.mark.parametrize("name", [*(page(path.name.removesuffix(".in")) for path in TEMPLATES), "perfmodes.7"])
def test_example_runs(pages: dict[str, Path], tmp_path: Path, name: str) -> None:
    if name not in pages:
        pytest.skip("its functions are not there yet")
    found = programs(pages[name].read_text(encoding="utf-8"))
    assert len(found) == 1
    source = tmp_path / "example.c"
    source.write_text(found[0], encoding="utf-8")
    subprocess.run(["make", "-s", "--no-print-directory", f"ARCH={ARCH}",
                    f"build/{ARCH}/libperfmodes.a"], cwd=TREE, check=True, timeout=300)
    built = subprocess.run(
        ["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-D_DEFAULT_SOURCE",
         f"-I{TREE}/lib", "-o", str(tmp_path / "example"), str(source),
         str(TREE / "build" / ARCH / "libperfmodes.a"), "-l:libyajl_s.a", "-pthread"],
        capture_output=True, text=True, timeout=300, check=False)
    assert built.returncode == 0, built.stderr
    done = subprocess.run([str(tmp_path / "example")], capture_output=True, text=True, timeout=300,
                          check=False)
    assert done.returncode == 0 and done.stdout + done.stderr, done.stderr


def test_installed_doctor_is_what_the_page_says(pages: dict[str, Path]) -> None:
    """Every option of the page is one of the program, and the other way round."""
    page = set(re.findall(r"^\.It Fl -(\w+)", pages["perfmodes-doctor.1"].read_text(), re.M))
    source = (TREE / "lib" / "doctor" / "main.c").read_text(encoding="utf-8")
    assert page == set(re.findall(r'\{ "(\w+)", (?:no|required)_argument', source)) - {"help"}
