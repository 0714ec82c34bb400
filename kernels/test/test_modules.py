# SPDX-License-Identifier: MIT
"""No circle among modules, no long one. Who may import whom is in reports/data/floors.txt."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from kernels import ROOT

MODULE, FUNCTION = 300, 40


def modules(package: Path) -> dict[str, Path]:
    """The modules of a package by their dotted names, without tests."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        words = path.relative_to(package.parent).with_suffix("").parts
        if "test" not in words:
            found[".".join(words).removesuffix(".__init__")] = path
    return found


def imports(path: Path, known: dict[str, Path]) -> set[str]:
    """The modules of this package that a module imports, wherever in its text."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
    return found & set(known)


def circle(package: Path) -> list[str]:
    """A circle among sub-packages or, within one, among modules; empty when there is none."""
    known = modules(package)
    graph = {name: imports(path, known) - {name} for name, path in known.items()}
    folders: dict[str, set[str]] = {}
    for name, others in graph.items():
        here = known[name].parent.name
        used = {known[other].parent.name for other in others} - {here, package.name}
        folders.setdefault(here, set()).update(used)
    for one in (graph, folders):
        try:
            TopologicalSorter(one).prepare()
        except CycleError as error:
            return [str(name) for name in error.args[1]]
    return []


def too_long(package: Path) -> Iterator[str]:
    for name, path in modules(package).items():
        text = path.read_text(encoding="utf-8")
        if len(text.splitlines()) > MODULE:
            yield f"{name}: {len(text.splitlines())} lines"
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                lines = (node.end_lineno or 0) - node.lineno + 1
                if lines > FUNCTION:
                    yield f"{name}.{node.name}: {lines} lines"


def test_there_is_no_circle() -> None:
    assert not circle(ROOT / "kernels")


def test_modules_and_functions_are_short() -> None:
    assert not list(too_long(ROOT / "kernels"))


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A small package that keeps all rules."""
    files = {
        "__init__": "",
        "errors": "",
        "matrix": "from kernels.errors import Usage",
        "place/place": "from kernels.errors import Usage",
        "place/local": "from kernels.place.place import Place",
        "guest/boot": "from kernels.place import place",
        "guest/kvm": "",
        "cli": "from kernels.guest import boot",
    }
    package = tmp_path / "kernels"
    for name, text in files.items():
        path = package / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    assert not circle(package) and not list(too_long(package))
    return package


@pytest.mark.parametrize(
    ("module", "line", "said"),
    [
        ("place/local", "from kernels.guest.kvm import usable", {"place", "guest"}),
        ("place/place", "def f():\n    import kernels.guest.boot", {"kernels.guest.boot"}),
        ("place/place", "from kernels.place import local", {"kernels.place.local"}),
        ("errors", "from kernels import matrix", {"kernels.matrix", "kernels.errors"}),
    ],
)
def test_a_circle_is_found(house: Path, module: str, line: str, said: set[str]) -> None:
    (house / f"{module}.py").write_text(f"{line}\n")
    assert said <= set(circle(house))


def test_what_is_too_long_is_found(house: Path) -> None:
    (house / "cli.py").write_text("def f():\n" + "    x = 1\n" * 40)
    assert list(too_long(house)) == ["kernels.cli.f: 41 lines"]
    (house / "cli.py").write_text("x = 1\n" * 301)
    assert list(too_long(house)) == ["kernels.cli: 301 lines"]
