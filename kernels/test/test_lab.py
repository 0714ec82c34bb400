# SPDX-License-Identifier: MIT
"""Jobs that LAVA's own schema accepts, the adapter in its test shell, and results out of its logs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import time
from pathlib import Path

import pytest
from fake_place import STEPS

from kernels import cli
from kernels.errors import Refused, Usage
from kernels.guest import initramfs
from kernels.lab import guest, ingest, lava
from kernels.lab.place import Lab, LavaPlace, jobs_of
from kernels.place.channel import Channel
from kernels.place.private import Private
from kernels.place.report import Report, Request
from kernels.place.steps import answer

SCHEMA = Path("/usr/share/lava-common/lava-schema.py")
ADAPTER = Path(ingest.__file__).with_name("adapter")
QEMU = ["lab", "job", "qemu", "--suite", "quick", "--kernel", "https://lab.example/bzImage",
        "--ramdisk", "https://lab.example/rd.gz", "--bundle", "https://lab.example/bundle.tar.gz"]  # fmt: skip
BASE = """
job_name: health
device_type: bcm2711-rpi-4-b
visibility: public
priority: medium
timeouts: {job: {minutes: 30}}
actions:
- deploy: {to: tftp, os: oe, kernel: {url: "https://lab.example/Image", type: image}}
- boot: {method: u-boot, commands: nfs, prompts: ["# "]}
- test: {definitions: [{from: git, name: x, path: x.yaml, repository: "https://lab.example/x.git"}]}
"""
KTAP = """TAP version 13
1..6
ok 1 ring.first
not ok 2 ring.second
ok 3 ring.third # SKIP no: EINVAL (the pair)
#:perfmodes: ring.pages=128
#:perfmodes: ring.word=soon
    # Subtest: nested
    1..2
    ok 1 inner
    not ok 2 - other
