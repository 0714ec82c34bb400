# SPDX-License-Identifier: MIT
"""A file that names a register of a very high number costs libdw a gigabyte a frame: it is not asked."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[3]
PROGRAM = TREE / "build" / "test" / "stacks" / "bounded"
SAMPLER = TREE / "build" / os.uname().machine / "perfmodes-sampler"
#: Numbers in LEB128: 16,384 and one more, and 100,000,000.
MOST, BEYOND, FAR = "0x80, 0x80, 0x01", "0x81, 0x80, 0x01", "0x80, 0xc2, 0xd7, 0x2f"
SOURCE = """
#include <time.h>
static volatile unsigned long sink;
__attribute__((noinline)) void hostile(void)
{
	__asm__ volatile(".cfi_escape ESCAPE");
	for (int i = 0; i < 100000000; i++)
		sink += i;
}
int main(void)
{
	const time_t end = time(NULL) + 3;

	while (time(NULL) < end)
		hostile();
	return 0;
}
"""
#: undefined, same_value, offset_extended, register (of another), expression, def_cfa_register
NAMING = ["0x07, {}", "0x08, {}", "0x05, {}, 0x01", "0x09, {}, 0x01", "0x10, {}, 0x01, 0x9c", "0x2f, {}, 0x01",
          "0x02, 0x00, 0x2e, 0x81, 0x00, 0x03, 0x00, 0x00, 0x14, {}, 0x00"]


def built(folder: Path, escape: str, *flags: str, functions: int = 0) -> Path:
    others = "".join(f"void function_{number}(void) {{ sink += {number}; }}\n" for number in range(functions))
    (folder / "p.c").write_text(SOURCE.replace("ESCAPE", escape) + others, encoding="ascii")
    subprocess.run(["gcc", "-O1", *flags, "-o", "p", "p.c"], cwd=folder, check=True)
    return folder / "p"


def answers(*files: Path | str) -> list[str]:
    if not PROGRAM.exists():
        pytest.skip("not built: make stacks-tests, with libdw-dev and zlib1g-dev")
    return subprocess.run([PROGRAM, *files], check=True, capture_output=True, text=True).stdout.split()


@pytest.mark.parametrize("naming", NAMING)
def test_each_instruction_that_names_a_register(tmp_path: Path, naming: str) -> None:
    for number, answer in ((MOST, "yes"), (BEYOND, "no"), (FAR, "no")):
        assert answers(built(tmp_path, naming.format(number))) == [answer]


@pytest.mark.parametrize("packed", ["none", "zlib", "zlib-gnu"])
def test_in_the_debug_information_alone(tmp_path: Path, packed: str) -> None:
    mark = {"none": ".debug_frame ", "zlib": ".debug_frame .* C ", "zlib-gnu": ".zdebug_frame "}[packed]
    for number, answer in ((MOST, "yes"), (FAR, "no")):
        program = built(tmp_path, f"0x07, {number}", "-g", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables",
                        "-fno-exceptions", functions=200)
        subprocess.run(["objcopy", f"--compress-debug-sections={packed}", program], check=True)
        said = subprocess.run(["readelf", "-SW", program], capture_output=True, text=True, check=True).stdout
        assert re.search(mark, said), said
        assert answers(program) == [answer]


def test_without_the_names_of_sections(tmp_path: Path) -> None:
    """libdw finds .eh_frame by a program header then; who strips that is not believed."""
    program = built(tmp_path, f"0x07, {FAR}")
    subprocess.run(["objcopy", "--rename-section", ".eh_frame=.other", program], check=True)
    assert answers(program) == ["no"]


def test_of_the_programs_of_this_machine() -> None:
    files = [file for file in sorted(Path("/usr/bin").iterdir()) if file.is_file()
             and os.access(file, os.R_OK) and file.open("rb").read(5) == b"\x7fELF\x02"]
    assert len(files) > 50 and set(answers(*files)) == {"yes"}


def test_what_watches_it_stays_small(tmp_path: Path) -> None:
    if not SAMPLER.exists():
        pytest.skip("not built: make library, with libdw-dev and zlib1g-dev")
    program = built(tmp_path, f"0x07, {FAR}")
    watcher = subprocess.Popen([SAMPLER, "-q", "-F", "99", "-o", "p.folded", "--", program], cwd=tmp_path)
    _, status, usage = os.wait4(watcher.pid, 0)
    watcher.returncode = os.waitstatus_to_exitcode(status)
    assert watcher.returncode == 0 and usage.ru_maxrss < 300_000, usage
    assert ";hostile" in (tmp_path / "p.folded").read_text(encoding="utf-8")
