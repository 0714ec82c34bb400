# SPDX-License-Identifier: MIT
"""make falsify: its records hold for a sample, and a point that cannot fail is an error."""

from __future__ import annotations

import fnmatch
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from conftest import TREE, needs_root

sys.path.insert(0, str(TREE / "suites" / "falsify"))

import falsify  # noqa: E402
import mutants  # noqa: E402
import noticed  # noqa: E402
from falsify import KERNEL, NATURE, NOT_HERE, Ledger, Seen, mutation  # noqa: E402

pytestmark = pytest.mark.xdist_group("make")  # make runs in the tree

KILLED, WEAK = Seen("broken", "user", "read-zeros", KERNEL), Seen("unknown", "user", "refuse-flags", KERNEL)


@pytest.fixture(scope="module")
def probes(build: Path) -> dict[str, mutants.catalogue.Probe]:
    return {id: probe for id, probe in mutants.declared().probes.items() if not id.startswith("meta.")}


def test_every_recorded_fault_is_known(build: Path) -> None:
    recorded = {how.fault for how in mutation.read(TREE).values() if not how.fault.startswith("pmu-")}
    assert len(recorded) > 10 and recorded <= {*mutants.faults(), NATURE, NOT_HERE}


def test_each_lie_of_the_synthetic_pmu_is_noticed() -> None:
    said = noticed.read()
    lies = mutants.pmu_lies()
    assert len(lies) > 20 and [lie for lie in lies if said.get(lie, "nobody").startswith("nobody")] == []


def test_a_mutant_that_nobody_notices_has_its_reason_and_no_reason_is_stale() -> None:
    said = dict(line.split(" ", 1) for line in noticed.FILE.read_text().splitlines() if not line.startswith("#"))
    silent = {lie for lie, point in said.items() if point.startswith("nobody ")}
    assert [lie for lie in silent if not noticed.reason_for(lie)] == []
    globs = [line.split()[0] for line in noticed.REASONS.read_text().splitlines() if not line.startswith("#")]
    assert [glob for glob in globs if not fnmatch.filter(silent, glob)] == []
    assert noticed.reason_for("ring.head") == ""


def ledger(before: Seen | None, now: Seen | None, tmp_path: Path, yes: bool = True) -> Ledger:
    """The ledger after a run of a probe with one point, which says yes on the kernel as it is."""
    made = Ledger({"ring.a": ["ring.a.p"]}, {"ring.a.p": before} if before else {}, tmp_path)
    if yes:
        made.note("ring.a.p", Seen("yes", "user"))
    if now:
        made.note("ring.a.p", now)
    return made


@pytest.mark.parametrize("before, now, said", [
    (None, KILLED, ""),
    (None, WEAK, ""),
    (KILLED, KILLED, ""),
    (WEAK, KILLED, ""),
    (WEAK, WEAK, ""),
    (None, None, "survived  ring.a.p: said yes on every mutant"),
    (KILLED, None, "no longer killed  ring.a.p: said broken as user on read-zeros"),
    (KILLED, WEAK, "no longer killed  ring.a.p: said broken as user on read-zeros"),
    (Seen("broken", "user", NATURE, "5.10/x86_64"), WEAK, ""),
    (Seen("broken", "nobody-here", "read-zeros", KERNEL), WEAK, ""),
])
def test_a_point_that_cannot_fail_is_an_error(before: Seen | None, now: Seen | None, said: str, tmp_path: Path,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    made = ledger(before, now, tmp_path)
    assert falsify.judge(made, falsify.settle(made), ["ring.a"]) == bool(said)
    assert capsys.readouterr().out.startswith(said) and (said or not capsys.readouterr().out)


def test_a_kill_that_cannot_be_repeated_where_nothing_says_yes_is_no_error(tmp_path: Path) -> None:
    made = ledger(KILLED, Seen("absent", "user"), tmp_path, yes=False)
    assert falsify.judge(made, falsify.settle(made), ["ring.a"]) == 0


@pytest.mark.parametrize("before, now, kept", [(KILLED, WEAK, KILLED), (KILLED, None, KILLED), (WEAK, KILLED, KILLED),
                                               (None, WEAK, WEAK)])
def test_a_record_keeps_its_kill_until_another_takes_its_place(before: Seen | None, now: Seen | None, kept: Seen,
                                                               tmp_path: Path) -> None:
    (tmp_path / "probes" / "ring").mkdir(parents=True)
    (tmp_path / "probes" / "ring" / "a.c").touch()
    made = ledger(before, now, tmp_path)
    mutation.write(tmp_path, "ring.gone", {"p": KILLED})
    falsify.record(made, falsify.settle(made), ["ring.a"], tmp_path)
    assert mutation.read(tmp_path) == {"ring.a.p": kept}, "a probe that is no more keeps no record"


def test_a_kill_that_was_met_in_vain_gives_way_to_another(tmp_path: Path) -> None:
    (tmp_path / "probes" / "ring").mkdir(parents=True)
    (tmp_path / "probes" / "ring" / "a.c").touch()
    before = Seen("broken", "user", "one-fault", KERNEL)
    made = ledger(before, Seen("broken", "user", "another-fault"), tmp_path)
    falsify.record(made, falsify.settle(made), ["ring.a"], tmp_path)
    assert mutation.read(tmp_path)["ring.a.p"] == before, "it was not met"
    made.survived.add(("ring.a.p", before.fault, before.persona))
    falsify.record(made, falsify.settle(made), ["ring.a"], tmp_path)
    assert mutation.read(tmp_path)["ring.a.p"].fault == "another-fault"


@pytest.mark.parametrize("reason, kept", [("", {"ring.a.p": Seen("absent", "user", NOT_HERE, KERNEL)}), ("ring.a.* x\n", {})])
def test_a_point_that_said_yes_in_a_guest_is_not_one_that_never_does(reason: str, kept: dict[str, Seen],
                                                                     tmp_path: Path) -> None:
    (tmp_path / "probes" / "ring").mkdir(parents=True)
    (tmp_path / "probes" / "ring" / "a.c").touch()
    (tmp_path / mutation.REASONS).parent.mkdir(parents=True)
    (tmp_path / mutation.REASONS).write_text(reason)
    made = ledger(None, Seen("absent", "user"), tmp_path, yes=False)
    falsify.record(made, falsify.settle(made), ["ring.a"], tmp_path)
    assert mutation.read(tmp_path) == kept


def test_what_a_guest_noticed_stands_and_takes_the_place_of_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noticed, "FILE", tmp_path / "noticed.txt")
    noticed.write({"a.b": "nobody 3", "c.d": "nobody-asks", "e.f": "ring.a.p"})
    noticed.add({"a.b": "ring.a.p 7.3/x86_64", "e.f": "ring.a.q 7.3/x86_64", "pmu-x": "ring.a.p 7.3/x86_64"})
    assert noticed.read() == {"a.b": "ring.a.p 7.3/x86_64", "c.d": "nobody-asks", "e.f": "ring.a.p"}
    assert [lie for lie, said in noticed.read().items() if noticed.stands(said)] == ["a.b"]


