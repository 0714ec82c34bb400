# SPDX-License-Identifier: MIT
"""Bindings at work: the same self-profile in each language, errors, and what is left behind."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import places  # noqa: E402
from places import INTERPRETER, passes, python  # noqa: E402

pytestmark = pytest.mark.xdist_group("make")  # make runs in the tree

@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    places.make("bindings")


def check_profile(done: subprocess.CompletedProcess[str]) -> None:
    if done.returncode == 2:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    counts = [int(line.split()[1]) for line in done.stdout.splitlines()
              if line.startswith("thread-")]
    assert len(counts) >= 1 and max(counts) >= 10


# -------------------------------------------------------------------------------------- Python

def test_python_profiles_itself() -> None:
    check_profile(places.run(INTERPRETER, places.ROOM / "python/examples/self_profile.py",
                             env=places.environment()))


@pytest.mark.perf
def test_python_counts_and_samples_what_was_done() -> None:
    passes("""
seen = []
with Session(Event("page-faults:u", period=1, want=Want.ADDRESS),
             on_sample=lambda sample: seen.append(sample)) as session:
    area = touch(400)
    session.poll(0)
    assert session.plan.strategy in Strategy and "chosen: " in session.plan.explain()
    stats = session.stats()
assert len(seen) + stats["lost"] >= 400, (len(seen), stats)
assert {sample.pid for sample in seen} == {os.getpid()} and seen[0].time > 0
assert all(sample.address for sample in seen) and seen[0].cpu is not None
with Counters(["page-faults:u"]) as counters:
    area = touch(300)
    assert 300 <= counters.read()[0].value < 600, counters.read()
    counters.reset()
    assert counters.read()[0].value < 50
""")


@pytest.mark.perf
@pytest.mark.parametrize("name", ["page-faults:k", "task-clock:k", "cpu-clock:k", "page-faults:h", "page-faults:uk"])
def test_python_watches_the_kernel_alone(name: str) -> None:
    """What is caused to see that events deliver happens in user mode: that is no proof against these."""
    done = passes(f"""
import mmap, os, perfmodes
def work():
    area = mmap.mmap(-1, 1 << 20)
    area[::4096] = b"x" * 256
    os.urandom(1 << 22)
for event in (perfmodes.Event({name!r}), perfmodes.Event({name!r}, period=1000000 if "clock" in {name!r} else 1)):
    try:
        with perfmodes.Session(event, allow=perfmodes.Allow(0), on_sample=lambda sample: None) as session:
            work()
            session.poll(0)
            print(session.read()[0].value)
    except perfmodes.Error as error:
        if error.errno != 13:
            raise
        print("refused")
""")
    if "refused" in done:
        pytest.skip("the kernel may not be watched here")
    counted, sampled = map(int, done.split())
    if "clock" in name or "u" in name.partition(":")[2]:
        assert counted > 0 and sampled > 0


@pytest.mark.perf
def test_python_parts_and_costs() -> None:
    passes("""
with Session("task-clock:u page-faults:u") as session:
    area = touch(200)
    assert [value.value >= 200 for value in session.read()] == [True, True]
with Plan(Event("page-faults:u", want=Want.CPU)) as plan:
    assert plan.cost().cpus >= 1
    with Session(plan) as session:
        area = touch(200)
        total, parts = session.read()[0].value, session.read_parts()
        assert total >= 200 and sum(part.value for part in parts) >= 200
        assert {part.event for part in parts} == {0} and all(part.cpu >= 0 for part in parts)
""")


def test_python_errors_have_the_diagnosis() -> None:
    passes("""
for name, errno in (("nonsense", 22), ("page-faults:b", 95)):
    try:
        Plan(Event(name))
    except Error as error:
        assert error.errno == errno and name.split(":")[0] in str(error), error
        assert isinstance(error, OSError) and error.cause in perfmodes.Cause
    else:
        raise AssertionError(name)
try:
    Plan(Event("page-faults"), no_such_option=1)
except TypeError as error:
    assert "ring_pages" in str(error)
try:
    Session([])
except ValueError:
    pass
""")


@pytest.mark.perf
def test_python_passes_exceptions_of_callbacks_on() -> None:
    passes("""
def fail(sample):
    raise KeyError("mine")
before = descriptors()
try:
    with Session(Event("page-faults:u", period=1), on_sample=fail) as session:
        area = touch(100)
        session.poll(0.1)
except KeyError as error:
    assert error.args == ("mine",)
else:
    raise AssertionError("no exception")
