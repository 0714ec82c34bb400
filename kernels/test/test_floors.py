# SPDX-License-Identifier: MIT
"""The package's own rules: who may import whom, and how long a module and a function may be."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from kernels import ROOT

MODULE, FUNCTION = 300, 40
# Who may import what, besides the modules beside these folders.
FLOORS = {
    "source": set(),
    "place": set(),
    "guest": {"source", "place"},
    "show": {"place"},
}
BASE = {"kernels", "kernels.errors", "kernels.matrix"}


def modules(package: Path) -> dict[str, Path]:
    """The modules below kernels/ by their dotted names, without tests."""
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


def folder(module: str) -> str:
    """The sub-package of a module; a module beside them is one of its own."""
    words = module.split(".")
    return words[1] if len(words) > 1 and words[1] in FLOORS else module


def circle(package: Path) -> list[str]:
    """A circle among sub-packages, or among modules; empty when there is none."""
    known = modules(package)
    graph = {name: imports(path, known) - {name} for name, path in known.items()}
    folders: dict[str, set[str]] = {}
    for name, others in graph.items():
        here = folders.setdefault(folder(name), set())
        here |= {folder(other) for other in others} - {folder(name)}
    for one in (folders, graph):
        try:
            TopologicalSorter(one).prepare()
        except CycleError as error:
            return [str(name) for name in error.args[1]]
    return []


def arrows(package: Path) -> Iterator[str]:
    """Imports that go up: out of a sub-package to one that is not below it."""
    known = modules(package)
    for name, path in known.items():
        here = folder(name)
        if here in FLOORS:
            for other in sorted(imports(path, known)):
                if folder(other) not in FLOORS[here] | {here} | BASE:
                    yield f"{name} imports {other}"


def too_long(package: Path) -> Iterator[str]:
    for name, path in modules(package).items():
        text = path.read_text(encoding="utf-8")
        if text.count("\n") > MODULE:
            yield f"{name}: {text.count(chr(10))} lines"
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                lines = (node.end_lineno or 0) - node.lineno + 1
                if lines > FUNCTION:
                    yield f"{name}.{node.name}: {lines} lines"


def test_there_is_no_circle() -> None:
    assert not circle(ROOT / "kernels")


def test_no_import_goes_up() -> None:
    assert not list(arrows(ROOT / "kernels"))


def test_modules_and_functions_are_short() -> None:
    assert not list(too_long(ROOT / "kernels"))


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A small package that keeps all rules."""
    files = {
        "__init__": "",
        "errors": "",
        "matrix": "from kernels.errors import Usage",
        "source/__init__": "",
        "source/apt": "from kernels import errors",
        "place/__init__": "",
        "place/place": "from kernels.errors import Usage",
        "place/local": "from kernels.place.place import Place",
        "guest/__init__": "",
        "guest/boot": "from kernels.place import place\nfrom kernels.source.apt import Suite",
        "cli": "from kernels.guest import boot",
    }
    for name, text in files.items():
        path = tmp_path / "kernels" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    package = tmp_path / "kernels"
    assert not circle(package) and not list(arrows(package)) and not list(too_long(package))
    return package


@pytest.mark.parametrize(
    ("module", "line", "said"),
    [
        ("place/local", "from kernels.guest.boot import boot", {"place", "guest"}),
        ("place/local", "def f():\n    import kernels.guest.boot", {"place", "guest"}),
        ("place/place", "from kernels.place import local", {"kernels.place.local"}),
        ("errors", "from kernels import matrix", {"kernels.matrix", "kernels.errors"}),
    ],
)
def test_a_circle_is_found(house: Path, module: str, line: str, said: set[str]) -> None:
    (house / f"{module}.py").write_text(f"{line}\n")
    assert said <= set(circle(house))


def test_an_arrow_that_goes_up_is_found(house: Path) -> None:
    (house / "source" / "apt.py").write_text("from kernels.place import place\n")
    assert not circle(house)
    assert list(arrows(house)) == [f"kernels.source.apt imports kernels.place{end}" for end in ("", ".place")]


def test_what_is_too_long_is_found(house: Path) -> None:
    (house / "cli.py").write_text("def f():\n" + "    x = 1\n" * 40)
    assert list(too_long(house)) == ["kernels.cli.f: 41 lines"]
    (house / "cli.py").write_text("x = 1\n" * 301)
    assert list(too_long(house)) == ["kernels.cli: 301 lines"]
