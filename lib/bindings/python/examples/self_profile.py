#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program that profiles itself: samples of the CPU clock of all its threads, by thread.

    PYTHONPATH=build/$(uname -m)/bindings/python lib/bindings/python/examples/self_profile.py
"""

from __future__ import annotations

import collections
import sys
import threading
import time

import perfmodes


def busy() -> None:
    end = time.thread_time() + 0.2
    while time.thread_time() < end:
        pass


def main() -> int:
    by_thread: collections.Counter[int] = collections.Counter()
    cycles = perfmodes.Event("cycles", frequency=500)
    try:
        session = perfmodes.Session(cycles, allow=perfmodes.Allow.ALL,
                                    on_sample=lambda sample: by_thread.update([sample.tid]))
        with session:
            worker = threading.Thread(target=busy)
            worker.start()
            while worker.is_alive():
                session.poll(0.01)
            strategy = session.plan.strategy
    except perfmodes.Error as error:
        print(f"self_profile: {error}", file=sys.stderr)
        return 2
    print(f"{sum(by_thread.values())} samples by {strategy.name.lower()}")
    for tid, count in by_thread.most_common():
        print(f"thread-{tid} {count}")
    return 0 if by_thread else 1


if __name__ == "__main__":
    sys.exit(main())
