#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""run.py [--seconds N] [--jobs N] [--memory MB] [NAME...] - feed mutated input to every reader.

The targets in C are libFuzzer programs that `make fuzz-targets` builds; those in Python (readers.py) are
mutated here, each in a process with a limit of memory and of seconds for one input. What is found is
kept in build/fuzz/findings, what widened the coverage of a C target in build/fuzz/corpus.
Exit: 0 nothing found, 1 something, 2 usage.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TREE = Path(__file__).resolve().parents[3]
HERE = "suites/test/fuzz/run.py"
SEEDS = ("lib/test/data", "lib/test/policy/data", "lib/test/sampler/data", "lib/test/stacks/data",
         "probes/launcher/fuzz/data")
KEPT = TREE / "build" / "fuzz"
LIMIT = 5           # seconds of CPU for one input, many times what the largest takes
# Small inputs pay most for the sanitizer's memory of what was freed, and for weighing the corpus anew.
QUICKER = {"ASAN_OPTIONS": "malloc_context_size=4:quarantine_size_mb=4:thread_local_quarantine_size_kb=64"}
TOKENS = (b"\0", b"\n", b"=", b"-1", b"4294967296", b"99999999999999999999", b"\xff" * 4, b"[", b"{", b'"',
          b"../", b"\x1b[2J", b"\x00\x00\x00\x80", b"1e999", b"null", b"ok 1 ", b"#:launch: ")


def mutate(source: random.Random, data: bytearray, other: bytes) -> bytes:
    """A few changes in a row: bits, bytes, pieces that go, are doubled or come from elsewhere."""
    for _ in range(source.randint(1, 6)):
        at = source.randint(0, len(data))
        size = source.choice((1, 2, 4, 8, 32, 200))
        match source.randint(0, 6):
            case 0 if data:
                data[at % len(data)] ^= 1 << source.randint(0, 7)
            case 1 if data:
                data[at % len(data)] = source.randint(0, 255)
            case 2:
                del data[at:at + size]
            case 3:
                data[at:at] = data[at:at + size]
            case 4:
                data[at:at] = source.choice(TOKENS)
            case 5 if other:
                start = source.randint(0, len(other))
                data[at:at + size] = other[start:start + size]
            case _:
                data[at:at + size] = source.randbytes(size)
    return bytes(data[:1 << 20])


def too_long(_number: int, _frame: object) -> None:
    raise TimeoutError(f"more than {LIMIT} s of CPU for one input")


def keep(name: str, data: bytes) -> Path:
    folder = KEPT / "findings"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{os.getpid()}"
    path.write_bytes(data)
    return path


def run_python(name: str, seconds: float, runs: int, memory: int, seed: int) -> int:
    """One reader in this process, until the time or the number of runs is over."""
    sys.path.insert(0, str(TREE))
    sys.path.insert(0, str(Path(__file__).parent))
    from readers import ALWAYS, READERS
    reader = READERS[name]
    resource.setrlimit(resource.RLIMIT_AS, (memory << 20, memory << 20))
    signal.signal(signal.SIGPROF, too_long)
    source, seeds = random.Random(seed), reader.seeds() or [b""]
    until, count, data = time.monotonic() + seconds, 0, b""
    try:
        while time.monotonic() < until and (not runs or count < runs):
            data = mutate(source, bytearray(source.choice(seeds)), source.choice(seeds))
            if not source.randint(0, 20):
                data = source.randbytes(source.randint(0, 2000))
            signal.setitimer(signal.ITIMER_PROF, LIMIT)
            try:
                reader.read(data)
            except (*reader.answers, *ALWAYS):
                pass
            signal.setitimer(signal.ITIMER_PROF, 0)
            count += 1
    except Exception:  # noqa: BLE001 - whatever it is, it is the finding
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(f"{traceback.format_exc(limit=-6)}\ninput: {keep(name, data)}")
        return 1
    print(f"Done {count} runs")
    return 0


def seeds_of(name: str) -> list[str]:
    return [str(TREE / folder / name) for folder in SEEDS if (TREE / folder / name).is_dir()]


def command(name: str, program: Path | None, args: argparse.Namespace) -> list[str]:
    if program is None:
        return [sys.executable, str(TREE / HERE), "--one", name, "--seconds", str(args.seconds),
                "--runs", str(args.runs), "--memory", str(args.memory), "--seed", str(args.seed)]
    corpus = KEPT / "corpus" / name
    for folder in (corpus, KEPT / "findings"):
        folder.mkdir(parents=True, exist_ok=True)
    limit = [f"-runs={args.runs}"] if args.runs else []
    return [str(program), *limit, f"-max_total_time={args.seconds}", f"-rss_limit_mb={args.memory}",
            f"-timeout={LIMIT}", f"-seed={args.seed}", "-entropic=0", f"-artifact_prefix={KEPT}/findings/{name}-", str(corpus), *seeds_of(name)]


def run_one(name: str, program: Path | None, args: argparse.Namespace) -> tuple[str, int, str, float]:
    began = time.monotonic()
    done = subprocess.run(command(name, program, args), capture_output=True, text=True, cwd=TREE,
                          errors="backslashreplace", timeout=args.seconds * 3 + 300, check=False,
                          env={**QUICKER, **os.environ})
    return name, done.returncode, done.stdout + done.stderr, time.monotonic() - began


def targets() -> dict[str, Path | None]:
    """Each target by its name, with its program when it is one in C."""
    sys.path.insert(0, str(TREE))
    sys.path.insert(0, str(Path(__file__).parent))
    from readers import names
    built = {path.stem: path for path in sorted((TREE / "build" / "test").rglob("*_fuzz"))}
    return {**built, **dict.fromkeys(names())}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--runs", type=int, default=0, help="at most as many (0: as the time allows)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--memory", type=int, default=768, help="MiB that a target may take")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--one", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    args = arguments()
    if args.one:
        return run_python(args.one, args.seconds, args.runs, args.memory, args.seed)
    every = targets()
    unknown = set(args.names) - set(every)
    if unknown:
        print(f"fuzz: no target {sorted(unknown)[0]!r}; there are: {' '.join(every)}", file=sys.stderr)
        return 2
    chosen = {name: program for name, program in every.items() if not args.names or name in args.names}
    found = 0
    with ThreadPoolExecutor(max_workers=max(1, args.jobs)) as pool:
        for name, status, said, spent in pool.map(lambda item: run_one(*item, args), chosen.items()):
            runs = re.search(r"Done (\d+) runs", said)
            print(f"{name:20} {runs[1] if runs else '-':>10} runs {spent:6.1f} s"
                  f"  {'nothing found' if status == 0 else 'FOUND'}", flush=True)
            if status:
                found += 1
                print(said[-3000:])
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
