# SPDX-License-Identifier: MIT
"""Find Debian's mirror for this machine: the one of the system's apt, or the user's choice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kernels.errors import Missing

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


@dataclass(frozen=True)
class Source:
    """One `deb` line of the system's apt configuration."""

    uris: tuple[str, ...]
    suites: tuple[str, ...]
    signed_by: str = ""


def _deb822(text: str) -> Iterator[Source]:
    for stanza in re.split(r"\n\s*\n", text):
        lines = [line for line in stanza.splitlines() if not line.startswith("#")]
        fields = dict(
            re.findall(r"^([\w-]+):[ \t]*(.*(?:\n[ \t].*)*)", "\n".join(lines), re.MULTILINE)
        )
        keys = {key.lower(): value for key, value in fields.items()}
        if "deb" in keys.get("types", "").split() and keys.get("enabled", "yes").lower() != "no":
            signed = keys.get("signed-by", "").strip()
            yield Source(
                tuple(keys.get("uris", "").split()),
                tuple(keys.get("suites", "").split()),
                signed if signed.startswith("/") else "",
            )


def _one_line(text: str) -> Iterator[Source]:
    for line in text.splitlines():
        match = re.match(r"\s*deb\s+(?:\[([^]]*)\]\s+)?(\S+)\s+(\S+)", line)
        if match:
            signed = re.search(r"signed-by=(/\S+)", match[1] or "")
            yield Source((match[2],), (match[3],), signed[1] if signed else "")


def system_sources(root: Path = Path("/etc/apt")) -> list[Source]:
    """Every `deb` source of the system's apt, in both file formats."""
    found: list[Source] = []
    for path in [root / "sources.list", *sorted((root / "sources.list.d").glob("*"))]:
        if path.is_file() and path.suffix in (".list", ".sources"):
            text = path.read_text(encoding="utf-8", errors="replace")
            found += _deb822(text) if path.suffix == ".sources" else _one_line(text)
    return found


@dataclass(frozen=True)
class Mirror:
    """The URIs of Debian's archive, and the keyring that verifies it."""

    main: str
    security: str
    signed_by: str

    def base(self, suite: str) -> str:
        return self.security if suite.endswith("-security") else self.main


def _keyring(sources: list[Source], uri: str) -> str:
    for source in sources:
        if uri in source.uris and source.signed_by:
            return source.signed_by
    return str(KEYRING)


def find_mirror(codename: str, sources: list[Source], override: str = "") -> Mirror:
    """The mirror of the system's own Debian suites, or the one that the user names."""
    uris = {suite: source.uris[0] for source in sources for suite in source.suites if source.uris}
    main = override or uris.get(codename, "")
    if not main:
        raise Missing(
            "the system's apt has no Debian source to learn a mirror from: use --mirror URI"
        )
    derived = f"{main.rstrip('/')}-security"
    security = derived if override else uris.get(f"{codename}-security", derived)
    keyring = _keyring(sources, main)
    if not Path(keyring).exists():
        raise Missing(f"no keyring {keyring}: apt-get install debian-archive-keyring")
    return Mirror(main, security, keyring)


def codename(path: Path = Path("/etc/os-release")) -> str:
    match = re.search(
        r"^VERSION_CODENAME=\"?([\w-]+)", path.read_text() if path.exists() else "", re.MULTILINE
    )
    return match[1] if match else ""
