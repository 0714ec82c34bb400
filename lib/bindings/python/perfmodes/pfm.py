# SPDX-License-Identifier: MIT
"""Events by the names of libpfm4, which has those of most CPUs' manuals. libpfm4 itself is loaded when the
first name is parsed; an Error with ENOSYS says that it is not here."""

from __future__ import annotations

from dataclasses import dataclass

from perfmodes import abi, event
from perfmodes.library import check, encoded, part, sized, text_of

lib = _lib = part("pfm", abi.PFM_FUNCTIONS)


@dataclass(frozen=True)
class Event(event.Event):
    """As perfmodes.Event, by a name of libpfm4: "perf::PAGE-FAULTS:u", "skl::INST_RETIRED"."""

    def _parse(self, made: abi.pm_event_spec, diag: abi.pm_diag) -> int:
        return int(_lib.pm_pfm_parse(encoded(self.name), diag, made))


def full_name(name: str) -> str:
    """The name with its PMU and all modifiers, as libpfm4 has it. Raises Error, with the diagnosis."""
    length = _lib.pm_pfm_name(encoded(name), None, 0)
    if length < 0:
        spec, diag = sized(abi.pm_event_spec), sized(abi.pm_diag)
        check(_lib.pm_pfm_parse(encoded(name), diag, spec), name, diag)  # which has the words for it
        check(length, name)
    return text_of(lambda buffer, size: int(_lib.pm_pfm_name(encoded(name), buffer, size)))
