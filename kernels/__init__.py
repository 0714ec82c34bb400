# SPDX-License-Identifier: MIT
"""Where a bundle runs, and what comes back from there. See README.md."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The verbs that run.sh has, as a person types them there.
TYPED = {"run": "./run.sh kernels", "device": "./run.sh device"}


def name(verb: str) -> str:
    """Under which name to speak to a person who asked for this verb."""
    return TYPED.get(verb, f"kernels {verb}").removeprefix("./")
