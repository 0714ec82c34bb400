# SPDX-License-Identifier: MIT
"""Every reader of what comes from outside has a target or a row; under some hundred mutated inputs, which is slow, as
clang makes each target with the library anew; `make fuzz` is longer."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from conftest import TREE, run

FUZZ = TREE / "suites" / "test" / "fuzz"
sys.path.insert(0, str(FUZZ))


@pytest.mark.slow
def test_no_reader_falls() -> None:
    """All targets, the corpus of each and the same mutants each time: no exception, no sanitizer, within
    memory and time."""
    done = run(FUZZ / "run.py", "--runs", "300", "--seed", "1", "--seconds", "600", "--jobs", "2", timeout=1800)
    if "no module" in done.stderr.lower():
        pytest.skip(done.stderr.splitlines()[-1])
    assert done.returncode == 0, done.stdout + done.stderr
    names = {line.split()[0] for line in done.stdout.splitlines() if "nothing found" in line}
    sources = {path.stem for room in ("lib/test", "probes/launcher/fuzz")
               for path in (TREE / room).rglob("*_fuzz.c")}
    assert sources <= names, "a target is not built: make fuzz-targets"


def test_each_target_in_c_has_a_small_corpus() -> None:
    for room in ("lib/test", "probes/launcher/fuzz"):
        for source in (TREE / room).rglob("*_fuzz.c"):
            seeds = list((source.parent / "data" / source.stem).iterdir())
            assert seeds and sum(seed.stat().st_size for seed in seeds) < 128 << 10, source


def test_each_reader_in_python_takes_one_of_its_seeds() -> None:
    """Mutants of what is refused at once would reach little of a reader."""
    program = (f"import sys; sys.path[:0] = [{str(TREE)!r}, {str(FUZZ)!r}]\n"
               "import readers\n"
               "readers.READERS['refuses all'] = readers.Reader(int, lambda: [b'x', b''], (ValueError,))\n"
               "def takes(reader):\n"
               "    for seed in reader.seeds():\n"
               "        try:\n"
               "            reader.read(seed)\n"
               "            return True\n"
               "        except (*reader.answers, *readers.ALWAYS):\n"
               "            pass\n"
               "print(*[name for name, reader in readers.READERS.items() if not takes(reader)], sep=',')")
    done = run("/usr/bin/python3", "-c", program)
    assert done.stdout.strip() == "refuses all", done.stdout + done.stderr


def falls(data: bytes) -> None:
    if len(data) > 3:
        raise ZeroDivisionError("planted")


def hoards(data: bytes) -> None:
    bytes(1 << 34)


def dawdles(data: bytes) -> None:
    end = time.process_time() + 60
    while time.process_time() < end:
        pass


@pytest.mark.parametrize("reader, said", [(falls, "planted"), (hoards, "MemoryError"),
                                          (dawdles, "TimeoutError")])
def test_a_reader_that_falls_is_found(tmp_path: Path, reader: object, said: str) -> None:
    """In a process of its own, because of the limit of memory; the input is kept."""
    program = (f"import sys; sys.path[:0] = [{str(TREE)!r}, {str(FUZZ)!r}, {str(TREE / 'suites/test')!r}]\n"
               "import pathlib, readers, run, test_fuzz\n"
               f"run.KEPT, run.LIMIT = pathlib.Path({str(tmp_path)!r}), 1\n"
               f"readers.READERS['x'] = readers.Reader(test_fuzz.{reader.__name__}, lambda: [b'seed'])\n"
               "sys.exit(run.run_python('x', 20, 0, 900, 1))")
    done = run("/usr/bin/python3", "-c", program)
    assert done.returncode == 1 and said in done.stdout, done.stdout + done.stderr
    assert len(list((tmp_path / "findings").iterdir())) == 1
