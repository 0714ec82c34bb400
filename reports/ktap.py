# SPDX-License-Identifier: MIT
"""Reads the KTAP of a probe, strictly and with bounds. Judging it is left to verdict.py."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from reports import text

FILE_LIMIT = 4 << 20
LINE_LIMIT = 8 << 10
RESULT_LIMIT = 10_000
FACT_LIMIT = 10_000
EVIDENCE_LIMIT = 32
DEPTH_LIMIT = 8

NAME = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")
_VERSION = re.compile(r"(?:TAP version 1[34]|KTAP version [12])")
_PLAN = re.compile(r"1\.\.([0-9]{1,6})(?:\s+#\s*SKIP\b\s*(.*))?", re.ASCII)
_RESULT = re.compile(r"(not )?ok(?: +([0-9]{1,9}))?(?:\s+(.*))?", re.ASCII)
_HASH = re.compile(r"(?:^|\s)#")
_DIRECTIVE = re.compile(r"(SKIP|TODO|XFAIL|TIMEOUT|ERROR)(?=$|[\s:])[\s:]*(.*)", re.IGNORECASE)
_RUN = re.compile(r"#\s+RUN\s+(\S+) \.\.\.")
_FACT = re.compile(r"#:perfmodes:\s*([^=\s]+)=(.*)")
_ENDED = re.compile(r"#\s*\S+: (Test (?:terminated|exited|ended|failed)\b.*)")
_LOG = re.compile(r"#\s*(?:[^\s:]*/)?([^\s:/]+):([0-9]+):[^\s:]+:(.*)")
_GUEST = re.compile(r"#:guest: ended=(panic|hang|shutdown|died) times=([1-9]) of=([1-9])")
_CONSOLE = "#:guest: console "
_FOOTER = "#:launch:"
_KERNEL = re.compile(r"#:kernel: ([0-9]{1,18}) [a-z ]{1,20}: (.*)")
_FOOTER_KEYS = ("exit", "signal", "ms", "timeout", "truncated", "leftover")


@dataclass
class Result:
    """One `ok` or `not ok` line."""
    ok: bool
    number: int | None
    name: str
    directive: str = ""
    note: str = ""
    blame: str = ""
    children: list[Result] = field(default_factory=list)


@dataclass
class Block:
    """The plan and the results of one level of nesting."""
    plans: list[int] = field(default_factory=list)
    skip: str | None = None
    results: list[Result] = field(default_factory=list)


@dataclass
class Fallen:
    """What the runner of guests writes in place of output when a guest went down."""
    ended: str
    times: int
    of: int
    console: list[str] = field(default_factory=list)


@dataclass
class Transcript:
    """Everything a file says, escaped but otherwise in its own words."""
    top: Block = field(default_factory=Block)
    facts: list[tuple[str, str]] = field(default_factory=list)
    evidence: dict[str, list[str]] = field(default_factory=dict)
    footer: dict[str, int] | None = None
    kernel: list[tuple[int, str]] = field(default_factory=list)
    fallen: Fallen | None = None
    bail_out: str | None = None
    oversize: bool = False
    flooded: bool = False
    size: int = 0
    warnings: list[str] = field(default_factory=list)


def _footer(line: str) -> dict[str, int] | None:
    """The numbers of the launcher's last line, or None when one is missing."""
    pairs = dict(re.findall(r"([a-z_]{1,16})=(-?[0-9]{1,15})(?= |$)", line[len(_FOOTER):]))
    if any(key not in pairs for key in _FOOTER_KEYS):
        return None
    return {key: int(value) for key, value in pairs.items()}


