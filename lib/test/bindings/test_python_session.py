# SPDX-License-Identifier: MIT
"""Sessions, counters and profiles in Python: what ends them, and who may call them when."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import places  # noqa: E402
from places import passes  # noqa: E402

pytestmark = pytest.mark.xdist_group("make")  # make runs in the tree


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    places.make("bindings")


@pytest.mark.perf
def test_ends_a_run_whose_callback_raises() -> None:
    """Nobody would hear what comes after it, and nobody interrupts that run."""
    passes("""
import time
raising = []
def fail(sample):
    if raising:
        raise KeyError("mine")
with Session(Event("page-faults:u", period=1), on_sample=fail) as session:
    session.poll(0)
    raising.append(True)
    threading.Timer(0.2, touch, [100]).start()
    ends, began = threading.Timer(20, session.interrupt), time.monotonic()
    ends.start()
    try:
        session.run()
    except KeyError as error:
        assert error.args == ("mine",) and time.monotonic() < began + 15
    else:
        raise AssertionError("no exception")
    ends.cancel()
    raising.clear()
    session.poll(0)     # nothing of it is left to end this
""")


@pytest.mark.perf
@pytest.mark.parametrize("wait", ["run()", "poll(None)"])
def test_handles_signals_while_it_waits(wait: str) -> None:
    passes(f"""
import signal, time
def handle(*_):
    raise KeyError("signal")
signal.signal(signal.SIGUSR1, handle)
with Session("page-faults:u") as session:
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGUSR1)).start()
    ends, began = threading.Timer(20, session.interrupt), time.monotonic()
    ends.start()
    try:
        session.{wait}
    except KeyError as error:
        assert error.args == ("signal",) and time.monotonic() < began + 15
    else:
        raise AssertionError("nothing was raised")
    ends.cancel()
""")


@pytest.mark.perf
def test_waits_as_long_as_it_is_told() -> None:
    """However long: an int of C is too small for what some ask for."""
    passes("""
with Session("page-faults:u") as session:
    for seconds in (float("inf"), 2 ** 31 / 1000, 2 ** 32 / 1000):
        threading.Timer(0.2, session.interrupt).start()
        try:
            session.poll(seconds)
        except Error as error:
            assert error.errno == 125, error    # ECANCELED
        else:
            raise AssertionError("it did not wait")
    assert session.poll(-1) == 0
""")


@pytest.mark.perf
def test_refuses_calls_beside_others() -> None:
    """Of a callback, which a poll in it would call again, and of another thread while one runs."""
    passes("""
refused, allowed, session = [], [], None
def call(sample):
    if session is None or refused:
        return
    for each in (session.poll, session.run, session.attach, session.detach):
        try:
            each()
        except Error as error:
            refused.append(error.errno)
    allowed.extend((session.read(), session.read_parts(), session.stats()))
with Session(Event("page-faults:u", period=1), on_sample=call) as made:
    session = made
    area = touch(50)
    session.poll(0)
    assert refused == [16] * 4 and len(allowed) == 3, (refused, allowed)
with Session("page-faults:u") as session:
    runner = threading.Thread(target=session.run)
    runner.start()
    while session._run is None:
        pass
    for each in (session.read, session.stats, session.poll):
        try:
            each()
        except Error as error:
            assert error.errno == 16 and "another thread" in str(error)
        else:
            raise AssertionError("not refused")
    session.interrupt()     # waits until the other has returned
    session.read()
    runner.join()
""")


@pytest.mark.perf
def test_a_fork_beside_a_run_has_no_session() -> None:
    """The thread that runs it is not there: nothing waits for it, or says that it is in use."""
    passes("""
import warnings
warnings.simplefilter("ignore", DeprecationWarning)     # Python 3.12 warns of a fork beside threads
with Session("page-faults:u") as session:
    runner = threading.Thread(target=session.run)
    runner.start()
    while session._run is None:
        pass
    pid = os.fork()
    if pid == 0:
        import traceback
        try:
            for each in (session.poll, session.run, session.read, session.read_parts, session.fileno):
                try:
                    each()
                except Error as error:
                    assert error.errno == 10, error     # ECHILD
                else:
                    raise AssertionError("not refused")
            session.interrupt()
            session.__exit__(None, None, None)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    session.interrupt()
    runner.join()
    area = touch(10)
    assert session.read()[0].value >= 10
