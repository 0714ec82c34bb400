#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""recount.py SITE RUN... - are the numbers of a site's front pages those of what the probes printed?

Reads the .ktap files of runs of the kernel matrix, one run for each kernel of the site, and counts again what the start
page, the areas and the list of kernels show. It shares no code with what makes results and sites, nor their reading of
KTAP, so that a fault there is not made here again. Prints what differs, a line each, and exits with 1 where anything does.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

TREE = Path(__file__).resolve().parents[3]
HELD_BACK = ("runs only with --may-disturb", "runs only with --hazards")
EXCUSES = ("blocked", "absent", "hazard")
Answer = tuple[str, str]            # verdict, reason
Answers = dict[str, Answer]         # by point


def declared(run: Path) -> dict[str, tuple[list[str], list[str]]]:
    """Probe -> its points, and its facts that are verdicts."""
    found: dict[str, tuple[list[str], list[str]]] = {}
    probe = ""
    for line in (run / "catalogue").read_text(encoding="utf-8", errors="replace").splitlines():
        key, _, value = line.partition("=")
        words = value.split()
        if key == "id":
            probe = value.strip()
            found[probe] = [], []
        elif key == "point":
            found[probe][0].append(words[0])
        elif key == "fact" and words[1] == "verdict":
            found[probe][1].append(words[0])
    return found


def excuse(said: str) -> Answer:
    """What a test gives as the reason for not asking, or for what it found."""
    word, colon, why = said.strip().partition(":")
    if word in ("no", "unknown", *EXCUSES) and colon and why.strip():
        return word, why.strip()
    return "unknown", said


def read(file: Path, points: list[str], facts: list[str]) -> Answers:
    """What a probe says of each point that it declares."""
    try:
        lines = file.read_bytes().decode("utf-8", "replace").split("\n")
    except FileNotFoundError:
        return {name: ("unknown", "not run") for name in points + facts}
    guest = re.search(r"^#:guest: ended=(\w+) times=(\d+) of=(\d+)", "\n".join(lines), re.M)
    if guest:
        each = guest[2] == guest[3] and int(guest[2]) > 1 and guest[1] != "died"
        return {name: ("broken" if each else "unknown", "the guest fell") for name in points + facts}
    end = dict(word.partition("=")[::2] for word in lines[-2].split()[1:]) if lines[-2:-1] and lines[-2].startswith("#:launch:") else {}
    stopped = end.get("timeout", "0") != "0" or end.get("signal", "0") != "0"
    found: Answers = {}
    told: list[tuple[bool, Answer]] = []
    order: list[int] = []
    seen: Counter[str] = Counter()
    plan, running = -1, ""
    for line in lines[:-2]:
        if match := re.match(r"#\s+RUN\s+\S+?\.(\S+) \.\.\.", line):
            running = match[1]
        elif line.startswith("#:perfmodes: observed="):
            seen[running] += 1
        elif match := re.match(r"#:perfmodes: ([^=\s]+)=(\w+)(?:: *(.*))?", line):
            if match[1] in facts:
                found[match[1]] = match[2], match[3] or ""
        elif match := re.match(r"1\.\.(\d+)(?:\s+#\s*SKIP\s+(.*))?", line):
            plan = int(match[1])
            if match[2]:
                told.append((True, excuse(match[2])))
        elif line.startswith("Bail out!"):
            stopped = True
        elif match := re.match(r"(not )?ok (\d+) (?:- )?[^.\s]*\.(\S+)(?:\s+# SKIP (.*))?", line):
            if match[4]:
                made = excuse(match[4])
            else:
                made = ("yes", "") if not match[1] else ("broken", "") if seen[match[3]] else ("unknown", "")
            told.append((match[1] is None, made))
            found[match[3]] = made
            order.append(int(match[2]))
    tests = [one for one in told if plan]
    failed = [one for one in tests if not one[0]]
    skipped = all(one[1][0] != "yes" for one in tests)
    fits = stopped or (len(tests) == plan and bool(failed) == (end.get("exit") not in ("0", "4" if skipped else "0")))
    if not end or end.get("truncated") != "0" or not fits or order != [*range(1, len(order) + 1)]:
        return {name: ("unknown", "not believed") for name in points + facts}
    words = {made[0] for _good, made in told}
    other = told[0][1] if not stopped and len(words) == 1 and words <= set(EXCUSES) else ("unknown", "not reported")
    return {name: found.get(name, other) for name in points + facts}


def answers(run: Path) -> dict[str, Answers]:
    """Persona -> what each point of a run says."""
    known = declared(run)
    found: dict[str, Answers] = {}
    for line in (run / "plan").read_text(encoding="utf-8").splitlines():
        persona, probe = line.split()
        for name, made in read(run / persona / f"{probe}.ktap", *known.get(probe, ([], []))).items():
            found.setdefault(persona, {})[f"{probe}.{name}"] = made
    return found


