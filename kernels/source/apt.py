# SPDX-License-Identifier: MIT
"""A private apt: the system's mirrors and keyrings, other suites, a state of its own. It installs
nothing.

Each suite and architecture has its own state folder, so that one broken suite never spoils another.
apt checks the signature of the Release file and through it the hash of the index; an index that it
does not trust is not read. Valid-Until is not enforced, because old kernels are in suites that are
no longer updated.
"""

from __future__ import annotations

import fcntl
import json
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from kernels import program
from kernels.errors import Missing, Refused
from kernels.source.mirror import Mirror
from kernels.source.packages import Package, read_index
from reports.text import write_whole

HELPER = "/usr/lib/apt/apt-helper"
ADVICE = "kernels come through apt, from Debian or a derivative"
DAY = 24 * 3600
PREFIXES = (
    "linux-image-",
    "linux-binary-",
    "user-mode-linux",
    "busybox-static",
    "musl-dev",
    # a newer emulator than the one installed
    "qemu-system-",
    # for modules: a kernel's headers, and a compiler as new as the kernel's
    "linux-headers-",
    "linux-kbuild-",
    "gcc-",
    "cpp-",
    "libgcc-",
    "libc6",
    "libstdc++6",
    "libcc1-",
    "libgmp10",
    "libmpfr",
    "libmpc",
    "libisl",
    "libzstd1",
    "zlib1g",
    # what unwinds in guests: headers to build against, and what runs there
    "linux-libc-dev",
    # what a version of a kernel changed
    "linux-source-",
    "libelf1",
    "libelf-dev",
    "libdw1",
    "libdw-dev",
    "liblzma5",
    "libbz2-1.0",
    # a real program with its symbols
    "python3.",
    "libpython3.",
    # the daemon of an Android device, and its libraries
    "adbd",
    "android-lib",
    "libbrotli1",
    "libcap2",
    "libgcrypt20",
    "libgpg-error0",
    "liblz4-1",
    "libprotobuf32",
    "libsystemd0",
)
UNTRUSTED = re.compile(
    r"GPG error|signature verification|verify signature|is not signed|signatures? (?:were|was|couldn't)|BADSIG|NO_PUBKEY|Clearsigned file",
    re.IGNORECASE,
)
MISMATCH = re.compile(r"Hash Sum mismatch|[Hh]ashes of expected file", re.IGNORECASE)
# The mirror is being updated: this suite cannot be read now, others may.
OUT_OF_STEP = re.compile(r"unexpected size .*Mirror sync in progress", re.IGNORECASE)
# The mirror answers, and has no such suite.
LACKING = re.compile(r"404 +Not Found|does not have a Release file|File not found", re.IGNORECASE)
CONFIG = """\
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Post-Invoke;
#clear APT::Architectures;
Dir::State "{state}";
Dir::State::lists "{state}/lists";
Dir::State::status "{state}/status";
Dir::Cache "{state}/cache";
Dir::Etc::sourcelist "{state}/suite.sources";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
APT::Architecture "{architecture}";
APT::Architectures {{ "{architecture}"; }};
APT::Sandbox::User "root";
APT::Get::AllowUnauthenticated "false";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::AllowDowngradeToInsecureRepositories "false";
Acquire::Check-Valid-Until "false";
Acquire::Languages "none";
Acquire::GzipIndexes "true";
Acquire::PDiffs "false";
Acquire::Retries "2";
Acquire::http::Timeout "30";
Acquire::https::Timeout "30";
"""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other runs out of a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _reason(result: subprocess.CompletedProcess[str]) -> str:
    lines = [line for line in result.stderr.splitlines() if re.match(r"[EW]:|Err", line)]
    said = (lines or result.stderr.splitlines() or [f"exit status {result.returncode}"])[0]
    return re.sub(r"^[EW]: |\s*\[IP: [^]]*\]", "", said)[:300]


def untrusted(said: str) -> bool:
    """True if apt's complaint is a reason to stop, false if other suites may be tried."""
    return bool(
        UNTRUSTED.search(said) or (MISMATCH.search(said) and not OUT_OF_STEP.search(said))
    )


class Unread(Missing):
    """A list that the mirror has, or may have, and that could not be read: it proves nothing."""


