# SPDX-License-Identifier: MIT
"""Results out of the log of a LAVA job: logs.yaml, the log that a server serves, or the messages of
lava-run. Whatever is in them came from a device, and is treated as hostile."""

from __future__ import annotations

import base64
import binascii
import io
import json
import re
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from kernels.errors import Refused
from kernels.place.channel import Channel, cksum, safe_path

BLOCK = re.compile(r"@@pm (\d{1,6}) (\d{1,10}) ([A-Za-z0-9+/=]{4,1100})\s*$")
END = re.compile(r"@@pm-end (\d{1,6}) (\d{1,10}) (\d{1,9})\s*$")
LOG, LINE, RESULT, WHOLE = 512 << 20, 1 << 20, 64 << 20, 128 << 20


def lines(log: Path) -> Iterator[str]:
    """What the device said, line by line. A line of the log is JSON, in logs.yaml after a dash."""
    if log.stat().st_size > LOG:
        raise Refused(f"{log}: larger than {LOG >> 20} MiB")
    with open(log, encoding="utf-8", errors="backslashreplace") as file:
        while line := file.readline(LINE):
            start = line.find("{")
            try:
                told = json.loads(line[start:]) if start >= 0 else None
            except (ValueError, RecursionError):
                continue
            if isinstance(told, dict) and told.get("lvl") == "target" and isinstance(told.get("msg"), str):
                yield told["msg"]


def collect(log: Path) -> bytes:
    """The compressed result. Raises Refused with what is missing."""
    blocks: dict[int, bytes] = {}
    end = None
    for line in lines(log):
        match = BLOCK.search(line)
        if match:
            try:
                data = base64.b64decode(match[3], validate=True)
            except (ValueError, binascii.Error):
                continue
            if cksum(data) == int(match[2]):
                blocks.setdefault(int(match[1]), data)
        end = END.search(line) or end
    if not end:
        raise Refused(f"{log}: no end of a result: the job ended before the suite did")
    missing = [number for number in range(int(end[1])) if number not in blocks]
    if missing:
        some = ", ".join(map(str, missing[:5]))
        raise Refused(f"{log}: {len(missing)} of {end[1]} lines of the result are missing or damaged: {some}")
    whole = b"".join(blocks[number] for number in range(int(end[1])))
    if len(whole) != int(end[3]) or cksum(whole) != int(end[2]):
        raise Refused(f"{log}: the result has a wrong checksum")
    return whole


def unpack(result: bytes, channel: Channel) -> None:
    """Hand every file of the result to the channel, which checks and stores it."""
    plain = zlib.decompressobj(31)
    try:
        data = plain.decompress(result, WHOLE)
        if plain.unconsumed_tail:
            raise Refused(f"the result is larger than {WHOLE >> 20} MiB")
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            for member in tar:
                name = member.name.removeprefix("./")
                file = tar.extractfile(member) if member.isreg() else None
                if file and not Path(name).name.startswith(".") and safe_path(name):
                    channel.take(name, file.read(channel.limits.file + 1))
    except (tarfile.TarError, zlib.error, EOFError) as error:
        raise Refused(f"the result cannot be unpacked: {error}") from None
    if channel.flood:
        raise Refused(channel.flood)
