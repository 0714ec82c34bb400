# SPDX-License-Identifier: MIT
"""How a guest is built, started, watched and saved; a guest as a place."""