@dataclass
class Suite:
    """One suite of one architecture in a private state folder."""

    name: str
    architecture: str
    mirror: Mirror
    folder: Path
    notes: list[str] = field(default_factory=list)

    @property
    def config(self) -> Path:
        return self.folder / "apt.conf"

    def _prepare(self) -> None:
        for part in ("lists/partial", "cache/archives/partial"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        (self.folder / "status").touch()
        self.config.write_text(CONFIG.format(state=self.folder, architecture=self.architecture))
        (self.folder / "suite.sources").write_text(
            f"Types: deb\nURIs: {self.mirror.base(self.name)}\nSuites: {self.name}\n"
            f"Components: main\nArchitectures: {self.architecture}\nTargets: Packages\n"
            f"Signed-By: {self.mirror.signed_by}\n"
        )

    def _fresh(self) -> bool:
        stamp = self.folder / "updated"
        said = stamp.read_text() if stamp.exists() else ""
        return said == self.mirror.base(self.name) and time.time() - stamp.stat().st_mtime < DAY

    def update(self, refresh: bool = False) -> None:
        """apt-get update, once a day. Where the mirror cannot give a list now, the last one that was
        read is used, and that is noted."""
        if self._fresh() and not refresh:
            return
        self._prepare()
        result = program.run(["apt-get", "-c", str(self.config), "update"], advice=ADVICE)
        if untrusted(result.stderr):
            (self.folder / "updated").unlink(missing_ok=True)
            raise Refused(f"suite {self.name}: apt does not trust it: {_reason(result)}")
        if result.returncode == 0 and not re.search(
            r"^[EW]: .*(?:fetch|Release file)", result.stderr, re.MULTILINE
        ):
            (self.folder / "updated").write_text(self.mirror.base(self.name))
        elif (self.folder / "updated").exists():
            day = time.strftime("%Y-%m-%d", time.gmtime((self.folder / "updated").stat().st_mtime))
            self.notes.append(f"{self._unread(_reason(result))}; the one of {day} is used")
        elif LACKING.search(result.stderr):
            raise Missing(f"suite {self.name}: {_reason(result)}")
        else:
            raise Unread(self._unread(_reason(result)))

    def _unread(self, why: str) -> str:
        uri = self.mirror.base(self.name)
        return f"the package list of {self.name} ({self.architecture}) could not be read from {uri}: {why}"

    def _index_files(self) -> Iterator[tuple[Path, str]]:
        layout = "$(TRUSTED)\t$(REPO_URI)\t$(FILENAME)"
        listing = program.run(
            [
                "apt-get",
                "-c",
                str(self.config),
                "indextargets",
                "--format",
                layout,
                "Created-By: Packages",
            ],
            advice=ADVICE,
        )
        for line in listing.stdout.splitlines():
            trusted, uri, path = line.split("\t", 2)
            if trusted != "yes":
                raise Refused(f"suite {self.name}: apt does not trust its index")
            yield Path(path), uri

    def packages(self) -> list[Package]:
        """The packages of PREFIXES in the signed index; the list is kept for the next run."""
        kept, found = self.folder / "packages.json", self._kept()
        if found:
            return found
        files = list(self._index_files())
        for path, uri in files:
            done = program.run([HELPER, "cat-file", str(path)], advice=ADVICE)
            if done.returncode:
                raise Unread(self._unread(_reason(done)))
            found += read_index(done.stdout, PREFIXES, uri, self.name)
        if not files:
            raise Unread(self._unread("apt has none"))
        data = {"prefixes": PREFIXES, "packages": [asdict(package) for package in found]}
        write_whole(kept, json.dumps(data))
        return found

    def _kept(self) -> list[Package]:
        """What an earlier run kept. Empty if it was made from another index or for other
        PREFIXES."""
        kept, stamp = self.folder / "packages.json", self.folder / "updated"
        try:
            if kept.stat().st_mtime < stamp.stat().st_mtime:
                return []
            data = json.loads(kept.read_text())
            same = data["prefixes"] == list(PREFIXES)
            return [Package(**fields) for fields in data["packages"]] if same else []
        except (OSError, ValueError, KeyError, TypeError):
            return []

    def download(self, package: Package, target: Path) -> str:
        """Fetch through apt, which checks the hash. Returns why it failed, or an empty string."""
        result = program.run(
            [
                HELPER,
                "-c",
                str(self.config),
                "download-file",
                package.uri,
                str(target),
                f"SHA256:{package.sha256}",
            ],
            advice=ADVICE,
        )
        return "" if result.returncode == 0 and target.exists() else _reason(result)
