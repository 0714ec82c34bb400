# SPDX-License-Identifier: MIT
"""A small signed archive on a local port, and every way it can lie."""

from __future__ import annotations

import functools
import hashlib
import http.server
import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kernels import matrix
from kernels.errors import Missing, Refused
from kernels.source import apt, mirror
from kernels.source.fetch import Fetcher

pytestmark = pytest.mark.skipif(
    not shutil.which("gpg") or not shutil.which("apt-get"), reason="no gpg or apt-get"
)
ROW = replace(matrix.load().rows["amd64-newest"], suites=("test",))
SYNC = "E: x File has unexpected size (1 != 2). Mirror sync in progress?"
NEW, OLD = "linux-binary-7.3.4-cloud-amd64", "linux-image-7.3-cloud-amd64"


class Archive:
    """A Debian archive with one suite and two kernels."""

    def __init__(self, root: Path, home: Path) -> None:
        self.root, self.home, self.signed = root, home, time.time() - 1000
        self.debs = {NEW: ("7.3.4-1", b"new" * 800_000), OLD: ("7.3~rc1-1", b"old" * 800_000)}
        self.suite = root / "dists" / "test"
        self.packages = self.suite / "main" / "binary-amd64" / "Packages"
        self.packages.parent.mkdir(parents=True)
        (root / "pool").mkdir()
        for name, (_, data) in self.debs.items():
            self.deb(name).write_bytes(data)
        self.packages.write_text("\n".join(self._stanza(name) for name in self.debs))
        self.sign()

    def deb(self, name: str) -> Path:
        return self.root / "pool" / f"{name}.deb"

    def _stanza(self, name: str) -> str:
        version, data = self.debs[name]
        return (
            f"Package: {name}\nVersion: {version}\nArchitecture: amd64\nFilename: pool/{name}.deb\n"
            f"Size: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n"
        )

    def gpg(self, *args: str) -> None:
        subprocess.run(
            [
                "gpg",
                "--batch",
                "--yes",
                "--quiet",
                "--pinentry-mode",
                "loopback",
                "--passphrase",
                "",
                *args,
            ],
            env={**os.environ, "GNUPGHOME": str(self.home)},
            check=True,
            capture_output=True,
        )

    def sign(self, user: str = "good") -> None:
        data = self.packages.read_bytes()
        (self.suite / "Release").write_text(
            "Suite: test\nCodename: test\nDate: Sat, 01 Jan 2022 00:00:00 UTC\n"
            "Valid-Until: Sat, 08 Jan 2022 00:00:00 UTC\nArchitectures: amd64\n"
            "Components: main\nSHA256:\n"
            f" {hashlib.sha256(data).hexdigest()} {len(data)} main/binary-amd64/Packages\n"
        )
        self.gpg(
            "--local-user",
            user,
            "--clearsign",
            "-o",
            str(self.suite / "InRelease"),
            str(self.suite / "Release"),
        )
        self.signed += (
            10  # HTTP dates have seconds: a second signature within one would look unchanged
        )
        os.utime(self.suite / "InRelease", (self.signed, self.signed))


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A key ring with a good key and another one; only the good one is exported for apt."""
    home = tmp_path_factory.mktemp("gpg")
    home.chmod(0o700)
    run = functools.partial(
        subprocess.run, env={**os.environ, "GNUPGHOME": str(home)}, check=True, capture_output=True
    )
    for user in ("good", "other"):
        run(
            [
                "gpg",
                "--batch",
                "--passphrase",
                "",
                "--quick-gen-key",
                user,
                "rsa2048",
                "sign",
                "never",
            ]
        )
    run(["gpg", "--batch", "-o", str(home / "good.gpg"), "--export", "good"])
    yield home
    subprocess.run(
        ["gpgconf", "--homedir", str(home), "--kill", "gpg-agent"], check=False, capture_output=True
    )


@pytest.fixture
def archive(tmp_path: Path, keys: Path) -> Archive:
    return Archive(tmp_path / "archive", keys)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def fetcher(archive: Archive, tmp_path: Path) -> Iterator[Fetcher]:
    handler = functools.partial(Quiet, directory=str(archive.root))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        uri = f"http://127.0.0.1:{server.server_port}"
        yield Fetcher(mirror.Mirror(uri, uri, str(archive.home / "good.gpg")), tmp_path / "cache")
        server.shutdown()


def again(fetcher: Fetcher, refresh: bool = False) -> Fetcher:
    """A later run on the same cache."""
    return Fetcher(fetcher.mirror, fetcher.cache, refresh)


def test_signed_and_whole_is_taken_even_if_the_suite_is_old(
    fetcher: Fetcher, archive: Archive
) -> None:
    deb = fetcher.kernel(ROW)
    assert deb.package.name == NEW and deb.path.read_bytes() == archive.debs[NEW][1]


def test_a_cached_file_that_changed_is_fetched_again(fetcher: Fetcher, archive: Archive) -> None:
    said: list[str] = []
    path = fetcher.kernel(ROW).path
    path.write_bytes(b"evil" * 600_000)
    later = again(fetcher)
    later.say = said.append
    assert later.kernel(ROW).path.read_bytes() == archive.debs[NEW][1]
    assert any("not what the signed index says" in line for line in said)


def test_a_package_that_differs_from_the_index_is_refused(
    fetcher: Fetcher, archive: Archive
) -> None:
    data = archive.deb(NEW).read_bytes()
    archive.deb(NEW).write_bytes(b"X" + data[1:])
    with pytest.raises(Refused, match="does not match the signed index"):
        fetcher.kernel(ROW)
    assert not list((fetcher.cache / "debs").glob("*.deb"))


def test_a_package_that_is_not_served_gives_way_to_the_next(
    fetcher: Fetcher, archive: Archive
) -> None:
    archive.deb(NEW).unlink()
    assert fetcher.kernel(ROW).package.name == OLD
    archive.deb(OLD).unlink()
    assert again(fetcher).kernel(ROW).package.name == OLD, "it is in the cache"


def test_a_release_that_changed_after_signing_is_refused(
    fetcher: Fetcher, archive: Archive
) -> None:
    release = archive.suite / "InRelease"
    release.write_text(release.read_text().replace("Components: main", "Components: mair"))
    with pytest.raises(Refused, match="does not trust"):
        fetcher.kernel(ROW)


def test_an_unsigned_release_is_refused(fetcher: Fetcher, archive: Archive) -> None:
    (archive.suite / "InRelease").unlink()
    with pytest.raises(Refused, match="not signed"):
        fetcher.kernel(ROW)


def test_a_foreign_signature_is_refused(fetcher: Fetcher, archive: Archive) -> None:
    archive.sign("other")
    with pytest.raises(Refused, match="does not trust"):
        fetcher.kernel(ROW)


def test_a_foreign_signature_is_refused_even_when_an_older_index_is_here(
    fetcher: Fetcher, archive: Archive
) -> None:
    fetcher.kernel(ROW)
    archive.sign("other")
    with pytest.raises(Refused, match="does not trust"):
        again(fetcher, refresh=True).kernel(ROW)
    with pytest.raises(Refused):
        again(fetcher).kernel(ROW)


def test_an_index_that_differs_from_the_release_is_refused(
    fetcher: Fetcher, archive: Archive
) -> None:
    archive.packages.write_text(archive.packages.read_text().replace("7.3.4-1", "9.9.9-1"))
    with pytest.raises(Refused):
        fetcher.kernel(ROW)


def test_an_index_is_asked_for_once_a_day(fetcher: Fetcher, archive: Archive) -> None:
    fetcher.kernel(ROW)
    shutil.rmtree(archive.suite)
    assert again(fetcher).kernel(ROW).package.name == NEW
    stamp = next(fetcher.cache.glob("apt/*/updated"))
    os.utime(stamp, (time.time() - 2 * apt.DAY,) * 2)
    later, said = again(fetcher), []
    later.say = said.append
    assert later.kernel(ROW).package.name == NEW
    assert any("the package list of test" in line and "is used" in line for line in said)


def test_a_suite_the_mirror_lacks_is_passed_over(fetcher: Fetcher) -> None:
    assert fetcher.kernel(replace(ROW, suites=("nowhere", "test"))).package.name == NEW
    with pytest.raises(Missing, match="no cloud-amd64 kernel of series newest"):
        fetcher.kernel(replace(ROW, suites=("nowhere",)))


def test_sources_are_read_in_both_spellings(tmp_path: Path) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list").write_text(
        "# deb http://no x main\ndeb [arch=amd64 signed-by=/k.gpg] http://a/d bookworm main\n"
        "deb-src http://src/d bookworm main\n"
    )
    (tmp_path / "sources.list.d" / "x.sources").write_text(
        "Types: deb\nURIs: http://b/d\n# note\nSuites: sid\n experimental\n"
        "Signed-By:\n -----BEGIN\n\n"
        "Types: deb\nEnabled: no\nURIs: http://c/d\nSuites: off\n"
    )
    found = mirror.system_sources(tmp_path)
    assert [(s.uris, s.suites, s.signed_by) for s in found] == [
        (("http://a/d",), ("bookworm",), "/k.gpg"),
        (("http://b/d",), ("sid", "experimental"), ""),
    ]


def test_the_mirror_is_the_one_of_the_systems_own_suite(tmp_path: Path) -> None:
    key = tmp_path / "k.gpg"
    key.touch()
    sources = [
        mirror.Source(("http://other",), ("tool-bookworm",)),
        mirror.Source(("http://deb/d",), ("bookworm",), str(key)),
        mirror.Source(("http://sec/s",), ("bookworm-security",)),
    ]
    assert mirror.find_mirror("bookworm", sources) == mirror.Mirror(
        "http://deb/d", "http://sec/s", str(key)
    )
    assert mirror.find_mirror("bookworm", sources[:2]).base("x-security") == "http://deb/d-security"
    with pytest.raises(Missing, match="--mirror"):
        mirror.find_mirror("noble", sources)
    with pytest.raises(Missing, match="debian-archive-keyring"):
        mirror.find_mirror("bookworm", [replace(sources[1], signed_by=str(tmp_path / "none"))])


@pytest.mark.parametrize(
    "spoilt", ["", "{", "[]", '{"prefixes": [], "packages": []}', "null", '{"packages": 1}', "old"]
)
def test_what_an_earlier_run_kept_is_used_or_made_anew(
    fetcher: Fetcher, spoilt: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that was killed while writing, or a program with other fields, must not stop the next."""
    found = fetcher.resolve(ROW)
    (kept,) = fetcher.cache.glob("apt/*/packages.json")
    whole = kept.read_text()
    kept.write_text(whole.replace('"sha256"', '"md5"') if spoilt == "old" else spoilt)
    assert Fetcher(fetcher.mirror, fetcher.cache).resolve(ROW) == found
    assert kept.read_text() == whole
    monkeypatch.setattr(apt, "read_index", lambda *_: pytest.fail("it was kept"))
    assert Fetcher(fetcher.mirror, fetcher.cache).resolve(ROW) == found


