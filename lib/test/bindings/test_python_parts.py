# SPDX-License-Identifier: MIT
"""The optional libraries in Python: lists of events, symbols and stacks, counts by hardware thread, names of
libpfm4. Samplers: test_python_sampler.py."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import places  # noqa: E402
from places import passes, python  # noqa: E402

pytestmark = pytest.mark.xdist_group("make")  # make runs in the tree

RAISES = """
import ctypes, errno, threading
def raises(kind, call, *words, number=None):
    try:
        call()
    except kind as error:
        assert all(word in str(error) for word in words), error
        assert number is None or error.errno == number, error
    else:
        raise AssertionError("nothing was raised")
def beside(call, times=200):
    # Two threads at once; what either raises.
    failed = []
    def again():
        try:
            for _ in range(times):
                call()
        except Exception as error:
            failed.append(error)
    threads = [threading.Thread(target=again) for _ in range(2)]
    for one in threads: one.start()
    for one in threads: one.join()
    assert not failed, failed
def child(call):
    pid = os.fork()
    if pid == 0:
        try:
            call()
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
"""


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    places.make("bindings")


def need(part: str) -> None:
    if not (places.BUILD / "perfmodes" / f"libperfmodes-{part}.so").exists():
        pytest.skip(f"no libperfmodes-{part}.so: what it needs is not here")


# -------------------------------------------------------------------------------------- events

def test_a_list_of_events_has_its_groups() -> None:
    passes(RAISES + """
listed = perfmodes.event_list("{cycles/freq=99,name=hot/,instructions:u}:S, page-faults/period=7/, r1a8")
assert [one.name for one in listed] == ["cycles", "instructions:u", "page-faults", "event 4:0x1a8"], listed
assert [one.leader for one in listed] == [0, 1, 0, 0]
assert listed[0].term_name == "hot" and listed[0].flags == perfmodes.ListedFlags.READ
assert [one.spec().frequency for one in listed] == [99, 0, 0, 0] and listed[2].spec().period == 7
assert listed[0].spec().tid == perfmodes.ALL_THREADS and perfmodes.event_list("cycles", tid=7)[0].spec().tid == 7
assert len(perfmodes.event_list(",".join(["page-faults"] * 100))) == 100
raises(Error, lambda: perfmodes.event_list("page-faults,nonsense"), "nonsense", number=errno.EINVAL)
raises(Error, lambda: perfmodes.event_list("{page-faults"), number=errno.EINVAL)
""")


@pytest.mark.perf
def test_a_name_that_tells_a_rate_is_sampled_by_it() -> None:
    passes("""
seen = []
for event in (Event("page-faults/period=1/u"), perfmodes.event_list("page-faults/period=1/u")):
    seen.clear()
    with Session(event, on_sample=seen.append) as session:
        area = touch(200)
        session.poll(0)
    assert len(seen) >= 200, len(seen)
with Counters(perfmodes.event_list("page-faults:u", tid=0)) as counters:
    area = touch(50)
    assert counters.read()[0].value >= 50
""")


# --------------------------------------------------------------------------- stacks and symbols

def test_an_address_has_its_name() -> None:
    need("stacks")
    passes(RAISES + """
from perfmodes.stacks import FrameBits, Symbols, SymbolSource, Unwinder
libc = ctypes.CDLL(None)
def at(name):
    return ctypes.cast(getattr(libc, name), ctypes.c_void_p).value
with Symbols() as symbols, Unwinder(os.getpid(), symbols=symbols) as unwinder:
    for name in ("getpid", "qsort", "pthread_create"):
        found = symbols.find(at(name) + 1, unwinder=unwinder)
        assert found.name.partition("@")[0].lstrip("_") == name, found
        assert found.start == at(name) and "libc" in found.module and found.source == SymbolSource.FILE
        assert found.map_start <= at(name) < found.map_end and len(found.build_id) == 20
    nothing = symbols.find(0x10, unwinder=unwinder)
    assert nothing.name is None and nothing.source == SymbolSource.NONE
    kernel = symbols.find(2 ** 64 - 4096, FrameBits.KERNEL)
    assert kernel.module == "[kernel]"
    with Symbols() as others:
        raises(ValueError, lambda: others.find(at("getpid"), unwinder=unwinder), "these symbols")
    beside(lambda: symbols.find(at("getpid"), unwinder=unwinder).name.index("getpid"))
    child(lambda: symbols.find(at("getpid"), unwinder=unwinder).name.index("getpid"))