class _Reader:
    def __init__(self) -> None:
        self.out = Transcript()
        self.blocks = [self.out.top]
        self.running = ""
        self.logged: dict[str, str] = {}
        self.count = 0
        self.noise = 0

    def line(self, line: str) -> None:
        body = line.lstrip(" ")
        depth, odd = divmod(len(line) - len(body), 2)
        if not body:
            return
        if body[0] == "#":
            self._comment(body)
        elif odd or depth > DEPTH_LIMIT or not self._spoken(body, depth):
            self.noise += 1

    def _spoken(self, body: str, depth: int) -> bool:
        if match := _RESULT.fullmatch(body):
            self._result(match, depth)
        elif match := _PLAN.fullmatch(body):
            block = self._block(depth)
            block.plans.append(int(match[1]))
            block.skip = match[2]
        elif body.startswith("Bail out!"):
            self.out.bail_out = body[len("Bail out!"):].strip() or "no reason given"
        else:
            return bool(_VERSION.fullmatch(body))
        return True

    def _block(self, depth: int) -> Block:
        while len(self.blocks) <= depth:
            self.blocks.append(Block())
        return self.blocks[depth]

    def _result(self, match: re.Match[str], depth: int) -> None:
        self.count += 1
        if self.count > RESULT_LIMIT:
            self.out.flooded = True
            return
        block = self._block(depth)
        result = self._read_result(match)
        if len(self.blocks) > depth + 1:
            result.children = self.blocks[depth + 1].results
            del self.blocks[depth + 1:]
        block.results.append(result)
        self.logged = {}

    def _read_result(self, match: re.Match[str]) -> Result:
        described = (match[3] or "").strip().removeprefix("- ")
        mark = _HASH.search(described)
        name = described[:mark.start()].rstrip() if mark else described
        result = Result(match[1] is None, int(match[2]) if match[2] else None,
                        name or self.running, blame=self._blame())
        if mark:
            tail = described[mark.end():].strip()
            directive = _DIRECTIVE.fullmatch(tail)
            result.directive = directive[1].upper() if directive else "?"
            result.note = directive[2] if directive else tail
        return result

    def _blame(self) -> str:
        for kind in ("ended by timeout", "could not tell", "expected", "log", "ended"):
            if kind in self.logged:
                return self.logged[kind]
        return ""

    def _comment(self, body: str) -> None:
        if match := _FACT.fullmatch(body):
            self._fact(match[1], match[2].strip())
        elif match := _GUEST.fullmatch(body):
            self._fallen(match)
        elif body.startswith(_CONSOLE) and self.out.fallen:
            if len(self.out.fallen.console) < EVIDENCE_LIMIT:
                self.out.fallen.console.append(body[len(_CONSOLE):])
        elif match := _RUN.fullmatch(body):
            self.running, self.logged = match[1], {}
        elif match := _LOG.fullmatch(body):
            self._log(match)
        elif match := _ENDED.fullmatch(body):
            timed_out = match[1].endswith("terminated by timeout")
            self.logged["ended by timeout" if timed_out else "ended"] = match[1]

    def _fallen(self, match: re.Match[str]) -> None:
        """Only the runner of guests writes this line, and only where the probe wrote no byte."""
        if self.out.footer and self.out.footer.get("bytes") == 0 and not self.out.fallen:
            self.out.fallen = Fallen(match[1], int(match[2]), int(match[3]))

    def _log(self, match: re.Match[str]) -> None:
        said = match[3].strip()
        if said.startswith("could not tell:"):
            self.logged["could not tell"] = said[len("could not tell:"):].strip()
        elif said.startswith("Expected"):
            self.logged.setdefault("expected", f"{match[1]}:{match[2]}: {said}")
        else:
            self.logged["log"] = f"{match[1]}:{match[2]}: {said}"

    def _fact(self, name: str, value: str) -> None:
        if name != "observed":
            if len(self.out.facts) < FACT_LIMIT:
                self.out.facts.append((name, value))
            else:
                self.out.flooded = True
        elif not self.running:
            self.out.warnings.append("evidence before any test began; ignored")
        else:
            kept = self.out.evidence.setdefault(self.running, [])
            if len(kept) < EVIDENCE_LIMIT:
                kept.append(value)

    def end(self) -> Transcript:
        if any(block.results for block in self.blocks[1:]):
            self.out.warnings.append("subtests without the result of their parent; ignored")
        if self.noise:
            self.out.warnings.append(f"{self.noise} lines that are not KTAP")
        return self.out


def _kernel(lines: list[bytes], out: Transcript) -> int:
    """Take off the lines that the launcher wrote before its footer. Returns their bytes. Without
    the number in the footer, such lines are the probe's own and say nothing."""
    count = max((out.footer or {}).get("kernel", 0), 0)
    taken = lines[-count:] if 0 < count <= len(lines) else []
    matches = [_KERNEL.fullmatch(text.decode(line)[0]) for line in taken]
    if not all(matches):
        return 0
    del lines[len(lines) - len(taken):]
    out.kernel = [(int(match[1]), match[2]) for match in matches if match]
    return sum(len(line) + 1 for line in taken)


def _split(data: bytes, out: Transcript) -> list[bytes]:
    """The complete lines. Half a line could mean the opposite of the whole one."""
    lines = data.split(b"\n")
    if lines.pop():
        out.warnings.append("the file ends within a line")
        return lines
    if lines and lines[-1].startswith(_FOOTER.encode()):
        last = lines.pop()
        out.footer = _footer(text.decode(last.rstrip(b"\r"))[0])
        said = _kernel(lines, out)
        out.size = len(data) - len(last) - 1 - said
        # The launcher completes a last line with a newline; its byte count shows that it did.
        if lines and out.footer and out.footer.get("bytes") == out.size - 1:
            lines.pop()
            out.warnings.append("the last line of the output was not finished; ignored")
    return lines


def _lines(data: bytes, out: Transcript) -> Iterator[str]:
    """The complete lines, bounded and escaped."""
    long = bad = 0
    for raw in _split(data, out):
        if len(raw) > LINE_LIMIT:
            long += 1
            continue
        line, valid = text.decode(raw.rstrip(b"\r"))
        bad += not valid
        yield text.clean(line, 4 * LINE_LIMIT)
    if long:
        out.warnings.append(f"{long} lines over {LINE_LIMIT} bytes; not read")
    if bad:
        out.warnings.append(f"{bad} lines are not valid UTF-8")


def _tail_footer(file: BinaryIO) -> dict[str, int] | None:
    """The footer of a file that is too large to read, from its last line."""
    file.seek(-min(LINE_LIMIT, FILE_LIMIT), os.SEEK_END)
    line = file.read().rstrip(b"\n").rpartition(b"\n")[2]
    return _footer(text.decode(line)[0]) if line.startswith(_FOOTER.encode()) else None


def parse(data: bytes) -> Transcript:
    """The transcript of any bytes."""
    reader = _Reader()
    for line in _lines(data[:FILE_LIMIT], reader.out):
        reader.line(line)
    return reader.end()


def read(path: Path) -> Transcript:
    """The transcript of a regular file. Raises OSError."""
    with os.fdopen(text.open_regular(path), "rb") as file:
        data = file.read(FILE_LIMIT + 1)
        if len(data) <= FILE_LIMIT:
            return parse(data)
        out = Transcript(oversize=True, footer=_tail_footer(file))
    out.warnings.append(f"larger than {FILE_LIMIT >> 20} MiB; not read")
    return out
