# SPDX-License-Identifier: MIT
"""Where a bundle runs: kernels in an emulator today, and what comes back from there."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
