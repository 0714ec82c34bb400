# SPDX-License-Identifier: MIT
"""What an emulator had of the processors, and how long it waited for one while other programs had them."""

from __future__ import annotations

import os
from pathlib import Path


def spent(pid: int) -> float:
    """CPU seconds of a running process so far; 0 where there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0.0
    user, system = stat.rpartition(")")[2].split()[11:13]
    return round((int(user) + int(system)) / os.sysconf("SC_CLK_TCK"), 2)


def waited(pid: int) -> float:
    """Seconds for which a process could have run and had no processor: of the thread that waited longest. 0 where the
    kernel does not say (it is built without CONFIG_SCHED_INFO)."""
    longest = 0
    for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        try:
            longest = max(longest, int(path.read_text().split()[1]))
        except (OSError, IndexError, ValueError):
            pass
    return longest / 1e9
