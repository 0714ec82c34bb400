# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from kernels.guest import kvm


def timed(device: str) -> tuple[bool, float]:
    start = time.monotonic()
    return kvm.timed_trial(device), time.monotonic() - start


def test_the_trial_on_this_machine_is_bounded() -> None:
    _, taken = timed("/dev/kvm")
    assert taken < 300, "the alarm is at 0.4 s, and may be heard late; without one it never ends"


def test_what_is_no_kvm_is_not_usable(tmp_path: Path) -> None:
    assert not kvm.usable(str(tmp_path / "none"))
    assert timed("/dev/null")[0] is False
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    assert timed(str(fifo))[0] is False


def test_a_kvm_that_never_returns_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kvm, "_trial", lambda device: time.sleep(600) or True)
    answer, taken = timed("/dev/kvm")
    assert answer is False and taken < 300
