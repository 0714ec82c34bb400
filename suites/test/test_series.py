# SPDX-License-Identifier: MIT
"""Kernels of older series, as far as a fault can play them: what came later is a `no` or is absent, and
neither broken nor unknown; and what a probe's `since` promises the series, it has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import BUILD, TREE, needs_root, result_of, run_suite, verdicts

from reports import catalogue

# What real kernels of these series answered otherwise at first: refused set-ups that were called broken,
# and refusals that a pair proves but that were unknown.
NO = {
    "series-3.10": [
        "output.flag.flag_alone", "output.flag.other_task_is_refused", "output.flag.reaches_mapped_target",
        "output.flag.unmapped_target_is_refused", "aux.mmap_rules.below_data_is_refused",
        "aux.mmap_rules.software_has_none", "record.preemption.preempt", "sample.callchain_cut.max_stack",
        "tracepoint.ids.no_alias", "attr.sample_type_bits.regs_intr",
        "group.inherit_formats.mixed_formats", "record.build_id.build_id", "record.build_id.build_id_anonymous",
        "sample.order.everything", "tracepoint.redirected.samples", "attr.reserved.reserved_2",
        "errno.ioctl.period_sign"],
    "series-4.4": [
        "output.flag.flag_alone", "output.flag.other_task_is_refused", "output.flag.reaches_mapped_target",
        "output.flag.unmapped_target_is_refused", "sample.callchain_cut.max_stack",
        "group.inherit_formats.mixed_formats", "record.build_id.build_id", "record.build_id.build_id_anonymous",
        "attr.reserved.reserved_2", "errno.ioctl.period_sign"],
}
# And what these series do answer: a field of another name, an errno of the kernel's own.
YES = {
    "series-3.10": ["sample.raw.tracepoint", "tracepoint.raw_data.argument", "output.flag.one_cpu"],
    "series-4.4": ["sample.raw.tracepoint", "tracepoint.raw_data.argument", "output.flag.one_cpu",
                   "aux.mmap_rules.software_has_none", "aux.mmap_rules.odd_size_is_refused"],
}
SERIES = ("3.10", "4.4", "4.19")
# System calls newer than 3.10, and PERF_FLAG_FD_CLOEXEC, are there in the others.
OLD_CALLS = {"3.10": ["--old-kernel"]}


def ask(out: Path, *arguments: str) -> dict[str, str]:
    done = run_suite(out, "--persona", "root", "--quiet", *arguments)
    assert done.returncode in (0, 1), done.stderr
    return verdicts(result_of(out), "root")


@needs_root
@pytest.mark.parametrize("series", sorted(NO))
def test_refusals_of_old_kernels(series: str, build: Path, tmp_path: Path) -> None:
    wanted = {**dict.fromkeys(NO[series], "no"), **dict.fromkeys(YES[series], "yes")}
    probes = [word for probe in sorted({point.rpartition(".")[0] for point in wanted}) for word in ("--probe", probe)]
    here, found = ask(tmp_path / "here", *probes), {}
    for again in range(4):      # beside other load a point cannot tell now and then
        found = ask(tmp_path / f"old{again}", "--fault", series, *probes)
        if not [point for point in wanted if here[point] == "yes" and found[point] == "unknown"]:
            break
    # What is absent or blocked on this machine cannot be asked.
    assert {point: found[point] for point in wanted if here[point] == "yes"} == \
        {point: said for point, said in wanted.items() if here[point] == "yes"}


def number(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", release)[:2])


def promised() -> dict[str, str]:
    """point -> its since."""
    found = catalogue.gather(sorted((BUILD / "declared").glob("*/*.txt")))
    return {f"{id}.{item.name}": probe.since_of(item) for id, probe in found.probes.items() for item in probe.points()}


@pytest.fixture(scope="module")
def plain(build: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return ask(tmp_path_factory.mktemp("plain") / "run")


@needs_root
@pytest.mark.slow
@pytest.mark.parametrize("series", SERIES)
def test_an_old_kernel_is_neither_broken_nor_unknown(series: str, plain: dict[str, str], tmp_path: Path) -> None:
    found = ask(tmp_path / "run", "--fault", f"series-{series}", *OLD_CALLS.get(series, []))
    since = promised()
    asked = {point: said for point, said in found.items() if plain[point] == "yes" and said not in ("yes", "unknown")}
    assert len(found) > 1500 and asked, "the series refuses something"
    assert not {point: said for point, said in asked.items() if said not in ("no", "absent", "blocked")}
    early = {point: since[point] for point in asked if number(since[point]) <= number(series)}
    assert not early, "these are promised to the series, and it has them not"


def test_the_list_of_old_answers_is_of_points_that_exist(build: Path) -> None:
    names = promised()
    assert [point for table in (NO, YES) for points in table.values() for point in points if point not in names] == []
    assert TREE.joinpath("suites/falsify/seccomp_series.c").exists()