def test_a_mirror_in_the_middle_of_an_update_is_unreachable_not_hostile(
    fetcher: Fetcher, archive: Archive
) -> None:
    """An index of another size than the signed one is never read; other suites may serve."""
    archive.packages.write_text(archive.packages.read_text() + "\nPackage: more\n")
    with pytest.raises(Missing, match=f"of test .amd64. could not be read from {fetcher.mirror.main}: .*sync"):
        fetcher.kernel(ROW)
    assert not list(fetcher.cache.glob("apt/*/packages.json"))


def out_of_step(fetcher: Fetcher, archive: Archive) -> tuple[Fetcher, list[str]]:
    """A later run, whose mirror is being updated; and what it says."""
    archive.packages.write_text(archive.packages.read_text() + "\nPackage: more\n")
    archive.sign()
    archive.packages.write_text(archive.packages.read_text() + "\nPackage: another\n")
    later, said = again(fetcher, refresh=True), []
    later.say = said.append
    return later, said


def test_the_last_list_that_was_read_serves_beside_such_a_mirror(fetcher: Fetcher, archive: Archive) -> None:
    fetcher.kernel(ROW)
    later, said = out_of_step(fetcher, archive)
    assert later.kernel(ROW).package.name == NEW
    assert any(re.search(r"of test .amd64. could not be read from http\S+: .*; the one of 20\S+ is used", s) for s in said)
    with pytest.raises(Missing, match="^no cloud-amd64 kernel of series 9.9 for amd64 in test$"):
        again(fetcher).kernel(replace(ROW, series="9.9"))


