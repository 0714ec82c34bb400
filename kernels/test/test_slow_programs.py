# SPDX-License-Identifier: MIT
"""What programs need is told alike from the answers that ship and from a fresh result of the same kernel."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from reports import asked, limits, requirements

TREE = Path(__file__).resolve().parents[2]
# Debian's own kernels and those between them; PROGRAM_ROWS="amd64-6.1 ..." asks others.
ROWS = os.environ.get("PROGRAM_ROWS", "amd64-5.10 amd64-6.1 amd64-6.12 amd64-6.12-rt amd64-6.16 amd64-6.18 amd64-7.0 "
                      "amd64-7.2 amd64-newest-rt amd64-newest").split()
PERSONAS = ("root", "perfmon", "user")
pytestmark = pytest.mark.slow
Met = dict[tuple[str, str, str], tuple[str, str]]     # program, persona, need -> answer, what stands in


def probes() -> list[str]:
    """Those that the needs of all programs are looked up in."""
    wanted = {key for name in requirements.programs() for key in requirements.keys(requirements.of_program(name))}
    return sorted({".".join(limits.split(key)[0].split(".")[:2]) for key in wanted})


def told(where: str, persona: str) -> Met:
    source, = asked.named(Path(where)).sources
    made: Met = {}
    for program in requirements.programs():
        found = requirements.check(requirements.of_program(program), lambda key: source.said(key, persona, "2"), source.arch)
        made |= {(program, persona, each.need.what): (each.answer.word, each.used) for each in found}
    return made


@pytest.mark.parametrize("row", ROWS)
def test_fresh_and_shipped(row: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(TREE)
    words = [word for probe in probes() for word in ("--probe", probe)]
    command: list[Any] = ["./run.sh", "kernels", row, *words, "--no-disturb", "--persona", ",".join(PERSONAS), "--out", tmp_path / "out"]
    done = subprocess.run(command, cwd=TREE, stdin=subprocess.DEVNULL, timeout=1800, check=False)
    assert done.returncode in (0, 1)        # 1: something unexpected, which may be no program's need
    differ = {}
    for persona in PERSONAS:
        fresh, shipped = told(str(tmp_path / "out" / row), persona), told(row, persona)
        assert len(fresh) > 50 and fresh.keys() == shipped.keys()
        differ |= {key: (fresh[key], shipped[key]) for key in fresh if fresh[key] != shipped[key]}
    assert not differ
