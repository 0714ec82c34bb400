# SPDX-License-Identifier: MIT
"""The inventory, and the command that runs a bundle on devices."""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import socket
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fake_place import STEPS
from sshd import Server, serving, wait_until

from kernels import ROOT, cli, options
from kernels.device import command, fleet, inventory, options as device_options
from kernels.errors import Usage
from kernels.lab import labgrid
from kernels.place import claim
from kernels.place.bring import agent_call
from kernels.place.claim import owner_word
from kernels.place.follow import Pace
from kernels.place.owner import Owner
from kernels.place.private import Private, words_of
from kernels.place.steps import answer

ENTRY = '[[device]]\nname = "a"\ntransport = "ssh"\naddress = "a.example"\n'


def written(folder: Path, text: str) -> Path:
    path = folder / "devices.toml"
    path.write_text(text)
    return path


def test_the_example_is_an_inventory() -> None:
    listed = inventory.load(inventory.EXAMPLE)
    board, shared, phone, lab, shelf = listed.devices.values()
    assert board.owner.hazards and board.owner.levels == ("-1", "0", "1", "2", "3")
    assert not shared.owner.hazards and not shared.owner.disturb and shared.owner.heat == 75
    assert phone.transport == "adb" and phone.owner.perf_harden
    assert lab.lab.base == str(inventory.EXAMPLE.with_name("health-check.yaml")) and lab.lab.bundle
    assert labgrid.asked(shelf.address).tags == ("kind=board", "arch=arm64")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "'format' is a required property"),
        ("format = 2\ndevice = []\n", "format: 1 was expected"),
        ("format = 1\nfoo", "devices.toml:"),
        (f'format = 1\n{ENTRY.replace(chr(34) + "a" + chr(34), chr(34) + "../a" + chr(34))}', "device '../a': name"),
        (f'format = 1\n{ENTRY.replace("ssh", "pigeon")}', "device 'a': transport: 'pigeon'"),
        (f"format = 1\n{ENTRY}{ENTRY}", "two devices are called a"),
        (f"format = 1\n{ENTRY}hazards = true\n", "device 'a'"),
        (f"format = 1\n{ENTRY}[device.owner]\nhazards = 1\n", "device 'a': owner.hazards"),
        (f"format = 1\n{ENTRY}[device.owner]\nlevels = [7]\n", "device 'a': owner.levels"),
        (f'format = 1\n{ENTRY}[device.owner]\nquiet = ["8-9"]\n', "device 'a': owner.quiet"),
    ],
)
def test_a_wrong_inventory_says_where(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(Usage) as error:
        inventory.load(written(tmp_path, text))
    assert said in str(error.value)


def test_picking() -> None:
    listed = inventory.load(inventory.EXAMPLE)
    names = [device.name for device in listed.pick(["shelf", "b*", "ssh:me@x:22", "ssh:me@x:22"])]
    assert names[:2] == ["board-1", "build-host"] and len(names) == 3
    assert names[2].startswith("ssh-") and "me" not in names[2].removeprefix("ssh-")
    with pytest.raises(Usage, match="no device or tag 'nope'"):
        listed.pick(["nope"])


def test_the_list_has_each_device_and_what_is_allowed_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["device", "--list", "--inventory", str(inventory.EXAMPLE)]) == 0
    said = capsys.readouterr().out
    assert re.findall(r"^(\S+) +(\w+:\S+);", said, re.M) == [
        ("board-1", "ssh:root@board-1.example:22"), ("build-host", "ssh:build-host.example"),
        ("phone-1", "adb:R58N1234567"), ("lab-rpi4", "lava:mylab/bcm2711-rpi-4-b"),
        ("shelf-arm64", "labgrid:lab.example:20408/kind=board,arch=arm64")]  # fmt: skip
    assert "; tags: shelf, arm64\n" in said
    assert "  allowed: --may-disturb, --hazards, --paranoid -1,0,1,2,3\n" in said
    assert "  allowed: what changes nothing; not within 08:00-18:30\n" in said


# What is no file, by the name that it has in the test, and what is said of it.
ODD = {"fifo": "a FIFO, not a regular file", "folder": "a directory, not a regular file",
       "socket": "a socket, not a regular file", "/dev/zero": "a device, not a regular file",
       "gone": "No such file or directory"}  # fmt: skip
TEXTS = {"latin": "line 2 is not UTF-8 text", "words": "not TOML: ", "empty": "file: "}


