# SPDX-License-Identifier: MIT
"""Bounds of what is read, and endings: closed or full output, and Ctrl-C more than once."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import CLOCK, GOOD, MakeRun, ktap

from reports import text, verbs

ROOT = Path(__file__).resolve().parents[2]
REPORTS = "/usr/bin/python3 -m reports"


@pytest.fixture
def made(make_run: MakeRun, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A result directory."""
    top = make_run({"root": {"ring.write_backward": ktap(GOOD), "sw.clock": ktap(CLOCK)}})
    monkeypatch.chdir(ROOT)
    assert verbs.main(["result", str(top), "--quiet", "--expect", str(top)]) in (0, 1)
    return top


def shell(command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", command], cwd=ROOT, timeout=300, check=False, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)


@pytest.mark.parametrize("content, why", [
    ("[" + "[]," * text.VALUES_LIMIT + "[]]", "more than 300000 values"),
    ('{"k":' * 150_001 + "1" + "}" * 150_001, "usable JSON"),
    (json.dumps(["w"] * (text.MEMBERS_LIMIT + 1)), "more than 20000 members"),
    (json.dumps([dict.fromkeys(map(str, range(text.MEMBERS_LIMIT + 1)))]), "more than 20000 members"),
    (" " * (text.JSON_LIMIT + 1), "larger than 16 MiB"),
], ids=["values", "depth", "list", "object", "size"])
def test_json_beyond_the_limits_is_refused_in_a_sentence(content: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(content)
    with pytest.raises(text.Unusable, match=why):
        text.load_json(path)


def _spent() -> float:
    """CPU seconds, here and in children that have ended: a busy machine does not lengthen them."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(used.ru_utime + used.ru_stime for used in both)


def test_a_million_warnings_are_refused_at_once_in_little_memory(made: Path) -> None:
    told = json.loads((made / "result.json").read_text())
    told["warnings"] = ["w"] * 1_000_000
    (made / "result.json").write_text(json.dumps(told))
    began = _spent()
    done = shell(f"ulimit -v 400000; {REPORTS} show {made}")
    assert done.returncode == 3 and "more than 300000 values" in done.stderr
    assert _spent() - began < 20


def test_as_many_warnings_as_are_taken_take_seconds(made: Path) -> None:
    told = json.loads((made / "result.json").read_text())
    told["warnings"] = ["w"] * text.MEMBERS_LIMIT
    (made / "result.json").write_text(json.dumps(told))
    began = _spent()
    assert verbs.main(["validate", str(made / "result.json")]) == 0
    assert _spent() - began < 20


@pytest.mark.parametrize("verb", ["show {}", "table {} --all", "profile {}", "timing {}", "--help"])
@pytest.mark.parametrize("where", ["|true", "|head -1", ">&-", "2>&- >&-", "<&- 2>&- >&-"])
def test_output_that_nobody_reads_is_no_error(verb: str, where: str, made: Path) -> None:
    done = shell(f"set -o pipefail; {REPORTS} {verb.format(made)} {where}")
    assert (done.returncode, done.stderr) == (0, ""), done


def test_a_full_disk_is_a_sentence(made: Path) -> None:
    for verb in (f"show {made}", "--help"):
        done = shell(f"{REPORTS} {verb} > /dev/full")
        assert done.returncode == 3 and done.stderr == "reports: output: No space left on device\n"


@pytest.mark.parametrize(("verb", "status"), [("show gone", 3), ("nosuch", 2), ("show", 2), ("check", 2), ("show {}", 0)])
def test_messages_that_nobody_can_write_change_no_status(verb: str, status: int, made: Path) -> None:
    """1 would say that a verdict is bad."""
    assert shell(f"{REPORTS} {verb.format(made)} 2> /dev/full").returncode == status


INTERRUPTED = """
import os, runpy, signal, sys
from reports import verbs
def slow(argv):
    for _ in range(5):
        os.kill(os.getpid(), signal.SIGINT)
verbs.main = slow
import reports.__main__ as top
try:
    sys.exit(top.main())
finally:
    os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGINT)
"""


def test_several_interrupts_end_without_a_traceback() -> None:
    done = subprocess.run(["/usr/bin/python3", "-c", INTERRUPTED], cwd=ROOT, capture_output=True, text=True,
                          timeout=300, check=False,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    assert (done.returncode, done.stderr) == (130, "")
