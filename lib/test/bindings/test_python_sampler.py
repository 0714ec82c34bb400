# SPDX-License-Identifier: MIT
"""Samplers in Python: what is asked for arrives, and no misuse ends the program."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import places  # noqa: E402
from places import passes  # noqa: E402
from test_python_parts import RAISES, need  # noqa: E402

pytestmark = [pytest.mark.xdist_group("make"), pytest.mark.perf]

#: A program that another watches: each line that it reads makes it touch so many pages.
TOUCHER = """
import subprocess, sys
from perfmodes.sampler import ProcessChange, Sampler, SamplerEvent, SamplerFlags, SideKind, Target, TargetBy
class Toucher:
    def __init__(self):
        text = '''
import mmap, sys
for line in sys.stdin:
    if int(line) < 0:
        open("/proc/self/comm", "w").write("renamed")
    area = mmap.mmap(-1, abs(int(line)) * mmap.PAGESIZE)
    area.madvise(15)
    for page in range(abs(int(line))):
        area[page * mmap.PAGESIZE] = 1
    print("done", flush=True)
'''
        self.process = subprocess.Popen(["/usr/bin/python3", "-c", text], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid = self.process.pid
        self.touch(1)
    def touch(self, pages):
        self.process.stdin.write(f"{pages}\\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\\n"
    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
def faults(pid, **more):
    return Sampler("page-faults/period=1/u", [f"pid:{pid}"], flags=SamplerFlags.USER_ONLY, **more)
def settled(sampler, seen, count):
    # Until they are delivered.
    while len(seen) < count:
        sampler.poll(None)
"""
SETUP = RAISES + TOUCHER


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    places.make("bindings")


def test_samples_of_another_process() -> None:
    passes(SETUP + """
seen, changes, one = [], [], Toucher()
before = descriptors()
with faults(one.pid, want=Want.ADDRESS, on_sample=seen.append,
            on_process=lambda process, change, time: changes.append((process, change))) as sampler:
    one.touch(300)
    settled(sampler, seen, 300)
    known = [each for each in sampler.processes() if each.pid == one.pid][0]
    stats, text = sampler.stats(), sampler.explain()
    assert known.watched and known.arguments[0] == b"/usr/bin/python3" and known.comm == "python3", known
    assert len(known.arguments) == 3 and known.uid == os.getuid() and known.parent == os.getpid()
    assert stats["samples"] >= 300 and stats["watched"] == 1 and "event 0: page-faults" in text
    one.end()
    while (one.pid, ProcessChange.ENDED) not in [(each.pid, change) for each, change in changes]:
        sampler.poll(0.1)
    assert 300 <= sampler.read()[0].value < 3000
assert {(each.pid, each.tid, each.event, each.period) for each in seen} == {(one.pid, one.pid, 0, 1)}
assert all(each.address and each.ip and each.process.serial == known.serial for each in seen)
assert [each.time for each in seen] == sorted(each.time for each in seen)
assert [change for each, change in changes if each.pid == one.pid] == [ProcessChange.FOUND, ProcessChange.ENDED]
assert descriptors() == before - 2 and not sampler._pointer     # the two pipes of the process
""")


def test_a_long_argument_is_told_as_far_as_it_goes() -> None:
    """It has no 0 byte behind it then."""
    passes(SETUP + """
shell = subprocess.Popen(["/bin/sh", "-c", "echo runs; read line #" + "y" * 5000], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE)
assert shell.stdout.readline() == b"runs\\n"
with faults(shell.pid) as sampler:
    known, = [each for each in sampler.processes() if each.pid == shell.pid]
assert known.arguments[:2] == (b"/bin/sh", b"-c") and len(known.arguments) == 3, known
assert known.arguments[2].endswith(b"yyy") and sum(len(each) + 1 for each in known.arguments) == 4096
shell.communicate(b"")
raises(ValueError, lambda: Target.parse("cmd:a\\0b"), "NUL")
raises(ValueError, lambda: Target(TargetBy.CMDLINE, text="a\\0b").target(), "NUL")
""")


def test_a_sampler_keeps_its_profile() -> None:
    passes(SETUP + """
one, profile = Toucher(), Profile()
with faults(one.pid, profile=profile) as sampler:
    profile.close()
    one.touch(50)
    assert profile._pointer and sampler.read()[0].value >= 50
assert not profile._pointer
raises(ValueError, lambda: faults(one.pid, profile=profile), "Profile is closed")
one.end()
""")


def test_groups_and_side_band() -> None:
    passes(SETUP + """
seen, sides, one = [], [], Toucher()
with Sampler("{page-faults/period=1/u,task-clock:u}", [Target(TargetBy.PID, one.pid)], want=Want.GROUP,
             flags=SamplerFlags.CHILDREN | SamplerFlags.USER_ONLY, side=SideKind.COMM | SideKind.MMAP,
             on_sample=seen.append, on_side=sides.append) as sampler:
    one.touch(-50)
    settled(sampler, seen, 50)
    settled(sampler, sides, 1)
assert all(len(each.values) == 2 and each.values[1] > 0 for each in seen)
for cpu in {each.cpu for each in seen}:    # each has an event of its own
    counted = [each.values[0] for each in seen if each.cpu == cpu]
    assert counted == sorted(set(counted))
assert {side.kind for side in sides} <= {SideKind.COMM, SideKind.MMAP}
renamed, = [side for side in sides if side.text == "renamed"]
assert (renamed.kind, renamed.pid, renamed.exec, renamed.chain) == (SideKind.COMM, one.pid, False, ())
assert renamed.process.pid == one.pid and renamed.time > 0 and renamed.build_id == b""
one.end()
""")


def test_errors_of_samplers_have_the_diagnosis() -> None:
    passes(SETUP + """
raises(Error, lambda: Target.parse("nonsense"), "nonsense", number=errno.EINVAL)
raises(Error, lambda: Target.parse("pid:99999999999999999999"), number=errno.ERANGE)
assert Target.parse("!cmd:ba*") == Target(TargetBy.CMDLINE, text="ba*", exclude=True)
raises(Error, lambda: Sampler("nonsense"), "nonsense", number=errno.EINVAL)
raises(Error, lambda: faults(2 ** 22 + 1), number=errno.ESRCH)
raises(TypeError, lambda: Sampler("page-faults", ["1"], no_such_option=1), "ring_pages")
raises(Error, lambda: Sampler([]), number=errno.EINVAL)
raises(Error, lambda: Sampler([SamplerEvent(Event("page-faults:u"), leader=7)]), number=errno.EINVAL)
one = Toucher()
sampler = faults(one.pid)
raises(Error, lambda: sampler.poll(0), number=errno.ENOTCONN)
sampler.start()
raises(Error, sampler.start, number=errno.EALREADY)
sampler.stop()
sampler.close()
sampler.close()
for call in (sampler.start, sampler.stop, sampler.poll, sampler.read, sampler.stats, sampler.explain,
             sampler.processes, sampler.fileno):
    raises(ValueError, call, "Sampler is closed")
one.end()
""")


def test_what_a_callback_raises_the_call_raises() -> None:
    passes(SETUP + """
one = Toucher()
def fail(sample):
    raise KeyError("mine")
before = descriptors()
with faults(one.pid, on_sample=fail) as sampler:
    one.touch(50)
    raises(KeyError, lambda: settled(sampler, (), 1), "mine")
assert descriptors() == before
one.end()
""")


def test_a_callback_may_close_its_sampler() -> None:
    """By each callback, from each call that delivers."""
    passes(SETUP + """
one = Toucher()
before = descriptors()
for name in ("on_sample", "on_process"):
    for deliver in ("poll", "stop"):
        calls = []
        def close(*them):
            calls.append(them)
            sampler.close()
        sampler = faults(one.pid, **{name: close})
        try:
            sampler.start()
            one.touch(50)
            while not calls:
                sampler.poll(None) if deliver == "poll" else sampler.stop()
        except ValueError as error:     # the start told of the process
            assert str(error) == "Sampler is closed" and name == "on_process"
        assert len(calls) == 1, (name, deliver, len(calls))
        raises(ValueError, sampler.stats, "Sampler is closed")
        assert descriptors() == before, (before, descriptors())
with faults(one.pid, on_sample=lambda sample: sampler.close()) as sampler:
    one.touch(50)
    assert sampler.poll(None) >= 0
one.end()
""")


def test_a_callback_may_not_call_its_sampler() -> None:
    passes(SETUP + """
one, refused = Toucher(), []
def call(sample):
    for each in (sampler.start, sampler.poll, sampler.stop, sampler.read, sampler.stats, sampler.processes):
        try:
            each()
        except Error as error:
            refused.append(error.errno)
with faults(one.pid, on_sample=call) as sampler:
    one.touch(50)
    settled(sampler, refused, 6)
assert set(refused) == {errno.EBUSY}
one.end()
""")


def test_threads_and_forks() -> None:
    passes(SETUP + """
one = Toucher()
before = descriptors()
seen, failed = [], []
sampler = faults(one.pid, on_sample=seen.append)
sampler.start()
def watch():
    try:
        while True:
            sampler.poll(None)
    except ValueError as error:
        failed.append(error)
thread = threading.Thread(target=watch)
thread.start()
for _ in range(200):    # beside a poll each is done, or refused
    for call in (sampler.stats, sampler.read, sampler.processes, sampler.poll, lambda: one.touch(1)):
        try:
            call()
        except Error as error:
            assert error.errno == errno.EBUSY, error
sampler.close()
thread.join(300)
assert not thread.is_alive() and str(failed[0]) == "Sampler is closed" and descriptors() == before
with faults(one.pid, on_sample=seen.append) as sampler:
    def forked():
        for call in (sampler.poll, sampler.stop, sampler.read):
            raises(Error, call, number=errno.ECHILD)
        sampler.close()
    child(forked)
    child(lambda: sampler.__exit__(None, None, None))
    seen.clear()
    one.touch(50)
    settled(sampler, seen, 50)
one.end()
""")


def test_a_fork_beside_a_poll_has_no_sampler() -> None:
    """It is not in use there by a thread that did not come along."""
    passes(SETUP + """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)     # Python 3.12 warns of a fork beside threads
one = Toucher()
with faults(one.pid) as sampler:
    thread = threading.Thread(target=lambda: sampler.poll(3.0))
    thread.start()
    while not sampler._one.locked():
        pass
    child(lambda: [raises(Error, call, number=errno.ECHILD) for call in (sampler.poll, sampler.read, sampler.stop)])
    child(lambda: sampler.__exit__(None, None, None))
    one.touch(10)
    thread.join()
one.end()
""")


def test_a_sampler_that_nobody_closes_is_collected() -> None:
    passes(SETUP + """
import gc
one = Toucher()
faults(one.pid).start()
gc.collect()
before = descriptors()
for _ in range(10):
    sampler = faults(one.pid, on_sample=lambda sample: None)
    sampler.start()
sampler = None
gc.collect()
assert descriptors() == before, (before, descriptors())
one.end()
""")


TREE = """\
#include <stdio.h>
static volatile unsigned long sum;
__attribute__((noipa)) void innermost(void) { for (int i = 0; i < 1000; i++) sum += i; }
__attribute__((noipa)) void middle(void) { innermost(); sum++; }
__attribute__((noipa)) void outer(void) { middle(); sum++; }
int main(void) { puts("runs"); fflush(stdout); for (;;) outer(); }
"""


def test_stacks_of_samples_have_names(tmp_path: Path) -> None:
    """Of a program without frame pointers, from copies of its stack."""
    need("stacks")
    (tmp_path / "tree.c").write_text(TREE, encoding="utf-8")
    done = places.run("gcc", "-O1", "-g", "-fomit-frame-pointer", "-o", tmp_path / "tree", tmp_path / "tree.c")
    assert done.returncode == 0, done.stderr
    passes(SETUP + f"""
from perfmodes.stacks import StackEnd, Symbols, Unwinder, registers
if not registers():
    print("no registers to unwind by")
    raise SystemExit
program = subprocess.Popen([{str(tmp_path / 'tree')!r}], stdout=subprocess.PIPE)
assert program.stdout.readline() == b"runs\\n"
seen = []
with Sampler("cpu-clock/freq=199/u", [str(program.pid)], want=Want.REGISTERS | Want.STACK, stack=16384,
             registers=registers(), flags=SamplerFlags.USER_ONLY, on_sample=seen.append) as sampler:
    settled(sampler, seen, 50)
with Symbols() as symbols, Unwinder(program.pid, symbols=symbols) as unwinder:
    stacks = [unwinder.stack(sample) for sample in seen]
    names = [[unwinder.find(frame).name for frame in stack.frames] for stack in stacks]
    assert all(stack.end == StackEnd.COMPLETE and stack.pid == program.pid for stack in stacks), names
    deep = [each for each in names if each[0] == "innermost"]
    assert len(deep) > 0.9 * len(names), names
    assert all(each[:4] == ["innermost", "middle", "outer", "main"] for each in deep), deep
    line = unwinder.lines(stacks[names.index(deep[0])].frames[0])[-1]
    assert (line.name, line.line) == ("innermost", 3) and line.file.endswith("tree.c")
program.kill()
program.wait()
program.stdout.close()
""")
