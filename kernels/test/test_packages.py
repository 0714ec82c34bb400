# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import replace

import pytest

from kernels import matrix
from kernels.source.packages import Package, candidates, read_index, series, wanted

LISTED = matrix.load()
MB = 1_000_000


def row(flavour: str, wanted_series: str = "newest") -> matrix.Row:
    return replace(LISTED.rows["amd64-newest"], flavour=flavour, series=wanted_series)


def package(name: str, version: str, size: int = 20 * MB) -> Package:
    return Package(
        name,
        version,
        "amd64",
        f"pool/{name}.deb",
        size,
        f"{hash((name, version)) % 2**64:064x}",
        "http://m",
        "s",
    )


@pytest.mark.parametrize(
    "name",
    [
        "linux-image-5.10.0-32-cloud-amd64",
        "linux-image-5.10.0-32-cloud-amd64-unsigned",
        "linux-image-6.1.0-0.deb11.52-cloud-amd64",
        "linux-image-6.12.117+deb13-cloud-amd64",
        "linux-binary-7.2.13+deb14-cloud-amd64",
        "linux-binary-unsigned-7.3.4+deb13-cloud-amd64",
        "linux-image-7.3-cloud-amd64",
    ],
)
def test_names_a_kernel_can_have(name: str) -> None:
    assert wanted(row("cloud-amd64"), name)
    assert not wanted(row("amd64"), name)


@pytest.mark.parametrize(
    "name",
    [
        "linux-image-cloud-amd64",
        "linux-image-5.10.0-32-cloud-amd64-dbg",
        "linux-image-5.10.0-32-rt-amd64",
        "linux-headers-5.10.0-32-cloud-amd64",
        "linux-image-5.10.0-32-cloud-amd64-unsigned-dbg",
        "xlinux-image-5.10.0-32-cloud-amd64",
        "linux-image-5.10.0-32-cloud-amd64\nx",
    ],
)
def test_names_that_are_something_else(name: str) -> None:
    assert not wanted(row("cloud-amd64"), name)


def test_a_flavour_may_begin_with_a_digit() -> None:
    assert wanted(row("686-pae"), "linux-image-6.1.0-32-686-pae-unsigned")
    assert not wanted(row("686"), "linux-image-6.1.0-32-686-pae")


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("5.10.223-1", "5.10"),
        ("7.3~rc7-1~exp1", "7.3"),
        ("1:6.1-1", "6.1"),
        ("6.1um4+b13", "6.1"),
        ("x", ""),
    ],
)
def test_series_of_a_version(version: str, expected: str) -> None:
    assert series(version) == expected


def test_newest_first_and_of_one_version_the_smallest() -> None:
    found = candidates(
        row("cloud-amd64"),
        [
            package("linux-image-7.3-cloud-amd64", "7.3~rc7-1", 50 * MB),
            package("linux-image-7.3.4-cloud-amd64", "7.3.4-1", 50 * MB),
            package("linux-binary-7.3.4-cloud-amd64", "7.3.4-1", 13 * MB),
            package("linux-image-7.10.1-cloud-amd64-unsigned", "7.10.1-1", 51 * MB),
        ],
    )
    assert [p.name for p in found] == [
        "linux-image-7.10.1-cloud-amd64-unsigned",
        "linux-binary-7.3.4-cloud-amd64",
        "linux-image-7.3.4-cloud-amd64",
        "linux-image-7.3-cloud-amd64",
    ]


def test_the_empty_shell_beside_a_linux_binary_is_no_kernel() -> None:
    shell = package("linux-image-7.3.4-cloud-amd64", "7.3.4-1", 300_000)
    assert candidates(row("cloud-amd64"), [shell]) == []


def test_series_keeps_other_kernels_out() -> None:
    found = candidates(
        row("cloud-amd64", "6.1"),
        [
            package("linux-image-6.12.1-cloud-amd64", "6.12.1-1"),
            package("linux-image-6.1.0-9-cloud-amd64", "6.1.90-1"),
        ],
    )
    assert [p.version for p in found] == ["6.1.90-1"]


GOOD = """Package: linux-image-6.1.0-9-cloud-amd64
Version: 6.1.90-1
Architecture: amd64
Description: text
 Package: linux-image-0.1-cloud-amd64
Filename: pool/l/x.deb
Size: 12
SHA256: {sha}
""".format(
    sha="0" * 64
)


def test_an_index_is_read_by_stanza() -> None:
    text = f"Package: zlib\nVersion: 1\n\n{GOOD}\nPackage: linux-image-last\nVersion: 1\n"
    found = list(read_index(text, ["linux-image-"], "http://m/debian/", "sid"))
    assert [p.name for p in found] == ["linux-image-6.1.0-9-cloud-amd64"]
    assert found[0].uri == "http://m/debian/pool/l/x.deb" and found[0].suite == "sid"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("pool/l/x.deb", "/etc/passwd"),
        ("pool/l/x.deb", "pool/../../x"),
        ("Size: 12", "Size: -1"),
        ("Size: 12", "Size: many"),
        ("0" * 64, "0" * 63),
        ("Version: 6.1.90-1", "Version: ../6"),
        ("Package: linux-image-6.1.0-9-cloud-amd64", "Package: linux-image-../../x"),
        ("Filename: pool/l/x.deb\n", ""),
        ("Architecture: amd64", "Architecture: ../../x"),
    ],
)
def test_a_stanza_that_lies_is_passed_over(old: str, new: str) -> None:
    assert not list(read_index(GOOD.replace(old, new, 1), ["linux-image-"], "http://m", "sid"))
