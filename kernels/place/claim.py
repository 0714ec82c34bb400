# SPDX-License-Identifier: MIT
"""Whose a run at a device is. Runs of one operator are kept apart by locks in a folder of theirs (state_folder):
what the device still holds of such an operator is a leftover, and anybody else's may be at work."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import secrets
from contextlib import suppress
from pathlib import Path


def state_folder() -> Path:
    """What is to be kept from one run to the next."""
    home = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Path(home) / "perfmodes"


def owner_word(address: str) -> str:
    """A word for a device and who asks, that tells neither. It is kept with the locks: two accounts, and two
    containers of one image, have words of their own. Where nothing can be kept it is this command's."""
    return hashlib.sha256(f"{_kept(state_folder())} {address}".encode()).hexdigest()[:20]


@functools.cache
def _kept(folder: Path) -> str:
    made, path = secrets.token_hex(16), folder / "operator"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = folder / f".operator-{made}"
        new.write_text(made)
        try:
            with suppress(FileExistsError):
                os.link(new, path)
        finally:
            new.unlink()
        kept = path.read_text(encoding="ascii")
    except (OSError, ValueError):
        return made
    return kept if re.fullmatch("[0-9a-f]{32}", kept) else made
