# SPDX-License-Identifier: MIT
"""Capability profiles: what is known of this kernel."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass

from perfmodes import abi
from perfmodes.library import Error, Handle, check, encoded, lib, sized


@dataclass(frozen=True)
class Fact:
    """One fact. `value` is a Verdict, bool, int or str."""
    key: str
    value: abi.Verdict | bool | int | str
    rank: abi.Rank


def _value(fact: abi.pm_fact) -> abi.Verdict | bool | int | str:
    if fact.type == abi.FactType.VERDICT:
        return abi.Verdict(fact.verdict)
    if fact.type == abi.FactType.TEXT:
        return (fact.text or b"").decode(errors="backslashreplace")
    return bool(fact.number) if fact.type == abi.FactType.BOOL else int(fact.number)


class Profile(Handle):
    """The profile of this machine; or of a file, a profile.json. One thread at a time uses it: the others
    wait. `said` tells why that of $PERFMODES_PROFILE is not used, "" where it is, or is not set."""

    _destroy = lib.pm_profile_destroy

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        made, diag = ctypes.c_void_p(), sized(abi.pm_diag)
        if path is None:
            done = lib.pm_profile_load_default(diag, ctypes.byref(made))
        else:
            done = lib.pm_profile_load_file(encoded(path), diag, ctypes.byref(made))
        check(done, "profile", diag)
        self.said = diag.text.decode(errors="backslashreplace") if done == 1 else ""
        super().__init__(made)

    @property
    def rank(self) -> abi.Rank:
        """How well it matches the running kernel."""
        with self.alone() as profile:
            return abi.Rank(lib.pm_profile_rank(profile))

    def __len__(self) -> int:
        with self.alone() as profile:
            return int(lib.pm_profile_count(profile))

    def __getitem__(self, key: str) -> Fact:
        fact = sized(abi.pm_fact)
        with self.alone() as profile:
            if lib.pm_profile_lookup(profile, encoded(key), fact) < 0:
                raise KeyError(key)
            return Fact(key, _value(fact), abi.Rank(fact.rank))

    def __contains__(self, key: str) -> bool:
        fact = sized(abi.pm_fact)
        with self.alone() as profile:
            return int(lib.pm_profile_lookup(profile, encoded(key), fact)) >= 0

    __iter__ = None     # the library does not list them

    def probe(self, budget_ns: int = 0) -> int:
        """Asks the kernel what is not known yet. Returns the number of facts that were added."""
        with self.alone() as profile:
            return check(lib.pm_profile_probe(profile, None, budget_ns), "pm_profile_probe")

    def use_persona(self, name: str | None = None) -> None:
        """Facts are those that hold for it ("root"), or for the calling thread (None), from now on; of a file
        they are the kernel's alone until then, or until probe(). Raises Error."""
        given = encoded(name) if name is not None else None
        with self.alone() as profile:
            check(lib.pm_profile_use_persona(profile, given), f"persona {name!r}")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it as canonical JSON: the same facts give the same bytes."""
        with self.alone() as profile, open(path, "wb") as file:
            check(lib.pm_profile_save(profile, file.fileno()), "pm_profile_save")


__all__ = ["Error", "Fact", "Profile"]
