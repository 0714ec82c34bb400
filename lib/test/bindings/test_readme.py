# SPDX-License-Identifier: MIT
"""The examples of the README, as they stand there, each a program that runs."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import places  # noqa: E402
from places import passes  # noqa: E402
from test_python_parts import need  # noqa: E402

pytestmark = [pytest.mark.xdist_group("make"), pytest.mark.perf]

CPP = """
#include <perfmodes_sampler.hpp>
#include <perfmodes_stacks.hpp>
#include <cstdlib>
#include <iostream>
int main(int, char **argv)
{
	pid_t pid = std::atoi(argv[1]);

%s	while (sampler.stats().samples == 0)
		sampler.poll(1000);
}
"""
RUST = """
fn work() {
    assert_eq!(vec![1u8; 1 << 24][1 << 23], 1);
}
fn main() -> perfmodes::Result<()> {
    let pid = std::env::args().nth(1).unwrap().parse::<i32>().unwrap();
%s    Ok(())
}
"""


def examples(language: str) -> list[str]:
    text = (places.ROOM / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    places.make("bindings")


@pytest.fixture(name="busy")
def _busy() -> Iterator[str]:
    """The pid of a program that computes, and has begun to."""
    program = subprocess.Popen(["/bin/sh", "-c", "echo runs; while :; do :; done"], stdout=subprocess.PIPE)
    assert program.stdout is not None and program.stdout.readline() == b"runs\n"
    yield str(program.pid)
    program.kill()
    program.wait()
    program.stdout.close()


def test_there_are_some_of_each_language() -> None:
    assert [len(examples(language)) for language in ("python", "cpp", "rust")] == [2, 1, 1]


def test_python() -> None:
    text = passes("def work():\n    global area\n    area = touch(20)\n" + examples("python")[0])
    assert "[Value(value=" in text and "chosen: " in text and "'samples': " in text
    assert len(re.findall(r"^\d+ 0x[0-9a-f]+$", text, re.M)) >= 20


def test_python_beside_another_process(busy: str) -> None:
    need("stacks")
    text = passes(f"pid = {busy}\n" + examples("python")[1])
    assert "libc_start" in text, text


def test_cpp(busy: str, tmp_path: Path) -> None:
    need("stacks")
    body = "".join(f"\t{line}\n" if line else "\n" for line in examples("cpp")[0].splitlines())
    (tmp_path / "program.cc").write_text(CPP % body, encoding="utf-8")
    libraries = [places.BUILD / f"libperfmodes{part}.a" for part in ("-sampler", "-stacks", "")]
    done = places.run("g++", "-std=c++11", "-Wall", "-Werror", f"-I{places.TREE}/lib", f"-I{places.ROOM}/cpp",
                      "-o", tmp_path / "program", tmp_path / "program.cc", *libraries, "-l:libyajl_s.a", "-ldw",
                      "-lelf", "-lz", "-ldl", "-pthread")
    assert done.returncode == 0, done.stderr
    ran = places.run(tmp_path / "program", busy)
    assert ran.returncode == 0 and "libc_start" in ran.stdout, ran.stdout + ran.stderr


@pytest.mark.peer("rust")
def test_rust(busy: str, tmp_path: Path) -> None:
    need("stacks")
    cargo = places.need("cargo", "cargo rustc")
    body = "".join(f"    {line}\n" for line in examples("rust")[0].splitlines())
    (tmp_path / "src").mkdir()
    (tmp_path / "src/main.rs").write_text(RUST % body, encoding="utf-8")
    (tmp_path / "Cargo.toml").write_text(
        '[package]\nname = "example"\nversion = "0.1.0"\nedition = "2021"\n'
        f'[dependencies]\nperfmodes = {{ path = "{places.RUST}", features = ["stacks"] }}\n', encoding="utf-8")
    done = places.run(cargo, "run", "--offline", "--quiet", "--", busy, cwd=tmp_path,
                      env={**places.rust_environment(), "CARGO_TARGET_DIR": str(tmp_path / "target")})
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"value: (\d+)", done.stdout)[1]) > 0      # type: ignore[index]
