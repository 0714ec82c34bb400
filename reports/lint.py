# SPDX-License-Identifier: MIT
"""The house rules."""
from pathlib import Path
def tree(top): return []
def result(path, top): return []
