# SPDX-License-Identifier: MIT
"""The work of a guest or a device as lines: for init, by the initramfs or the results line, or for
an agent.

    time=SECONDS        the date; a guest whose state was saved yesterday would not know it. A
                        device keeps its own
    level=LEVEL         set perf_event_paranoid and run; several levels are several runs
    suite=NAME          the suite of the lines that follow
    plan=PERSONA PROBE  run this and no other probe (without any: what the suite selects)
    arg=WORD            an argument for run.sh
    @@go LINES          the end, and how many lines there were
"""

from __future__ import annotations

import time

from kernels.errors import Refused
from kernels.place.place import Order

LEVELS = ("-1", "0", "1", "2", "3", "4")


def text(order: Order) -> bytes:
    lines = [f"time={int(time.time())}", f"suite={order.suite}"]
    lines += [f"level={level}" for level in order.levels]
    lines += [f"plan={persona} {probe}" for persona, probe in order.plan]
    lines += [f"arg={word}" for word in order.args]
    if any("\n" in line or "\r" in line for line in lines):
        raise Refused("an argument for run.sh has a line break in it")
    return "".join(f"{line}\n" for line in (*lines, f"@@go {len(lines)}")).encode()