def odd_files() -> None:
    os.mkfifo("fifo")
    os.mkdir("folder")
    socket.socket(socket.AF_UNIX).bind("socket")
    Path("latin").write_bytes(b"format = 1\n# \xe4\n")
    Path("words").write_text("some words\n")
    Path("empty").write_text("")
    Path("devices.toml").write_text(f'format = 1\n{ENTRY}tags = ["shelf"]\n')


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["nope"], "no device or tag"),
        ([], "which device?"),
        (["ssh:"], "needs an address"),
        (["ssh:-oProxyCommand=x"], "not [USER@]HOST[:PORT]"),
        (["ssh:a:99999"], "not [USER@]HOST[:PORT]"),
        (["ssh:a", "--jobs", "0"], "positive"),
        (["ssh:a", "--inventory", "/nowhere"], "/nowhere"),
        (["--matrix", "/nowhere"], "no results of devices"),
        (["ssh:a", "--probe", "ring.write_bakward"], "; did you mean ring.write_backward?"),
        (["shlef", "--inventory", "devices.toml"], "; did you mean shelf?"),
        *((["--list", "--inventory", kind], f"{kind}: {why}") for kind, why in ODD.items()),
        *((["ssh:a", "--health", "--ssh-config", kind], f"{kind}: {why}") for kind, why in ODD.items()),
        *((["--list", "--inventory", kind], f"{kind}: {why}") for kind, why in TEXTS.items()),
    ],
)
def test_usage_errors_are_one_line(
    args: list[str], said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    odd_files()
    assert cli.main(["device", *args]) == 2
    error = capsys.readouterr().err
    assert said in error and error.startswith("run.sh device: ") and error.count("\n") == 1
    assert "Errno" not in error


def at(hour: int, minute: int = 0) -> time.struct_time:
    return time.struct_time((2026, 1, 1, hour, minute, 0, 3, 1, 0))


def test_what_the_owner_refuses() -> None:
    owner = Owner(quiet=("22:00-07:00",), battery=30, heat=70)
    assert "quiet hours" in owner.refuses("90", "20000", at(23)) and owner.refuses("90", "2", at(6, 59))
    assert "battery is at 29 %" in owner.refuses("-29", "20000", at(12))
    assert "71 degrees" in owner.refuses("29", "71000", at(12))
    for charge, heat in (("29", "69000"), ("-30", "-"), ("-", "70000"), ("", ""), ("x", "y")):
        assert owner.refuses(charge, heat, at(7)) == ""


def test_names_are_withheld_in_as_many_bytes() -> None:
    private = Private(["kitchen-pi", "al", "root", "R58N123ABC", "00:11:22:33:44:5f"])
    data = b"#:launch: host=kitchen-pi KITCHEN-PI. xkitchen-pi r58n123abc root al 00:11:22:33:44:5F 02-00-5e-00-53-af\n"
    clean = private.clean(data)
    assert len(clean) == len(data)
    assert clean.split() == (
        b"#:launch: host=<withheld> <withheld>. xkitchen-pi <withheld> root al <withheld>_______ "
        b"<withheld>_______"
    ).split() and b"xkitchen-pi" in clean
    assert private.text("no route to kitchen-pi") == "no route to <withheld>"
    assert private.withheld["names"] > 3
    assert Private(["kitchen-pi"], keep=True).clean(data) == data


def test_words_of_results_are_no_names(tmp_path: Path) -> None:
    """A host that is called as a probe does not spoil its results."""
    declared = tmp_path / "bin" / "declared" / "ring"
    declared.mkdir(parents=True)
    (declared / "lost.txt").write_text("id=ring.lost\ntitle=a kitchen\n")
    private = Private(["ring", "kitchen", "kitchen-pi"])
    private.spare(words_of(tmp_path))
    assert private.clean(b"ring.lost kitchen kitchen-pi") == b"ring.lost kitchen <withheld>"


@pytest.mark.slow
@pytest.mark.parametrize("keep", [False, True])
def test_nothing_in_the_results_says_who_it_was(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep: bool
) -> None:
    built(bundle, monkeypatch, "tells")
    inside = ("unshare", "-u", "sh", "-c", 'hostname kitchen-pi && exec "$@"', "sh")
    out = tmp_path / "out"
    with serving(tmp_path / "server", inside=inside) as server:
        words = ["device", "ssh:board", "--ssh-config", str(server.config), "--no-install"]
        cli.main([*words, "--out", str(out), *["--keep-names"] * keep])
    files = [path for path in out.rglob("*") if path.is_file()]
    assert any(path.name == "c.d.ktap" for path in files)
    for what in (b"kitchen-pi", b"02:00:5e:10:20:30", b"/perfmodes.", b"board"):
        found = [path.name for path in files if what in path.read_bytes()]
        assert bool(found) == (keep and what != b"board"), (what, found)
    told = json.loads((out / "manifest.json").read_text())
    (device,) = told["devices"].values()
    assert "root/c.d.ktap" in device["files"] and {"arch", "release"} <= {*device["env"]}
    assert device["names_kept"] == keep and bool(device["withheld"]) != keep


@pytest.fixture
def server(tmp_path: Path):  # type: ignore[no-untyped-def]
    with serving(tmp_path / "server") as made:
        yield made


def built(bundle: Path, monkeypatch: pytest.MonkeyPatch, suite: str = "good") -> None:
    """The command finds the tiny bundle in place of the one that make builds."""
    (bundle / "suites").mkdir()
    for name in ("quick", "default"):
        (bundle / "suites" / f"{name}.txt").touch()
    run = (bundle / "run.sh").read_text()
    run = run.replace("suite=good out", f"suite={suite} out")
    (bundle / "run.sh").write_text(run.replace("--suite) suite=$2; shift", "--suite) shift"))
    for where in (command, fleet):
        monkeypatch.setattr(where, "bundles", lambda machines, *rest: dict.fromkeys([*machines], bundle))


@pytest.mark.slow
def test_one_device_never_stops_another(
    server: Server, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Two are asked, one is not there: each is accounted for, and the rest is asked again."""
    built(bundle, monkeypatch)
    entries = [
        f'[[device]]\nname = "{name}"\ntransport = "ssh"\naddress = "{address}"\nssh_config = '
        f'"{server.config}"\ntags = ["t"]\n'
        for name, address in (("one", "board"), ("gone", "127.0.0.1:9"), ("two", "root@127.0.0.1:2222"))
    ]
    listed, out = written(tmp_path, "format = 1\n" + "".join(entries)), tmp_path / "out"
    assert cli.main(["device", "--inventory", str(listed), "--health"]) == 3
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"one                  ok: {platform.machine()}, {platform.release()}"
    assert "connect to host 127.0.0.1 port 9: Connection refused" in said[1]
    words = ["device", "t", "--inventory", str(listed), "--out", str(out), "--no-install"]
    assert cli.main([*words, "--junit", str(tmp_path / "junit.xml")]) == 3
    said = capsys.readouterr().out
    assert "3 devices, 1 without a result" in said and "gone: no result: " in said
    for name in ("one", "two"):
        assert (out / name / answer(STEPS[2])).exists() and (out / name / "result.json").exists()
        assert json.loads((out / name / "boot.json").read_text())["place"] == "ssh"
        assert "done" in (out / "logs" / f"{name}.log").read_text()
    assert "refused" in (out / "logs" / "gone.log").read_text() and not (out / "gone").exists()
    assert cli.main([*words, "--resume"]) == 3
    assert capsys.readouterr().out.count("from the earlier run") == 2
    assert cli.main(["device", "--matrix", str(out)]) == 0
    assert cli.main(["device", "--diff", "one", "two", str(out)]) == 0


@pytest.mark.server
def test_a_device_that_was_dropped_is_asked_for_the_rest(
    server: Server, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """What it has answered is kept, and what was left there is removed, once it is back."""
    built(bundle, monkeypatch, "gaps")
    monkeypatch.setattr(command, "PACE", Pace(0.1, 1, 10.0))
    out, sent = tmp_path / "out", threading.Event()
    listed = written(
        tmp_path, f'format = 1\n[[device]]\nname = "one"\ntransport = "ssh"\naddress = "board"\nssh_config = '
        f'"{server.config}"\n[device.owner]\npatience = 1\n',
    )  # fmt: skip
    words = ["device", "all", "--inventory", str(listed), "--out", str(out), "--no-install"]

    def away() -> None:
        wait_until(lambda: list(out.glob("*/root/a.b.ktap")))
        server.kill()
        sent.set()

    cut = threading.Thread(target=away)
    cut.start()
    assert cli.main(words) == 1 and sent.is_set()
    cut.join()
    assert "dropped" in capsys.readouterr().out and list(server.scratch.iterdir())
    first = out / "one" / answer(STEPS[0])
    os.utime(first, (1, 1))
    server.start()
    assert cli.main([*words, "--resume"]) == 0
    assert ": done;" in capsys.readouterr().out and not list(server.scratch.iterdir())
    assert all((out / "one" / answer(step)).exists() for step in STEPS) and first.stat().st_mtime == 1
    assert cli.main([*words, "--resume"]) == 0 and "from the earlier run" in capsys.readouterr().out


@pytest.mark.server
def test_a_device_that_hangs_comes_back_by_its_hook(
    server: Server, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Its server is gone in the middle of the run, until the owner's program is run; nobody else helps."""
    built(bundle, monkeypatch, "gaps")
    monkeypatch.setattr(command, "PACE", Pace(0.1, 1, 10.0))
    out, cycled = tmp_path / "out", tmp_path / "cycled"
    listed = written(
        tmp_path, f'format = 1\n[[device]]\nname = "one"\ntransport = "ssh"\naddress = "board"\nssh_config = '
        f'"{server.config}"\n[device.owner]\npatience = 1\nretries = 1\npower_cycle = ["touch", "{cycled}"]\n',
    )  # fmt: skip

    def away() -> None:
        wait_until(lambda: list(out.glob("*/root/a.b.ktap")))
        server.kill()
        wait_until(cycled.exists)
        server.start()

    cut = threading.Thread(target=away)
    cut.start()
    assert cli.main(["device", "all", "--inventory", str(listed), "--out", str(out), "--no-install"]) == 0
    cut.join()
    assert "2 attempts" in capsys.readouterr().out and not list(server.scratch.iterdir())
    log = (out / "logs" / "one.log").read_text()
    assert "again, 1 of 1, after dropped: no connection for 1 s" in log and "touch ended with 0" in log
    assert all((out / "one" / answer(step)).exists() for step in STEPS)


def test_whose_a_run_is_goes_with_the_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers of one image share a machine id, an account and an address."""
    words = []
    for name in ("one", "two", "one"):
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / name))
        claim._kept.cache_clear()
        words.append(owner_word("ssh:board:22"))
    assert words[0] == words[2] != words[1] and owner_word("ssh:other:22") != words[0]
    assert [path.name for path in (tmp_path / "one" / "perfmodes").iterdir()] == ["operator"]
    (tmp_path / "two").rename(tmp_path / "away")
    (tmp_path / "two").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "two"))
    claim._kept.cache_clear()
    assert owner_word("ssh:board:22") not in words and owner_word("ssh:board:22") == owner_word("ssh:board:22")


@pytest.mark.server
def test_clean_removes_what_was_left(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of ours at once; what another holds, with --force."""
    words = ["device", "ssh:board", "--ssh-config", str(server.config), "--clean"]
    place = server.place()
    for owner in (owner_word("ssh:board:22"), "somebody"):
        base = tmp_path / owner
        base.mkdir()
        place.link.execute(agent_call("folder", 1, base, owner, owner, 900, "-"))
        (base / f"perfmodes.{owner}").rename(server.scratch / f"perfmodes.{owner}")
    place.link.close()
    assert cli.main(words) == 0
    assert "1 folders removed; in use by another run, which was heard of" in capsys.readouterr().out
    assert [path.name for path in server.scratch.iterdir()] == ["perfmodes.somebody"]
    assert cli.main([*words, "--force"]) == 0 and "1 folders removed\n" in capsys.readouterr().out
    assert not list(server.scratch.iterdir())
    server.kill()
    assert cli.main(words) == 3 and "board port 22" not in (said := capsys.readouterr().out) and "refused" in said
    server.start()


@pytest.mark.parametrize(("name", "fits"), [("board.example.org", True), ("all", False), ("logs", False), ("a.part", False), ("a..b", False), (".a", False)])
def test_names_of_devices(tmp_path: Path, name: str, fits: bool) -> None:
    path = written(tmp_path, f"format = 1\n{ENTRY.replace('name = ' + chr(34) + 'a', 'name = ' + chr(34) + name)}")
    if fits:
        assert [*inventory.load(path).devices] == [name]
    else:
        with pytest.raises(Usage, match=re.escape(name)):
            inventory.load(path)


@pytest.mark.slow
def test_what_the_inventory_does_not_allow(
    server: Server, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    built(bundle, monkeypatch)
    words = ["device", "ssh:board", "--ssh-config", str(server.config), "--no-install"]
    for flag in ("--hazards", "--may-disturb", "--paranoid=1"):
        assert cli.main([*words, flag, "--out", str(tmp_path / flag.strip("-"))]) == 3
        assert "not for this place" in (said := capsys.readouterr().out) or "not to be changed" in said


@pytest.mark.parametrize("name", [".github/workflows/device.yml", "kernels/device/gitlab.yml"])
def test_the_workflows_call_the_command_as_it_is(name: str) -> None:
    """The command line in them is one that the parser takes."""
    yaml = pytest.importorskip("yaml", reason="no yaml: package python3-yaml")
    told = yaml.safe_load((ROOT / name).read_text())
    job = told.get("jobs", told)["device"]
    steps = job.get("script") or [step["run"] for step in job["steps"] if "run" in step]
    (words,) = [shlex.split(step) for step in steps]
    assert words[:2] == ["./run.sh", "device"]
    args = options.parser(device_options.add).parse_args(words[1:])
    assert args.target == ["$TARGET"] and args.suite == "$SUITE" and str(args.junit) == "devices.xml"


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({"machine": "x86_64"}, "ok: x86_64, "),
        (
            {"machine": "aarch64", "release": "6.1", "android": "14", "heat": "31500", "battery": "-80"},
            "ok: aarch64, 6.1, Android 14, 31 degrees, battery 80 %",
        ),
    ],
)
def test_what_is_known_of_a_healthy_device_is_told(known: dict[str, str], said: str) -> None:
    place: Any = SimpleNamespace(known=known)
    assert command.well(place) == said