ok 4 nested
ok 5 ring.first
ok 6 odd;name$(reboot) # TODO
"""
SAID = """pass root.a.b.ring.first
fail root.a.b.ring.second
reason root.a.b.ring.third: no: EINVAL (the pair)
skip root.a.b.ring.third
pass root.fact.ring.pages 128
pass root.a.b.nested.inner
fail root.a.b.nested.other
pass root.a.b.nested
pass root.a.b.ring.first.2
"""


def shells() -> list[list[str]]:
    found = [["sh"], ["busybox", "sh"], ["mksh"]]
    return [words for words in found if shutil.which(words[0])]


def printed(args: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    pytest.importorskip("yaml", reason="no yaml: package python3-yaml")
    assert cli.main(args) == 0
    return capsys.readouterr().out


def accepted(job: str, folder: Path) -> subprocess.CompletedProcess[str]:
    if not SCHEMA.exists():
        pytest.skip("no lava-schema.py: package lava-common")
    file = folder / "job.yaml"
    file.write_text(job)
    return subprocess.run(
        ["/usr/bin/python3", str(SCHEMA), "job", "--strict", str(file)], capture_output=True, text=True, check=False
    )


@pytest.mark.peer("lava")
@pytest.mark.parametrize("more", [[], ["--probe", "ring.*", "--persona", "root,user"]])
def test_a_job_for_qemu(tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str]) -> None:
    job = printed([*QEMU, *more], capsys)
    told = accepted(job, tmp_path)
    assert told.returncode == 0, told.stdout
    wrong = accepted(job.replace("method: qemu", "method: pigeon"), tmp_path)
    assert wrong.returncode != 0, "the schema can say no"


@pytest.mark.peer("lava")
def test_a_job_from_one_of_the_lab(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "base.yaml").write_text(BASE)
    words = ["lab", "job", "rpi", "--base", str(tmp_path / "base.yaml"), "--bundle", "/opt/perfmodes"]
    job = printed(words, capsys)
    assert accepted(job, tmp_path).returncode == 0
    assert "u-boot" in job and "x.git" not in job and "sh adapter /opt/perfmodes default" in job


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["lab", "job", "rpi", "--bundle", "/x"], "--base JOB"),
        (["lab", "job", "qemu", "--bundle", "/x"], "--kernel and --ramdisk"),
        ([*QEMU, "--suite", "x; reboot"], "not the name of a suite"),
        ([*QEMU, "--probe", "'; reboot"], "an argument of run.sh"),
        ([*QEMU[:-1], "/x y"], "--bundle is"),
        (["lab", "job", "rpi", "--base", "/nowhere", "--bundle", "/x"], "/nowhere: No such file"),
    ],
)
def test_usage(args: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("yaml")
    assert cli.main(args) == 2 and said in capsys.readouterr().err


@pytest.mark.parametrize("shell", shells(), ids=" ".join)
def test_the_adapter_tells_every_point(
    shell: list[str], bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bundle / "ktap").write_text(KTAP)
    heard = tmp_path / "heard"
    tool = tmp_path / "lava-test-case"
    tool.write_text(f'#!/bin/sh\necho "$3 $1${{5:+ $5}}" >>{heard}\n')
    tool.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(
        [*shell, str(ADAPTER), str(bundle), "good"], env={**os.environ, "PATH": path, "TMPDIR": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    expected = [line for line in SAID.splitlines() if not line.startswith("reason")]
    for line in expected:
        assert line in heard.read_text().splitlines(), (line, heard.read_text())
    assert "reason: root.a.b.ring.third: no: EINVAL (the pair)" in done.stdout
    assert not list(tmp_path.glob("pm-lab.*")) and "reboot" not in heard.read_text()


def log_of(bundle: Path, folder: Path, dashes: bool) -> tuple[Path, list[str]]:
    """The log that LAVA keeps of the adapter's output, in either of its formats."""
    done = subprocess.run(
        ["sh", str(ADAPTER), str(bundle), "good"], env={**os.environ, "TMPDIR": str(folder)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    start = "- " if dashes else ""
    lines = [
        start + json.dumps({"dt": "2026-11-22T10:00:00", "lvl": "target", "msg": line})
        for line in done.stdout.splitlines()
    ]
    noise = [start + json.dumps({"lvl": "results", "msg": {"case": "x", "result": "pass"}}), "- {broken", ""]
    log = folder / "logs.yaml"
    log.write_text("\n".join([*noise, *lines, *noise]) + "\n")
    return log, lines


@pytest.mark.parametrize("dashes", [True, False])
def test_a_log_becomes_the_same_result(bundle: Path, tmp_path: Path, dashes: bool) -> None:
    log, lines = log_of(bundle, tmp_path, dashes)
    out = tmp_path / "out"
    assert cli.main(["lab", "ingest", str(log), "--out", str(out)]) == 0
    for step in STEPS:
        assert (out / answer(step)).read_bytes() == (bundle / "ktap").read_bytes()
    assert (out / "result.json").exists() and json.loads((out / "boot.json").read_text())["place"] == "lava"
    assert cli.main(["lab", "ingest", str(log), "--out", str(out)]) == 2, "nothing is overwritten"


def test_a_damaged_log_is_an_error(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, lines = log_of(bundle, tmp_path, True)
    whole = log.read_text()
    block = next(line for line in lines if "@@pm 0" in line)
    cases = {
        "1 of": whole.replace(block + "\n", ""),
        "missing or damaged": whole.replace("@@pm 0 ", "@@pm 0 1"),
        "no end of a result": whole.replace("@@pm-end", "@@pm-endless"),
    }
    for said, text in cases.items():
        log.write_text(text)
        with pytest.raises(Refused, match=said):
            ingest.collect(log)
        assert cli.main(["lab", "ingest", str(log), "--out", str(tmp_path / said.replace(" ", ""))]) == 3
    log.write_text(whole.replace(block, f"{block.replace('@@pm 0 ', 'noise @@pm 0 ')}\n{block}"))
    assert ingest.collect(log)


def test_what_is_in_a_result_is_not_trusted(tmp_path: Path) -> None:
    import gzip
    import io
    import tarfile

    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name in ("../evil", "/tmp/evil", "boot.json", "a/b/c/d", "root/a.b.ktap"):
            info = tarfile.TarInfo(name)
            info.size = 1
            tar.addfile(info, io.BytesIO(b"x"))
        link = tarfile.TarInfo("root/c.d.ktap")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    out = tmp_path / "out"
    out.mkdir()
    ingest.unpack(gzip.compress(made.getvalue()), Channel(out))
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()] == ["out/root/a.b.ktap"]
    with pytest.raises(Refused, match="cannot be unpacked"):
        ingest.unpack(b"\x1f\x8bnonsense", Channel(out))


LAVACLI = """#!/bin/sh
echo "$*" >>{folder}/asked
if [ "$1" = identities ]; then echo "uri: https://lab.example/RPC2/"; exit; fi
if [ -s {folder}/bad ]; then sed -i 1d {folder}/bad; echo "502 Bad Gateway" >&2; exit 1; fi
case $4 in
submit) cp "$5" {folder}/job.yaml; echo 17 ;;
show)
    state=Finished
    [ -e {folder}/ran ] || state=Running
    touch {folder}/ran
    [ ! -e {folder}/endless ] || state=Running
    [ ! -e {folder}/cancelled ] || state=Canceling
    echo '{{"state": "'$state'", "device": "board-of-jane-1", "health": "Incomplete"}}' ;;
cancel) touch {folder}/cancelled ;;
logs) cat {folder}/logs.yaml ;;
list) ;;
esac
"""


@pytest.fixture()
def server(bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lavacli whose server runs each job to the log of a good run. Returns the program."""
    pytest.importorskip("yaml", reason="no yaml: package python3-yaml")
    log_of(bundle, tmp_path, True)
    tool = tmp_path / "lavacli"
    tool.write_text(LAVACLI.format(folder=tmp_path))
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(lava, "ASKED_EVERY", 0.05)
    monkeypatch.setattr(LavaPlace, "every", 0.05)
    return tool


def test_submit_wait_and_take_in(server: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["lab", "submit", *QEMU[2:], "--identity", "mine", "--out", str(tmp_path / "out")]
    assert cli.main(words) == 0
    asked = (tmp_path / "asked").read_text().splitlines()
    assert [line.split()[1:4] for line in asked if "identities" not in line] == [
        ["mine", "jobs", "submit"], ["mine", "jobs", "show"], ["mine", "jobs", "show"], ["mine", "jobs", "logs"]
    ]  # fmt: skip
    assert (tmp_path / "out" / answer(STEPS[2])).exists()
    server.write_text("#!/bin/sh\necho 'no such server' >&2; exit 1\n")
    assert cli.main([*words[:-1], str(tmp_path / "again")]) == 3
    assert "no such server" in capsys.readouterr().err


def inventory(folder: Path, more: str = "") -> list[str]:
    """The options for an inventory with a lab in it."""
    (folder / "base.yaml").write_text(BASE)
    (folder / "devices.toml").write_text(
        'format = 1\n[[device]]\nname = "pi"\ntransport = "lava"\naddress = "mine/rpi4"\ntags = ["arm"]\n'
        f'bundle = "https://lab.example/bundle.tar.gz"\nbase = "base.yaml"\n{more}'
    )
    return ["--inventory", str(folder / "devices.toml"), "--out", str(folder / "out"), "--no-build", "--no-install"]


def test_a_device_type_of_a_lab_is_a_device(server: Path, bundle: Path, tmp_path: Path) -> None:
    words = ["device", *inventory(tmp_path), "--suite", "quick", "--probe", "ring.*", "arm"]
    assert cli.main([*words, "--junit", str(tmp_path / "junit.xml")]) == 0
    for step in STEPS:
        assert (tmp_path / "out" / "pi" / answer(step)).read_bytes() == (bundle / "ktap").read_bytes()
    made = (tmp_path / "job.yaml").read_text()
    assert "device_type: rpi4" in made and "quick '--probe' 'ring.*'" in made and "lab.example/x.git" not in made
    told = json.loads((tmp_path / "out" / "manifest.json").read_text())["devices"]["pi"]
    assert told["names_kept"] is False
    env = (tmp_path / "out" / "pi" / "env").read_text()
    release = env.partition("release=")[2].partition("\n")[0]
    assert release and release in (tmp_path / "out" / "rows.txt").read_text()
    before = (tmp_path / "asked").read_text()
    assert cli.main([*words, "--resume"]) == 0
    assert (tmp_path / "asked").read_text() == before, "what is finished is not asked for again"


def test_a_lab_that_fails_stops_no_other(
    server: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = '[[device]]\nname = "nowhere"\ntransport = "lava"\naddress = "mine/other"\n'
    words = ["device", *inventory(tmp_path, more), "--suite", "quick", "all"]
    assert cli.main(words) == 3
    assert (tmp_path / "out" / "pi" / "result.json").exists()
    assert "`bundle`" in capsys.readouterr().out
    server.write_text("#!/bin/sh\necho 'no such server' >&2; exit 1\n")
    assert cli.main(["device", *inventory(tmp_path), "--health", "pi"]) == 3
    assert "no such server" in capsys.readouterr().out


def test_an_interrupt_cancels_the_job(server: Path, tmp_path: Path) -> None:
    (tmp_path / "endless").touch()
    (tmp_path / "base.yaml").write_text(BASE)
    lab = Lab("https://lab.example/b.tar", str(tmp_path / "base.yaml"))
    place = LavaPlace("pi", "mine/rpi4", lab, Private())
    heard: list[Report] = []
    with pytest.raises(KeyboardInterrupt):
        with jobs_of([place], Request(), tmp_path, lambda name, said: None, heard.append):
            while "show" not in (tmp_path / "asked").read_text() if (tmp_path / "asked").exists() else True:
                time.sleep(0.02)
            raise KeyboardInterrupt
    assert (tmp_path / "cancelled").exists() and not heard


def lava_place(folder: Path, **more: object) -> LavaPlace:
    (folder / "base.yaml").write_text(BASE)
    lab = Lab("https://lab.example/b.tar", str(folder / "base.yaml"))
    return LavaPlace("pi", "mine/rpi4", lab, Private(), **more)  # type: ignore[arg-type]


def test_a_server_that_fails_for_a_while_loses_no_job(server: Path, tmp_path: Path) -> None:
    """Three answers with 502 while it is watched; the number is known from the start."""
    said: list[str] = []

    def say(state: str) -> None:
        said.append(state)
        if state.startswith("job 17 http"):
            assert (tmp_path / "pi.job").read_text() == "17\n"
            (tmp_path / "bad").write_text("1\n2\n3\n")

    report = lava_place(tmp_path).run(Request(), tmp_path, say, threading.Event())
    assert not report.error and said[0] == "job 17 https://lab.example/scheduler/job/17"
    assert said.count("asking again: lavacli show: 502 Bad Gateway") == 3
    assert not (tmp_path / "pi.job").exists() and not (tmp_path / "pi.logs.yaml").exists()


def test_a_job_of_an_earlier_run_is_taken_up_again(server: Path, tmp_path: Path) -> None:
    (tmp_path / "pi.job").write_text("16\n")
    report = lava_place(tmp_path, resume=True).run(Request(), tmp_path, lambda state: None, threading.Event())
    asked = (tmp_path / "asked").read_text()
    assert not report.error and " 16\n" in asked and "submit" not in asked


def test_why_a_job_failed_is_told(server: Path, tmp_path: Path) -> None:
    result = {"case": "job", "definition": "lava", "error_type": "Infrastructure", "error_msg": "no\n power\n", "result": "fail"}
    beside = {"case": "power-off", "definition": "lava", "of": "job", "result": "pass"}
    lines = [{"lvl": "target", "msg": "booting"}, {"lvl": "results", "msg": result}, {"lvl": "results", "msg": beside}]
    (tmp_path / "logs.yaml").write_text("".join(f"- {json.dumps(line)}\n" for line in lines))
    place = lava_place(tmp_path)
    report = place.run(Request(), tmp_path, lambda state: None, threading.Event())
    log = tmp_path / "pi.logs.yaml"
    told = (
        "job 17 on board-of-jane-1 ended incomplete: Infrastructure: no power; its log: no end of a result: the job "
        f"ended before the suite did; log: {log}"
    )
    assert report.error == told.replace("board-of-jane-1", "<withheld>")
    assert place.private.spoken(report.error) == told
    assert "Infrastructure" in log.read_text()


def test_a_cancel_that_fails_says_what_to_do(server: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lava, "CANCELS", 1)
    (tmp_path / "endless").touch()
    server.write_text(server.read_text().replace("cancel) touch", "cancel) true"))
    stop = threading.Event()
    report = lava_place(tmp_path).run(Request(), tmp_path, lambda state: stop.set(), stop)
    assert report.error == "job 17 may still run (its state is Running): lavacli -i mine jobs cancel 17"
    assert (tmp_path / "pi.job").exists()


def test_what_of_a_job_of_the_lab_is_kept(tmp_path: Path) -> None:
    job, yaml = pytest.importorskip("kernels.lab.job"), pytest.importorskip("yaml")
    base = tmp_path / "base.yaml"
    notify = "notify: {recipients: [{to: {method: email, user: owner}}], criteria: {status: finished}}\n"
    whole = f"{BASE}{notify}"
    base.write_text(whole)
    test = job.test_action("full", "/bundle", (), 120)
    made, before = job.of_lab(base, test, 120, "full", "rpi4"), yaml.safe_load(whole)
    assert "notify" not in made and made["priority"] == "medium" and made["job_name"] == "perfmodes full on rpi4"
    assert made["timeouts"]["job"]["minutes"] > 120 and made["actions"][-1] is test
    assert {key: made[key] for key in ("visibility",)} == {key: before[key] for key in ("visibility",)}
    base.write_text(f"{whole}protocols: {{lava-multinode: {{roles: {{a: {{count: 1}}}}}}}}\n")
    with pytest.raises(Usage, match="several devices"):
        job.of_lab(base, test, 120, "full")


@pytest.mark.peer("lava")
def test_a_test_that_is_longer_than_the_job_of_the_lab_is_valid(tmp_path: Path) -> None:
    job, base = pytest.importorskip("kernels.lab.job"), tmp_path / "base.yaml"
    base.write_text(BASE)
    done = accepted(job.text(job.of_lab(base, job.test_action("full", "/bundle", (), 120), 120, "full")), tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_guest_for_a_lab_prints_messages_and_waits_with_a_prompt(tmp_path: Path) -> None:
    (tmp_path / "run.sh").touch()
    waits = initramfs.build(b"", tmp_path, "ttyS0", prompt=guest.PROMPT)
    assert b"lava#" in waits and b"lava#" not in initramfs.build(b"", tmp_path, "ttyS0")
    assert guest.without_quiet("console=ttyS0 quiet panic=-1") == "console=ttyS0 panic=-1"
