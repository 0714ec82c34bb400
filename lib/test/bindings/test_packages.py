# SPDX-License-Identifier: MIT
"""A wheel and a crate, made without a network, and used where nothing else of the tree is."""

from __future__ import annotations

import shutil
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import places  # noqa: E402

pytestmark = pytest.mark.xdist_group("make")  # make runs in the tree

PROGRAM = """
use perfmodes::{event, options, Plan, Session};
fn main() {
    let mut plan = Plan::new(&[event("page-faults:u").unwrap()], &options(0)).unwrap();
    let mut session = Session::new(&mut plan, |_| ());
    session.attach().unwrap();
    let area = vec![1u8; 1 << 24];
    assert_eq!(area[1 << 23], 1);
    println!("{} faults", session.read().unwrap()[0].value);
}
"""
USE = """
import perfmodes
with perfmodes.Counters(["page-faults:u"]) as counters:
    area = bytearray(1 << 24)
    print(counters.read()[0].value, "faults", perfmodes.__file__)
"""


def offline(*command: str | Path) -> list[str | Path]:
    """Without a network, where that can be had."""
    alone = ["unshare", "--net", "--map-root-user"]
    return [*alone, *command] if places.run(*alone, "true").returncode == 0 else [*command]


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    places.make("bindings")


def test_the_readme_of_a_package_finds_its_example() -> None:
    for language, folder in (("python", places.PYTHON), ("rust", places.RUST)):
        text = (folder / "README.md").read_text(encoding="utf-8")
        assert "](examples/self_profile." in text and f"]({language}/" not in text
        assert list(folder.glob("examples/self_profile.*"))


def faults(text: str) -> int:
    assert " faults" in text, text
    return int(text.split()[0])


@pytest.mark.peer("wheel")
def test_a_type_checker_finds_nothing() -> None:
    """Of the package as others see it: it has a py.typed."""
    checker = places.need("mypy", "mypy")
    done = places.run(checker, "--strict", "--no-incremental", "--cache-dir", "/dev/null", "perfmodes", cwd=places.PYTHON)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.peer("wheel")
@pytest.mark.perf
def test_a_wheel_serves_every_machine(tmp_path: Path) -> None:
    """Also that of the source distribution, of which `build` makes it."""
    if places.run(places.INTERPRETER, "-c", "import build.env, setuptools, wheel").returncode != 0:
        pytest.skip("no python3-build (Debian: python3-build python3-setuptools python3-wheel)")
    shutil.copytree(places.PYTHON, tmp_path / "source", ignore=shutil.ignore_patterns("__pycache__", "dist"))
    done = places.run(*offline(places.INTERPRETER, "-m", "build", "--no-isolation", "--outdir", tmp_path / "made"),
                      cwd=tmp_path / "source")
    assert done.returncode == 0, done.stdout + done.stderr
    wheel, = (tmp_path / "made").glob("*.whl")
    source, = (tmp_path / "made").glob("*.tar.gz")
    assert wheel.name.endswith("-py3-none-any.whl") and tarfile.is_tarfile(source)
    modules = {path.name for path in (places.PYTHON / "perfmodes").iterdir() if path.is_file()}
    packed = zipfile.ZipFile(wheel).namelist()
    assert {name.removeprefix("perfmodes/") for name in packed if name.startswith("perfmodes/")} == modules
    assert {"abi.py", "py.typed", "sampler.py"} <= modules
    here = tmp_path / "environment"
    for command in ([places.INTERPRETER, "-m", "venv", here],
                    [here / "bin/pip", "install", "--no-index", "--quiet", wheel]):
        done = places.run(*offline(*command))
        assert done.returncode == 0, done.stdout + done.stderr
    environment = {name: value for name, value in places.environment().items() if name != "PYTHONPATH"}
    done = places.run(here / "bin/python", "-W", "error", "-c", USE, cwd=tmp_path, env=environment)
    assert done.returncode == 0 and str(here) in done.stdout, done.stdout + done.stderr
    assert faults(done.stdout) >= 1


@pytest.mark.peer("rust")
@pytest.mark.perf
def test_a_crate_serves_a_program(tmp_path: Path) -> None:
    cargo = places.need("cargo", "cargo rustc")
    environment = {**places.rust_environment(), "CARGO_TARGET_DIR": str(tmp_path / "target")}
    done = places.run(*offline(cargo, "package", "--offline", "--quiet", "--allow-dirty"), cwd=places.RUST,
                      env=environment)
    assert done.returncode == 0 and "warning" not in done.stderr, done.stdout + done.stderr
    crate, = (tmp_path / "target/package").glob("*.crate")
    with tarfile.open(crate) as archive:
        names = {Path(*Path(name).parts[1:]).as_posix() for name in archive.getnames()}
        archive.extractall(tmp_path / "unpacked")
    assert {"src/abi.rs", "src/sampler.rs", "build.rs", "README.md", "LICENSE", "Cargo.toml"} <= names
    unpacked, = (tmp_path / "unpacked").iterdir()
    program = tmp_path / "program"
    (program / "src").mkdir(parents=True)
    (program / "src/main.rs").write_text(PROGRAM, encoding="utf-8")
    (program / "Cargo.toml").write_text(
        '[package]\nname = "program"\nversion = "0.1.0"\nedition = "2021"\n'
        f'[dependencies]\nperfmodes = {{ path = "{unpacked}" }}\n', encoding="utf-8")
    done = places.run(*offline(cargo, "run", "--offline", "--quiet"), cwd=program, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert faults(done.stdout) >= 1