raises(ValueError, lambda: symbols.find(at("getpid")), "Symbols is closed")
raises(ValueError, lambda: unwinder.refresh(), "Unwinder is closed")
raises(Error, lambda: Unwinder(2 ** 22 + 1), number=errno.ESRCH)
unraised = []
import sys
sys.unraisablehook = unraised.append
raises(TypeError, Unwinder)
assert not unraised, unraised
""")


def test_symbols_last_as_long_as_their_unwinders() -> None:
    need("stacks")
    passes(RAISES + """
from perfmodes.stacks import Symbols, Unwinder
symbols = Symbols()
unwinder = Unwinder(os.getpid(), symbols=symbols)
symbols.close()
unwinder.refresh()
raises(ValueError, lambda: symbols.find(1, unwinder=unwinder), "closed")
unwinder.close()
unwinder.close()
raises(ValueError, lambda: Unwinder(os.getpid(), symbols=symbols), "Symbols is closed")
before = descriptors()
for _ in range(20):
    Unwinder(os.getpid()).refresh()
assert descriptors() == before
""")


INLINED = """\
static inline __attribute__((always_inline)) int inner(int number)
{
	return number * *(volatile int *)&number;
}

int outer(int number);
int outer(int number)
{
	return inner(number);
}
"""


def test_an_address_has_its_lines(tmp_path: Path) -> None:
    """An inlined function, and the one that it is in, by what gcc writes with -g."""
    need("stacks")
    source = tmp_path / "lines.c"
    source.write_text(INLINED, encoding="utf-8")
    done = places.run("gcc", "-O2", "-g", "-shared", "-fPIC", "-o", tmp_path / "lines.so", source)
    assert done.returncode == 0, done.stderr
    passes(f"""
import ctypes
from perfmodes.stacks import Symbols, Unwinder
loaded = ctypes.CDLL({str(tmp_path / 'lines.so')!r})
start = ctypes.cast(loaded.outer, ctypes.c_void_p).value
with Symbols() as symbols, Unwinder(os.getpid(), symbols=symbols) as unwinder:
    size = next(size for size in range(1, 64) if symbols.find(start + size, unwinder=unwinder).name != "outer")
    each = [symbols.lines(start + i, unwinder=unwinder) for i in range(size)]
    assert all(lines[-1].name == "outer" and lines[-1].file.endswith("lines.c") for lines in each)
    inlined = [lines for lines in each if len(lines) == 2]
    assert inlined and {{(lines[0].name, lines[1].line) for lines in inlined}} == {{("inner", 9)}}, each
    assert {{lines[0].line for lines in inlined}} <= {{2, 3, 4}}
with Symbols(without_lines=True) as symbols, Unwinder(os.getpid(), symbols=symbols) as unwinder:
    assert symbols.lines(start, unwinder=unwinder) == []
""")


def test_registers_that_do_not_fit_their_mask_are_refused() -> None:
    """C would read behind the last of them."""
    need("stacks")
    passes(RAISES + """
from perfmodes.stacks import StackEnd, StackSample, Unwinder
with Unwinder(os.getpid()) as unwinder:
    raises(ValueError, lambda: unwinder.stack(StackSample(1, 1, regs_abi=2, regs_mask=3, regs=(1,))), "registers")
    chain = (2 ** 64 - 512, 0x1000, 0x2000)     # PERF_CONTEXT_USER
    stack = unwinder.stack(StackSample(5, 6, callchain=chain, time=7, weight=8))
    assert [frame.address for frame in stack.frames] == [0x1000, 0x2000]
    assert (stack.pid, stack.tid, stack.time, stack.weight, stack.end) == (5, 6, 7, 8, StackEnd.UNTOLD)
    assert stack.end_text and unwinder.find(stack.frames[0]).name is None
""")


# ------------------------------------------------------------------------------------ topology

@pytest.mark.perf
def test_hardware_threads_have_counted_what_was_done() -> None:
    need("topology")
    passes(RAISES + """
