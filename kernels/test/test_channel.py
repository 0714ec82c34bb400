# SPDX-License-Identifier: MIT
from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernels.place.channel import Channel, Limits, cksum, safe_path

SMALL = Limits(file=4096, total=20_000, files=5, noise=2000)


def frame(name: str, data: bytes, crc: int | None = None, size: int | None = None) -> bytes:
    size = len(data) if size is None else size
    crc = cksum(data) if crc is None else crc
    return f"@@file {name} {size} {crc}\n".encode() + data + b"\n"


def read(target: Path, stream: bytes, step: int = 1 << 16, limits: Limits = SMALL) -> Channel:
    channel = Channel(target, limits)
    for start in range(0, len(stream), step):
        channel.feed(stream[start : start + step])
    return channel


@pytest.mark.parametrize(
    "data", [b"", b"hello\n", bytes(range(256)) * 300], ids=["empty", "line", "bytes"]
)
def test_checksum_is_that_of_cksum(data: bytes) -> None:
    said = subprocess.run(["cksum"], input=data, capture_output=True, check=True).stdout.split()
    assert int(said[0]) == cksum(data)


@pytest.mark.parametrize("step", [1, 7, 1 << 16])
def test_a_clean_stream(tmp_path: Path, step: int) -> None:
    data = b"TAP\n@@file evil 1 1\n\x00\xff"
    stream = (
        b"@@init 6.1.0\r\n"
        + frame("env", b"a=b\n")
        + frame("root/x.y.ktap", data)
        + b"@@end 2\n@@exit 0\n"
    )
    channel = read(tmp_path, stream, step)
    assert (
        channel.complete
        and channel.exit_status == 0
        and channel.release == "6.1.0"
        and channel.noise == 0
    )
    assert (tmp_path / "root" / "x.y.ktap").read_bytes() == data
    assert sorted(p.name for p in tmp_path.rglob("*") if p.is_file()) == ["env", "x.y.ktap"]


def test_noise_between_frames_is_skipped_and_counted(tmp_path: Path) -> None:
    channel = read(tmp_path, b"[ 1.0] perf: slow\n" + frame("env", b"x") + b"garbage\n@@end 1\n")
    assert channel.complete and channel.noise == len("[ 1.0] perf: slow\ngarbage\n")


def test_a_wrong_checksum_costs_one_file(tmp_path: Path) -> None:
    channel = read(tmp_path, frame("a", b"data", crc=1) + frame("b", b"data") + b"@@end 2\n")
    assert (
        list(channel.files) == ["b"]
        and "wrong checksum" in channel.refused[0]
        and not channel.complete
    )


def test_content_of_a_damaged_file_is_not_taken_for_a_frame(tmp_path: Path) -> None:
    inner = frame("inner", b"x")
    assert not read(tmp_path, frame("a", inner, crc=1)).files


def test_a_cut_stream_is_not_complete(tmp_path: Path) -> None:
    stream = frame("env", b"x") + frame("plan", b"y") + b"@@end 2\n"
    for end in range(0, len(stream), 3):
        assert not read(tmp_path, stream[:end]).complete
    assert not read(tmp_path, frame("env", b"x") + b"@@end 2\n").complete


@pytest.mark.parametrize(
    "name",
    [
        "../x",
        "/etc/passwd",
        "a/../b",
        "a//b",
        ".hidden",
        "a/.b",
        "a/b/c/d",
        "",
        "a/",
        "-rf",
        "boot.json",
        "console.log",
        "result.json",
        "boot.json/x",
        "root/profile.json/x",
        "a\\b",
        "a\nb",
        "x" * 200,
        "ä",
        "a/./b",
    ],
)
def test_paths_that_are_refused(name: str) -> None:
    assert not safe_path(name)


def test_traversal_writes_nothing(tmp_path: Path) -> None:
    inside = tmp_path / "in"
    inside.mkdir()
    channel = read(
        inside, frame("../out", b"x") + frame("root/../../out", b"x") + frame("boot.json", b"x")
    )
    assert len(channel.refused) == 3 and not [p for p in tmp_path.rglob("*") if p.is_file()]


def test_a_file_where_a_folder_is_wanted_is_refused(tmp_path: Path) -> None:
    channel = read(
        tmp_path,
        frame("root", b"x") + frame("root/a", b"y") + frame("user/a", b"y") + frame("user", b"x"),
    )
    assert sorted(channel.files) == ["root", "user/a"] and len(channel.refused) == 2


