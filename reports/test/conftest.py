# SPDX-License-Identifier: MIT
"""Result directories and trees to try things on."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[2]

CATALOGUE = """id=ring.write_backward
title=ring written backward
since=4.7
point=newest newest record at data_head
point=plain plain works
fact=max_pages int pages largest data area

id=sw.clock
title=software clock
since=2.6.31
needs=pmu
point=counts counts up
"""

GOOD = """TAP version 13
1..2
#  RUN           ring.newest ...
#:perfmodes: max_pages=128
ok 1 ring.newest
#  RUN           global.plain ...
ok 2 global.plain
"""
CLOCK = "TAP version 13\n1..1\n#  RUN           global.counts ...\nok 1 global.counts\n"


def ktap(body: str, code: int = 0, **more: int) -> str:
    """A probe's output and the launcher's last line."""
    values = {"exit": code, "signal": 0, "ms": 5, "timeout": 0, "truncated": 0, "leftover": 0}
    values |= {"bytes": len(body.encode())} | more
    return body + "#:launch: " + " ".join(f"{key}={value}" for key, value in values.items()) + "\n"


def skipped(body: str, why: str) -> str:
    """The same tests, every one skipped."""
    lines = [f"{line} # SKIP {why}" if line.startswith("ok") else line
             for line in body.splitlines() if "perfmodes" not in line]
    return "\n".join(lines) + "\n"


def make_library(path: Path, *keys: str, more: str = "") -> Path:
    """An ELF file that declares facts as the library does, with its own header."""
    rows = " ".join(f'X("{key}")' for key in keys)
    source = f'#include "lib/policy/profile/facts.h"\n#define ROWS(X) {rows}\nPM_FACTS(test, ROWS);\n'
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["gcc", "-c", "-I", str(TREE), "-x", "c", "-", "-o", str(path)],
                   input=source + more, text=True, check=True)
    return path


Outputs = dict[str, dict[str, str]]
MakeRun = Callable[..., Path]


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    def make(outputs: Outputs | None = None, name: str = "run", release: str = "6.1.0-18-amd64",
             catalogue: str = CATALOGUE, env: str = "") -> Path:
        top = tmp_path / name
        everything: Outputs = outputs if outputs is not None else {
            "root": {"ring.write_backward": ktap(GOOD), "sw.clock": ktap(CLOCK)}}
        top.mkdir()
        (top / "env").write_text(
            "format=1\nsuite=default\nstarted=2026-11-21T11:35:00Z\narch=x86_64\n"
            f"release={release}\ncpu_model=A CPU\npage_size=4096\nparanoid=2\n{env}")
        (top / "catalogue").write_text(catalogue)
        plan = []
        for persona, files in everything.items():
            (top / persona).mkdir()
            (top / persona / "env").write_text(f"uid={0 if persona == 'root' else 65534}\n")
            for probe_id, said in files.items():
                plan.append(f"{persona} {probe_id}\n")
                if said:
                    (top / persona / f"{probe_id}.ktap").write_text(said)
        (top / "plan").write_text("".join(plan))
        return top
    return make


@pytest.fixture(scope="session")
def make_elf(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """A tiny object file with a .probeinfo section, as the build would lay it."""
    folder = tmp_path_factory.mktemp("elf")

    def make(name: str, declaration: str) -> Path:
        text = "".join(f'"{line}\\0"' for line in declaration.splitlines())
        source = folder / f"{name}.c"
        source.write_text('static const char declared[] __attribute__((section(".probeinfo"),'
                          f"used)) = {text};\nint main(void) {{ return 0; }}\n")
        subprocess.run(["gcc", "-c", "-o", folder / name, source], check=True)
        return folder / name
    return make


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "peer(group): needs a large peer, `.ci/install GROUP`; make check-peers")
