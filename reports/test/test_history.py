# SPDX-License-Identifier: MIT
"""What changed since the last run here, whatever lies among the results."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from small import Said, put, result

from reports import history, verbs

SAID: Said = {"root": {"ring.order": {"first": "yes", "last": "yes"}},
              "user": {"ring.order": {"first": "yes", "last": "blocked: no"}}}
NOW = "2026-11-21T11:35:00Z"
BEFORE = "2026-11-20T08:00:00Z"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LC_ALL", "C")


def changed(persona: str, name: str, said: str) -> Said:
    copy = {who: {probe: dict(points) for probe, points in probes.items()}
            for who, probes in SAID.items()}
    copy[persona]["ring.order"][name] = said
    return copy


def since(capsys, made: dict[str, Any]) -> list[str]:
    """The lines of the screen that tell of the last run."""
    put(Path("results/now"), made)
    assert verbs.main(["show", "results/now"]) == 0
    _, _, below = capsys.readouterr().out.partition("Since the last run")
    return below.partition("\n\n")[0].splitlines()


def test_a_second_run_that_says_the_same(capsys) -> None:
    put(Path("results/then"), result(SAID, started=BEFORE))
    assert since(capsys, result(SAID)) == [" (2026-11-20 08:00 UTC): nothing changed"]


def test_what_changed_is_told_by_point_and_persona(capsys) -> None:
    put(Path("results/then"), result(SAID, started=BEFORE))
    said = changed("root", "last", "broken: 2 want=3") | {}
    said["user"]["ring.order"]["first"] = said["root"]["ring.order"]["first"] = "no: EINVAL"
    assert since(capsys, result(said)) == [
        " (2026-11-20 08:00 UTC): 2 points changed",
        "  changed  ring.order.first: yes -> no: EINVAL",
        "  changed  ring.order.last (root): yes -> broken: 2 want=3"]


def test_settings_and_points_that_came_and_went_are_told(capsys) -> None:
    before = {"root": {"ring.order": {"first": "yes", "gone": "yes"}}}
    put(Path("results/then"), result(before, started=BEFORE) | {
        "environment": {"paranoid": "4", "cpus_online": "4"}})
    assert since(capsys, result(SAID)) == [
        " (2026-11-20 08:00 UTC): 1 new, 1 gone", "  setting  paranoid: 4 -> 2"]


def test_changes_that_do_not_fit_are_counted(capsys) -> None:
    many = {f"p{number:03}": "yes" for number in range(200)}
    put(Path("results/then"), result({"root": {"ring.order": many}}, started=BEFORE))
    lines = since(capsys, result({"root": {"ring.order": {
        name: f"no: {name}" for name in many}}}))
    assert lines[0].endswith(": 200 points changed")
    shown = sum(line.startswith("  changed") for line in lines)
    assert 0 < shown < 60
    assert lines[-1] == f"  {200 - shown} more: ./run.sh report diff results/then results/now"


def test_changes_that_say_the_same_are_told_once(capsys) -> None:
    many = {f"p{number:03}": "yes" for number in range(200)}
    put(Path("results/then"), result({"root": {"ring.order": many}}, started=BEFORE))
    now = dict.fromkeys(many, "no: x") | {"p007": "broken: 1"}
    assert since(capsys, result({"root": {"ring.order": now}})) == [
        " (2026-11-20 08:00 UTC): 200 points changed",
        "  changed  ring.order.p000 and 198 more: yes -> no: x",
        "  changed  ring.order.p007: yes -> broken: 1",
        "  each     ./run.sh report diff results/then results/now"]


@pytest.mark.parametrize("spoil", [
    {"release": "6.1.1"}, {"suite": "quick"}, {"started": NOW}, {"started": "2027-01-01T00:00:00Z"},
    {"environment": {"launch_flags": "--fault x", "paranoid": "2", "cpus_online": "4"}},
    {"started": "nonsense"}])
def test_another_kernel_suite_time_or_lie_is_not_compared(capsys, spoil: dict[str, Any]) -> None:
    put(Path("results/then"), result(SAID, **{"started": BEFORE} | spoil))
    assert since(capsys, result(SAID)) == [": this is the first"]


def test_other_points_are_not_compared(capsys) -> None:
    put(Path("results/then"), result({"root": {"sw.clock": {"counts": "yes"}}}, started=BEFORE))
    assert since(capsys, result(SAID)) == [": this is the first"]


def test_the_latest_that_can_be_read_is_taken(capsys) -> None:
    put(Path("results/a"), result(changed("root", "first", "no: x"), started="2026-11-18T00:00:00Z"))
    put(Path("results/b"), result(SAID, started="2026-11-19T00:00:00Z"))
    bad = put(Path("results/c"), result(SAID, started=BEFORE))
    (bad / "result.json").write_text("{")
    assert since(capsys, result(SAID)) == [" (2026-11-19 00:00 UTC): nothing changed"]


def test_probes_that_were_not_run_have_not_changed(capsys) -> None:
    before = result(changed("root", "first", "unknown: not run"), started=BEFORE)
    before["personas"]["root"]["probes"]["ring.order"]["status"] = "not_run"
    put(Path("results/then"), before)
    assert since(capsys, result(SAID)) == [" (2026-11-20 08:00 UTC): 2 new"]


def _hostile(folder: Path, kind: str) -> None:
    good = put(folder / "then", result(SAID, started=BEFORE))
    if kind == "no folder":
        (good / "result.json").unlink()
        (good / "env").unlink()
        good.rmdir()
    elif kind == "fifo":
        (good / "env").unlink()
        os.mkfifo(good / "env")
    elif kind == "link":
        (good / "result.json").rename(folder / "elsewhere")
        (good / "result.json").symlink_to(folder / "gone")
    elif kind == "bytes":
        (good / "result.json").write_bytes(b"\xff\x00" * 999)
    elif kind == "old format":
        (good / "result.json").write_text('{"format": 0, "kind": "result"}')
    elif kind == "deep":
        (good / "result.json").write_text("[" * 200_000)
    elif kind == "not a folder":
        good.rename(folder / "moved")
        (folder / "moved" / "env").unlink()
        good.write_text("x")
    elif kind == "escapes":
        (folder / "\x1b[2J").mkdir()
        (good / "env").write_text("\x1b[2J\n")


@pytest.mark.parametrize("kind", ["no folder", "fifo", "link", "bytes", "old format", "deep",
                                  "not a folder", "escapes"])
def test_hostile_results_are_passed_over(capsys, kind: str, tmp_path: Path) -> None:
    _hostile(tmp_path / "results", kind)
    assert since(capsys, result(SAID)) == [": this is the first"]


def test_a_result_without_a_time_or_a_folder_is_the_first(tmp_path: Path) -> None:
    made = result(SAID)
    assert history.last(made, tmp_path / "gone") is None
    del made["started"]
    assert history.last(made, tmp_path) is None
