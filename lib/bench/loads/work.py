# SPDX-License-Identifier: MIT
"""Recursion, JSON, patterns and sorting, for SECONDS, in no step with a clock."""
import json
import random
import re
import sys
import time


def fib(n: int) -> int:
    return n if n < 2 else fib(n - 1) + fib(n - 2)


end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    fib(random.randint(10, 16))
    text = json.dumps({str(i): [i] * 20 for i in range(random.randint(50, 300))})
    json.loads(text)
    re.findall(r"\d+", text)
    sorted(range(3000), key=lambda x: -x)
