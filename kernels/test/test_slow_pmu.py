# SPDX-License-Identifier: MIT
"""The synthetic PMU in real guests: it answers, and each lie is noticed by the points it is about."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kernels import ROOT
from reports import catalogue

pytestmark = pytest.mark.slow
LIES = {
    "frozen": ("hw.events.cycles", "hw.standstill.monotonic", "read.self_stop.instructions"),
    "lost_interrupts": ("hw.overflow.cycles.period", "hw.overflow.instructions.period"),
    "no_interrupt": ("hw.overflow.cycles.samples", "hw.wakeup.cycles"),
    "exclude_kernel": ("read.exclude_hardware.kernel",),
    "exclude_host": ("hw.guest.exclude_host",),
    "pinned": ("limit.nmi_watchdog.pinned_runs",),
}

# PMUs that are small, partial or strict, as parameters of the synthetic one.
PMUS = {
    "one-counter": "counters=1",
    "two-counters": "counters=2",
    "half-taken": "taken=2",
    "counters-wrap": "width=32",
    "one-cpu": "hybrid=0 uncore=0 only_cpu=1",
    "no-cpu": "only_cpu=1",
    "raw-events-only": "generic=0",
    "same-event-once": "once=1",
    "counts-only": "interrupts=0",
    "no-sampling": "sampling_error=22",
    "coarse-periods": "granularity=64",
    "skid": "skid=3000",
    "no-exclude-EINVAL": "excludes=0 exclude_error=22",
    "no-exclude-EOPNOTSUPP": "excludes=0 exclude_error=95",
    "no-exclude-EPERM": "excludes=0 exclude_error=1",
    "no-exclude-ENOENT": "excludes=0 exclude_error=2",
}
# What is broken of each PMU on these kernels is the kernel's: a PMU that does not exist is taken.
OF_THE_KERNEL = {"hw.cores.unknown_pmu", "hw.cores.software_pmu"}


def run(folder: Path, row: str, *arguments: str) -> dict[str, Any]:
    """The result of a row, as root."""
    words = ["--suite", "pmu", "--persona", "root", "--no-build", "--no-install", "--out", folder]
    command = [ROOT / "run.sh", "kernels", row, *words, *arguments]
    done = subprocess.run(
        command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return json.loads((folder / row / "result.json").read_text(encoding="utf-8"))


def verdicts(told: dict[str, Any], persona: str = "root") -> dict[str, str]:
    return {
        f"{probe}.{name}": point["verdict"]
        for probe, answer in told["personas"][persona]["probes"].items()
        for name, point in answer["points"].items()
    }


def ask(folder: Path, row: str, *arguments: str) -> dict[str, str]:
    """The verdicts of a row with a synthetic PMU."""
    told = run(folder, row, *arguments)
    assert told["identity"]["pmu"] == "synthetic"
    return verdicts(told)


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return ask(tmp_path_factory.mktemp("honest") / "run", "amd64-6.1-pmu")


def test_a_pmu_answers(honest: dict[str, str]) -> None:
    assert list(honest.values()).count("yes") > 130
    wrong = {point for point, verdict in honest.items() if verdict in ("broken", "unknown")}
    assert wrong <= OF_THE_KERNEL


@pytest.mark.parametrize("series", ["6.12", "newest"])
@pytest.mark.parametrize("kind", PMUS)
def test_a_small_or_strict_pmu_breaks_nothing(
    tmp_path: Path, record_property: Callable[[str, object], None], kind: str, series: str
) -> None:
    # Rows called -pmu have one CPU.
    row = f"amd64-{series}-hybrid" if kind == "one-cpu" else f"amd64-{series}-pmu"
    told = run(tmp_path / "run", row, "--persona", "root,user", "--pmu", PMUS[kind])
    assert told["identity"]["pmu"] == "synthetic"
    for persona in ("root", "user"):
        answers = verdicts(told, persona)
        assert len(answers) > 200
        for verdict, times in sorted(Counter(answers.values()).items()):
            record_property(f"{persona} {verdict}", times)
        broken = {point for point, verdict in answers.items() if verdict == "broken"}
        unknown = [point for point, verdict in answers.items() if verdict == "unknown"]
        record_property(f"{persona} points", " ".join(sorted(broken) + unknown))
        assert broken <= OF_THE_KERNEL
        if persona == "root":
            assert answers["hw.standstill.monotonic"] == ("absent" if kind == "no-cpu" else "yes")
        assert len(unknown) <= 3, unknown


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_noticed(honest: dict[str, str], tmp_path: Path, lie: str) -> None:
    told = ask(tmp_path / "run", "amd64-6.1-pmu", "--pmu", f"lie={lie}")
    assert {honest[point] for point in LIES[lie]} == {"yes"}
    assert {told[point] for point in LIES[lie]} == {"broken"}


def test_cores_of_two_kinds(tmp_path: Path) -> None:
    told = ask(tmp_path / "run", "amd64-6.12-hybrid")
    wrong = {point for point, verdict in told.items() if verdict == "broken"}
    assert wrong <= {"hw.cores.unknown_pmu", "hw.values.repeatable"}
    assert told["hw.kinds_of_cores.own_cores"] == told["group.two_core_pmus.two_core_pmus"] == "yes"


def test_the_library_on_cores_of_two_kinds(tmp_path: Path) -> None:
    """A bare "cycles" is an event for each kind, and what they count adds up."""
    if not (ROOT / "build/x86_64/bundle/bin/probes/library/kinds").exists():
        pytest.skip("needs the library's programs in the bundle: make library-bundle")
    words = ["--suite", "library", "--probe", "library.kinds"]
    told = ask(tmp_path / "run", "amd64-6.12-hybrid", *words)
    points = ("names.each", "counts.each", "counts.sum", "samples.both")
    assert {told.get(f"library.kinds.{point}") for point in points} == {"yes"}, told


@pytest.mark.parametrize("series, verdict", [("6.12", "absent"), ("newest", "yes")])
def test_the_library_when_a_pmu_goes_and_comes_back(tmp_path: Path, series: str, verdict: str) -> None:
    """Sessions, samplers and counters sleep and keep what they had; the next ones are refused, and served when it is back."""
    if not (ROOT / "build/x86_64/bundle/bin/probes/library/pmu_gone").exists():
        pytest.skip("needs the library's programs in the bundle: make library-bundle")
    told = ask(tmp_path / "run", f"amd64-{series}-pmu", "--suite", "library", "--probe", "library.pmu_gone")
    answers = [told[point] for point in told if point.startswith("library.pmu_gone.")]
    assert answers == [verdict] * 8, told


def test_the_library_reads_in_user_space(tmp_path: Path) -> None:
    """Beside read(2), on the PMU that QEMU emulates; the program also tries readings that are wrong."""
    if not (ROOT / "build/aarch64/bundle/bin/probes/library/user_page").exists():
        pytest.skip("needs the library's programs: make ARCH=aarch64 library-bundle")
    words = ["--suite", "library", "--probe", "library.user_page", "--persona", "root"]
    told = run(tmp_path / "run", "arm64-6.12", *words)
    points = {point: verdict for point, verdict in verdicts(told).items() if verdict != "yes"}
    assert len(verdicts(told)) == 13 and not points, points


def test_a_trace_unit(tmp_path: Path) -> None:
    told = ask(tmp_path / "run", "amd64-newest-aux")
    declared = catalogue.gather([tmp_path / "run/amd64-newest-aux/catalogue"]).probes
    traced = {
        f"{probe}.{item.name}": "yes"
        for probe in ("aux.records", "aux.sample", "aux.paused")
        for item in declared[probe].points()
    }
    assert {point: told.get(point) for point in traced} == traced


@pytest.mark.parametrize(("trouble", "said"), [("oops", "NULL pointer"), ("warn", "WARNING")])
def test_a_kernel_that_complains_is_a_finding_of_the_probe(
    tmp_path: Path, trouble: str, said: str
) -> None:
    words = ["--probe", "hw.standstill", "--pmu", f"trouble={trouble}"]
    told = ask(tmp_path / "run", "amd64-6.1-pmu", *words)
    heard = json.loads((tmp_path / "run/amd64-6.1-pmu/result.json").read_text())["complaints"]
    assert any(said in one["message"] and one["fault"] for one in heard), heard
    assert {step for one in heard for step in one["during"]} == {"root hw.standstill"}
    assert "yes" in told.values() or trouble == "oops", "a kernel that only warns still answers"
