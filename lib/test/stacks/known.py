# SPDX-License-Identifier: MIT
"""What is known of the call trees of trees.c, and how gdb sees them."""

from __future__ import annotations

TREES = ["recursion", "tail", "leaf", "vdso", "library", "dlopen", "jit", "jitloop", "thread", "signal",
         "altstack"]
# In code of a JIT gdb guesses, and a loop in the vDSO is elsewhere in each sample.
BY_GDB = [name for name in TREES if not name.startswith("jit")]
SAMPLED = [name for name in TREES if name not in ("vdso", "altstack", "jitloop")]
Frame = tuple[int, str, str]

GDB = """
import gdb
for thread in gdb.selected_inferior().threads():
    if thread.ptid[1] == TID:
        thread.switch()
frame = gdb.newest_frame()
while frame is not None:
    if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
        print("frame", frame.pc())
    frame = frame.older()
"""
PAST_MAIN = ["-ex", "set backtrace past-main on", "-ex", "set backtrace past-entry on"]


def parsed(text: str) -> tuple[list[Frame], str]:
    """What `stopped` writes: frames as (address, name, file), and why there are no more."""
    *lines, last = text.splitlines()
    frames = [line.split() for line in lines]
    return [(int(address, 16), name, file) for address, name, file, *_ in frames], last


def gdb_frames(text: str) -> list[int]:
    """On Power gdb shows the end of the back chain, 0, as a frame."""
    found = [int(line.split()[1]) for line in text.splitlines() if line.startswith("frame ")]
    return found[:-1] if found and found[-1] == 0 else found


def check_calls(which: str, calls: list[str], frames: list[Frame], end: str) -> None:
    """The calls that the program says it is in, from the innermost on, and up to its beginning."""
    found = [name for _, name, _ in frames]
    assert end == "end: complete", found
    if which == "vdso":
        assert "in_vdso" in found and "main" in found
        return
    assert [name if want != "?" else "?" for name, want in zip(found, calls)] == calls, found
    assert len(found) >= len(calls), found


def folded(text: str) -> list[list[str]]:
    """Stacks of folded lines, innermost first."""
    return [line.rsplit(" ", 1)[0].split(";")[::-1] for line in text.splitlines()]


def check_in_vdso(text: str) -> None:
    """Samples of the loop that calls the vDSO: in it, or on the way there, all called by main."""
    lines = [[name for name in line if not name.endswith("_[k]")] for line in folded(text)]
    assert any(line[0] != "in_vdso" for line in lines), lines
    for line in lines:
        assert line[line.index("in_vdso") + 1] == "main" and "[truncated]" not in line, line


def check_cut(text: str, calls: list[str]) -> None:
    """Samples of a stack of which a part is not in the copy: its calls up to there, and marked."""
    for line in folded(text):
        inside = line[line.index("spin"):] if "spin" in line else calls[:2]
        assert inside[:2] == calls[:2] and line[-2] == "[truncated]", (line, calls)


def check_folded(text: str, calls: list[str]) -> None:
    """Samples of a tree, as folded stacks: nine in ten are in its innermost call, by these calls."""
    lines = folded(text)
    inside = [line[line.index("spin"):] for line in lines if "spin" in line]
    assert len(inside) >= 0.9 * len(lines) > 0, lines
    for line in inside:
        assert all(want in ("?", name) for name, want in zip(line, calls)), (line, calls)
