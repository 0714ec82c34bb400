# SPDX-License-Identifier: MIT
"""Names of a program by rustc, of what comes with it and of C, as Debian's rustfilt shows them; and in what the
sampler writes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[3]
BUILT = TREE / "build" / "test" / "stacks"
SAMPLER = TREE / "build" / os.uname().machine / "perfmodes-sampler"
HOME = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
# Something of each kind of name, in functions that stay.
SOURCE = """
use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::hint::black_box;
mod gödel { pub mod escher {
    #[inline(never)] pub fn bach<T: ?Sized>(of: &T) -> usize { std::hint::black_box(std::mem::size_of_val(of)) }
} }
use gödel::escher::bach;
struct Turned<T, const N: usize>([T; N]);
trait Turns { type To; fn turn(&self, by: i32) -> u64; }
impl<T: Debug, const N: usize> Turns for Turned<T, N> {
    type To = T;
    #[inline(never)] fn turn(&self, by: i32) -> u64 { (0..by).map(|i| black_box(i as u64) * N as u64).sum() }
}
impl<T, const N: usize> Turned<T, N> { #[inline(never)] fn count<U>(&self, _: U) -> usize { black_box(N) } }
#[inline(never)] fn of<const C: char, const B: bool, const I: i64, const U: u128>() -> u128 { black_box(U + C as u128) }
#[inline(never)] fn spend_time(rounds: u64) -> u64 { (0..rounds).map(step).fold(0, u64::wrapping_add) }
#[inline(always)] fn step(i: u64) -> u64 { let mut x = i | 1; for _ in 0..64 { x = black_box(x ^ x << 7); } x }
extern "C" fn plain(x: &u8) -> u8 { *x }
fn main() {
    let turned = Turned([1u8, 2, 3]);
    let other: &dyn Turns<To = &'static str> = &Turned(["a"; 7]);
    println!("{} {} {}", turned.turn(3), turned.count((1, "x")), other.turn(2));
    println!("{} {}", turned.count([0u16; 4]), of::<'\\n', true, -5, { u128::MAX / 2 }>() + of::<'é', false, 7, 1>());
    let map: HashMap<String, Vec<Option<u32>>> = (0..9).map(|i| (i.to_string(), vec![Some(i)])).collect();
    let tree: BTreeMap<(u8, bool), Box<dyn Fn(&str) -> usize + Send>> =
        [((1, true), Box::new(|text: &str| text.len()) as Box<dyn Fn(&str) -> usize + Send>)].into();
    println!("{map:?} {}", tree.values().map(|one| one("four")).sum::<usize>());
    let how: for<'a> fn(&'a u8) -> &'a u8 = |x| x;
    bach(&(plain as extern "C" fn(&u8) -> u8)); bach(&how); bach("text"); bach(&[1i128; 3]); bach(&(1u8,)); bach(&());
    bach(&(std::ptr::null::<*mut f32>(), None::<&mut [char]>)); bach::<dyn Debug + Sync>(&Some('x'));
    bach::<dyn for<'a> Fn(&'a str, &'a u8) -> &'a u8>(&|_: &str, x: &u8| -> &u8 { panic!("{x}") });
    let mut words: Vec<String> = std::env::args().collect();
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    if words.len() > 1 { loop { println!("{}", spend_time(1 << 18)); } }
    std::thread::spawn(move || println!("{words:?} {:?}", std::fs::read_to_string("/nonexistent"))).join().unwrap();
}
"""


def run(*command: str | Path, text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], input=text, capture_output=True, text=True,
                          timeout=300, check=False)


def built(path: Path) -> Path:
    if not path.exists():
        pytest.skip(f"not built: make {path.relative_to(TREE)}, with libdw-dev and zlib1g-dev")
    return path


def tool(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path=str(HOME / "bin"))
    if found is None:
        pytest.skip(f"no {name}: apt-get install {name}")
    return found


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rust")
    source, program = folder / "nest.rs", folder / "nest"
    source.write_text(SOURCE, encoding="utf-8")
    done = run(tool("rustc"), "-O", "-g", "--edition=2021", "-Csymbol-mangling-version=v0", "-o", program, source)
    assert done.returncode == 0, done.stderr
    return program


def names_in(file: Path) -> set[str]:
    """Of functions and data: Rust's, and those of C; rustfilt also looks for names inside of others."""
    lines = run("nm", *(["-D"] if "driver" in file.name else []), file).stdout.splitlines()
    names = {line.split()[-1].partition("@")[0] for line in lines if line}
    return {name for name in names if name.startswith("_R") or ("_R" not in name and "_Z" not in name)}


@pytest.mark.peer("rust")
def test_names_are_those_of_rustfilt(program: Path) -> None:
    """Thousands where what comes with this rustc has such names, too; one that rustfilt leaves is not asked."""
    rustfilt = tool("rustfilt")
    came = Path(run(tool("rustc"), "--print", "sysroot").stdout.strip()) / "lib"
    names = sorted(names_in(program).union(*map(names_in, [*came.glob("rustlib/*/lib/libstd-*.so"),
                                                           *came.glob("librustc_driver-*.so")])))
    text = "\n".join(names) + "\n"
    ours = run(built(BUILT / "names_of"), text=text).stdout.splitlines()
    theirs = run(rustfilt, text=text).stdout.splitlines()
    asked = [each for each in zip(names, ours, theirs, strict=True) if each[0] != each[2] or each[0][:2] != "_R"]
    assert [each for each in asked if each[1] != each[2]] == []
    rust = [name for name, _, _ in asked if name.startswith("_R")]
    assert len(rust) > 200 and len(rust) > 0.99 * sum(name.startswith("_R") for name in names)
    assert len(asked) - len(rust) > 20, "names of C stay as they are"


@pytest.mark.peer("rust")
def test_the_sampler_shows_them(program: Path, tmp_path: Path) -> None:
    """Functions as well as those that were put into others; a name that was not understood would begin with _R."""
    folded = tmp_path / "out.folded"
    done = run(built(SAMPLER), "-q", "-F", "499", "-d", "2", "-o", folded, "--", program, "often")
    if "perf_event" in done.stderr and done.returncode == 1:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    stacks = [line.rsplit(" ", 1)[0].split(";") for line in folded.read_text(encoding="utf-8").splitlines()]
    frames = {frame for stack in stacks for frame in stack}
    assert {"nest::main", "nest::spend_time"} <= frames, (frames, done.stderr)
    assert any("nest::spend_time" in stack and "nest::step" in stack for stack in stacks), stacks
    assert not [frame for frame in frames if frame.startswith("_R")]