""")


@pytest.mark.perf
def test_samples_have_the_values_of_all() -> None:
    passes("""
seen = []
events = [Event(name, period=1, want=Want.GROUP) for name in ("page-faults:u", "minor-faults:u")]
with Session(events, on_sample=seen.append) as session:
    area = touch(50)
    session.poll(0)
    told = session.plan.explain()
if "without group values" not in told:
    last = seen[-1]
    assert [one.event for one in last.group] == [0, 1] and last.branches == (), last
    assert all(one.value >= 50 for one in last.group) and last.group_enabled >= last.group_running > 0
""")


@pytest.mark.perf
def test_counters_take_what_sessions_take() -> None:
    passes("""
with Counters("page-faults:u task-clock:u") as counters:
    area = touch(50)
    first, second = counters.read()
    assert first.value >= 50 and second.value > 0
    assert counters.read_one(0).value >= 50 and counters.stats()["groups"] >= 1
    try:
        counters.read_one(2)
    except IndexError:
        pass
    counters.close()    # leaving it is no error then
try:
    with Counters(["page-faults:u"]) as counters:
        raise KeyError("mine")
except KeyError:
    pass
for call in (counters.read, counters.stats):
    try:
        call()
    except ValueError as error:
        assert str(error) == "Counters is closed"
""")


def test_a_fork_waits_for_no_thread_of_its_parent() -> None:
    passes("""
import warnings
warnings.simplefilter("ignore", DeprecationWarning)     # Python 3.12 warns of a fork beside threads
profile, inside, over = Profile(), threading.Event(), threading.Event()
def use():
    with profile.alone():
        inside.set()
        over.wait()
thread = threading.Thread(target=use)
thread.start()
inside.wait()
pid = os.fork()
if pid == 0:
    import signal
    signal.alarm(20)
    os._exit(len(profile) == 0)
assert os.waitpid(pid, 0)[1] == 0
over.set()
thread.join()
""")


def test_refuses_options_that_would_be_ignored() -> None:
    passes("""
for call in (lambda plan: Session(plan, wakeup=1), lambda plan: Event("page-faults\\0:k").spec(),
             lambda plan: perfmodes.event_list("page-faults\\0,nonsense"), lambda plan: Plan("page-faults", cpus="0\\0,1")):
    with Plan(Event("page-faults:u")) as plan:
        try:
            call(plan)
        except (TypeError, ValueError) as error:
            assert "options are the plan's" in str(error) or "holds a NUL" in str(error), error
        else:
            raise AssertionError("accepted")
""")


def test_profile_of_a_persona(tmp_path: Path) -> None:
    """A file's facts of a persona are seen when it is used; what is no profile is told of."""
    (tmp_path / "none.json").write_text("{}", encoding="utf-8")
    passes(f"""
import json
path = {str(tmp_path / "profile.json")!r}
with Profile() as profile:
    assert {str(tmp_path / "none.json")!r} in profile.said, profile.said
    profile.probe()
    profile.save(path)
with open(path) as file:
    whole = json.load(file)
whole["personas"]["nobody"] = {{"perm.no_such": "blocked"}}
with open(path, "w") as file:
    json.dump(whole, file)
with Profile(path) as profile:
    for name, known in (("root", False), ("nobody", True)):
        profile.use_persona(name)
        assert ("perm.no_such" in profile) == known
        try:
            assert profile["perm.no_such"].value == perfmodes.Verdict.BLOCKED and known
        except KeyError:
            assert not known
    try:
        profile.use_persona("no\\nname")
    except Error as error:
        assert error.errno == 22
""", PERFMODES_PROFILE=str(tmp_path / "none.json"))