assert descriptors() == before
""")


@pytest.mark.perf
def test_python_leaves_nothing_behind() -> None:
    passes("""
import gc
Session(Event("page-faults:u"))    # never attached, never closed
before = descriptors()
for _ in range(20):
    with Session(Event("page-faults:u", period=1)) as session:
        session.poll(0)
session = Session(Event("page-faults:u", period=1))
session.attach()
session = None
gc.collect()
assert descriptors() == before, (before, descriptors())
closed = Counters(["page-faults:u"])
closed.close()
closed.close()
try:
    closed.read()
except ValueError as error:
    assert "closed" in str(error)
""")


@pytest.mark.perf
def test_python_stops_from_another_thread() -> None:
    passes("""
with Session(Event("page-faults:u", period=1)) as session:
    threading.Timer(0.2, session.interrupt).start()
    session.run()
""")


@pytest.mark.perf
def test_python_is_closed_by_its_own_callback() -> None:
    """The call that delivers returns, and then all is gone."""
    passes("""
before = descriptors()
calls = []
def close(sample):
    calls.append(sample)
    session.close()
for deliver in (lambda: session.poll(0), lambda: session.run(), lambda: session.detach()):
    calls.clear()
    session = Session(Event("page-faults:u", period=1), on_sample=close)
    try:
        session.attach()
        area = touch(100)
        deliver()
    except ValueError as error:     # the attach delivered already
        assert "closed" in str(error)
    assert len(calls) == 1, calls
    try:
        session.read()
    except ValueError as error:
        assert str(error) == "Session is closed"
    else:
        raise AssertionError("read after close")
    assert descriptors() == before, (before, descriptors())
with Session(Event("page-faults:u", period=1), on_sample=close) as session:
    area = touch(100)
    if not calls[1:]:
        session.poll(0)
assert descriptors() == before
""")


@pytest.mark.perf
def test_python_is_closed_by_another_thread() -> None:
    passes("""
before = descriptors()
session = Session(Event("page-faults:u", period=1))
session.attach()
runner = threading.Thread(target=session.run)
runner.start()
session.close()
runner.join(300)
assert not runner.is_alive() and descriptors() == before
""")


@pytest.mark.perf
def test_python_keeps_what_is_needed() -> None:
    """A plan lives as long as its session, a profile as long as its plan, whoever closes them."""
    passes("""
profile = Profile()
plan = Plan(Event("page-faults:u", period=1), profile=profile)
profile.close()
session = Session(plan)
plan.close()
session.attach()
area = touch(100)
session.poll(0)
assert session.stats()["samples"] >= 100
session.close()
for gone in (lambda: plan.explain(), lambda: profile.rank, lambda: session.stats()):
    try:
        gone()
    except ValueError as error:
        assert "closed" in str(error)
    else:
        raise AssertionError("used after close")
""")


@pytest.mark.perf
def test_python_waits_in_an_event_loop() -> None:
    passes("""
import select
with Session(Event("page-faults:u", period=1), wakeup=1) as session:
    session.poll(0)
    area = touch(200)
    ready, _, _ = select.select([session], [], [], 30)
    assert ready == [session] and session.poll(0) > 0
""")


def test_python_profile(tmp_path: Path) -> None:
    passes(f"""
with Profile() as profile:
    profile.probe()
    assert len(profile) > 10
    profile.save({str(tmp_path / "profile.json")!r})
    with Profile({str(tmp_path / "profile.json")!r}) as again:
        assert 10 < len(again) <= len(profile) and profile.rank in perfmodes.Rank
    try:
        profile["no.such.fact"]
    except KeyError:
        pass
    assert profile.said == "" and "no.such.fact" not in profile
    try:
        list(profile)
    except TypeError as error:
        assert "not iterable" in str(error)
try:
    Profile("/nonexistent")
except Error as error:
    assert error.errno == 2
try:
    profile.save({str(tmp_path / "profile.json")!r})    # closed: the file stays as it is
except ValueError:
    assert Profile({str(tmp_path / "profile.json")!r}).rank in perfmodes.Rank
