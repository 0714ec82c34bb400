# SPDX-License-Identifier: MIT
"""The slice of the compatibility table that README links: what a program can do on a few kernels, by the
answers that ship, and what the shipped profiles say of a few questions. `report lint` compares."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reports import answers, asked, requirements, text

PROFILES = Path("lib/profiles")
WISHES = Path("lib/doctor/wishes.toml")
FILE = PROFILES / "README.md"
ROWS = ("amd64-5.10", "amd64-6.1", "amd64-6.12", "amd64-newest", "arm64-newest", "armhf-newest",
        "i386-6.5", "mips64el-6.12", "ppc64el-power9", "riscv64-newest", "s390x-newest")
COMMON = 20     # keys on which all agree, for the rest see the files
HEAD = """# What the shipped profiles say

Made by `./run.sh report slice --write` of the profiles in this folder and of the answers in
`reports/data/answers`, which `report ship` makes of a run of all kernels; `report lint` compares. The whole
table is a site: `./run.sh report site OUT`.

"""


def _profiles(top: Path) -> dict[str, dict[str, Any]]:
    found = {}
    for name in ROWS:
        path = top / PROFILES / f"{name}.json"
        if path.is_file():
            found[name] = text.load_json(path)
    return found


def _word(profile: dict[str, Any], key: str) -> str:
    """As the kernel answers whoever asks, or else as root finds it."""
    value = profile["kernel"].get(key, profile["personas"].get("root", {}).get(key, ""))
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def _lines(profiles: dict[str, dict[str, Any]], keys: list[str]) -> Iterator[str]:
    yield "| key | " + " | ".join(text.markdown(name) for name in profiles) + " |"
    yield "|---" * (len(profiles) + 1) + "|"
    for key in keys:
        words = [text.markdown(_word(profile, key)) for profile in profiles.values()]
        yield f"| {text.markdown(key)} | " + " | ".join(words) + " |"


def _wishes(top: Path) -> Iterator[str]:
    """A line for each wish of the doctor: for each kernel one of four words, or what is used instead, for a program
    without privileges."""
    folder = top / answers.FOLDER
    there = answers.names(folder)
    sources = [asked.of_sheet(name, answers.load(name, folder)) for name in ROWS if name in there]
    if not sources or not (top / WISHES).is_file():
        return
    wanted = requirements.read(top / WISHES)
    found = [requirements.check(wanted, lambda key: each.said(key, wanted.persona, each.level()), each.arch)
             for each in sources]
    levels = ", ".join(dict.fromkeys(asked.at(each.level()) for each in sources))
    yield f"## What a program can do, as {wanted.persona} at {levels}"
    yield ""
    yield "yes: as asked; else what is used instead. `./run.sh doctor --as amd64-6.1` says why, and"
    yield "`--persona root` what root can."
    yield ""
    yield "| wish | " + " | ".join(text.markdown(each.name) for each in sources) + " |"
    yield "|---" * (len(sources) + 1) + "|"
    told = [{each.need.what: each.used or each.word for each in findings} for findings in found]
    for need in wanted.needs:
        words = [text.markdown(each.get(need.what, "-")) for each in told]
        if set(words) != {"-"}:
            yield f"| {text.markdown(need.what)} | " + " | ".join(words) + " |"
    yield ""


def make(top: Path) -> str:
    """The text of the slice."""
    profiles = _profiles(top)
    keys = sorted({key for profile in profiles.values() for part in
                   (profile["kernel"], profile["personas"].get("root", {})) for key in part})
    words = {key: {_word(profile, key) for profile in profiles.values()} - {""} for key in keys}
    differing = [key for key in keys if len(words[key]) > 1]
    common = [key for key in keys if words[key] == {"yes"}]
    lines = [*_wishes(top), "## Where they differ", "", *_lines(profiles, differing), "",
             f"## Where all say yes: {len(common)} keys", "",
             *(f"- `{key}`" for key in common[:COMMON]),
             *([f"- and {len(common) - COMMON} more"] if len(common) > COMMON else [])]
    return HEAD + "\n".join(lines) + "\n"


def stale(top: Path) -> str:
    """Why the file is not what the profiles say, or ''."""
    if not (top / PROFILES).is_dir():
        return ""
    try:
        said = (top / FILE).read_text(encoding="utf-8")
    except OSError:
        said = ""
    return "" if said == make(top) else "stale: run ./run.sh report slice --write"