@pytest.mark.parametrize(
    ("stream", "said"),
    [
        (b"x" * 50_000, "bytes of noise"),
        (b"x\n" * 5_000, "bytes of noise"),
        (frame("a", b"x" * 3000) * 20, "bytes on the results line"),
        (b"".join(frame(f"f{n}", b"") for n in range(9)), "more than 5 files"),
    ],
    ids=["no newline", "lines", "files", "many"],
)
def test_a_flood_is_cut_off(tmp_path: Path, stream: bytes, said: str) -> None:
    channel = read(tmp_path, stream, 4096)
    assert said in channel.flood and len(channel._buffer) < 20_000


def test_an_announced_giant_is_refused_not_awaited(tmp_path: Path) -> None:
    channel = read(tmp_path, b"@@file big 9999999999 1\n" + frame("env", b"x"))
    assert list(channel.files) == ["env"] and "announced" in channel.refused[0]


pieces = st.one_of(
    st.binary(max_size=80),
    st.sampled_from(
        [
            b"@@file ",
            b"@@end 1\n",
            b"@@exit 0\n",
            b"@@init x\n",
            b"\n",
            b"\r\n",
            b"@@file a 3 1\nabc\n",
        ]
    ),
    st.builds(frame, st.text("ab/._-", min_size=1, max_size=8), st.binary(max_size=40)),
)


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(pieces, max_size=12), st.integers(1, 64))
def test_any_stream_is_survived_and_chunking_does_not_matter(
    tmp_path: Path, parts: list[bytes], step: int
) -> None:
    stream = b"".join(parts)
    inside = tmp_path / "in"
    inside.mkdir(exist_ok=True)
    slowly, at_once = read(inside, stream, step), read(inside, stream)
    assert (slowly.files, slowly.announced, slowly.noise) == (
        at_once.files,
        at_once.announced,
        at_once.noise,
    )
    assert not [p for p in tmp_path.iterdir() if p != inside]


def test_mutated_streams_give_only_whole_files(tmp_path: Path) -> None:
    """What is written is what was sent, whatever bytes were lost, doubled or changed on the way."""
    sent = {f"root/p.{n}.ktap": bytes([65 + n]) * (n * 13) for n in range(8)}
    clean = b"".join(frame(name, data) for name, data in sent.items()) + b"@@end 8\n"
    for seed in range(200):
        rng, stream = random.Random(seed), bytearray(clean)
        for _ in range(rng.randint(1, 6)):
            at = rng.randrange(len(stream))
            stream[at : at + rng.randint(0, 9)] = rng.randbytes(rng.randint(0, 9))
        channel = Channel(tmp_path / str(seed))
        channel.feed(bytes(stream))
        for name in channel.files:
            if name in sent:
                assert (tmp_path / str(seed) / name).read_bytes() == sent[name]


def test_runs_of_one_guest_are_told_apart(tmp_path: Path) -> None:
    stream = (
        b"@@ready 6.1\n@@init 6.1\n@@refused paranoid-4\n@@run paranoid--1\n"
        + frame("env", b"a")
        + frame("root/x.ktap", b"b")
        + b"@@end 2\n@@run paranoid-2\n"
        + frame("env", b"c")
        + b"@@end 1\n@@exit 0\n"
    )
    channel = read(tmp_path, stream, 7)
    assert channel.ready and channel.complete and (channel.frames, channel.announced) == (3, 3)
    assert (tmp_path / "paranoid--1" / "env").read_bytes() == b"a"
    assert (tmp_path / "paranoid-2" / "env").read_bytes() == b"c"
    assert channel.missing_runs == ["paranoid-4"] and channel.probing


def test_a_run_that_lacks_a_file_spoils_the_whole(tmp_path: Path) -> None:
    stream = b"@@run a\n" + frame("env", b"a") + b"@@end 2\n@@run b\n" + frame("env", b"b") + b"@@end 0\n"
    channel = read(tmp_path, stream)
    assert channel.announced == channel.frames == 2 and not channel.complete


@pytest.mark.parametrize("name", ["..", "a/b", "-x", "x" * 150, "a\x00", "boot.json"])
def test_a_run_has_a_plain_name(tmp_path: Path, name: str) -> None:
    channel = read(tmp_path / "in", f"@@run {name}\n".encode() + frame("env", b"a") + b"@@end 1\n")
    assert list(channel.files) == ["env"] and (tmp_path / "in" / "env").exists()


def test_the_first_and_the_last_clock_are_kept(tmp_path: Path) -> None:
    stream = b"".join(b"@@clock %d.25\n" % second for second in range(3, 900))
    odd = b"@@clock 1e9\n@@clock 7\n@@clock -1.00\n@@clock nan\n@@clock 12345678901.00\n"
    channel = read(tmp_path / "in", odd + stream + odd)
    assert [its for _, its in channel.clocks] == [3.25, 899.25]
    assert channel.clocks[0][0] <= channel.clocks[1][0]