def test_a_kernel_of_an_earlier_run_serves_where_no_list_can_be_read(fetcher: Fetcher, archive: Archive) -> None:
    fetcher.kernel(ROW)
    tool = fetcher.tool(OLD, ("test",), "amd64").path
    shutil.rmtree(fetcher.cache / "apt")
    later, said = out_of_step(fetcher, archive)
    deb = later.kernel(ROW)
    assert deb.package.name == NEW and deb.package.version == "7.3.4-1" and deb.package.suite == "test"
    assert deb.path.read_bytes() == archive.debs[NEW][1]
    assert any(re.search(r"using \S+ 7.3.4-1, which an earlier run has fetched", line) for line in said)
    assert later.tool(OLD, ("test",), "amd64").path == tool
    for series in ("7.3", "newest"):
        assert later.kernel(replace(ROW, series=series)).package.name == NEW
    with pytest.raises(Missing, match="could not be read"):
        later.kernel(replace(ROW, series="6.12"))
    with pytest.raises(Missing, match="could not be read"):
        later.tool("busybox-static", ("test",), "amd64")


def test_nobody_is_told_that_there_is_no_kernel_where_the_mirror_is_away(fetcher: Fetcher) -> None:
    nowhere = Fetcher(replace(fetcher.mirror, main="http://127.0.0.1:9/debian"), fetcher.cache)
    with pytest.raises(Missing, match="of test .amd64. could not be read from http://127.0.0.1:9/debian: "):
        nowhere.kernel(ROW)


def test_a_list_that_apt_cannot_hand_out_is_not_an_empty_one(
    fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apt, "HELPER", "/bin/false")
    with pytest.raises(Missing, match="could not be read"):
        fetcher.kernel(ROW)
    monkeypatch.setattr(apt.Suite, "_index_files", lambda suite: iter(()))
    with pytest.raises(Missing, match="could not be read from .*: apt has none"):
        fetcher.kernel(ROW)


@pytest.mark.parametrize(
    ("said", "stop"),
    [
        (f"{SYNC}\n Hashes of expected file:", False),
        ("E: x Hash Sum mismatch\n Hashes of expected file:", True),
        (f"W: GPG error: x\n{SYNC}", True),
        ("W: x OpenPGP signature verification failed: http://x test InRelease: Sub-process sqv", True),
        ("W: Failed to fetch x  Sub-process sqv returned an error code (1), error message is: Missing key X, which is "
         "needed to verify signature.", True),
        ("E: x 404  Not Found", False),
    ],
)
def test_when_to_stop(said: str, stop: bool) -> None:
    assert apt.untrusted(said) == stop