def plainly(made: Answer | None) -> str:
    """In the words of somebody who asks whether it works."""
    if made is None or made[0] in ("absent", "unknown", "hazard") or made[1].endswith(HELD_BACK):
        return "not known"
    return made[0] if made[0] in ("yes", "blocked") else "no"


def feature(ways: list[list[str]], by_key: Answers) -> str:
    """The verdict on a feature: its best way, and that is as good as its worst point."""
    order = ["no", "blocked", "not known", "yes"]

    def asked(made: Answer | None) -> str:
        return "" if made is None or made[0] == "hazard" or made[1].endswith(HELD_BACK) else made[0]
    ranked = []
    for way in ways:
        word = min((plainly(by_key.get(key)) for key in way), key=order.index)
        why = {asked(by_key.get(key)) for key in way if plainly(by_key.get(key)) == word}
        ranked.append((order.index(word), why != {"absent"}, word, why))
    _rank, _known, word, why = max(ranked, key=lambda one: one[:2])
    if word != "not known":
        return word if len(why) != 1 else why.pop()
    return "not asked" if "" in why else why.pop() if len(why) == 1 else "unknown"


class Tables(HTMLParser):
    """The rows of each table of a page, by the persona that it is for."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.rows: dict[str, list[list[str]]] = {}
        self.persona, self.cell = "", False
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "section":
            self.persona = dict(attrs).get("data-persona") or ""
        elif tag == "tr":
            self.rows.setdefault(self.persona, []).append([])
        elif tag in ("td", "th"):
            self.rows[self.persona][-1].append("")
            self.cell = True

    def handle_endtag(self, tag: str) -> None:
        self.cell = self.cell and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self.cell:
            self.rows[self.persona][-1][-1] += data


def share(found: Answers, area: str) -> str:
    """What an area's cell says: per cent, a star where less was asked, and how many are wrong."""
    every = [made for key, made in found.items() if key.partition(".")[0] == area]
    asked = [made for made in every if made[0] != "hazard" and not made[1].endswith(HELD_BACK)]
    counts = Counter(made[0] for made in asked)
    if not asked:
        return ""
    wrong = f"!{counts['broken']}" if counts["broken"] else ""
    return f"{100 * counts['yes'] // len(asked)}{'*' if len(asked) < len(every) else ''}{wrong}"


def differences(site: Path, by_kernel: dict[str, dict[str, Answers]]) -> tuple[list[str], int]:
    """What the pages say otherwise than the probes, and how many numbers were looked at."""
    wrong: list[str] = []
    looked = 0

    def hold(where: str, shown: str, counted: str) -> None:
        nonlocal looked
        looked += 1
        if shown != counted:
            wrong.append(f"{where}: the page says '{shown}', the probes '{counted}'")
    ways = {(made := tomllib.loads(file.read_text(encoding="utf-8")))["name"]: made["need"][0]["any"]
            for file in sorted((TREE / "reports/data/features").glob("*.toml"))}
    points = {key for found in by_kernel.values() for each in found.values() for key in each}
    lead = re.search(r"measured: (\d+) things that people look for, and (\d+) points",
                     (site / "index.html").read_text(encoding="utf-8"))
    hold("index.html: features, points", " ".join(lead.groups()) if lead else "", f"{len(ways)} {len(points)}")
    for page, first in (("index.html", 2), ("areas.html", 2)):
        for persona, rows in Tables(site / page).rows.items():
            last = -1 if page == "index.html" else None      # a column that says what blocks
            names = [name.split()[0] for name in rows[0][first:last]]
            for row in rows[1:]:
                for name, shown in zip(names, row[first:]) if len(row) > 1 else ():
                    found = by_kernel[name][persona]
                    counted = feature(ways[row[0]], found) if page == "index.html" else share(found, row[0])
                    hold(f"{page}: {row[0]}, {name}, {persona}", shown, counted)
                if page == "areas.html":
                    hold(f"{page}: points of {row[0]}", row[1], str(sum(key.partition(".")[0] == row[0] for key in points)))
    for row in Tables(site / "kernels.html").rows[""][1:]:
        found = by_kernel[row[0].split()[0]]
        most = next(who for who in ("root", "perfmon", "user") if who in found)
        counts = Counter(made[0] for made in found[most].values())
        hold(f"kernels.html: {row[0]}", " ".join(row[4:8]),
             f"{counts.total()} {counts['yes']} {counts['no']} {counts['broken']}")
    return wrong, looked


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    by_kernel = {}
    for run in map(Path, sys.argv[2:]):
        row = re.search(r"^kernel_row=(\S+)$", (run / "env").read_text(encoding="utf-8"), re.M)
        by_kernel[row[1] if row else run.name] = answers(run)
    wrong, looked = differences(Path(sys.argv[1]), by_kernel)
    for line in wrong:
        print(line)
    print(f"{looked} numbers of {len(by_kernel)} kernels, {len(wrong)} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