from perfmodes.topology import Machine, Topology, TopologySource
machine = Machine()
faults = Topology(Event("page-faults:u", tid=0), machine)
raises(Error, faults.read, number=errno.ENOTCONN)
raises(Error, lambda: faults.value(0), number=errno.ENODATA)
machine.close()     # the set holds it
faults.start()
raises(Error, faults.start, number=errno.EALREADY)
cpus = sorted(os.sched_getaffinity(0))
os.sched_setaffinity(0, cpus[:1])
area = touch(300)
first = faults.read()
os.sched_setaffinity(0, cpus)
area = touch(100)
last = faults.stop()
assert faults.source == TopologySource.EXACT and "chosen: " in faults.explain()
assert 300 <= faults.value(0, cpus[:1], first).value < 400 and faults.value(0, cpus[:1], first).time == first
assert 400 <= faults.value(0).value < 600 and not faults.value(0).guess
assert 100 <= faults.window(0, None, first, last).value < 200
assert sum(faults.value(0, [cpu]).value for cpu in cpus) == faults.value(0).value
assert faults.times() == [first, last] and faults.times(first + 1) == [last]
assert faults.event(0) == "page-faults:u"
raises(IndexError, lambda: faults.event(1))
raises(ValueError, lambda: faults.value(0, [-1]), "-1 is no CPU")
raises(Error, lambda: faults.value(9), number=errno.EINVAL)
beside(lambda: faults.value(0).value)
faults.close()
raises(ValueError, faults.read, "Topology is closed")
raises(ValueError, lambda: Topology("page-faults", machine), "Machine is closed")
raises(Error, lambda: Topology("nonsense", Machine()), "nonsense")
""")


def test_counts_of_elsewhere_roll_up(tmp_path: Path) -> None:
    """Over a machine of 2 packages, 2 cores each, 2 threads each."""
    need("topology")
    passes(RAISES + f"""
from perfmodes import Part
from perfmodes.topology import Machine, Topology, TopologySource
machine = Machine(synthetic="package:2 core:2 pu:2")
packages = machine.objects("Package")
assert [len(one.cpus) for one in packages] == [4, 4] and len(machine.objects("PU")) == 8
with Topology.of_parts(["apples", "pears"], machine) as fruit:
    fruit.put([Part(10 ** cpu, 0, 0, 0, -1, cpu) for cpu in range(8)] + [Part(7, 0, 0, 1, -1, -1)])
    assert fruit.source == TopologySource.PARTS and fruit.explain() == ""
    assert [fruit.value(0, one.cpus).value for one in packages] == [1111, 11110000]
    assert fruit.value(0).value == 11111111 and fruit.value(1).value == 7 and fruit.value(1, range(8)).value == 0
    raises(Error, lambda: fruit.put([Part(1, 0, 0, 2, -1, 0)]), number=errno.EINVAL)
    fruit.export({str(tmp_path / 'fruit.xml')!r})
with Machine(xml={str(tmp_path / 'fruit.xml')!r}) as again:
    assert again.objects("Core") == machine.objects("Core") and "perfmodes:apples" in again.xml()
wide = Machine(synthetic="package:1 pu:70")
assert wide.objects("Package")[0].cpus == frozenset(range(70)) and wide.objects("PU")[69].cpus == {{69}}
raises(Error, lambda: Machine(synthetic="nonsense"), "nonsense", number=errno.EINVAL)
raises(FileNotFoundError, lambda: Machine(xml="/nonexistent"), "/nonexistent", number=errno.ENOENT)
""")


# ----------------------------------------------------------------------------------------- pfm

def test_a_name_of_libpfm4_is_the_same_event() -> None:
    need("pfm")
    done = python(RAISES + """
from perfmodes import pfm
try:
    ours, theirs = Event("page-faults:u").spec(), pfm.Event("perf::PAGE-FAULTS:u", period=3).spec()
except Error as error:
    if error.errno != errno.ENOSYS:
        raise
    print("skip")
    raise SystemExit
assert (ours.type, ours.config, ours.flags) == (theirs.type, theirs.config, theirs.flags)
assert theirs.period == 3 and theirs.tid == perfmodes.ALL_THREADS
assert pfm.full_name("page-faults").startswith("perf::PERF_COUNT_SW_PAGE_FAULTS")
raises(Error, lambda: pfm.Event("perf::NO_SUCH").spec(), "NO_SUCH", number=errno.ENOENT)
raises(Error, lambda: pfm.full_name("nopmu::NO_SUCH"), "nopmu")
""")
    assert done.returncode == 0, done.stdout + done.stderr
    if "skip" in done.stdout:
        pytest.skip("no libpfm4 (Debian: libpfm4)")


@pytest.mark.parametrize("part", ["sampler", "stacks", "topology", "pfm"])
def test_what_is_not_there_is_named(part: str, tmp_path: Path) -> None:
    """The core works without."""
    shutil.copy(places.BUILD / "libperfmodes.so.0", tmp_path)
    done = python(f"Event('page-faults').spec()\nimport perfmodes.{part}",
                  PERFMODES_LIBRARY=str(tmp_path / "libperfmodes.so.0"))
    assert done.returncode == 1
    assert f"ImportError: perfmodes.{part} needs {tmp_path}/perfmodes/libperfmodes-{part}.so" in done.stderr
