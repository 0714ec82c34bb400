# SPDX-License-Identifier: MIT
"""What the owner of a device allows, and when."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

HOURS = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)")


@dataclass(frozen=True)
class Owner:
    """The limits of one device; without an entry that says more, the strictest.

    levels      values of perf_event_paranoid that may be set; it is put back afterwards
    disturb     --may-disturb is allowed: CPUs and sysctls may be changed
    hazards     --hazards is allowed: the device may crash or hang
    perf_harden Android: security.perf_harden may be cleared for a run
    quiet       HH:MM-HH:MM by the clock of this machine: nothing is started in these hours
    battery     percent below which a device that is not being charged is left alone
    heat        degrees Celsius above which it is left alone
    folder      where to put the bundle, in place of the first folder that fits
    limit       seconds that a whole run may take
    patience    seconds to wait for a device that does not answer, as while it restarts
    retries     how often a device that did not finish is asked again, in the same command
    power_cycle the owner's program and its arguments, run here before each of these
    before      one that is run here before the device is asked, as to switch it on; not ended with 0, it is not
    after       one that is run here when all is done, or has failed
    quarantine  after how many failed runs in a row it is left alone, unless named itself; 0 never
    """

    levels: tuple[str, ...] = ()
    disturb: bool = False
    hazards: bool = False
    perf_harden: bool = False
    quiet: tuple[str, ...] = ()
    battery: int = 15
    heat: int = 90
    folder: str = ""
    limit: int = 3600
    patience: int = 180
    retries: int = 0
    power_cycle: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    quarantine: int = 0

    def refuses(self, charge: str, heat: str, now: time.struct_time | None = None) -> str:
        """Why nothing may be started now; empty if it may. `charge` is percent, negative while the
        battery is being emptied; `heat` is in thousandths of a degree. Either may be unknown."""
        for hours in self.quiet:
            if _within(hours, now or time.localtime()):
                return f"quiet hours: {hours}"
        if re.fullmatch(r"-\d{1,3}", charge) and -int(charge) < self.battery:
            return f"its battery is at {charge[1:]} %, and {self.battery} are asked for"
        if re.fullmatch(r"\d{1,7}", heat) and int(heat) > self.heat * 1000:
            return f"it is at {int(heat) // 1000} degrees, and {self.heat} are allowed"
        return ""


def _within(hours: str, now: time.struct_time) -> bool:
    """Is it between the two times? They may be on both sides of midnight."""
    match = HOURS.fullmatch(hours)
    if not match:
        return False
    first, last = int(match[1]) * 60 + int(match[2]), int(match[3]) * 60 + int(match[4])
    at = now.tm_hour * 60 + now.tm_min
    return first <= at < last if first <= last else at >= first or at < last
