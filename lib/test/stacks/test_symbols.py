# SPDX-License-Identifier: MIT
"""Which name a place has; pieces of procedure linkage tables are called as objdump calls them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[3]
PROGRAM = TREE / "build" / "test" / "stacks" / "symbols_of"
SECTIONS = [word for section in (".plt", ".plt.sec", ".plt.got") for word in ("-j", section)]
PIECE = re.compile(r"^([0-9a-f]+) <([^>]+)@plt>:$", re.MULTILINE)
CALLED = [f"called_{number}" for number in range(8)]
LIBRARY = "".join(f"int {name}(int value) {{ return value + {number}; }}\n" for number, name in enumerate(CALLED))
CALLER = "".join(f"int {name}(int);\n" for name in CALLED) + f"""
int (*volatile pointer)(int) = {CALLED[0]};
void _start(void) {{ pointer({" + ".join(f"{name}({number})" for number, name in enumerate(CALLED))}); for (;;); }}
"""


def program(folder: Path, compiler: str, flags: str) -> Path:
    """Without a C library, which a compiler for another machine may not have."""
    for name, text, options in (("libcalled.so", LIBRARY, ["-shared", "-fPIC"]),
                                ("caller", CALLER, ["-L.", "-lcalled", *flags.split()])):
        (folder / f"{name}.c").write_text(text, encoding="ascii")
        done = subprocess.run([compiler, "-O1", "-nostdlib", "-o", name, f"{name}.c", *options], cwd=folder,
                              capture_output=True, text=True, check=False)
        if done.returncode and "-fuse-ld" in flags and "ld" in done.stderr:
            pytest.skip(f"no such linker: {flags.split()[0]}")
        assert done.returncode == 0, done.stderr
    return folder / "caller"


def pieces(objdump: str, file: Path) -> dict[int, str]:
    """By address. What has no symbol, "*ABS*+0x12@plt", has no name here either."""
    said = subprocess.run([objdump, "-d", *SECTIONS, file], capture_output=True, text=True, check=False).stdout
    return {int(address, 16): name for address, name in PIECE.findall(said)
            if not name.startswith("*ABS*")}


def symbols(file: Path, addresses: list[int]) -> list[str]:
    if not PROGRAM.exists():
        pytest.skip("not built: make stacks-tests, with libdw-dev and zlib1g-dev")
    return subprocess.run([PROGRAM, file], input="\n".join(map(hex, addresses)), check=True,
                          capture_output=True, text=True).stdout.splitlines()


def compare(objdump: str, file: Path) -> int:
    """Each piece at its first byte and within; how many."""
    named = pieces(objdump, file)
    for offset in (0, 7):
        told = symbols(file, [address + offset for address in named])
        assert told == [f"{name}@plt+{offset:#x}" for name in named.values()], file
    return len(named)


@pytest.mark.parametrize("flags", [
    "", "-Wl,-z,lazy", "-Wl,-z,now", "-Wl,-z,lazy -fcf-protection=full",
    "-Wl,-z,now -fcf-protection=full", "-no-pie -fno-pie", "-fuse-ld=gold", "-fuse-ld=lld -Wl,-z,lazy",
])
def test_of_each_linkers_making(tmp_path: Path, flags: str) -> None:
    assert compare("objdump", program(tmp_path, "gcc", flags)) >= len(CALLED) - 1


@pytest.mark.parametrize("flags", ["", "-Wl,-z,lazy", "-mbranch-protection=standard -Wl,-z,force-bti"])
def test_of_arm64(tmp_path: Path, flags: str) -> None:
    tool = "aarch64-linux-gnu-"
    if shutil.which(f"{tool}gcc") is None:
        pytest.skip(f"no {tool}gcc")
    assert compare(f"{tool}objdump", program(tmp_path, f"{tool}gcc", flags)) >= len(CALLED) - 1


def test_of_the_programs_of_this_machine() -> None:
    """Stripped ones, whose functions have no names at all, too."""
    found = sum(compare("objdump", file) for file in sorted(Path("/usr/bin").iterdir())[::20]
                if file.is_file() and file.open("rb").read(4) == b"\x7fELF")
    assert found > 200


@pytest.mark.parametrize("strip", [[], ["-s"]])
def test_a_name_of_an_old_version_gives_way(tmp_path: Path, strip: list[str]) -> None:
    """As glibc's cfree@GLIBC_2.2.5 to free: with all symbols, and with the dynamic ones alone."""
    (tmp_path / "l.c").write_text("int now(int v) { return v + 1; }\n"
                                  "int former_name(int) __attribute__((alias(\"now\")));\n"
                                  "__asm__(\".symver former_name, the_former_name@OLD, remove\");\n", encoding="ascii")
    (tmp_path / "l.map").write_text("OLD { };\nNEW { global: now; local: *; } OLD;\n", encoding="ascii")
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-Wl,--version-script=l.map", *strip, "-o", "l.so", "l.c"],
                   cwd=tmp_path, check=True)
    said = subprocess.run(["nm", "-D", "l.so"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    names = {name: int(address, 16) for address, name in re.findall(r"^([0-9a-f]+) T (\S+)$", said, re.MULTILINE)}
    assert sorted(names) == ["now@@NEW", "the_former_name@OLD"] and len(set(names.values())) == 1, said
    assert re.fullmatch(r"now(@@NEW)?\+0x0", symbols(tmp_path / "l.so", [names["now@@NEW"]])[0])
