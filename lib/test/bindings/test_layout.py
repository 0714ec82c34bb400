# SPDX-License-Identifier: MIT
"""Structures of Python and Rust lie in memory as a C compiler says, which is asked another way."""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import places  # noqa: E402

sys.path.insert(0, str(places.ROOM / "abi"))
import read as headers  # noqa: E402

pytestmark = pytest.mark.xdist_group("make")  # make runs in the tree

Layout = dict[str, int]		# "pm_diag": bytes, "pm_diag.text": offset


@pytest.fixture(scope="module", name="abi")
def _abi() -> ModuleType:
    """The generated module alone: it needs no library."""
    places.make("bindings")
    spec = importlib.util.spec_from_file_location("abi", places.PYTHON / "perfmodes" / "abi.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def of_python(abi: ModuleType) -> Layout:
    found: Layout = {}
    for name, kind in vars(abi).items():
        if isinstance(kind, type) and issubclass(kind, ctypes.Structure) and kind._fields_:
            found[name] = ctypes.sizeof(kind)
            for member, _ in kind._fields_:
                found[f"{name}.{member}"] = getattr(kind, member).offset
    return found


def test_a_newer_library_may_have_other_numbers(abi: ModuleType) -> None:
    """A diagnosis with a cause that has no name here is one all the same."""
    cause = abi.Cause(99)
    assert cause == 99 and cause.name == "UNNAMED_99" and isinstance(cause, abi.Cause)
    assert abi.Cause(1) is abi.Cause.UNKNOWN and abi.Want(1 << 20 | 1) & abi.Want.ADDRESS
    with pytest.raises(ValueError):
        abi.Cause("PARANOID")


def of_c(layout: Layout, tmp_path: Path) -> Layout:
    """What sizeof and offsetof say of the same names."""
    lines = []
    for name in layout:
        struct, _, member = name.partition(".")
        value = f"offsetof(struct {struct}, {member})" if member else f"sizeof(struct {struct})"
        lines.append(f'printf("{name} %zu\\n", {value});')
    source = tmp_path / "layout.c"
    included = "".join(f"#include <{name}>\n" for name in ("perfmodes.h", "stdio.h", *headers.PARTS.values()))
    source.write_text(included + "int main(void)\n{\n" + "\n".join(lines) + "\nreturn 0;\n}\n",
                      encoding="utf-8")
    done = places.run("gcc", f"-I{places.TREE}/lib", f"-I{places.ROOM}/abi", "-o", tmp_path / "layout", source)
    assert done.returncode == 0, done.stderr
    return read(places.run(tmp_path / "layout").stdout)


def read(text: str) -> Layout:
    return {name: int(value) for name, value in map(str.split, text.splitlines())}


def test_python(abi: ModuleType, tmp_path: Path) -> None:
    layout = of_python(abi)
    assert len(layout) > 100 and layout["pm_diag.text"] >= 16
    assert layout == of_c(layout, tmp_path)


def test_a_member_at_the_wrong_place_is_found(abi: ModuleType, tmp_path: Path) -> None:
    layout = {**of_python(abi), "pm_value.value": 4}
    assert layout != of_c(layout, tmp_path)


def test_every_structure_is_there(abi: ModuleType) -> None:
    """Of those with a body in the headers."""
    text = "".join(path.read_text(encoding="utf-8") for path in (
        places.TREE / "lib" / name for name in ("perfmodes.h", "perfmodes_stats.h",
                                                "perfmodes_sample.h", "perfmodes_count.h",
                                                "perfmodes_trace.h", "perfmodes_session.h",
                                                *headers.PARTS.values())))
    named = {line.split()[1] for line in text.splitlines()
             if line.startswith("struct pm_") and line.endswith(" {")}
    assert named and named <= {name for name in of_python(abi) if "." not in name}


def test_every_exported_function_has_its_types(abi: ModuleType) -> None:
    script = (places.TREE / "lib" / "perfmodes.map").read_text(encoding="utf-8")
    exported = {line.strip(" \t;") for line in script.splitlines() if line.startswith("\tpm_")}
    assert set(abi.FUNCTIONS) == exported


@pytest.mark.parametrize("part", headers.PARTS)
def test_every_function_of_an_optional_library_has_its_types(part: str, abi: ModuleType) -> None:
    """Of the functions that the library has by its pages, and no other."""
    library = places.BUILD / f"libperfmodes-{part}.a"
    if not library.exists():
        pytest.skip(f"no {library.name}: what it needs is not here")
    done = places.run("nm", "-g", "--defined-only", library)
    defined = {line.split()[2] for line in done.stdout.splitlines() if len(line.split()) == 3}
    told = set(getattr(abi, f"{part.upper()}_FUNCTIONS"))
    header = (places.TREE / "lib" / headers.PARTS[part]).read_text(encoding="utf-8")
    assert told <= defined and len(told) >= 2
    assert {name for name in defined if f"{name}(" in header} == told


def test_constants_are_those_of_the_header(abi: ModuleType, tmp_path: Path) -> None:
    source = tmp_path / "constants.c"
    names = {"PM_STRATEGY_TIMERS": abi.Strategy.TIMERS, "PM_ALLOW_ALL": abi.Allow.ALL,
             "PM_YES": abi.Verdict.YES, "PM_WANT_RAW": abi.Want.RAW, "PM_SYSTEM": abi.SYSTEM,
             "PM_CAUSE_SILENCE": abi.Cause.SILENCE, "PM_CLOCK_ANY_CPU": abi.CLOCK_ANY_CPU}
    source.write_text("#include <perfmodes.h>\n" + "\n".join(
        f'_Static_assert({name} == {int(value)}, "{name}");' for name, value in names.items()),
        encoding="utf-8")
    done = places.run("gcc", "-fsyntax-only", f"-I{places.TREE}/lib", source)
    assert done.returncode == 0, done.stderr


def test_words_leave_out_what_names_have_in_common(abi: ModuleType) -> None:
    assert {"PER_CPU", "TIMERS"} <= set(abi.Strategy.__members__)
    assert not {"STRATEGIES", "IES"} & set(abi.Strategy.__members__)
    assert "LL" in abi.Cache.__members__ and "YES" in abi.Verdict.__members__


@pytest.mark.peer("rust")
def test_rust(abi: ModuleType, tmp_path: Path) -> None:
    cargo = places.need("cargo", "cargo rustc")
    done = places.run(cargo, "build", "--offline", "--quiet", "--examples", cwd=places.RUST,
                      env=places.rust_environment())
    assert done.returncode == 0, done.stderr
    shown = places.run(places.BUILD / "cargo/debug/examples/layouts", env=places.rust_environment())
    assert shown.returncode == 0, shown.stderr
    layout = read(shown.stdout)
    assert layout == of_python(abi) and layout == of_c(layout, tmp_path)
