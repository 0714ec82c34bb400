# SPDX-License-Identifier: MIT
"""Where a bundle runs, and what comes back from there. See README.md."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
