# SPDX-License-Identifier: MIT
"""A site that replaces another takes again what is the same, and is what it would be without."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="python3-sqlalchemy is not installed")

from reports import catalogue, expect, text
from reports.database import command, connect, matrix, store
from reports.database.test.conftest import sealed
from reports.site import again, build, model, render, story, tables
from reports.site.test.conftest import declared, make

pytestmark = pytest.mark.xdist_group("site")


class Farm:
    """A database that grows, and its site."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.engine = connect.open_engine(str(folder / "site.db"), create=True)
        self.adder = store.Store(self.engine, expect.Expectations())
        self.adder.fallback = catalogue.parse(declared())

    def add(self, *numbers: int, hostile: str = "") -> None:
        for number in numbers:
            path = self.folder / "one.result.json"
            path.write_text(text.dump_json(make(number, hostile)), encoding="utf-8")
            assert [each.what for each in self.adder.add([path])] == [store.ADDED]

    def build(self, name: str = "site") -> render.Pages:
        with connect.reading(self.engine) as connection:
            made, _missing = build.build(model.load(connection, matrix.Filter()), self.folder / name, lambda _said: None)
        return made


@pytest.fixture
def farm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Farm:
    monkeypatch.setattr(command, "declarations", lambda _connection: catalogue.parse(declared()))
    made = Farm(tmp_path)
    made.add(0, 1, 2)
    return made


def files(folder: Path) -> dict[str, bytes]:
    """All files of a site but the feed, which tells of the site before, and the database, whose name is packed."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()
            and path.name not in ("feed.xml", "results.db.xz")}


def times(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_the_same_again_writes_nothing(farm: Farm, monkeypatch: pytest.MonkeyPatch) -> None:
    first = farm.build()
    before, old = times(farm.folder / "site"), files(farm.folder / "site")
    made: list[str] = []
    real = story._page
    monkeypatch.setattr(story, "_page", lambda *args: made.append(args[0].point.key) or real(*args))    # type: ignore[func-returns-value]
    second = farm.build()
    assert second.count == first.count and made == []
    assert files(farm.folder / "site") == old
    changed = {name for name, when in times(farm.folder / "site").items() if before[name] != when}
    assert changed <= {"feed.xml", again.FILE, build.MARK} and second.kept == second.count
    next((farm.folder / "site/kernel").iterdir()).unlink()      # what somebody took away is made again
    next((farm.folder / "site/point").iterdir()).unlink()
    farm.build()
    assert files(farm.folder / "site") == old and len(made) == 1


def test_one_more_kernel_makes_what_a_new_site_has(farm: Farm) -> None:
    farm.build()
    before = times(farm.folder / "site")
    farm.add(9)
    farm.build()
    farm.build("other")
    assert files(farm.folder / "site") == files(farm.folder / "other")
    after = times(farm.folder / "site")
    kernels = [name for name in before if name.startswith(("kernel/", "result/", "data/results/", "device/"))]
    assert len(kernels) > 9 and all(after[name] == before[name] for name in kernels)


def test_another_answer_of_a_kernel_is_on_its_pages(farm: Farm) -> None:
    """The same machine and release, later, with other reasons: nothing of the old answers is left."""
    farm.build()
    farm.add(0, hostile="EPERM: another reason")
    farm.build()
    farm.build("other")
    assert files(farm.folder / "site") == files(farm.folder / "other")
    assert "another reason" in (farm.folder / "site/point/alpha.probe0.point0.html").read_text(encoding="utf-8")


def test_kernels_are_asked_once_for_all_points(farm: Farm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not once a point: 1,839 points of 600 kernels have three million cells."""
    asked: list[str] = []
    real = model.Site.cells
    with connect.reading(farm.engine) as connection:
        site = model.load(connection, matrix.Filter())
        monkeypatch.setattr(model.Site, "cells", lambda *args: asked.append(args[2]) or real(*args))    # type: ignore[func-returns-value]
        grid = story.Grid(site, {}, {})
        out = render.Pages(site, farm.folder / "points", False)
        for one in site.points:
            story.write(grid, out, one)
        assert len(tables.markdown(grid, 5).splitlines()) == 2 + 5
    assert out.count == len(site.points) > 100 and len(asked) == len(site.spots) * len(site.personas)


def test_devices_of_a_kernel_are_counted_together(farm: Farm) -> None:
    """What all of them have alike is not counted one by one."""
    for number, cpu in enumerate(("CPU a", "CPU b", "CPU c")):
        result = make(3) | {"started": f"2026-11-2{number}T11:00:00Z"}
        result["identity"] = result["identity"] | {"cpu_model": [cpu]}
        if number:
            result["personas"]["user"]["probes"]["beta.probe1"]["points"]["point1"] = {"verdict": "absent", "reason": f"none {number}"}
        if number == 1:
            del result["personas"]["user"]["probes"]["beta.probe2"]
        path = farm.folder / "one.result.json"
        path.write_text(text.dump_json(sealed(result)), encoding="utf-8")
        assert [each.what for each in farm.adder.add([path])] == [store.ADDED]
    with connect.reading(farm.engine) as connection:
        site = model.load(connection, matrix.Filter())
        spot = next(each for each in site.spots if each.devices == 3)
        for persona, columns in spot.columns.items():
            said = [site.matrix.of(column) for column in columns]
            counts = {point: Counter(each[point].verdict for each in said if point in each) for point in {key for each in said for key in each}}
            cells = site.cells(spot, persona)
            assert {point: dict(cell.counts) for point, cell in cells.items()} == counts
            assert all(cell.verdict == (next(iter(counts[point])) if len(counts[point]) == 1 else model.MIXED) for point, cell in cells.items())
        mixed = site.cells(spot, "user")[site.matrix.ids["beta.probe1.point1"]]
        assert mixed.told == "absent" and site.reason(mixed) == "none 2" and dict(mixed.counts)["absent"] == 2
        assert dict(site.cells(spot, "user")[site.matrix.ids["beta.probe2.point0"]].counts).popitem()[1] == 2


def test_another_program_makes_all_again(farm: Farm, monkeypatch: pytest.MonkeyPatch) -> None:
    farm.build()
    monkeypatch.setattr(again, "of_program", lambda: "another")
    made: list[str] = []
    real = story._page
    monkeypatch.setattr(story, "_page", lambda *args: made.append(args[0].point.key) or real(*args))    # type: ignore[func-returns-value]
    farm.build()
    assert len(made) > 100


@pytest.mark.parametrize("said", [b"", b"[]", b"{", b"\xff", b'{"kernel x": ["k", ["../../etc/passwd"]]}', b'{"kernel x": ["k", ["/etc/passwd"]]}',
                                  b'{"kernel x": ["k", [1]]}', b'{"kernel x": [1, []]}', b'{"kernel x": 5}', b"[" * 100_000])
def test_a_list_that_is_not_ours_is_nothing(said: bytes, tmp_path: Path) -> None:
    (tmp_path / again.FILE).write_bytes(said)
    assert again.read(tmp_path) == {}
