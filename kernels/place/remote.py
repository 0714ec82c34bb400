# SPDX-License-Identifier: MIT
"""A device as a place, whatever the link to it: ssh, adb, a serial console."""

from __future__ import annotations

import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kernels.errors import Missing, Refused, RowError
from kernels.place.bring import Bring, Busy, agent_call, remove
from kernels.place.channel import Channel, safe_path
from kernels.place.claim import owner_word
from kernels.place.follow import Follow, Gone, Pace, Reader
from kernels.place.link import Flood, Link, Lost, patiently
from kernels.place.outcome import Outcome
from kernels.place.owner import Owner
from kernels.place.place import Facts, Order
from kernels.place.private import Private, words_of

# What uname -m says, and the folder below build/ whose programs run there.
MACHINES = {"i486": "i386", "i586": "i386", "i686": "i386", "armv7l": "armhf", "armv8l": "armhf",
            "armv5tel": "armel", "armv6l": "armel", "loongarch64": "loong64"}  # fmt: skip
LINE = re.compile(r"([a-z_]{1,20})=([ -~]{0,300})")
AT_THE_END = 20.0  # seconds for a link that is lost while a run's folder is removed
LEAVING = 8.0  # seconds for a device to clear up when an interrupt is waiting for it
FRESH = 20.0  # seconds for which a device that has answered is taken to be well
SKEW = 120