""", PERFMODES_PROFILE="")


def test_python_says_which_library_is_missing() -> None:
    done = python("", PERFMODES_LIBRARY="/nonexistent/libperfmodes.so.0")
    assert done.returncode == 1 and "/nonexistent/libperfmodes.so.0" in done.stderr


# ----------------------------------------------------------------------------------------- C++

@pytest.mark.parametrize("compiler, standard", [("g++", "c++11"), ("g++", "c++20"),
                                                ("clang++", "c++17")])
def test_cpp_profiles_itself(tmp_path: Path, compiler: str, standard: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} (Debian: {'g++' if compiler == 'g++' else 'clang'})")
    done = places.run(compiler, f"-std={standard}", "-Wall", "-Wextra", "-pedantic", "-Werror",
                      f"-I{places.TREE}/lib", f"-I{places.ROOM}/cpp", "-o", tmp_path / "program",
                      places.ROOM / "cpp/example/self_profile.cc", f"-L{places.BUILD}",
                      "-lperfmodes", "-pthread")
    assert done.returncode == 0, done.stderr
    check_profile(places.run(tmp_path / "program", env=places.environment()))


@pytest.mark.perf
def test_cpp_owners(tmp_path: Path) -> None:
    """Under ASan: moved owners close once, errors have the diagnosis, callbacks may throw."""
    done = places.run("g++", "-std=c++11", "-g", "-fsanitize=address,undefined",
                      f"-I{places.TREE}/lib", f"-I{places.ROOM}/cpp", "-o", tmp_path / "program",
                      Path(__file__).with_name("owners.cc"), f"-L{places.BUILD}", "-lperfmodes",
                      "-pthread")
    assert done.returncode == 0, done.stderr
    ran = places.run(tmp_path / "program", env=places.environment())
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.perf
@pytest.mark.parametrize("sanitizers, standard", [("address,undefined", "c++11"), ("thread", "c++20")])
def test_cpp_optional_libraries(sanitizers: str, standard: str, tmp_path: Path) -> None:
    """As owners.cc: closed once, deferred in callbacks, refused beside other threads, emptied by a move."""
    parts = [places.BUILD / f"libperfmodes-{name}.a" for name in places.PARTS]
    lacking = [part.name for part in parts if not part.exists()]
    if lacking:
        pytest.skip(f"no {', '.join(lacking)}: what it needs is not here")
    flags = places.run("pkg-config", "--libs", "libdw", "libelf", "zlib", "hwloc").stdout.split()
    papi = ["-lpapi"] if places.run("pkg-config", "--exists", "papi").returncode == 0 else []
    done = places.run("g++", f"-std={standard}", "-g", f"-fsanitize={sanitizers}", "-Wall", "-Wextra", "-Werror",
                      "-UNDEBUG", f"-I{places.TREE}/lib", f"-I{places.TREE}/lib/topology", f"-I{places.ROOM}/cpp",
                      "-o", tmp_path / "program", Path(__file__).with_name("parts.cc"), *parts,
                      places.BUILD / "libperfmodes.a", "-l:libyajl_s.a", *flags, *papi, "-ldl", "-pthread")
    assert done.returncode == 0, done.stderr
    ran = places.run(tmp_path / "program", env=places.environment())
    assert ran.returncode == 0 and ran.stdout == "done\n", ran.stdout + ran.stderr[-6000:]


# ---------------------------------------------------------------------------------------- Rust

@pytest.mark.peer("rust")
def test_rust_profiles_itself() -> None:
    cargo = places.need("cargo", "cargo rustc")
    done = places.run(cargo, "run", "--offline", "--quiet", "--example", "self_profile",
                      cwd=places.RUST, env=places.rust_environment())
    check_profile(done)


@pytest.mark.peer("rust")
@pytest.mark.perf
def test_rust_optional_libraries() -> None:
    """Its own tests, with all features; each alone compiles without a warning."""
    cargo = places.need("cargo", "cargo rustc")
    lacking = [name for name in places.PARTS if not (places.BUILD / f"libperfmodes-{name}.a").exists()]
    if lacking:
        pytest.skip(f"no libperfmodes-{lacking[0]}.a: what it needs is not here")
    for features in ("", *places.PARTS):
        done = places.run(cargo, "check", "--offline", "--quiet", "--lib", "--features", features,
                          cwd=places.RUST, env=places.rust_environment())
        assert done.returncode == 0, done.stderr
    done = places.run(cargo, "test", "--offline", "--quiet", "--features", ",".join(places.PARTS),
                      "--test", "optional", cwd=places.RUST, env=places.rust_environment())
    assert done.returncode == 0 and "11 passed" in done.stdout, done.stdout + done.stderr


def test_rust_needs_no_crate() -> None:
    text = (places.ROOM / "rust" / "Cargo.toml").read_text(encoding="utf-8")
    assert "dependencies" not in text
