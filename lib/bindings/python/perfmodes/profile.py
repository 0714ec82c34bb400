# SPDX-License-Identifier: MIT
"""Capability profiles: what is known of this kernel."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass

from perfmodes import abi
from perfmodes.library import Error, Handle, check, lib, sized


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
    """The profile of this machine; or of a file, a profile.json."""

    _destroy = lib.pm_profile_destroy

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self._pointer = None
        made, diag = ctypes.c_void_p(), sized(abi.pm_diag)
        if path is None:
            done = lib.pm_profile_load_default(diag, ctypes.byref(made))
        else:
            done = lib.pm_profile_load_file(os.fsencode(path), diag, ctypes.byref(made))
        check(done, "profile", diag)
        super().__init__(made)

    @property
    def rank(self) -> abi.Rank:
        """How well it matches the running kernel."""
        return abi.Rank(lib.pm_profile_rank(self.pointer))

    def __len__(self) -> int:
        return int(lib.pm_profile_count(self.pointer))

    def __getitem__(self, key: str) -> Fact:
        fact = sized(abi.pm_fact)
        if lib.pm_profile_lookup(self.pointer, key.encode(), fact) < 0:
            raise KeyError(key)
        return Fact(key, _value(fact), abi.Rank(fact.rank))

    def probe(self, budget_ns: int = 0) -> int:
        """Asks the kernel what is not known yet. Returns the number of facts that were added."""
        return check(lib.pm_profile_probe(self.pointer, None, budget_ns), "pm_profile_probe")

    def save(self, path: str | os.PathLike[str]) -> None:
        with open(path, "wb") as file:
            check(lib.pm_profile_save(self.pointer, file.fileno()), "pm_profile_save")


__all__ = ["Error", "Fact", "Profile"]
