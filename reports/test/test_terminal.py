# SPDX-License-Identifier: MIT
"""Width, colour and characters, by the conventions of terminals."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import struct
import termios

import pytest

from reports import terminal


class Stream(io.StringIO):
    """A stream that says of itself what it is told to."""

    def __init__(self, tty: bool, encoding: str = "utf-8") -> None:
        super().__init__()
        self.tty, self.said = tty, encoding

    def isatty(self) -> bool:
        return self.tty

    @property
    def encoding(self) -> str:
        return self.said


@pytest.mark.parametrize("tty, environ, wanted", [
    (True, {"TERM": "xterm"}, True),
    (False, {"TERM": "xterm"}, False),
    (True, {"TERM": "dumb"}, False),
    (True, {}, False),
    (True, {"TERM": "xterm", "NO_COLOR": "1"}, False),
    (True, {"TERM": "xterm", "NO_COLOR": ""}, True),
    (True, {"TERM": "xterm", "CLICOLOR": "0"}, False),
    (False, {"CLICOLOR_FORCE": "1"}, True),
    (False, {"CLICOLOR_FORCE": "0"}, False),
    (False, {"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, False),
])
def test_colour_follows_the_conventions(tty: bool, environ: dict[str, str], wanted: bool) -> None:
    assert terminal.coloured(Stream(tty), environ) is wanted


@pytest.mark.parametrize("columns, wanted", [
    ("132", 132), ("60", 60), ("", 80), ("0", 80), ("-5", 80), ("wide", 80), ("3", 20),
    ("99999", 1000), ("9" * 5000, 80), ("\u0661\u0660\u0660", 80)])
def test_columns_decides_the_width_where_it_makes_sense(columns: str, wanted: int) -> None:
    assert terminal.width_of(Stream(False), {"COLUMNS": columns}) == wanted


def test_a_terminal_tells_its_width_and_a_pipe_has_80() -> None:
    master, slave = pty.openpty()
    with os.fdopen(slave, "w", encoding="utf-8") as stream:
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 111, 0, 0))
        assert terminal.width_of(stream, {}) == 111
        assert terminal.width_of(stream, {"COLUMNS": "70"}) == 70
    os.close(master)
    assert terminal.width_of(Stream(False), {}) == 80


@pytest.mark.parametrize("environ, encoding, wanted", [
    ({"LANG": "en_US.UTF-8"}, "utf-8", True),
    ({"LANG": "C.utf8"}, "utf-8", True),
    ({"LANG": "de_DE.ISO-8859-1"}, "utf-8", False),
    ({"LC_ALL": "C", "LANG": "en_US.UTF-8"}, "utf-8", False),
    ({"LC_ALL": "", "LC_CTYPE": "C.UTF-8", "LANG": "C"}, "utf-8", True),
    ({}, "utf-8", False),
    ({"LANG": "C.UTF-8"}, "ascii", False),
])
def test_characters_beyond_ascii_need_a_locale_and_a_stream(environ: dict[str, str], encoding: str,
                                                            wanted: bool) -> None:
    assert terminal.unicode(Stream(True, encoding), environ) is wanted


def test_a_console_in_a_pipe_writes_no_escape_codes(capsys, monkeypatch) -> None:
    for name in ("NO_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    terminal.console(80).print("calm", style="bold red")
    assert capsys.readouterr().out == "calm\n"
    monkeypatch.setenv("CLICOLOR_FORCE", "1")
    terminal.console(80).print("loud", style="bold red")
    assert capsys.readouterr().out == "\x1b[1;31mloud\x1b[0m\n"
    monkeypatch.setenv("NO_COLOR", "1")
    terminal.console(80).print("calm", style="bold red")
    assert capsys.readouterr().out == "calm\n"


def test_a_reader_that_leaves_is_the_commands_matter() -> None:
    """rich 14 leaves with status 1 where it is not told otherwise."""
    with pytest.raises(BrokenPipeError):
        terminal.console(80).on_broken_pipe()