class RemotePlace:
    """A device behind a link. It is known once it was looked at."""

    def __init__(
        self, name: str, link: Link, kind: str, owner: Owner = Owner(), pace: Pace = Pace(),
        private: Private | None = None,
    ) -> None:  # fmt: skip
        self.name, self.link, self.kind, self.owner, self.pace = name, link, kind, owner, pace
        self.known: dict[str, str] = {}
        self.private = private or Private()
        self.there = ""  # a folder of the device that has the bundle
        self.clear = False  # security.perf_harden, if there is one
        self.record: dict[str, object] = {}
        self.say: Callable[[str], None] = lambda state: None
        self.stop = threading.Event()
        self.force = False  # take the device from another run
        self._folder = ""
        self._bundle: Path | None = None
        self._looked = 0.0
        self._awaited = False
        self._awaits_nothing = False  # the last run ended because nothing came for too long

    def look(self) -> None:
        """Ask the device what it is. Raises RowError."""
        answer = self.link.execute(agent_call("look"), limit=self.pace.answer, stop=self.stop)
        lines = [LINE.fullmatch(line.rstrip()) for line in answer.body.decode("ascii", "replace").splitlines()[:100]]
        pairs = [(match[1], match[2]) for match in lines if match]
        known = {key: value for key, value in pairs if key != "secret"}
        if known.get("lacks", "").strip():
            raise Missing(f"the device lacks {known['lacks'].strip()}, which run.sh needs there (PATH?)")
        if not re.fullmatch(r"\w{1,30}", known.get("machine", "")):
            said = repr(known["machine"][:60]) if known.get("machine") else f"nothing ({answer.why})"
            raise Missing(f"uname -m says {said} there, which is no machine")
        self.known = known
        self.private.add(value for key, value in pairs if key == "secret")
        self._looked = time.monotonic()

    def facts(self) -> Facts:
        machine = self.known.get("machine", "")
        record: dict[str, object] = {"place": self.kind, **self.record}
        skew = self.known.get("epoch", "")
        if skew.isdecimal() and abs(int(skew) - time.time()) > SKEW and "clock_skew_s" not in record:
            self.record["clock_skew_s"] = record["clock_skew_s"] = int(int(skew) - time.time())
        record["release"] = self.known.get("release", "")
        env = {"transport": self.kind}
        for key in ("android", "perf_harden", "selinux"):
            if self.known.get(key):
                env[key] = record[key] = self.known[key]
        record["names_kept"] = self.private.keep
        record["withheld"] = dict(+self.private.withheld)
        return Facts(
            self.name, MACHINES.get(machine, machine), env, record, (),
            self.owner.disturb, self.owner.hazards,
        )  # fmt: skip

    def health(self) -> str:
        """A device that has a bundle may just be restarting: it is waited for. Without one it is
        asked twice."""
        until = time.monotonic() + (self.owner.patience if self._bundle or self._awaited else 0)
        tried = 0
        while time.monotonic() - self._looked > FRESH:
            try:
                self.look()
            except RowError as error:
                tried += 1
                if not isinstance(error, Lost) or (time.monotonic() > until and tried > 1):
                    return self.private.text(str(error))
                if self.stop.wait(min(2, self.pace.pause)):
                    raise KeyboardInterrupt from None
        return self.declines()

    def declines(self) -> str:
        """Why its owner has nothing started now, by what was heard of it last."""
        return self.owner.refuses(self.known.get("battery", ""), self.known.get("heat", ""))

    @property
    def address(self) -> str:
        return f"{self.kind}:{self.link.where}"

    def forget(self) -> None:
        """Its power was cycled: it is waited for as while it restarts."""
        self._looked, self._awaited = 0.0, True
        self.link.restarted()

    def clean(self) -> str:
        """End and remove what runs of ours have left there; with `force` those of others, too. Says what
        it did. Raises RowError."""
        words = agent_call("clean", self.owner.folder, owner_word(self.address), "force" if self.force else "-")
        said = self.link.execute(words, limit=self.pace.answer, stop=self.stop).body.decode("utf-8", "replace")
        match = re.fullmatch(r"swept=(\d{1,6}) ([ -~]{0,200})\s*", said)
        if not match:
            raise Missing("the device does not say what was removed")
        kept = f"; {match[2]}: --force ends that, too" if match[2] else ""
        return f"{match[1]} folders removed{kept}"

    @contextmanager
    def put(self, bundle: Path) -> Iterator[None]:
        try:
            self._bring(bundle)
            yield
        finally:
            self._leave()
            self._bundle, self._folder = None, ""
            self.link.close()

    def _leave(self) -> None:
        """Remove the folder there. A link that is lost just now is tried again, but not one for which we
        have been waiting."""
        ending = self.stop.is_set()
        limit = min(self.pace.answer, LEAVING) if ending else self.pace.answer
        patience = 0.0 if ending or self._awaits_nothing else min(self.owner.patience, AT_THE_END)
        remove(self.link, self._folder, limit, patience, self.pace.pause)

    def _bring(self, bundle: Path) -> None:
        bringing = Bring(
            self.link, self.stop, self.owner.patience, self.pace.pause, self.owner.folder, self.there,
            owner_word(self.address), self.force, self.say,
        )  # fmt: skip
        try:
            self._folder = self._in_turn(bringing, bundle)
        except RowError as error:
            raise Missing(self.private.text(str(error))) from None
        finally:
            self._count(bringing.lost)
        self._bundle = bundle
        self.private.spare(words_of(bundle))
        self.private.add([self._folder])

    def _in_turn(self, bringing: Bring, bundle: Path) -> str:
        """Wait for another run to leave the device: as long as a run may take. Two that meet come again
        after pauses of their own."""
        until = time.monotonic() + self.owner.limit
        while True:
            try:
                return bringing.whole(bundle)
            except Busy as error:
                if time.monotonic() > until:
                    raise
                self.say(str(error))
            if self.stop.wait(random.uniform(1, 3) * self.pace.pause):
                raise KeyboardInterrupt

    def run(self, order: Order, channel: Channel, stop: threading.Event) -> Outcome:
        if not self._bundle:
            raise RowError("no bundle has been put here")
        if self.clear and not self.owner.perf_harden:
            raise Refused("security.perf_harden is not to be changed at this place")
        if not set(order.levels) <= set(self.owner.levels):
            raise Refused("perf_event_paranoid is not to be changed to that at this place")
        channel.clean = self.private.clean
        try:
            patiently(lambda: self._again(stop), self.owner.patience, self.pace.pause, stop)
        except RowError as error:
            return Outcome("dropped" if isinstance(error, Lost) else "died", self.private.text(str(error)), "init")
        channel.release = channel.release or self.known.get("release", "")
        limit = order.limit or self.owner.limit
        reader = Reader(self.link, self._folder, self.pace)
        boot = self.known.get("boot", "")
        follow = Follow(reader, channel, stop, self.owner.patience, limit, self.pace, boot, self.clear)
        try:
            outcome = follow.whole(order)
        finally:
            self._remember(follow)
        outcome.reason = self.private.text(outcome.reason)
        return outcome

    def _again(self, stop: threading.Event) -> None:
        """Bring the bundle again if a restart emptied its folder, and hear which boot this is."""
        there = self.link.execute(
            f"[ -x {self._folder}/bundle/run.sh ]", limit=self.pace.answer, stop=stop
        )
        if there.status and self._bundle:
            self._bring(self._bundle)
        self.look()

    def _remember(self, follow: Follow) -> None:
        """What the run has told about the device, for boot.json."""
        if follow.outcome.ended in ("shutdown", "dropped", "hang"):
            self._looked = 0.0
        self._awaits_nothing = follow.outcome.ended in ("dropped", "hang")
        if follow.heats:
            self.record["heat_c"] = [follow.heats[0], max(follow.heats), follow.heats[-1]]
        if follow.battery:
            self.record["battery"] = follow.battery
        self._count(follow.lost)

    def _count(self, lost: int) -> None:
        if lost:
            self.record["link_lost"] = int(str(self.record.get("link_lost", 0))) + lost

    def get(self, channel: Channel) -> None:
        """Take the files that run.sh has finished but that have not arrived."""
        if not self._folder or len(channel.runs) > 1 or channel.complete:
            return
        patience = 0 if self._awaits_nothing or self.stop.is_set() else self.owner.patience
        try:
            _, lost = patiently(lambda: self._fetch(channel), patience, self.pace.pause, self.stop)
            self._count(lost)
        except (Lost, Flood, Gone):
            return

    def _fetch(self, channel: Channel) -> None:
        """What is here already is not fetched again."""
        reader = Reader(self.link, self._folder, self.pace)
        listed = reader.agent("names", limit=self.pace.answer, stop=self.stop).body.decode("utf-8", "replace").splitlines()
        for name in sorted(line.removeprefix("./") for line in listed):
            if safe_path(name) and name not in channel.files and not channel.flood:
                channel.take(name, reader.whole(f"out/{name}", channel.limits.file))
