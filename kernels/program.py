# SPDX-License-Identifier: MIT
"""Programs of this machine: run without input, in the C locale and within a time."""

from __future__ import annotations

import os
import subprocess

from kernels.errors import Missing

LIMIT = 600  # seconds


def run(
    argv: list[str], limit: int = LIMIT, advice: str = "", late: type[Exception] = Missing
) -> subprocess.CompletedProcess[str]:
    """What it said and how it ended. Missing, with the advice, where there is no such program."""
    try:
        return subprocess.run(
            argv,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "LC_ALL": "C"},
            check=False,
        )
    except FileNotFoundError:
        advice = advice or f"apt-get install {argv[0]}"
        raise Missing(f"no {argv[0]}: {advice}") from None
    except subprocess.TimeoutExpired:
        raise late(f"{argv[0]} did not finish in {limit} s") from None
