# SPDX-License-Identifier: MIT
"""A link by the system's ssh, as the user has set it up: keys, agent, jump hosts, known hosts.

One connection is shared by all commands. Nothing is asked for: a password or an unknown host key
is an error that says so.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
from dataclasses import dataclass, field
from pathlib import Path

from kernels.errors import Missing, Usage
from kernels.place import scratch
from kernels.place.link import Answer, Lost, Talk, framed, new_word, unframed

TARGET = re.compile(r"(?:([\w.+-]+)@)?(\[[0-9A-Fa-f:.%]+\]|[\w][\w.-]*)(?::(\d{1,5}))?")
OPTIONS = {
    "BatchMode": "yes", "ConnectTimeout": "15", "ServerAliveInterval": "5", "ServerAliveCountMax": "4",
    "ClearAllForwardings": "yes", "ForwardAgent": "no", "ForwardX11": "no", "PermitLocalCommand": "no",
    "RemoteCommand": "none", "RequestTTY": "no", "EscapeChar": "none", "LogLevel": "ERROR",
    "ControlMaster": "auto", "ControlPersist": "120",
}  # fmt: skip
LONG = 2000  # a longer script goes by standard input: dropbear takes no command over 9000 bytes


def any_shell(script: str) -> str:
    """A command that has sh run the script, whatever the shell of the account: csh takes neither a line
    break nor ! between quotes, and fish takes a backslash there for itself."""
    told = "".join(f"\\0{ord(char):03o}" if char in "\n\\'!" else char for char in script)
    return f"exec sh -c 'eval \"$(printf %b \"$0\")\"' '{told}'"


@dataclass
class SshLink:
    """`target` is [USER@]HOST[:PORT]; HOST may be a name in the user's ssh configuration. `jump` is a
    host to go by, as for ssh -J."""

    target: str
    config: Path | None = None
    clean: bool = True
    piece: int = 1 << 18
    slice: int = 1 << 30  # what has arrived is kept
    jump: str = ""
    _folder: str = ""
    _count: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        match = TARGET.fullmatch(self.target)
        if not match or (match[3] and not 0 < int(match[3]) < 65536):
            raise Usage(f"not [USER@]HOST[:PORT]: {self.target!r}")
        self._host, self._user, self._port = match[2].strip("[]"), match[1], match[3]
        self._words = ["-l", match[1]] if match[1] else []
        self._words += ["-p", match[3]] if match[3] else []
        self._words += ["-F", str(self.config)] if self.config else []
        if self.jump and not TARGET.fullmatch(self.jump):
            raise Usage(f"not [USER@]HOST[:PORT]: {self.jump!r}")
        self._words += ["-J", self.jump] if self.jump else []

    @property
    def names(self) -> list[str]:
        """What of the target tells who or where it is."""
        return [self._host, *([self._user] if self._user else [])]

    @property
    def where(self) -> str:
        """The same for every account."""
        return f"{self._host}:{self._port or 22}"

    def execute(
        self, script: str, data: Path | bytes = b"", limit: float = 60, stop: threading.Event | None = None
    ) -> Answer:
        word = new_word()
        if len(script) > LONG and not data:
            command, data = "exec sh", framed(script, word).encode()
        else:
            command = any_shell(framed(script, word))
        argv = [*self._ssh(), self._host, command]
        try:
            output, said, _ = Talk(argv, limit, stop, word).run(data)
            wrong = self._of_key(said) or self._of_account(said)
            if wrong:
                raise Lost(wrong)
            return unframed(output, word, said)
        except Lost:
            self._renew()
            raise

    def send(
        self, file: Path | bytes, script: str, limit: float = 600, stop: threading.Event | None = None
    ) -> Answer:
        return self.execute(script, file, limit, stop)

    def _of_key(self, said: str) -> str:
        """What is wrong with the host key, and what to do; empty if it is something else."""
        if "Host key verification failed" not in said:
            return ""
        if "HOST IDENTIFICATION HAS CHANGED" not in said:
            return f"its host key is not known: `ssh {self.target}`, once by hand, asks whether to accept it"
        found = re.search(r"Offending (\S+) key in (\S+?):(\d+)", said)
        which = f"its {found[1]} key is not that of {found[2]}, line {found[3]}" if found else "its host key has changed"
        remove = re.search(r"ssh-keygen (-f \S+ )?-R \S+", said)
        return f"{which}; if it was set up anew: {remove[0] if remove else 'ssh-keygen -R HOST'}"

    def _of_account(self, said: str) -> str:
        """Why ssh did not get in, or did not even start, and what to do; empty if it is something else."""
        denied = re.search(r"^\S+: Permission denied \([\w,-]+\)", said, re.MULTILINE)
        if denied:
            return f"{denied[0]}: no key of yours is accepted there, and no password is asked for; ssh-copy-id {self.target}"
        config = re.search(r"^(\S+: line \d+: .*)[\s\S]*^\S+: terminating, ", said, re.MULTILINE)
        return config[1] if config else ""

    def _ssh(self) -> list[str]:
        if not shutil.which("ssh"):
            raise Missing("no program ssh; install the package openssh-client")
        with self._lock:
            self._folder = self._folder or scratch.made("ssh")
            socket = f"{self._folder}/{self._count}"
        options = {**OPTIONS, "ControlPath": socket}
        return ["ssh", *self._words, *(f"-o{key}={value}" for key, value in options.items())]

    def _renew(self) -> None:
        """A connection that failed is not used again: it may hang for minutes."""
        self._leave()
        self._count += 1

    def _leave(self) -> None:
        if self._folder and Path(self._folder, str(self._count)).exists():
            try:
                subprocess.run(
                    [*self._ssh(), "-O", "exit", self._host],
                    stdin=subprocess.DEVNULL, capture_output=True, timeout=5, check=False,
                )  # fmt: skip
            except (OSError, subprocess.TimeoutExpired):
                pass

    def restarted(self) -> None:
        self.close()

    def close(self) -> None:
        self._leave()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = ""