Entry = tuple[str, Seen]


def sample(most: int = 30) -> dict[str, list[Entry]]:
    """For some faults, the first points on record that kill them as a persona available here."""
    allowed = ("root", "user") if os.geteuid() == 0 else ("user",)
    first: dict[str, list[Entry]] = {}
    for point, how in sorted(mutation.read(TREE).items()):
        if how.weight == 3 and how.kernel == KERNEL and how.fault != NATURE and how.persona in allowed:
            first.setdefault(how.fault, []).append((point, how))
    step = max(1, len(first) // most)
    return {fault: first[fault][:2] for fault in sorted(first)[::step]}


@pytest.fixture(scope="module")
def programs(build: Path, probes: dict[str, mutants.catalogue.Probe]) -> None:
    """The lying programs of the sample."""
    chosen = {next(id for id in probes if point.startswith(f"{id}.")) for entries in sample().values()
              for point, _ in entries}
    targets = sorted(f"build/{build.name}/falsify/probes/{id.replace('.', '/', 1)}" for id in chosen)
    subprocess.run(["make", "-s", f"-j{os.cpu_count()}", *targets], cwd=TREE, check=True)


@pytest.mark.parametrize("fault, entries", sample().items(), ids=str)
def test_the_records_are_true(fault: str, entries: list[Entry], probes: dict[str, mutants.catalogue.Probe],
                              programs: None, tmp_path: Path) -> None:
    """Tried with the first point that says yes without the fault: a container may hide what another needs.

    A point that cannot tell, as on a starved machine, is asked again.
    """
    for point, how in entries:
        probe = probes[next(id for id in probes if point.startswith(f"{id}."))]
        if mutants.run(probe, how.persona, NATURE, tmp_path).get(point) == "yes":
            told = [mutants.run(probe, how.persona, fault, tmp_path)[point]]
            while told[-1] != how.verdict and told[-1] == "unknown" and len(told) < 4:
                told.append(mutants.run(probe, how.persona, fault, tmp_path)[point])
            assert told[-1] == how.verdict, told
            return
    pytest.skip(f"says yes nowhere here: {[point for point, _ in entries]}")


@needs_root
@pytest.mark.perf
@pytest.mark.parametrize("id, lie", [("tracepoint.filter", "ioctl.filter_first_term"), ("record.cgroup", "ring.cgroup_8bit")])
def test_noting_the_lies_spoils_no_answer(build: Path, probes: dict[str, mutants.catalogue.Probe], id: str, lie: str) -> None:
    """One probe counts calls of close(2), the other mounts something over the folder of the notes."""
    subprocess.run(["make", "-s", f"build/{build.name}/falsify/probes/{id.replace('.', '/', 1)}"], cwd=TREE, check=True)
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:	# the folder that is mounted over
        plain = mutants.run(probes[id], "root", NATURE, Path(folder))
        said, told = mutants.ask(probes[id], "root", Path(folder))
    if "yes" not in plain.values():
        pytest.skip(f"says yes nowhere here: {id}")
    assert said == plain and lie in told


@pytest.mark.parametrize("pattern, chosen", [
    ("ring.write_backward", {"ring/write_backward"}), ("ring.write_*", {"ring/write_backward"}), ("no.such", set())])
def test_make_links_the_probes_that_are_named(pattern: str, chosen: set[str]) -> None:
    """To link all of them takes minutes."""
    for name, linked in (("PROBE", chosen), ("OTHER", None)):
        told = subprocess.run(["make", "-pn", "NO_INSTALL=1", f"{name}={pattern}", "falsify"], cwd=TREE,
                              capture_output=True, text=True, check=False).stdout
        rule = re.search(r"^falsify: (build/.*)$", told, re.MULTILINE)
        assert rule is not None
        found = set(re.findall(r"/falsify/probes/(\S+)", rule[1]))
        assert found == linked if linked is not None else len(found) > 300
